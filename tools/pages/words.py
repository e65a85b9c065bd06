"""The words of the shop, one file per language: `name = text`, placeholders in braces, plural forms as name.one and name.other.

    add_to_cart = Add to cart
    valid_until = Valid until {when:date}
    items.one = {count} item
    items.other = {count} items

Every language has the same words with the same placeholders of the same types. `{count}` is an int and chooses the
form; anything else is text unless it says `:int`, `:money` or `:date`. `\\n` is a line break."""
import re

from mistake import Mistake

# For whom a plural form is chosen how: src/page/words.c has the rules, and dates and amounts, of these.
KNOWN = ("en", "de", "es", "fr")
TYPES = {"text", "int", "money", "date"}
LINE = re.compile(r"([a-z][a-z0-9_]*)(?:\.(one|other))? *= *(.*)")
PLACE = re.compile(r"\{([a-z][a-z0-9_]*)(?::([a-z]+))?\}")


class Word:
    def __init__(self, line):
        self.line = line
        self.forms = {}  # "" or one and other -> text
        self.places = {}  # name -> type


def read_language(path):
    found = {}
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        match = LINE.fullmatch(line.rstrip())
        if not match:
            raise Mistake(path, number, "expected `name = text`")
        name, form, text = match[1], match[2] or "", match[3]
        if not text:
            raise Mistake(path, number, f"the word {name} is empty")
        word = found.setdefault(name, Word(number))
        if form in word.forms or ("" in word.forms and form) or (not form and word.forms):
            raise Mistake(path, number, f"the word {name} is there twice")
        word.forms[form] = text
        if re.search(r"[{}]", PLACE.sub("", text)):
            raise Mistake(path, number, f"the word {name} has a brace that belongs to no placeholder")
        for place, kind in PLACE.findall(text):
            kind = kind or ("int" if place == "count" else "text")
            if kind not in TYPES or word.places.get(place, kind) != kind:
                raise Mistake(path, number, f"{kind} cannot be the type of {{{place}}}")
            word.places[place] = kind
    for name, word in found.items():
        if "" not in word.forms and set(word.forms) != {"one", "other"}:
            raise Mistake(path, word.line, f"the word {name} needs both .one and .other")
        if "" not in word.forms and word.places.get("count") != "int":
            raise Mistake(path, word.line, f"the word {name} has plural forms and no {{count}}")
    return found


class Words:
    def __init__(self, languages):
        self.languages = languages  # code -> {name: Word}, `en` first
        self.all = languages["en"]

    def text(self, code, name, form):
        """The text with its placeholders as \\1 and the number of the argument, counted from 1."""
        word = self.languages[code][name]
        order = list(self.all[name].places)
        text = word.forms[form].replace("\\n", "\n")
        return PLACE.sub(lambda m: "\1" + chr(order.index(m[1]) + ord("1")), text)


def read_words(folder):
    paths = {path.name: path for path in sorted(folder.iterdir()) if not path.name.startswith(".")}
    if "en" not in paths:
        raise Mistake(folder / "en", 1, "there is no such file, and it says which words there are")
    for code, path in paths.items():
        if code not in KNOWN:
            raise Mistake(path, 1, f"how {code} counts and writes dates is not known: add it to src/page/words.c")
    languages = {code: read_language(paths[code]) for code in ("en", *(c for c in paths if c != "en"))}
    for code, found in languages.items():
        for name, word in languages["en"].items():
            if name not in found:
                raise Mistake(paths[code], 1, f"the word {name} is missing")
            other = found[name]
            if other.places != word.places:
                raise Mistake(paths[code], other.line, f"the word {name} has other placeholders than in en")
            if ("" in other.forms) != ("" in word.forms):
                raise Mistake(paths[code], other.line, f"the word {name} has plural forms in one language only")
            if len(word.places) > 9:
                raise Mistake(paths[code], other.line, f"the word {name} has more than 9 placeholders")
        for name, word in found.items():
            if name not in languages["en"]:
                raise Mistake(paths[code], word.line, f"the word {name} is not in en")
    return Words(languages)
