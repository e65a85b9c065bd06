#!/usr/bin/env python3
"""Merges api/openapi.yaml and api/paths/*.yaml into one OpenAPI document.

    tools/openapi.py OUT.json OUT.c ROOT.yaml [PATHS.yaml...] [EXAMPLES.json...]

The root holds info, shared components and `x-standard-responses`: answers that every operation of a kind can give
(`always`, `secured`, `body`, `parameters`, `query`, `idempotent`, `limited`), added to the operations that do not
describe that status themselves; and `x-standard-headers` likewise. An operation that no rate limit counts is marked
`x-unlimited: true`. The envelope is not written out by hand. In a response,

    x-error: [code, …]      is an error with one of these codes (`errors` beside it where validation_failed is among them)
    x-data: SCHEMA | null   is a success with this `data`, or without any
    x-message: TEXT | true  adds `message` to it: this one, or any; {maybe: true}: not always
    x-list: SCHEMA          is a success with a page of such items: `data`, `meta`, and the header Link

Each paths file holds `paths` and, where it needs them, `components`. The examples are real answers, kept by
tools/examples.mjs: by operationId and status, and in errors.json by code.

Refused, all mistakes at once: a path and method or a component given twice, a $ref to nothing, an operation without
operationId, tags or security, an operationId given twice, a path parameter that is not declared (or the other way
round), and an object schema that does not say whether it is closed: the tests find undocumented members only where a
schema forbids them. Schemas meant to be used inside `allOf` say so with `x-abstract: true`.
"""

import glob
import gzip
import hashlib
import json
import os
import re
import sys

import yaml

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")


# Every call that takes a key may answer so, beside its own conflicts.
IDEMPOTENCY_KEY = {"$ref": "#/components/parameters/Idempotency-Key"}
KEY_CONFLICTS = ["answer_not_kept"]


# libyaml, where Debian has built it in, takes a fifth of the time.
class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """YAML 1.2's core types only (no dates, no `on` and `yes`), and no key twice in one mapping."""

    yaml_implicit_resolvers = {}

    def construct_mapping(self, node, deep=False):
        seen = set()
        for key_node, _ in node.value:
            key = key_node.value
            if key in seen:
                raise yaml.constructor.ConstructorError(None, None, f"key given twice: {key}", key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)


Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"^(?:null|~|)$"), ["n", "~", ""])
Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:true|false)$"), list("tf"))
Loader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"^-?(?:0|[1-9][0-9]*)$"), list("-0123456789"))
Loader.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(r"^-?(?:0|[1-9][0-9]*)\.[0-9]+$"), list("-0123456789"))


