#!/usr/bin/python3
"""schemas.py ASK_READERS: schemas/KIND.json says what the readers of YAML take.

1. The files are what the readers say when they are asked (key_record.py). UPDATE_GOLDEN=1 rewrites
   them.
2. A file that a reader takes is right by the schema; each is broken in every way that a schema can
   express, and then both refuse it. So no schema is stricter than its reader, and none that lacks
   a key, a type, a unit or a word passes.
3. All keys that a reader knows, by its own hint, are in the schema.
4. Each shipped file names its schema in its first line."""

import collections
import json
import os
import sys

SKIPPED = 77
try:
    import jsonschema
    import yaml  # noqa: F401
except ImportError as missing:
    print(f"{missing}: see .ci/install")
    sys.exit(SKIPPED)

from key_record import UNKNOWN, Readers, Record
from kinds import KINDS, PAGES, ROOT, files_by_kind, shipped_files
from make_schema import QUANTITIES, Schema, scalar
from yaml_tree import Plain, typed

FOLDER = ROOT / "schemas"
LEAST_BROKEN = 1500  # ways, over all kinds
ALIKE = 3  # mappings with the same keys of the same types are broken: one reader has read them all


def same_as_readers(kind, made):
    path = FOLDER / f"{kind}.json"
    text = json.dumps(made, indent=1, ensure_ascii=False) + "\n"
    if os.environ.get("UPDATE_GOLDEN") == "1":
        FOLDER.mkdir(exist_ok=True)
        path.write_text(text)
    assert path.exists() and path.read_text() == text, (
        f"{path.name} is not what the readers say: run ctest with UPDATE_GOLDEN=1, review the diff"
    )


def broken_values(key):
    """Of a key that is there, values that neither takes, and what is wrong with each."""
    types = key.types()
    if set(types) & {"child", "children", "table", "texts"}:
        if "text" not in types:
            yield Plain("x"), "a text in place of more"
        yield [[Plain("x")]], "a list of lists"
        return
    yield {"x": Plain("x")}, "a mapping in place of a value"
    for kind, rows in types.items():
        if kind in QUANTITIES:
            yield Plain("1"), "no unit"
            yield Plain(f"1 {UNKNOWN}"), "an unknown unit"
        if kind == "choice":
            yield Plain(UNKNOWN), "an unknown word"
        if kind in ("flag", "whole", "number"):
            yield Plain("x"), f"no {kind}"
        if kind in ("whole", "number"):
            limits = scalar(kind, rows)
            if "minimum" in limits:
                yield Plain(int(limits["minimum"]) - 1), "too small"
            if "maximum" in limits:
                over = int(limits["maximum"])
                yield Plain(over + max(1, over // 100)), "too large"


def broken(record):
    """(file, tree, what is wrong); the tree is whole again when the next one is asked for."""
    alike = collections.Counter()
    for path, mapping in record.mappings.items():
        form = str(sorted((name, key.types(), key.required) for name, key in mapping.keys.items()))
        alike[form] += 1
        if alike[form] > ALIKE:
            continue
        where = ".".join(path)
        whole = record.focused(path)
        if mapping.closed and not mapping.open and whole:
            file, tree, value = whole
            value[UNKNOWN] = Plain("x")
            yield file, tree, f"{where}: an unknown key"
            del value[UNKNOWN]
        for name, key in mapping.keys.items():
            if not key.seen:
                continue
            has_it = whole and (name in whole[2] or (name == "*" and whole[2]))
            found = whole if has_it else record.focused(path, name) or whole
            if found:
                for tree, what in broken_at(key, name, *found[1:]):
                    yield found[0], tree, f"{where}.{name}: {what}"


def broken_at(key, name, tree, value):
    named = next(iter(value)) if name == "*" else name
    before = dict(value)
    for wrong, what in broken_values(key):
        value[named] = wrong
        yield tree, what
    if key.required:
        del value[named]
        yield tree, "is missing"
    value.clear()
    value.update(before)


def check_broken(readers, record, valid):
    count = 0
    for file, tree, what in broken(record):
        error, _ = readers.ask(record.kind, file, tree)
        assert error is not None, f"{record.kind}: {file}: {what}: the reader takes it"
        passes = valid.is_valid(typed(tree))
        assert not passes, f"{record.kind}: {file}: {what}: the schema takes it"
        count += 1
    return count


def check_known(record, schema):
    """Each key that a reader knows is one of the schema, where a file has the mapping."""
    for path, mapping in record.mappings.items():
        if not mapping.closed or mapping.open:
            continue
        for known in record.known(path):
            missing = known - {name for name, key in mapping.keys.items() if key.type()}
            assert not missing, f"{record.kind}: {path}: no {sorted(missing)} in the schema"


def check_kind(readers, kind, files):
    record = Record(readers, kind, files)
    title, page = KINDS[kind]
    assert record.good, f"no good file of kind {kind}"
    made = Schema(record).whole(title, f"Meaning of the keys: {PAGES}{page}")
    same_as_readers(kind, made)
    schema = json.loads((FOLDER / f"{kind}.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    valid = jsonschema.Draft202012Validator(schema)
    for file, tree in record.good + record.files:
        error = jsonschema.exceptions.best_match(valid.iter_errors(typed(tree)))
        assert error is None, f"{file}: by the schema: {error.json_path}: {error.message}"
    check_known(record, schema)
    return len(record.good + record.files), check_broken(readers, record, valid)


def check_first_lines():
    """An editor finds the schema of each shipped file, which is that of its kind."""
    for path, kind in shipped_files().items():
        schema = os.path.relpath(FOLDER / f"{kind}.json", path.parent)
        line = f"# yaml-language-server: $schema={schema}"
        assert path.read_text().split("\n", 1)[0] == line, f"{path}: the first line is to be {line}"


def main():
    readers = Readers(sys.argv[1])
    good = all_broken = 0
    for kind, files in files_by_kind().items():
        if sys.argv[2:] and kind not in sys.argv[2:]:
            continue
        taken, refused = check_kind(readers, kind, files)
        print(f"{kind}: {taken} good files, {refused} broken ones", flush=True)
        good, all_broken = good + taken, all_broken + refused
    check_first_lines()
    print(f"{good} good files, {all_broken} broken ones, {readers.asked} readings")
    assert sys.argv[2:] or all_broken >= LEAST_BROKEN, all_broken


if __name__ == "__main__":
    main()
