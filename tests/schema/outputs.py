#!/usr/bin/python3
"""outputs.py PROGRAM: schemas/report.json and topology.json say what --format json writes.

They are made of the answers of every command, which are then right by them, and which they refuse
when a key is missing or is something else. UPDATE_GOLDEN=1 rewrites them. `fabricast schema` shows
all schemas as they are in the folder."""

import copy
import json
import os
import re
import sys
from pathlib import Path

SKIPPED = 77
try:
    import jsonschema
except ImportError as missing:
    print(f"{missing}: see .ci/install")
    sys.exit(SKIPPED)

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cli"))
from make_schema import DRAFT  # noqa: E402
from program import GOOD, ROOT, arguments_of, run  # noqa: E402
from reports import MORE, NO_REPORT, answer, formats_of  # noqa: E402

FOLDER = ROOT / "schemas"
NAMES = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}
LONG = {"judge"}  # whose further runs take long
CELL = ["string", "boolean", "number", "null"]


def envelope(groups):
    """`groups`: what a column's name says of it, {(type, unit): names}."""
    text, thing = {"type": "string"}, {"type": "object"}
    column = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "minLength": 1},
            "type": {"enum": ["string", "boolean", "integer", "number"]},
            "unit": {"type": "string"},
            "part": {"type": "string", "minLength": 1},
        },
        "required": ["name", "type"],
        "additionalProperties": False,
        "allOf": [
            {
                "if": {"properties": {"name": {"enum": sorted(names)}}},
                "then": {"properties": {"type": {"const": kind}, **unit_of(unit)}},
            }
            for (kind, unit), names in sorted(groups.items())
        ],
    }
    table = {
        "name": {"type": "string", "minLength": 1},
        "columns": {"type": "array", "minItems": 1, "items": column},
        "rows": {"type": "array", "items": {"type": "array", "items": {"type": CELL}}},
    }
    note = {"level": text, "text": {"type": "string", "minLength": 1}}
    return {
        "schema_version": {"const": 1},
        "study": {"type": "string", "minLength": 1},
        "answer": text,
        "job": thing,
        "program": {"type": "string", "pattern": "^[0-9]+[.][0-9]+[.][0-9]+$"},
        "data": {"type": "string", "pattern": "^[0-9a-f]{16}$"},
        "seed": {"type": ["integer", "null"]},
        "digest": {"type": ["string", "null"], "pattern": "^[0-9a-f]{16}$"},
        "notes": {"type": "array", "items": whole(note)},
        "tables": {"type": "array", "minItems": 1, "items": whole(table)},
        "facts": thing,
    }


def unit_of(unit):
    return {"unit": {"const": unit}} if unit else {"unit": False}


def whole(properties):
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def report_schema(answers):
    columns = {}
    for one in answers:
        for table in one["tables"]:
            for column in table["columns"]:
                said = (column["type"], column.get("unit", ""))
                columns.setdefault(column["name"], set()).add(said)
    groups = {}
    for name, said in columns.items():
        if len(said) == 1:  # in some tables `value` is a text, in some a number
            groups.setdefault(said.pop(), []).append(name)
    return {
        "$schema": DRAFT,
        "title": "an answer: --format json of every command",
        "description": "Meaning of tables and columns: docs/reports.md",
        **whole(envelope(groups)),
    }


def form_of(values):
    """What all of these have in common."""
    if all(isinstance(value, dict) for value in values):
        names = list(dict.fromkeys(name for value in values for name in value))
        required = [name for name in names if all(name in value for value in values)]
        properties = {n: form_of([v[n] for v in values if n in v]) for n in names}
        return {"type": "object", "properties": properties, "required": required}
    if all(isinstance(value, list) for value in values):
        return {"type": "array", "items": form_of([item for value in values for item in value])}
    kinds = {NAMES[type(value)] for value in values}
    if kinds == {"integer", "number"}:
        kinds = {"number"}
    return {"type": kinds.pop() if len(kinds) == 1 else sorted(kinds)}


def topology_schema(answers):
    return {
        "$schema": DRAFT,
        "title": "a topology: topo --format json",
        "description": "docs/topo.md",
        **form_of(answers),
    }


def reports():
    out = []
    for command in GOOD:
        if command in NO_REPORT or "json" not in formats_of(command):
            continue
        for text in [GOOD[command], *([] if command in LONG else MORE.get(command, []))]:
            out.append(json.loads(answer(arguments_of(command, text), "json")))
    return out


def topologies():
    said = json.loads(answer(["list", "topologies"], "json"))
    names = [row[0] for row in said["tables"][0]["rows"]]
    return [json.loads(answer(["topo", name], "json")) for name in names]


def breaks(value, path=()):
    """Each place of a document once: without a key, and with something else in it."""
    if isinstance(value, dict) and value and len(path) < 3:
        for name in value:
            yield [*path, name], None
            yield [*path, name], [[[1]]]
            yield from breaks(value[name], (*path, name))
    elif isinstance(value, list) and value and len(path) < 3:
        yield from breaks(value[0], (*path, 0))


def broken(document, path, wrong):
    out = copy.deepcopy(document)
    at = out
    for step in path[:-1]:
        at = at[step]
    if wrong is None:
        del at[path[-1]]
    else:
        at[path[-1]] = wrong
    return out


def check(name, made, documents, loose):
    """`loose`: mappings whose keys no schema knows."""
    path = FOLDER / f"{name}.json"
    text = json.dumps(made, indent=1, ensure_ascii=False) + "\n"
    if os.environ.get("UPDATE_GOLDEN") == "1":
        path.write_text(text)
    assert path.exists() and path.read_text() == text, (
        f"{path.name} is not what the program says: run ctest with UPDATE_GOLDEN=1, review the diff"
    )
    jsonschema.Draft202012Validator.check_schema(made)
    valid = jsonschema.Draft202012Validator(made)
    for document in documents:
        error = jsonschema.exceptions.best_match(valid.iter_errors(document))
        assert error is None, f"{name}: {error.json_path}: {error.message}"
    lists = re.findall(r'"required": \[(.*?)\]', json.dumps(made))
    needed = set(re.findall(r"\w+", " ".join(lists)))
    count = 0
    for at, wrong in breaks(documents[0]):
        is_free = at[0] in loose and len(at) > 1
        if is_free or (wrong is None and at[-1] not in needed):
            continue
        count += 1
        assert not valid.is_valid(broken(documents[0], at, wrong)), (name, at, wrong)
    return count


def check_program():
    """`fabricast schema KIND` prints the file, and without a kind all kinds."""
    listed = run(["schema"], text=True).stdout.splitlines()
    files = sorted(FOLDER.glob("*.json"))
    assert [line.split()[0] for line in listed] == [path.stem for path in files], listed
    for path, line in zip(files, listed):
        assert run(["schema", path.stem], text=True).stdout == path.read_text(), path
        assert line.endswith(json.loads(path.read_text())["title"]), line
    wrong = run(["schema", "steps"], text=True)
    assert wrong.returncode == 2 and 'did you mean "step"?' in wrong.stderr, wrong


def main():
    answers, shown = reports(), topologies()
    count = check("report", report_schema(answers), answers, {"job", "facts"})
    count += check("topology", topology_schema(shown), shown, ())
    print(f"{len(answers)} answers, {len(shown)} topologies, {count} broken ones")
    if os.environ.get("UPDATE_GOLDEN") != "1":  # else the program has what was
        check_program()


if __name__ == "__main__":
    main()
