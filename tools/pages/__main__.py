"""Compiles the shop's pages and mails (web/shop) to C.

    python3 tools/pages SHOP_DIR OUT.c OUT.h DEPFILE

    SHOP_DIR/words/LANG     the words of a language; `en` says which there are
    SHOP_DIR/records        what lists and parts are made of
    SHOP_DIR/*.html, *.txt  templates: one function and one struct of parameters each
    SHOP_DIR/mail/*         the mails, and their texts in each language
    SHOP_DIR/assets/*       style sheets, scripts and pictures of the shop's own

The language of the templates is described in web/shop/README.md. A mistake ends the build with FILE:LINE: MESSAGE, all
mistakes at once, one per template."""
import pathlib
import re
import sys

from assets import read_assets
from emit import Emitter
from mails import read_mails
from mistake import Mistake
from template import TYPES, parse, parse_type
from words import read_words


def read_records(path):
    """`record NAME`, then indented `FIELD TYPE` lines. -> {name: {field: type}}, in the order of the file."""
    records, fields, used = {}, None, []
    for number, line in enumerate(path.read_text("utf-8").splitlines() if path.exists() else [], start=1):
        words = line.split("#")[0].split()
        if not words:
            continue
        if words[0] == "record" and len(words) == 2 and not line[0].isspace():
            if words[1] in records or words[1] in TYPES or not re.fullmatch(r"[a-z][a-z0-9_]*", words[1]):
                raise Mistake(path, number, f"{words[1]} cannot be the name of a record, or is one already")
            fields = records[words[1]] = {}
        elif line[0].isspace() and fields is not None:
            if words[0] in fields:
                raise Mistake(path, number, f"{words[0]} is there twice")
            fields[words[0]] = parse_type(" ".join(words[1:]), path, number)
            used.append((fields[words[0]], number, list(records)[-1]))
        else:
            raise Mistake(path, number, "expected `record NAME`, or an indented `FIELD TYPE`")
    for kind, number, inside in used:
        name = kind.record
        if name and name not in records:
            raise Mistake(path, number, f"no record is called {name}")
        if name and not kind.is_list and list(records).index(name) >= list(records).index(inside):
            raise Mistake(path, number, f"{name} must stand before {inside}, which holds one")
    return records


def main():
    folder, out_c, out_h, depfile = (pathlib.Path(arg) for arg in sys.argv[1:])
    mistakes, templates = [], {}
    paths = sorted([*folder.glob("*.html"), *folder.glob("*.txt")])
    try:
        words = read_words(folder / "words")
        mails = read_mails(folder / "mail", list(words.languages))
        records = read_records(folder / "records")
        assets = read_assets(folder / "assets")
    except Mistake as m:
        sys.exit(str(m))
    for path in paths:
        try:
            if path.stem in templates:
                raise Mistake(path, 1, f"{path.stem} is the name of another template, too")
            if path.stem in records:
                raise Mistake(path, 1, f"{path.stem} is the name of a record, too")
            templates[path.stem] = parse(path, records, assets)
        except Mistake as m:
            mistakes.append(m)
    emitter = Emitter(templates, records, words, assets, mails)
    if not mistakes:
        for template in templates.values():
            try:
                emitter.template(template)
            except Mistake as m:
                mistakes.append(m)
    if mistakes:
        sys.exit("\n".join(str(m) for m in mistakes))
    out_h.write_text(emitter.header(out_h.name))
    out_c.write_text(emitter.source(out_h.name))
    seen = [folder, folder / "words", folder / "records", *sorted((folder / "words").iterdir()), *paths]
    seen += [folder / "mail", *sorted((folder / "mail").iterdir())]
    seen += [folder / "assets", *sorted((folder / "assets").glob("*"))]
    seen += sorted(pathlib.Path(__file__).parent.glob("*.py"))
    depfile.write_text(f"{out_c} {out_h}: " + " ".join(str(p).replace(" ", "\\ ") for p in seen if p.exists()) + "\n")


main()
