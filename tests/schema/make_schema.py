"""A record of what readers ask -> JSON Schema 2020-12."""

import json

DRAFT = "https://json-schema.org/draft/2020-12/schema"
SIZE_MAX = 100_000  # bytes of a schema: a generator that runs away is stopped
SHARED_MIN = 60  # bytes from which what stands there twice is said once
WHOLE_MAX = 2**31 - 1  # what fits is no limit that anybody means
QUANTITIES = ["bandwidth", "duration", "bytes", "metres", "watts", "flop_rate"]
TEXT = {"type": ["string", "number", "boolean"], "minLength": 1}


def ref(name):
    return {"$ref": f"#/$defs/{name}"}


def quantity(units):
    words = "|".join(sorted(units))
    return {"type": "string", "pattern": f"^ *[0-9]+([.][0-9]+)? *({words}) *$"}


def limits_of(rows, widest):
    """What all places agree on: a limit may depend on what else the file says."""
    out = {}
    for at, word in enumerate(["minimum", "maximum"]):
        values = {row[at] for row in rows}
        value = values.pop()
        if not values and abs(value) < widest:
            out[word] = int(value) if value == int(value) else value
    return out


def scalar(kind, rows):
    if kind == "choice":
        words = list(dict.fromkeys(word for row in rows for word in row[2]))
        return {"enum": words}
    if kind == "flag":
        return {"type": "boolean"}
    if kind == "whole":
        return {"type": "integer", **limits_of(rows, WHOLE_MAX)}
    if kind == "number":
        return {"type": "number", **limits_of(rows, float("inf"))}
    return ref(kind)


class Schema:
    def __init__(self, record):
        self.record, self.units = record, {}
        self.circular = {}  # path -> name of its definition
        self.doing = []

    def value(self, path, name, key):
        step = (*path, name)
        forms = []
        for kind, rows in key.types().items():
            if kind == "child":
                forms.append(self.mapping(step))
            elif kind == "children":
                forms.append({"type": "array", "items": self.mapping((*step, "[]"))})
            elif kind == "table":
                below = self.mapping((*step, "*"))
                forms.append({"type": "object", "additionalProperties": below})
            elif kind == "texts":
                forms.append({"type": "array", "items": ref("text")})
            else:
                forms.append(scalar(kind, rows))
        return forms[0] if len(forms) == 1 else {"anyOf": forms}

    def mapping(self, path):
        path = self.record.path("\n".join(path))
        if path in self.doing:
            return ref(self.circular.setdefault(path, path[-2] if path[-1] == "[]" else path[-1]))
        self.doing.append(path)
        mapping = self.record.mappings.get(path)
        out = {"type": "object"}
        known = mapping.keys.items() if mapping else ()
        keys = {name: self.value(path, name, key) for name, key in known if key.type()}
        if mapping and mapping.open:
            out["additionalProperties"] = keys.get("*", True)
        elif keys:
            out["properties"] = keys
            if required := [name for name, key in known if key.required]:
                out["required"] = required
            if mapping.closed:
                out["additionalProperties"] = False
        self.doing.pop()
        return out

    def whole(self, title, note):
        root = self.mapping(())
        defs = {}
        for path, name in self.circular.items():
            self.doing = []
            defs[name] = self.mapping(path)
        kind = root["properties"].get("kind")
        if kind:
            root["properties"]["kind"] = {"const": self.record.kind}
        if self.circular:
            root = with_circles(root, defs)
        root, shared = shared_once(root, defs)
        for name in {one for one in refs_of([root, shared]) if one not in shared}:
            shared[name] = TEXT if name == "text" else quantity(self.record.units(name))
        out = {"$schema": DRAFT, "title": title, "description": note, **root}
        out["$defs"] = dict(sorted(shared.items()))
        size = len(json.dumps(out))
        assert size < SIZE_MAX, f"{self.record.kind}: a schema of {size} B is wrong"
        return out


def refs_of(tree):
    if isinstance(tree, dict):
        if isinstance(tree.get("$ref"), str):
            yield tree["$ref"].removeprefix("#/$defs/")
        for value in tree.values():
            yield from refs_of(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from refs_of(value)


def with_circles(tree, defs):
    """A mapping that holds itself is a definition wherever it stands."""
    for name, one in defs.items():
        if tree == one:
            return ref(name)
    if isinstance(tree, dict):
        return {key: with_circles(value, defs) for key, value in tree.items()}
    return tree


def shared_once(root, defs):
    """What stands there more than once becomes a definition, named like the key it belongs to."""
    counts, names = {}, {}

    def is_schema(value):
        return isinstance(value, dict) and ("type" in value or "enum" in value or "anyOf" in value)

    def count(value, name):
        if not isinstance(value, dict):
            return
        if is_schema(value):
            text = json.dumps(value)
            counts[text] = counts.get(text, 0) + 1
            names.setdefault(text, name)
            if counts[text] > 1:
                return
        for key, item in value.items():
            count(item, name if key in ("items", "additionalProperties", "properties") else key)

    out = {}

    def replace(value):
        if not isinstance(value, dict):
            return value
        text = json.dumps(value)
        if counts.get(text, 0) > 1 and len(text) > SHARED_MIN:
            name = names[text]
            number = 2
            while name in out and out[name][0] != text:
                name, number = f"{names[text]}_{number}", number + 1
            if name not in out:
                out[name] = (text, None)
                out[name] = (text, {key: replace(item) for key, item in value.items()})
            return ref(name)
        return {key: replace(item) for key, item in value.items()}

    for name, one in {"": root, **defs}.items():
        count(one, name)
    for name, one in defs.items():
        out[name] = (json.dumps(one), {})
    for name, one in defs.items():
        out[name] = (json.dumps(one), {key: replace(item) for key, item in one.items()})
    root = {key: replace(item) for key, item in root.items()}
    return root, {name: one for name, (_, one) in out.items()}
