"""Templates as C: a struct of parameters and a function that writes into a struct page (src/page/template.h)."""
import re

import context
from mistake import Mistake
from template import Node, Type

C_TYPES = {"text": "Str", "url": "Str", "markup": "struct markup", "int": "int64_t", "money": "Money", "bool": "bool",
           "time": "Time", "word": "enum word"}
# Type -> manner ("" is the default) -> how it becomes a Str.
MANNERS = {
    "text": {"": "{}"},
    "url": {"": "{}"},
    "markup": {"": "{}"},
    "int": {"": "page_int(p, {})"},
    "money": {"": "page_money(p, {})", "plain": "page_money_plain(p, {})"},
    "time": {"date": "page_date(p, {})", "moment": "page_moment(p, {})", "iso": "page_iso(p, {})"},
    "word": {"": "words_text(p->lang, {})"},
}
# Escaping -> function of src/page/template.h.
WRITERS = {"text": "page_text", "url": "page_url", "component": "page_component", "json": "page_json",
           "markup": "page_markup", "plain": "page_plain"}
JSON_ONLY = {"bool": "page_json_bool", "int": "page_json_int"}


def c_bytes(data):
    """String literals, a line for each hundred bytes; octal escapes end after three digits, so a digit may follow."""
    escapes = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "?": "\\?"}
    out = [escapes.get(chr(b)) or (chr(b) if 0x20 <= b < 0x7F else f"\\{b:03o}") for b in data]
    return "\n".join('"' + "".join(out[i:i + 100]) + '"' for i in range(0, len(out), 100)) or '""'


def c_string(text):
    return c_bytes(text.encode())


def c_type(kind):
    if kind.is_list:
        return f"struct page_{kind.name}_list"
    return f"struct page_{kind.record}" if kind.record else C_TYPES[kind.name]