class Merger:
    def __init__(self):
        self.mistakes = []

    def mistake(self, where, what):
        self.mistakes.append(f"{where}: {what}")

    def load(self, path):
        try:
            with open(path, encoding="utf-8") as f:
                return yaml.load(f, Loader) or {}
        except yaml.YAMLError as e:
            self.mistake(path, str(e))
            return {}

    def merge(self, root_path, part_paths, example_paths):
        doc = self.load(root_path)
        doc.setdefault("paths", {})
        doc.setdefault("components", {})
        for path in part_paths:
            self.add_part(doc, path)
        listed = {os.path.realpath(p) for p in part_paths + example_paths}
        for pattern in ("paths/*.yaml", "examples/*.json"):
            for path in sorted(glob.glob(os.path.join(os.path.dirname(root_path), pattern))):
                if os.path.realpath(path) not in listed:
                    self.mistake(path, "is not in the build's list (api/meson.build)")
        self.expand_envelopes(doc)
        self.add_standard_responses(doc, doc.pop("x-standard-responses", {}))
        self.add_standard_headers(doc, doc.pop("x-standard-headers", {}))
        self.check_refs(doc, doc, "#")
        self.check_operations(doc)
        self.check_closed(doc.get("components", {}).get("schemas", {}), "#/components/schemas")
        for name in ("responses", "requestBodies"):
            self.check_closed(doc.get("components", {}).get(name, {}), f"#/components/{name}")
        self.check_closed(doc["paths"], "#/paths")
        strip_marks(doc)
        widen_integers(doc)
        tell_scopes(doc)
        settle_protocol_responses(doc)
        self.add_examples(doc, example_paths)
        doc["paths"] = dict(sorted(doc["paths"].items()))
        return doc

    def add_part(self, doc, path):
        part = self.load(path)
        for key in part:
            if key not in ("paths", "components", "tags"):
                self.mistake(path, f"`{key}` does not belong into a paths file")
        doc.setdefault("tags", []).extend(part.get("tags", []))
        for name, item in part.get("paths", {}).items():
            known = doc["paths"].setdefault(name, {})
            for key, value in item.items():
                if key in known:
                    self.mistake(path, f"{key} {name} is described twice")
                known[key] = value
        for kind, members in part.get("components", {}).items():
            known = doc["components"].setdefault(kind, {})
            for name, value in members.items():
                if name in known:
                    self.mistake(path, f"components/{kind}/{name} is described twice")
                known[name] = value

    def expand_envelopes(self, doc):
        for name, response in doc["components"].get("responses", {}).items():
            self.expand_envelope(response, f"#/components/responses/{name}")
        for name, item in doc["paths"].items():
            for method, operation in operations(item):
                for status, response in operation.get("responses", {}).items():
                    if status == "409" and IDEMPOTENCY_KEY in operation.get("parameters", []) and "x-error" in response:
                        response["x-error"] = response["x-error"] + KEY_CONFLICTS
                    self.expand_envelope(response, f"{method} {name} {status}")

    def expand_envelope(self, response, where):
        marks = [m for m in ("x-error", "x-data", "x-list") if m in response]
        if not marks:
            return
        if len(marks) > 1 or "content" in response:
            self.mistake(where, f"{', '.join(marks)}: one of them, and no content beside it")
            return
        value = response.pop(marks[0])
        if marks[0] == "x-error":
            base = "ValidationError" if "validation_failed" in value else "Error"
            codes = {"const": value[0]} if len(value) == 1 else {"enum": value}
            parts = [{"$ref": f"#/components/schemas/{base}"}, {"properties": {"code": codes}}]
            schema = {"allOf": parts, "unevaluatedProperties": False}
        else:
            members = {}
            if marks[0] == "x-list":
                members["data"] = {"type": "array", "items": value}
                members["meta"] = {"$ref": "#/components/schemas/Meta"}
                response.setdefault("headers", {})["Link"] = {"$ref": "#/components/headers/Link"}
            elif value is not None:
                members["data"] = value
            message = response.pop("x-message", None)
            if message is not None:
                members["message"] = {"const": message} if isinstance(message, str) else {"type": "string", "minLength": 1}
            schema = {"allOf": [{"$ref": "#/components/schemas/Success"}], "unevaluatedProperties": False}
            if members:
                always = [m for m in members if m != "message" or not isinstance(message, dict)]
                schema.update({"required": always, "properties": members})
        response["content"] = {"application/json": {"schema": schema}}

    def add_standard_responses(self, doc, standard):
        for name, item in doc["paths"].items():
            for method, operation in operations(item):
                parameters = [resolve(doc, p) for p in item.get("parameters", []) + operation.get("parameters", [])]
                places = {p.get("in") for p in parameters}
                names = {p.get("name") for p in parameters}
                kinds = {
                    "always": True,
                    "secured": bool(operation.get("security")),
                    "body": "requestBody" in operation,
                    "parameters": "path" in places,
                    "query": "query" in places,
                    "idempotent": "Idempotency-Key" in names,
                    "limited": not operation.get("x-unlimited", False),
                }
                responses = operation.setdefault("responses", {})
                for kind, group in standard.items():
                    if kind not in kinds:
                        self.mistake("x-standard-responses", f"no such kind: {kind}")
                    elif kinds[kind]:
                        for status, response in group.items():
                            responses.setdefault(str(status), response)
                operation["responses"] = {str(k): responses[k] for k in sorted(responses, key=str)}

    def add_standard_headers(self, doc, standard):
        def add(response, kind):
            for name, header in standard.get(kind, {}).items():
                response.setdefault("headers", {}).setdefault(name, header)

        for response in doc["components"].get("responses", {}).values():
            add(response, "always")
        for item in doc["paths"].values():
            for _, operation in operations(item):
                names = {resolve(doc, p).get("name") for p in operation.get("parameters", [])}
                for status, response in operation["responses"].items():
                    if "$ref" in response:
                        continue
                    add(response, "always")
                    if not operation.get("x-unlimited", False):
                        add(response, "limited")
                    if "Idempotency-Key" in names and status[0] == "2":
                        add(response, "idempotent")

    def add_examples(self, doc, paths):
        kept, errors = {}, {}
        for path in paths:
            with open(path, encoding="utf-8") as f:
                (errors if os.path.basename(path) == "errors.json" else kept).update(json.load(f))
        for item in doc["paths"].values():
            for _, operation in operations(item):
                own = kept.pop(operation["operationId"], {})
                for status, response in operation["responses"].items():
                    put_examples(response, own.get(status, {}), errors)
                body = operation.get("requestBody", {}).get("content", {}).get("application/json")
                if body and "request" in own:
                    body.setdefault("example", own["request"])
        for name in kept:
            self.mistake("api/examples", f"there is no operation {name}")
        for response in doc["components"].get("responses", {}).values():
            put_examples(response, {}, errors)

    def check_refs(self, doc, node, where):
        if isinstance(node, dict):
            ref = node.get("$ref")
            if isinstance(ref, str) and lookup(doc, ref) is None:
                self.mistake(where, f"{ref} is not there")
            for key, value in node.items():
                self.check_refs(doc, value, f"{where}/{key}")
        elif isinstance(node, list):
            for i, value in enumerate(node):
                self.check_refs(doc, value, f"{where}/{i}")

    def check_operations(self, doc):
        ids = {}
        tags = {t["name"] for t in doc.get("tags", [])}
        for name, item in doc["paths"].items():
            for method, operation in operations(item):
                where = f"{method} {name}"
                for key in ("operationId", "tags", "security", "summary"):
                    if key not in operation:
                        self.mistake(where, f"has no {key}")
                for tag in operation.get("tags", []):
                    if tag not in tags:
                        self.mistake(where, f"tag {tag} is not declared")
                other = ids.setdefault(operation.get("operationId"), where)
                if other != where:
                    self.mistake(where, f"has the operationId of {other}")
                if not any(str(s)[0] in "23" for s in operation.get("responses", {})):
                    self.mistake(where, "describes no success")
                parameters = [resolve(doc, p) for p in item.get("parameters", []) + operation.get("parameters", [])]
                declared = {p["name"] for p in parameters if p.get("in") == "path"}
                used = set(re.findall(r"\{([^}]+)\}", name))
                if declared != used:
                    self.mistake(where, f"path parameters {sorted(used)}, but {sorted(declared)} declared")

    def check_closed(self, node, where, inside_all_of=False):
        if isinstance(node, list):
            for i, value in enumerate(node):
                self.check_closed(value, f"{where}/{i}", inside_all_of)
            return
        if not isinstance(node, dict):
            return
        is_schema = isinstance(node.get("properties"), dict) or ("allOf" in node and "/schema" in where)
        closed = "additionalProperties" in node or "unevaluatedProperties" in node
        if is_schema and not closed and not inside_all_of and not node.get("x-abstract"):
            self.mistake(where, "does not say whether other members are allowed (additionalProperties: false)")
        for key, value in node.items():
            if key in ("example", "examples", "const", "enum", "default"):
                continue
            inner = key in ("allOf", "if", "then", "else", "not") or (inside_all_of and key in ("oneOf", "anyOf"))
            self.check_closed(value, f"{where}/{key}", inner)


