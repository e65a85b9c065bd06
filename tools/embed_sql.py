#!/usr/bin/env python3
"""Turns sql/NNNN_name.sql into a C table of migrations (db/migration.h).

usage: embed_sql.py SQL_DIR OUTPUT.c DEPFILE [NEXT.sql...]

Numbers run from 0001 without a gap; a word behind @ must be one that the migrator knows. The depfile names the folder
too, so that a new file is noticed. A file whose first line is "-- expand" is a step that an older program does not
notice. NEXT files are steps behind the last one, for tests: they have no numbers in their names."""
import hashlib
import pathlib
import re
import sys

WORDS = {"id", "id_kept", "int", "bytes", "strict", "norowid", "checked", "postgres", "sqlite", "end"}
# What the migrator leaves alone: texts and comments.
PROTECTED = re.compile(r"'[^']*'|--[^\n]*")


def c_lines(text):
    """The text as C string literals, one per line."""
    escapes = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "?": "\\?"}
    for line in text.splitlines(keepends=True):
        out = []
        for byte in line.encode():
            char = chr(byte)
            # Octal escapes end after three digits, so a digit may follow.
            out.append(escapes.get(char) or (char if 0x20 <= byte < 0x7F else f"\\{byte:03o}"))
        yield '"' + "".join(out) + '"'


def main():
    folder, output, depfile, *nexts = sys.argv[1:]
    files = sorted(pathlib.Path(folder).glob("*.sql")) + [pathlib.Path(p) for p in nexts]
    rows = []
    for number, path in enumerate(files, start=1):
        name = f"{number:04}_{path.name}" if str(path) in nexts else path.name
        match = re.fullmatch(r"([0-9]{4})_([a-z0-9_]+)\.sql", name)
        if not match:
            sys.exit(f"{path}: a migration is called NNNN_name.sql")
        if int(match[1]) != number:
            sys.exit(f"{path}: expected number {number:04}: numbers run from 0001 without a gap")
        raw = path.read_bytes()
        text = raw.decode("utf-8")
        if "\0" in text or "/*" in PROTECTED.sub("", text):
            sys.exit(f"{path}: NUL characters and /* comments are not for migrations")
        for word in re.findall(r"@(\w*)", PROTECTED.sub("", text)):
            if word not in WORDS:
                sys.exit(f"{path}: @{word} is not a word that the migrator knows")
        body = "\n     ".join(c_lines(text))
        is_expand = "true" if text.startswith("-- expand\n") else "false"
        rows.append(
            f'    {{{number}, "{match[2]}", "{hashlib.sha256(raw).hexdigest()}",\n     {body},\n     {is_expand}}},\n'
        )
    pathlib.Path(output).write_text(
        f"/* Made by tools/embed_sql.py from sql/. */\n"
        f'#include "db/migration.h"\n\n'
        f"const struct migration migrations[] = {{\n{''.join(rows)}    {{0}},\n}};\n"
        f"const int migrations_count = {len(rows)};\n"
    )
    deps = " ".join(str(p).replace(" ", "\\ ") for p in [pathlib.Path(folder), *files])
    pathlib.Path(depfile).write_text(f"{output}: {deps}\n")


main()