class Emitter:
    def __init__(self, templates, records, words, assets, mails):
        self.templates, self.records, self.words, self.assets, self.mails = templates, records, words, assets, mails
        self.functions = []

    # ---- one template ----

    def template(self, template):
        self.lines, self.depth, self.literal, self.loops = [], 1, "", 0
        self.is_html, self.place = template.is_html, context.Place()
        self.scope = {name: (kind, f"in->{name}") for name, kind in self.params(template).items()}
        nodes = self.with_layout(template)
        self.nodes(nodes)
        self.flush()
        if self.is_html and (self.place.mode != "text" or self.place.open):
            where = self.place.open[-1] if self.place.open else (self.place.tag, self.place.tag_line)
            raise Mistake(template.path, where[1], f"<{where[0]}> is not closed")
        self.functions.append(f"void page_write_{template.name}(struct page *p, const struct page_{template.name} *in)\n{{\n"
                              + "    (void)p;\n    (void)in;\n" + "".join(self.lines) + "}\n")

    def layout_of(self, template):
        if not template.layout:
            return None
        layout = self.templates.get(template.layout)
        if not layout or layout.layout or layout.is_html != template.is_html:
            raise Mistake(template.path, template.line_of_layout, f"{template.layout} is no template that can be a layout")
        return layout

    def params(self, template):
        layout = self.layout_of(template)
        both = dict(layout.params) if layout else {}
        for name, kind in template.params.items():
            if name in both:
                raise Mistake(template.path, template.line_of_layout, f"the parameter {name} is the layout's, too")
            both[name] = kind
        if not both:
            raise Mistake(template.path, 1, "a template needs a parameter")
        return both

    def with_layout(self, template):
        layout = self.layout_of(template)
        if not layout:
            return template.body
        slots = {node.name for node in self.every(layout.body) if node.kind == "slot"}
        for name, fill in template.fills.items():
            if name not in slots:
                raise Mistake(template.path, fill.line, f"the layout has no slot {name}")

        def filled(nodes):
            for node in nodes:
                if node.kind == "slot":
                    fill = template.fills.get(node.name)
                    yield Node("block", node.line, node.path, body=fill.body if fill else [])
                elif node.kind == "if":
                    yield Node("if", node.line, node.path, branches=[(c, list(filled(b))) for c, b in node.branches],
                               otherwise=None if node.otherwise is None else list(filled(node.otherwise)))
                else:
                    yield node
        return list(filled(layout.body))

    def every(self, nodes):
        for node in nodes:
            yield node
            if node.kind == "if":
                for _, body in node.branches:
                    yield from self.every(body)
                yield from self.every(node.otherwise or [])
            elif node.kind in ("for", "fill"):
                yield from self.every(node.body)

    # ---- nodes ----

    def line(self, text):
        self.lines.append("    " * self.depth + text + "\n")

    def flush(self):
        if self.literal:
            self.line(f"page_raw(p, STR({c_string(self.literal)}));")
            self.literal = ""

    def nodes(self, nodes):
        for node in nodes:
            getattr(self, f"node_{node.kind}")(node)

    def node_block(self, node):
        was = self.place.key()
        self.nodes(node.body)
        self.same_place(was, node.body[-1] if node.body else node, "a slot's filling")

    def node_text(self, node):
        text = context.read_text(self.place, node.text, node.path, node.line) if self.is_html else node.text
        self.literal += text

    def node_value(self, node):
        kind, c = self.look_up(node.what, node)
        if kind.is_list or kind.record:
            raise Mistake(node.path, node.line, f"{node.what} is a {kind}: name a field of it")
        how = context.of_value(self.place, kind.name, node.path, node.line) if self.is_html else "plain"
        self.flush()
        if how == "json" and kind.name in JSON_ONLY and not node.manner:
            return self.line(f"{JSON_ONLY[kind.name]}(p, {c});")
        manner = node.manner or ("plain" if how == "json" and kind.name == "money" else "iso" if how == "json" and kind.name == "time" else "")
        self.line(f"{WRITERS[how]}(p, {self.as_str(kind, manner, c, node)});")

    def as_str(self, kind, manner, c, node):
        manners = MANNERS.get(kind.name, {})
        if manner not in manners:
            choices = ", ".join(m for m in manners if m) or "none"
            raise Mistake(node.path, node.line, f"a {kind} is not shown as {manner or 'it is'}: one of {choices}")
        return manners[manner].format(c)

    def node_word(self, node):
        how = context.of_value(self.place, "text", node.path, node.line) if self.is_html else "plain"
        self.flush()
        self.line(f"{WRITERS[how]}(p, {self.word(node.name, node.args, node)});")

    def word(self, name, args, node):
        word = self.words.all.get(name)
        if not word:
            raise Mistake(node.path, node.line, f"no word is called {name}")
        for place in word.places:
            if place not in args:
                raise Mistake(node.path, node.line, f"the word {name} wants {place}")
        for arg in args:
            if arg not in word.places:
                raise Mistake(node.path, node.line, f"the word {name} has no {{{arg}}}")
        if not word.places:
            return f"words_text(p->lang, WORD_{name})"
        texts, count = [], "0"
        for place, wanted in word.places.items():
            kind, c = self.argument(args[place], node)
            fits = {"text": ("text", "word", "url"), "int": ("int",), "money": ("money",), "date": ("time",)}[wanted]
            if kind.is_list or kind.name not in fits:
                raise Mistake(node.path, node.line, f"{place} of the word {name} is {wanted}, not {kind}")
            texts.append(self.as_str(kind, "date" if wanted == "date" else "", c, node))
            if place == "count":
                count = c
        return f"words_fill(p, WORD_{name}, {count}, (Str[]){{{', '.join(texts)}}}, {len(texts)})"

    def argument(self, text, node):
        if re.fullmatch(r"-?[0-9]+", text):
            return Type("int", False), f"INT64_C({text})"
        if text.startswith("@"):
            word = self.words.all.get(text[1:])
            if not word or word.places:
                raise Mistake(node.path, node.line, f"no word without placeholders is called {text[1:]}")
            return Type("word", False), f"WORD_{text[1:]}"
        return self.look_up(text, node)

    def look_up(self, what, node):
        first, *rest = what.split(".")
        if first not in self.scope:
            raise Mistake(node.path, node.line, f"no parameter is called {first}")
        kind, c = self.scope[first]
        for field in rest:
            if kind.is_list and field == "count":
                kind, c = Type("int", False), f"(int64_t){c}.count"
                continue
            if not kind.record or kind.is_list or field not in self.records[kind.record]:
                raise Mistake(node.path, node.line, f"a {kind} has no {field}")
            kind, c = self.records[kind.record][field], f"{c}.{field}"
        return kind, c

    # ---- statements ----

    def condition(self, condition, node):
        joiner, terms = condition
        made = []
        for negated, what, other in terms:
            kind, c = self.look_up(what, node)
            test = self.equals(kind, c, other, node) if other else self.truth(kind, c, what, node)
            made.append(f"!({test})" if negated else test)
        return f" {'&&' if joiner == 'and' else '||'} ".join(f"({t})" if len(made) > 1 else t for t in made)

    def truth(self, kind, c, what, node):
        if kind.is_list:
            return f"{c}.count > 0"
        tests = {"text": "{}.len > 0", "url": "{}.len > 0", "markup": "{}.html.len > 0", "int": "{} != 0", "money": "{}.minor != 0",
                 "bool": "{}", "time": "{}.ms != 0", "word": "{} != WORD_NONE"}
        if kind.record:
            raise Mistake(node.path, node.line, f"{what} is a {kind}: name a field of it")
        return tests[kind.name].format(c)

    def equals(self, kind, c, other, node):
        if other.startswith('"'):
            if kind.name not in ("text", "url") or kind.is_list:
                raise Mistake(node.path, node.line, f"a {kind} is never equal to a text")
            return f"str_eq({c}, STR({c_string(other[1:-1])}))"
        other_kind, other_c = self.argument(other, node)
        if kind.name != other_kind.name or kind.is_list or kind.name not in ("text", "int", "word"):
            raise Mistake(node.path, node.line, f"a {kind} and a {other_kind} are not compared")
        return f"str_eq({c}, {other_c})" if kind.name == "text" else f"{c} == {other_c}"

    def same_place(self, was, node, what):
        if self.is_html and self.place.key() != was:
            opened = self.place.open[-1] if self.place.open else None
            hint = f" (<{opened[0]}> of line {opened[1]} is open)" if opened and len(self.place.open) > len(was[1]) else ""
            raise Mistake(node.path, node.line, f"{what} ends somewhere else in the page than it began{hint}")

    def not_in_start_of_url(self, node):
        place = self.place
        if self.is_html and place.mode == "attribute" and place.attribute in context.URLS and not place.value:
            raise Mistake(node.path, node.line, f"{place.attribute} begins with a condition: make it begin with text or a url")

    def node_if(self, node):
        self.not_in_start_of_url(node)
        self.flush()
        before = self.place
        for number, (condition, body) in enumerate(node.branches):
            self.line(f"{'} else ' if number else ''}if ({self.condition(condition, node)}) {{")
            self.branch(before, body, node)
        if node.otherwise is not None:
            self.line("} else {")
            self.branch(before, node.otherwise, node)
        self.line("}")

    def branch(self, before, body, node):
        self.place = before.fork()
        self.depth += 1
        self.nodes(body)
        self.flush()
        self.depth -= 1
        self.same_place(before.key(), node, f"a branch of this `{node.kind}`")
        self.place = before

    def node_for(self, node):
        kind, c = self.look_up(node.what, node)
        if not kind.is_list:
            raise Mistake(node.path, node.line, f"{node.what} is no list, but {kind}")
        if node.name in self.scope:
            raise Mistake(node.path, node.line, f"{node.name} is something else here already")
        self.not_in_start_of_url(node)
        self.flush()
        self.loops += 1
        i = f"i{self.loops}"
        self.line(f"for (size_t {i} = 0; {i} < {c}.count; {i}++) {{")
        self.scope[node.name] = (Type(kind.name, False), f"{c}.at[{i}]")
        self.branch(self.place, node.body, node)
        del self.scope[node.name]
        self.line("}")

    def node_include(self, node):
        part = self.templates.get(node.name)
        if not part or part.layout or part.is_html != self.is_html:
            raise Mistake(node.path, node.line, f"no part is called {node.name}")
        if self.is_html and self.place.mode != "text":
            raise Mistake(node.path, node.line, "a part stands between tags")
        fields = []
        for name, kind in part.params.items():
            if name not in node.args:
                raise Mistake(node.path, node.line, f"{node.name} wants {name}")
            given, c = self.argument(node.args[name], node)
            if given != kind:
                raise Mistake(node.path, node.line, f"{name} of {node.name} is {kind}, not {given}")
            fields.append(f".{name} = {c}")
        for name in node.args:
            if name not in part.params:
                raise Mistake(node.path, node.line, f"{node.name} has no parameter {name}")
        self.flush()
        self.line(f"page_write_{part.name}(p, &(const struct page_{part.name}){{{', '.join(fields)}}});")

    def node_slot(self, node):
        """A layout alone: its slots are empty."""

    def node_fill(self, node):
        raise Mistake(node.path, node.line, "`fill` without a layout")

    # ---- files ----

    def fields(self, fields):
        return "".join(f"    {c_type(kind)} {name};\n" for name, kind in fields.items())

    def header(self, name):
        codes = list(self.words.languages)
        out = ["/* Made by tools/pages from web/shop. */\n#pragma once\n\n"
               '#include "base/money.h"\n#include "base/timestamp.h"\n\nstruct page;\n\n',
               "enum lang {\n" + "".join(f"    LANG_{c},\n" for c in codes) + "    LANG_COUNT\n};\n\n",
               "enum word {\n    WORD_NONE,\n" + "".join(f"    WORD_{w},\n" for w in sorted(self.words.all))
               + "    WORD_COUNT\n};\n\n",
               "enum mail_kind {\n" + "".join(f"    MAIL_{k},\n" for k in self.mails.kinds) + "    MAIL_KIND_COUNT\n};\n\n",
               "enum mail_param {\n" + "".join(f"    PARAM_{p},\n" for p in self.mails.types)
               + "    MAIL_PARAM_COUNT\n};\n\n",
               "struct markup {\n    Str html;\n};\n\n",
               "struct page_text_list {\n    const Str *at;\n    size_t count;\n};\n",
               "struct page_word_list {\n    const enum word *at;\n    size_t count;\n};\n"]
        for record in self.records:
            out.append(f"struct page_{record};\nstruct page_{record}_list {{\n    const struct page_{record} *at;\n"
                       "    size_t count;\n};\n")
        for record, fields in self.records.items():
            out.append(f"\nstruct page_{record} {{\n{self.fields(fields)}}};\n")
        for template in self.templates.values():
            out.append(f"\nstruct page_{template.name} {{\n{self.fields(self.params(template))}}};\n"
                       f"void page_write_{template.name}(struct page *p, const struct page_{template.name} *in);\n")
        return "".join(out)

    def source(self, header):
        out = [f'/* Made by tools/pages from web/shop. */\n#include "page/template.h"\n#include "page/asset.h"\n#include "page/mail_text.h"\n#include "page/words.h"\n#include "page/{header}"\n\n',
               "const char *const lang_codes[LANG_COUNT] = {" + ", ".join(f'"{c}"' for c in self.words.languages) + "};\n",
               "const char *const word_names[WORD_COUNT] = {\n    \"\",\n"
               + "".join(f'    "{w}",\n' for w in sorted(self.words.all)) + "};\n"]
        for form in ("one", "other"):
            out.append(f"const Str words_{form}[LANG_COUNT][WORD_COUNT] = {{\n")
            for code in self.words.languages:
                rows = "".join(
                    f"        S({c_string(self.words.text(code, w, form if form in word.forms else ''))}),\n"
                    for w, word in sorted(self.words.all.items()))
                out.append(f"    {{\n        S(\"\"),\n{rows}    }},\n")
            out.append("};\n")
        out += self.mail_tables()
        out.append("const struct asset assets[] = {\n")
        for name, a in self.assets.items():
            out.append(f'    {{"{name}", "{a.name}", "{a.type}", "\\"{a.hash}\\"", "\\"{a.hash}-gz\\"",\n     S({c_bytes(a.plain)}),\n'
                       f"     S({c_bytes(a.gzip)})}},\n")
        out.append("    {0},\n};\n")
        return "".join(out) + "\n" + "\n".join(self.functions)

    def mail_tables(self):
        kinds, types = self.mails.kinds, self.mails.types
        out = ["const char *const mail_kind_names[] = {" + ", ".join(f'"{k}"' for k in kinds) + ", NULL};\n",
               "const char *const mail_param_names[] = {" + ", ".join(f'"{p}"' for p in types) + ", NULL};\n",
               "const enum mail_type mail_param_types[MAIL_PARAM_COUNT] = {"
               + ", ".join(f"MAIL_TYPE_{t.upper()}" for t in types.values()) + "};\n"]
        for kind in kinds.values():
            rows = "".join(f"    {{PARAM_{p}, S({c_string(sample)})}},\n" for p, sample in kind.params.items())
            out.append(f"static const struct mail_param_use uses_{kind.name}[] = {{\n{rows}}};\n")
        rows = "".join(f"    {{{'true' if k.to_staff else 'false'}, uses_{k.name}, {len(k.params)}}},\n" for k in kinds.values())
        out.append(f"const struct mail_kind_info mail_kinds[MAIL_KIND_COUNT] = {{\n{rows}}};\n")
        out.append("const struct mail_text mail_defaults[LANG_COUNT][MAIL_KIND_COUNT] = {\n")
        for code in self.words.languages:
            texts = self.mails.texts[code]
            rows = "".join(f"        {{S({c_string(texts[k][0])}), S({c_string(texts[k][1])})}},\n" for k in kinds)
            out.append(f"    {{\n{rows}    }},\n")
        out.append("};\n")
        return out
