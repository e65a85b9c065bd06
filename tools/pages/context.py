"""Where in a page a value stands. A small reader of HTML that takes only what leaves no doubt: quoted attributes, every tag
closed, no style, no script but JSON-LD and files. Values are escaped for the place that it finds."""
import copy
import re

from mistake import Mistake

VOID = {"area", "br", "col", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
REFUSED = {"style", "base", "iframe", "object", "embed", "template", "noscript", "plaintext", "xmp", "frame", "frameset", "math"}
URLS = {"href", "src", "action", "formaction", "cite", "poster"}
PLAIN_ONLY = {"http-equiv", "srcset", "imagesrcset", "srcdoc", "ping", "rel", "type", "id_prefix", "target"}
RAW_TEXT = {"title", "textarea"}
TAG = re.compile(r"<(/?)([a-z][a-z0-9]*)(?=[\s/>]|\Z)")
ATTRIBUTE = re.compile(r"([a-z][a-z0-9:_-]*)(=)?", re.I)


class Place:
    """The state between two pieces of a template."""

    def __init__(self):
        self.mode = "text"  # text, tag, attribute, raw (title, textarea), json, comment
        self.open = []  # (element, line)
        self.tag = None
        self.tag_line = 0
        self.is_closing = False
        self.attributes = {}
        self.has_gap = False  # white space before the next attribute
        self.attribute = None
        self.value = ""  # what of the attribute is known; \0 stands for a value
        self.in_json_string = False

    def key(self):
        known = self.value if self.mode == "attribute" and self.attribute in URLS else ""
        return (self.mode, [name for name, _ in self.open], self.tag, self.attribute, bool(known), self.in_json_string)

    def fork(self):
        return copy.deepcopy(self)


def read_text(place, text, path, line):
    """Moves the place over literal text; gives the text as it is sent."""
    out, at = [], 0
    while at < len(text):
        here = line + text.count("\n", 0, at)
        step = {"text": in_text, "tag": in_tag, "attribute": in_attribute, "raw": in_raw, "json": in_json,
                "comment": in_comment}[place.mode]
        piece, at = step(place, text, at, path, here)
        out.append(piece)
    return "".join(out)


def in_text(place, text, at, path, line):
    end = text.find("<", at)
    end = len(text) if end < 0 else end
    if end > at:
        run = text[at:end]
        if re.search(r">", run):
            raise Mistake(path, line + run[:run.index(">")].count("\n"), "a > in the text: write &gt;")
        inside = {name for name, _ in place.open}
        return (run if "pre" in inside else re.sub(r"\s+", lambda m: "\n" if "\n" in m[0] else " ", run)), end
    if text.startswith("<!--", at):
        place.mode = "comment"
        return "", at + 4
    if text[at:at + 15].lower() == "<!doctype html>":
        return text[at:at + 15], at + 15
    match = TAG.match(text, at)
    if not match:
        raise Mistake(path, line, "a < that opens no tag: write &lt;, and tags in small letters")
    place.mode, place.tag, place.tag_line = "tag", match[2], line
    place.is_closing, place.attributes, place.has_gap = bool(match[1]), {}, False
    if place.tag in REFUSED:
        raise Mistake(path, line, f"<{place.tag}> has no place in a page")
    return match[0], match.end()


def in_tag(place, text, at, path, line):
    match = re.compile(r"\s+").match(text, at)
    if match:
        place.has_gap = True
        return " ", match.end()
    if text[at] == ">":
        end_of_tag(place, path, line)
        return ">", at + 1
    if text.startswith("/>", at) and place.open and "svg" in {n for n, _ in place.open} and not place.is_closing:
        place.mode, place.tag = "text", None
        return "/>", at + 2
    match = ATTRIBUTE.match(text, at)
    if not match or place.is_closing or not place.has_gap:
        raise Mistake(path, line, f"not an attribute of <{place.tag}>: {text[at:at + 10].strip()}")
    name = match[1].lower()
    if name.startswith("on") or name == "style" or name == "srcdoc":
        raise Mistake(path, line, f"the attribute {name} has no place in a page")
    if name in place.attributes:
        raise Mistake(path, line, f"the attribute {name} is there twice")
    place.attributes[name] = None
    place.has_gap = False
    if not match[2]:
        return match[0], match.end()
    if not text.startswith('"', match.end()):
        raise Mistake(path, line, f'the value of {name} needs quotes: {name}="…"')
    place.mode, place.attribute, place.value = "attribute", name, ""
    return match[0] + '"', match.end() + 1


def in_attribute(place, text, at, path, line):
    end = text.find('"', at)
    piece = text[at:] if end < 0 else text[at:end]
    if "<" in piece or ">" in piece:
        raise Mistake(path, line, f"a < or > in the attribute {place.attribute}: is its quote closed?")
    place.value += piece
    if end < 0:
        return piece, len(text)
    if place.attribute in URLS and re.match(r"\s*(javascript|data|vbscript):", place.value, re.I):
        raise Mistake(path, line, f"{place.value}: not an address for {place.attribute}")
    place.attributes[place.attribute] = place.value
    place.mode, place.attribute = "tag", None
    return piece + '"', end + 1


def in_raw(place, text, at, path, line):
    element = place.open[-1][0]
    end = text.find(f"</{element}>", at)
    piece = text[at:] if end < 0 else text[at:end]
    if "<" in piece:
        raise Mistake(path, line, f"a < inside <{element}>")
    if end < 0:
        return piece, len(text)
    place.open.pop()
    place.mode = "text"
    return piece + f"</{element}>", end + len(element) + 3


def in_json(place, text, at, path, line):
    end = text.find("</script>", at)
    piece = text[at:] if end < 0 else text[at:end]
    if "<" in piece:
        raise Mistake(path, line, "a < in script data")
    for char in re.sub(r"\\.", "", piece):
        if char == '"':
            place.in_json_string = not place.in_json_string
    piece = re.sub(r"\s*\n\s*", "", piece)
    if end < 0:
        return piece, len(text)
    if place.in_json_string:
        raise Mistake(path, line, "a string that is not closed")
    place.open.pop()
    place.mode = "text"
    return piece + "</script>", end + 9


def in_comment(place, text, at, path, line):
    end = text.find("-->", at)
    if end < 0:
        raise Mistake(path, line, "a comment that is not closed, or holds a value")
    place.mode = "text"
    return "", end + 3


def end_of_tag(place, path, line):
    tag = place.tag
    place.mode, place.tag = "text", None
    if place.is_closing:
        if not place.open or place.open[-1][0] != tag:
            was = f"<{place.open[-1][0]}> of line {place.open[-1][1]}" if place.open else "nothing"
            raise Mistake(path, line, f"</{tag}> closes {was}")
        place.open.pop()
        return
    if tag in VOID:
        return
    place.open.append((tag, place.tag_line))
    if tag in RAW_TEXT and "svg" not in {name for name, _ in place.open[:-1]}:
        place.mode = "raw"
    elif tag == "script":
        if place.attributes.get("type") == "application/ld+json":
            place.mode, place.in_json_string = "json", False
        elif not (place.attributes.get("src") or "").startswith(("/", "\0")):
            raise Mistake(path, place.tag_line, "a script is a file of ours (src) or JSON-LD: there is no other")


def of_value(place, kind, path, line):
    """Which escaping a value of this type gets here: text, url, component or json. Marks the place."""
    if place.mode in ("text", "raw"):
        if kind == "markup" and place.mode == "raw":
            raise Mistake(path, line, "markup where only text can stand")
        return "markup" if kind == "markup" else "text"
    if kind == "markup":
        raise Mistake(path, line, "markup where only text can stand")
    if place.mode == "attribute":
        before, name = place.value, place.attribute
        place.value += "\0"
        if name in PLAIN_ONLY:
            raise Mistake(path, line, f"the attribute {name} takes no values")
        if name not in URLS:
            return "text"
        if not before:
            if kind != "url":
                raise Mistake(path, line, f"{name} begins with a value that is no url, but {kind}")
            return "url"
        if not re.match(r"/|\?|#|https?://|mailto:", before) and before[0] != "\0":
            raise Mistake(path, line, f"the address {before!r} begins with no known scheme")
        return "component"
    if place.mode == "json":
        if place.in_json_string:
            raise Mistake(path, line, "a value inside of a string: it brings its own quotes")
        return "json"
    raise Mistake(path, line, "a value needs quotes around it" if place.mode == "tag" else "a value inside of a comment")