def codes_of(schema):
    """The codes of an error, as expand_envelope writes them."""
    for part in schema.get("allOf", []):
        code = part.get("properties", {}).get("code", {})
        if "const" in code or "enum" in code:
            return code.get("enum", [code.get("const")])
    return []


def put_examples(response, own, errors):
    content = response.get("content", {}).get("application/json")
    if not content:
        return
    names = codes_of(content.get("schema", {})) or list(own)
    examples = {name: {"value": own.get(name, errors.get(name))} for name in names if name in own or name in errors}
    if examples:
        content.pop("example", None)
        content["examples"] = examples


def operations(item):
    return [(m, item[m]) for m in METHODS if m in item]


def lookup(doc, ref):
    if not ref.startswith("#/"):
        return None
    node = doc
    for step in ref[2:].split("/"):
        step = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(node, dict) or step not in node:
            return None
        node = node[step]
    return node


def resolve(doc, node):
    return (lookup(doc, node["$ref"]) or {}) if "$ref" in node else node


def widen_integers(node):
    """Every integer of this API has 64 bits; generators of clients want that said each time."""
    if isinstance(node, dict):
        kind = node.get("type")
        if kind == "integer" or (isinstance(kind, list) and "integer" in kind):
            node.setdefault("format", "int64")
        for key, value in node.items():
            if key not in ("example", "examples", "const", "enum", "default"):
                widen_integers(value)
    elif isinstance(node, list):
        for value in node:
            widen_integers(value)


