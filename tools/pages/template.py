"""Templates as trees: texts, values, words, conditions, loops, parts and layouts. Types are looked up when C is written."""
import re

from mistake import Mistake

TYPES = ("text", "url", "markup", "int", "money", "bool", "time", "word")
NAME = r"[a-z][a-z0-9_]*"
PATH = rf"{NAME}(?:\.{NAME})*"
PIECE = re.compile(r"\{\{(.*?)\}\}|\{%(.*?)%\}|\{#(.*?)#\}", re.S)


class Type:
    def __init__(self, name, is_list):
        self.name = name
        self.is_list = is_list
        self.record = name if name not in TYPES else None

    def __eq__(self, other):
        return (self.name, self.is_list) == (other.name, other.is_list)

    def __str__(self):
        return f"list {self.name}" if self.is_list else self.name


def parse_type(text, path, line):
    match = re.fullmatch(rf"(list )?({NAME})", text)
    if not match or (match[1] and match[2] in TYPES and match[2] not in ("text", "word")):
        raise Mistake(path, line, f"not a type: {text or 'nothing'}")
    return Type(match[2], bool(match[1]))


class Node:
    def __init__(self, kind, line, path, **fields):
        self.kind, self.line, self.path = kind, line, path
        self.__dict__.update(fields)


class Template:
    def __init__(self, path):
        self.path = path
        self.name = path.stem
        self.is_html = path.suffix == ".html"
        self.params = {}
        self.layout = None
        self.body = []
        self.fills = {}
        self.line_of_layout = 0


def tokens(path):
    """-> [(text, value or statement, inner text, line)]. A line that holds nothing but statements leaves nothing behind."""
    text = path.read_text("utf-8")
    alone = re.compile(r"^[ \t]*(?:(?:\{%[^\n{}]*%\}|\{#[^\n{}]*#\})[ \t]*)+\n", re.M)
    blank = [range(*match.span()) for match in alone.finditer(text)]
    dropped = {at for span in blank for at in span}
    found = []

    def take(start, end):
        kept = [at for at in range(start, end) if at not in dropped]
        piece = "".join(text[at] for at in kept)
        if piece:
            line = text.count("\n", 0, kept[0]) + 1
            if re.search(r"\{\{|\{%|\{#|\}\}|%\}|#\}", piece):
                raise Mistake(path, line, "a brace that opens or closes nothing")
            found.append(("text", piece, line))

    at = 0
    for match in PIECE.finditer(text):
        take(at, match.start())
        line = text.count("\n", 0, match.start()) + 1
        for kind, inner in (("value", match[1]), ("statement", match[2])):
            if inner is not None:
                found.append((kind, " ".join(inner.split()), line))
        at = match.end()
    take(at, len(text))
    return found


def parse_args(text, path, line):
    args = {}
    for part in text.split():
        match = re.fullmatch(rf"({NAME})=({PATH}|-?[0-9]+|@{NAME})", part)
        if not match or match[1] in args:
            raise Mistake(path, line, f"expected name=value: {part}")
        args[match[1]] = match[2]
    return args


def parse_value(text, path, line, assets):
    if text.startswith("asset "):
        if text[6:] not in assets:
            raise Mistake(path, line, f"no file of assets/ is called {text[6:]}")
        return Node("text", line, path, text=assets[text[6:]].url)
    match = re.fullmatch(rf"@({NAME})((?: {NAME}=\S+)*)", text)
    if match:
        return Node("word", line, path, name=match[1], args=parse_args(match[2], path, line))
    match = re.fullmatch(rf"({PATH})(?: *\| *({NAME}))?", text)
    if not match:
        raise Mistake(path, line, f"not a value: {text}")
    return Node("value", line, path, what=match[1], manner=match[2])


