#!/usr/bin/env python3
"""Puts C files into bunches that are compiled as one file each: most of what a compiler needs for a small file without much
optimisation is its own start and the headers.

usage: bunches.py [--apart WORD]... [--depfile FILE] OUTPUT.c... -- SOURCE.c...

Each OUTPUT includes some of the sources, so that nothing which belongs to one file meets something of another: functions and
variables that are static, macros, enumerators, tags. The sources are formatted by clang-format: what begins in the first column is
of the whole file. A source that defines a function of --apart is a bunch of its own (the linker puts another in its place, which it can
only do where the call comes from another object). What this does not see is an error of the compiler."""
import os
import re
import sys

NOISE = re.compile(r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.S)
ATTRIBUTE = re.compile(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)[ \t]*|_Atomic\([^()]*\)")
WORD = re.compile(r"[A-Za-z_]\w*")
STATIC = re.compile(r"^static\b([^;={(]*?)(\w+)\s*(\(|=|;|\[)", re.M)
POINTER = re.compile(r"^static\b[^;={(]*\(\*(?:const\s+)?(\w+)", re.M)
OF_A_STRUCT = re.compile(r"^\} *(\w+)[^;={\n]*[=;]", re.M)
INCLUDE = re.compile(r'^#\s*include\s+"([^"]+)"', re.M)
TAG = re.compile(r"\b(?:struct|union|enum)\s+(\w+)\s*\{")
ENUMERATORS = re.compile(r"^(?:typedef\s+|static\s+)*enum\b[^{;()]*\{([^}]*)\}", re.M)
TYPEDEF = re.compile(r"^typedef\b[^;{]*?(\w+)\)?\s*(?:\([^;]*\))?;", re.M)
FUNCTION = re.compile(r"^\w[\w \t*]*?\b(\w+)\(", re.M)
VARIABLE = re.compile(r"^(?!static|typedef|return|(?:struct|union|enum)\s+\w+;)[A-Za-z][\w \t*]*?\b(\w+)(?:\[[^\]\n]*\])*\s*[=;]", re.M)
MENTION = re.compile(r"\b(?:struct|union|enum)\s+(\w+)")
MACRO = re.compile(r"^#\s*define\s+(\w+)", re.M)
DIRECTIVE = re.compile(r"^#(?:[^\n]*\\\n)*[^\n]*$", re.M)
UNDONE = re.compile(r"^#\s*undef\s+(\w+)", re.M)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def bare_text(text):
    return ATTRIBUTE.sub("", NOISE.sub(" ", text))


def enumerators(text):
    lists = ENUMERATORS.findall(DIRECTIVE.sub("", text))
    return {name for inside in lists for name in re.findall(r"(?:^|,)\s*(\w+)\s*(?=,|=|$)", inside)}


class Headers:
    """What the project's headers declare."""

    def __init__(self, folder):
        self.folder = folder
        self.known = {}
        self.read = []

    def declare(self, names):
        """All names of these headers and of what they include; and those that nobody may give to a variable inside a function."""
        found, loud, waiting, seen = set(), set(), list(names), set()
        while waiting:
            name = waiting.pop()
            if name in seen:
                continue
            seen.add(name)
            declared, heard, included = self.known.get(name) or self.look(name)
            found |= declared
            loud |= heard
            waiting += included
        return found | loud, loud

    def look(self, name):
        path = os.path.join(self.folder, name)
        text = ""
        if os.path.exists(path):  # others are made by the build
            text = read(path)
            self.read.append(path)
        bare = bare_text(text)
        declared = set(MENTION.findall(bare) + TYPEDEF.findall(bare) + FUNCTION.findall(bare))
        loud = enumerators(bare).union(MACRO.findall(bare), VARIABLE.findall(bare))
        self.known[name] = declared, loud, INCLUDE.findall(text)
        return self.known[name]