def tell_scopes(doc):
    """Which token an operation wants: as roles OpenAPI 3.1 knows them for bearer tokens, but tools do not, so in
    `x-scope` and in words."""
    for item in doc["paths"].values():
        for _, operation in operations(item):
            scopes = [scope for rule in operation.get("security", []) for scope in rule.get("bearer", [])]
            if not operation.get("security"):
                words = "Needs no token."
            elif scopes:
                words = f"Needs a token with the scope `{scopes[0]}`."
                operation["x-scope"] = scopes[0]
                operation["security"] = [{"bearer": []}]
            else:
                words = "Needs the token of a login."
            operation["description"] = f"{operation.get('description', '').rstrip()} {words}".lstrip()


def settle_protocol_responses(doc):
    """Answers that no operation names are written out where they are, not as components that nothing uses."""
    for status, response in doc.get("x-protocol-responses", {}).items():
        response = dict(resolve(doc, response))
        if "headers" in response:
            response["headers"] = {name: resolve(doc, header) for name, header in response["headers"].items()}
        doc["x-protocol-responses"][status] = response
    for kind in ("responses", "headers"):
        components = doc["components"].get(kind, {})
        used = json.dumps({key: value for key, value in doc.items() if key != "x-protocol-responses"})
        for name in [n for n in components if f'"#/components/{kind}/{n}"' not in used]:
            del components[name]


def strip_marks(node):
    """Marks that only this program reads."""
    if isinstance(node, dict):
        for mark in ("x-abstract", "x-unlimited"):
            node.pop(mark, None)
        for value in node.values():
            strip_marks(value)
    elif isinstance(node, list):
        for value in node:
            strip_marks(value)


def c_source(text):
    """The document as gzip, in string literals, a line each: numbers from 128 on would not fit where char is signed.
    Octal escapes end after three digits, so a digit may follow."""
    plain = text.encode("utf-8")
    packed = gzip.compress(plain, 9, mtime=0)
    etag = hashlib.sha256(plain).hexdigest()[:32]
    as_is = set(range(0x20, 0x7F)) - set(b'"\\?')
    lines = []
    for start in range(0, len(packed), 100):
        line = "".join(chr(b) if b in as_is else f"\\{b:03o}" for b in packed[start:start + 100])
        lines.append(f'    "{line}"')
    return (
        "/* Made by tools/openapi.py from api/. */\n"
        '#include "api/open/openapi_json.h"\n\n'
        "const struct web_file openapi_json = {\n"
        f'    "openapi.json", "application/json", "\\"{etag}\\"", "\\"{etag}-gz\\"", NULL,\n'
        + "\n".join(lines)
        + f",\n    {len(plain)}, {len(packed)}}};\n"
    )


def main(args):
    if len(args) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    merger = Merger()
    parts = [sorted(a for a in args[3:] if a.endswith(end)) for end in (".yaml", ".json")]
    doc = merger.merge(args[2], *parts)
    if merger.mistakes:
        for mistake in merger.mistakes:
            print(f"openapi: {mistake}", file=sys.stderr)
        return 1
    text = json.dumps(doc, ensure_ascii=False, separators=(",", ":"))
    with open(args[0], "w", encoding="utf-8") as f:
        f.write(text + "\n")
    with open(args[1], "w", encoding="utf-8") as f:
        f.write(c_source(text))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