def parse_condition(text, path, line):
    """`a`, `not a`, `a == "text"`, `a == b`, joined by `and` or by `or`. -> (joiner, [(negated, path, other)])"""
    joiners = set(re.findall(r" (and|or) ", f" {text} "))
    if len(joiners) > 1:
        raise Mistake(path, line, "`and` and `or` in one condition: which first?")
    joiner = joiners.pop() if joiners else "and"
    terms = []
    for term in text.split(f" {joiner} "):
        match = re.fullmatch(rf'(not )?({PATH})(?: (==|!=) ({PATH}|-?[0-9]+|@{NAME}|"[^"\\]*"))?', term.strip())
        if not match:
            raise Mistake(path, line, f"not a condition: {text}")
        terms.append((bool(match[1]) != (match[3] == "!="), match[2], match[4]))
    return joiner, terms


def parse(path, records, assets):
    template = Template(path)
    root = []
    stack = [(None, root)]  # (node that is open, list being filled)
    for kind, text, line in tokens(path):
        here = stack[-1][1]
        if kind == "text":
            here.append(Node("text", line, path, text=text))
        elif kind == "value":
            here.append(parse_value(text, path, line, assets))
        else:
            statement(template, records, stack, here, text, line)
    if len(stack) > 1:
        node = stack[-1][0]
        raise Mistake(path, node.line, f"`{node.kind}` without its `end`")
    if template.layout:
        for node in root:
            if node.kind == "fill":
                if node.name in template.fills:
                    raise Mistake(path, node.line, f"{node.name} is filled twice")
                template.fills[node.name] = node
            elif node.kind != "text" or node.text.strip():
                raise Mistake(path, node.line, "with a layout everything stands inside `fill`")
    template.body = root
    return template


def statement(template, records, stack, here, text, line):
    path = template.path
    word, _, rest = text.partition(" ")
    opened = stack[-1][0]
    if word == "param":
        name, _, kind = rest.partition(" ")
        if not re.fullmatch(NAME, name) or name in template.params or len(stack) > 1:
            raise Mistake(path, line, f"{name or 'nothing'} cannot be a parameter here, or is one already")
        template.params[name] = parse_type(kind, path, line)
        record = template.params[name].record
        if record and record not in records:
            raise Mistake(path, line, f"no record is called {record}")
    elif word == "layout":
        if template.layout or not re.fullmatch(NAME, rest):
            raise Mistake(path, line, "`layout` stands once, with a template's name")
        template.layout, template.line_of_layout = rest, line
    elif word in ("if", "for", "fill"):
        node = Node(word, line, path)
        if word == "if":
            node.branches = [(parse_condition(rest, path, line), [])]
            node.otherwise = None
            inner = node.branches[0][1]
        elif word == "for":
            match = re.fullmatch(rf"({NAME}) in ({PATH})", rest)
            if not match:
                raise Mistake(path, line, "expected `for NAME in LIST`")
            node.name, node.what, node.body = match[1], match[2], []
            inner = node.body
        else:
            if len(stack) > 1 or not re.fullmatch(NAME, rest):
                raise Mistake(path, line, "`fill` stands at the top, with a slot's name")
            node.name, node.body = rest, []
            inner = node.body
        here.append(node)
        stack.append((node, inner))
    elif word in ("elif", "else"):
        if not opened or opened.kind != "if" or opened.otherwise is not None:
            raise Mistake(path, line, f"`{word}` without an `if`")
        if word == "elif":
            opened.branches.append((parse_condition(rest, path, line), []))
            stack[-1] = (opened, opened.branches[-1][1])
        else:
            opened.otherwise = []
            stack[-1] = (opened, opened.otherwise)
    elif word == "end" and not rest:
        if not opened:
            raise Mistake(path, line, "`end` of nothing")
        stack.pop()
    elif word == "include":
        name, _, args = rest.partition(" ")
        here.append(Node("include", line, path, name=name, args=parse_args(args, path, line)))
    elif word == "slot" and re.fullmatch(NAME, rest):
        here.append(Node("slot", line, path, name=rest))
    else:
        raise Mistake(path, line, f"not a statement: {text}")