class Source:
    def __init__(self, path, headers):
        whole = read(path)
        text = bare_text(whole)
        self.path = path
        self.size = len(text)
        self.words = set(WORD.findall(text))
        self.met, self.met_loud = headers.declare(INCLUDE.findall(whole))
        macros = set(MACRO.findall(text)) - set(UNDONE.findall(text))
        functions, variables = set(), set()
        for before, name, after in STATIC.findall(text):
            (functions if after == "(" else variables).add(name)
            if after != "(":
                variables.update(re.findall(r"(\w+)\s*,", before))
        variables.update(POINTER.findall(text))
        variables.update(OF_A_STRUCT.findall(text), VARIABLE.findall(text))
        # Others must not even have a variable of this name inside a function.
        self.reserved = macros | variables | enumerators(text)
        self.own = self.reserved | functions | set(TAG.findall(text) + TYPEDEF.findall(text))
        # gcc does not want a pointer to a function called like a function.
        self.pointers = set(re.findall(r"\(\*(?:const\s+)?(\w+)", text))
        self.functions = functions | set(FUNCTION.findall(text))
        self.defines = set(re.findall(r"^[A-Za-z][\w \t*]*?\b(\w+)\([^;{]*\)\s*\{", text, re.M))
        # What matters in company that has included other headers than this file.
        self.own_alone = self.own - self.met
        self.pointers_alone = self.pointers - self.met
        self.words_alone = self.words - self.met_loud


SETS = ("own", "reserved", "words", "met", "met_loud", "pointers", "functions", "own_alone", "pointers_alone", "words_alone")


def meet(a, b):
    """Whether something of one would be taken for something of the other, or of a header that only the other includes."""
    return not (
        a.own.isdisjoint(b.own)
        and a.reserved.isdisjoint(b.words)
        and b.reserved.isdisjoint(a.words)
        and a.own_alone.isdisjoint(b.met)
        and b.own_alone.isdisjoint(a.met)
        and a.pointers.isdisjoint(b.functions)
        and b.pointers.isdisjoint(a.functions)
        and a.pointers_alone.isdisjoint(b.met)
        and b.pointers_alone.isdisjoint(a.met)
        and a.words_alone.isdisjoint(b.met_loud)
        and b.words_alone.isdisjoint(a.met_loud)
    )


class Bunch:
    """Each of its sets is that of all its sources together."""

    def __init__(self, sources=()):
        self.sources, self.size = [], 0
        for name in SETS:
            setattr(self, name, set())
        for source in sources:
            self.add(source)

    def add(self, source):
        self.sources.append(source)
        self.size += source.size
        for name in SETS:
            getattr(self, name).update(getattr(source, name))


def bunches(sources, apart, count):
    """The largest source first, each into the smallest bunch that it can be in; a sixth of them is kept for those that go with few others."""
    alone = [Bunch([source]) for source in sources if source.defines & apart]
    rest = [source for source in sources if not source.defines & apart]
    spare = [Bunch() for _ in range(count // 6)]
    usual = [Bunch() for _ in range(count - len(alone) - len(spare))]
    for source in sorted(rest, key=lambda s: (-s.size, s.path)):
        free = [b for b in usual if not meet(source, b)] or [b for b in spare if not meet(source, b)]
        if not free:
            sys.exit(f"bunches.py: {source.path} goes with no others: more bunches are needed")
        min(free, key=lambda b: b.size).add(source)
    return alone + usual + spare


def main():
    words = sys.argv[1:]
    apart, depfile = set(), None
    while words[0].startswith("--"):
        if words[0] == "--apart":
            apart.add(words[1])
        else:
            depfile = words[1]
        words = words[2:]
    outputs, sources = words[: words.index("--")], words[words.index("--") + 1 :]
    headers = Headers(os.path.join(os.path.dirname(__file__), "../src"))
    made = bunches([Source(path, headers) for path in sources], apart, len(outputs))
    if depfile:
        with open(depfile, "w", encoding="utf-8") as file:
            file.write(f"{outputs[0]}: {' '.join(headers.read)}\n")
    for output, bunch in zip(outputs, made):
        lines = []
        for source in sorted(bunch.sources, key=lambda s: s.path):
            path = os.path.relpath(source.path, os.path.dirname(output) or ".")
            lines.append(f'#include "{path}" // NOLINT(bugprone-suspicious-include)\n')
        text = "".join(lines) or "typedef int nothing;\n"
        if os.path.exists(output) and read(output) == text:
            continue
        with open(output, "w", encoding="utf-8") as file:
            file.write(text)


main()
