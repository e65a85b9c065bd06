"""The mails of the shop: which there are (`kinds`), and their texts, one file per language.

    kinds     `mail NAME customer|staff`, then `  PARAMETER TYPE SAMPLE` lines; those below `every` are of every mail
    LANG      `== NAME`, a line with the subject, an empty line, the body in Markdown

A text names its parameters as {{name}}. The same is asked of texts that are changed in the panel: src/page/mail_text.c."""
import re

from mistake import Mistake

TYPES = ("text", "url", "list")
NAME = r"[a-z][a-z0-9_]*"
PLACE = re.compile(r"\{\{\s*([^{}]*?)\s*\}\}")
PARAMS_MAX = 64  # each has a character of its own while a text is read


class Kind:
    def __init__(self, name, to_staff):
        self.name, self.to_staff = name, to_staff
        self.params = {}  # name -> sample


class Mails:
    def __init__(self, kinds, types, texts):
        self.kinds = kinds  # name -> Kind
        self.types = types  # parameter -> type
        self.texts = texts  # language -> {kind: (subject, body)}


def text_of(path):
    if not path.exists():
        raise Mistake(path, 1, "there is no such file")
    return path.read_text("utf-8")


def read_kinds(path):
    kinds, types, every, here = {}, {}, {}, None
    for number, line in enumerate(text_of(path).splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        match = re.fullmatch(rf"mail ({NAME}) (customer|staff)", line)
        if line == "every" and not kinds:
            here = every
        elif match:
            if match[1] in kinds:
                raise Mistake(path, number, f"the mail {match[1]} is there twice")
            kinds[match[1]] = Kind(match[1], match[2] == "staff")
            here = kinds[match[1]].params
            here.update(every)
        else:
            match = re.fullmatch(rf"  ({NAME}) ({NAME}) (.+)", line)
            if not match or here is None or match[2] not in TYPES:
                raise Mistake(path, number, "expected `mail NAME customer`, or an indented `PARAMETER TYPE SAMPLE`")
            if match[1] in here or types.setdefault(match[1], match[2]) != match[2]:
                raise Mistake(path, number, f"{match[1]} is there twice, or has another type elsewhere")
            here[match[1]] = match[3].replace("\\n", "\n")
    if len(types) > PARAMS_MAX:
        raise Mistake(path, 1, f"more than {PARAMS_MAX} parameters")
    return kinds, types


def check_text(kind, types, subject, body, path, line):
    for field, text in (("subject", subject), ("body", body)):
        for name in PLACE.findall(text):
            if name not in kind.params:
                raise Mistake(path, line, f"the {field} of {kind.name} names {{{{{name}}}}}, which it has not")
            if types[name] == "list" and (field == "subject" or not re.search(rf"(^|\n\n)\{{\{{\s*{name}\s*\}}\}}(\n\n|$)", body)):
                raise Mistake(path, line, f"the list {{{{{name}}}}} of {kind.name} does not stand alone in a paragraph")
        if re.search(r"\{\{|\}\}", PLACE.sub("", text)):
            raise Mistake(path, line, f"a brace that opens or closes nothing in {kind.name}")


def read_texts(path, kinds, types):
    found, name, start, lines = {}, None, 0, []

    def end():
        if name is None:
            return
        if len(lines) < 3 or not lines[0].strip() or lines[1].strip():
            raise Mistake(path, start, f"{name} needs a subject, an empty line and a text")
        subject, body = lines[0].strip(), "\n".join(lines[2:]).strip()
        check_text(kinds[name], types, subject, body, path, start)
        found[name] = (subject, body + "\n")

    for number, line in enumerate(text_of(path).splitlines(), start=1):
        match = re.fullmatch(rf"== ({NAME})", line)
        if match:
            end()
            name, start, lines = match[1], number, []
            if name in found or name not in kinds:
                raise Mistake(path, number, f"{name} is there twice, or no mail is called so")
        elif name is not None:
            lines.append(line)
        elif line.strip() and not line.startswith("#"):
            raise Mistake(path, number, "expected `== NAME`")
    end()
    for kind in kinds:
        if kind not in found:
            raise Mistake(path, 1, f"the text of the mail {kind} is missing")
    return found


def read_mails(folder, languages):
    kinds, types = read_kinds(folder / "kinds")
    return Mails(kinds, types, {code: read_texts(folder / code, kinds, types) for code in languages})
