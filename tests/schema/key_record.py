"""What the readers of YAML ask of files of one kind: the table that schemas are made of.

fabricast_ask_readers says for one file which keys were asked for. Good files show the most; a key
that no good file has is found by asking: it is put into a good file, and the reader says what it
takes it for, and what it misses in it."""

import copy
import functools
import json
import operator
import re
import subprocess

from yaml_tree import Plain, text_of

DEPTH_MAX = 14  # of mappings in mappings; what is deeper goes round in a circle
FILES_TRIED = 3  # for a key that few have
FEW = 4  # entries of a table are not too many
FILLINGS_MAX = 20  # keys that a new mapping may need
NOTES = {"maybe", "is_mapping", "lacking", "open", "closed"}
BELOW = {"child", "children", "table"}
SAMPLES = {
    "text": Plain("x"), "flag": Plain("true"), "texts": [Plain("x")], "child": {},
    "children": [{}], "table": {"x": {}}, "bandwidth": Plain("1 GB/s"), "duration": Plain("1 us"),
    "bytes": Plain("1 MiB"), "metres": Plain("1 m"), "watts": Plain("1 W"),
    "flop_rate": Plain("1 TFLOP/s"),
}  # fmt: skip
UNKNOWN = "qqqqqqqqqqqqqqqq"  # so unlike any key or unit that the hint lists all that are known


class Readers:
    """The readers of the program, one question after the other."""

    def __init__(self, program):
        self.process = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.asked = 0

    def ask(self, kind, file, tree):
        """(error or None, rows)"""
        self.asked += 1
        question = {"kind": kind, "file": str(file), "text": text_of(tree)}
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        return answer["error"], answer["asked"]


class Key:
    def __init__(self):
        self.seen = {}  # type where the key was there -> [(min, max, words), ...]
        self.unseen = {}  # where it was not
        self.is_mapping = False  # asked whether it is one
        self.required = False

    def types(self):
        """A word is asked for as a text too, to see whether it is there. A text or a mapping is
        both."""
        out = dict(self.seen or self.unseen)
        if len(out) > 1 and "child" not in out:
            out.pop("text", None)
        return out

    def type(self):
        return next(iter(self.types()), None)


def with_value(tree, at, value):
    """A tree that has the value there and is the same elsewhere; what changes is copied."""
    if not at:
        return value
    out = copy.copy(tree)
    out[at[0]] = with_value(tree[at[0]], at[1:], value)
    return out


def copied(tree, at):
    """A tree whose mapping there may be changed, and that mapping; the rest stays shared."""
    own = dict(functools.reduce(operator.getitem, at, tree))
    return with_value(tree, at, own), own


class Mapping:
    def __init__(self):
        self.keys = {}
        self.open = self.closed = False

    def key(self, name):
        return self.keys.setdefault("*" if self.open else name, Key())


class Record:
    """The mappings of a kind of file by their path: (), ("cpus", "[]"), ("gpus", "*") ..."""

    def __init__(self, readers, kind, files):
        self.readers, self.kind = readers, kind
        self.mappings = {(): Mapping()}
        self.good = []  # (name, tree)
        for name, tree in files:
            error, rows = readers.ask(kind, name, tree)
            if error is None:
                self.merge(rows)
                self.good.append((name, tree))
        # Smaller ones, and further on files that were made of them.
        self.files = [(name, self.thinned(name, tree)) for name, tree in self.good]
        self.files.sort(key=lambda file: len(text_of(file[1])))
        self.explore()
        self.find_required()

    def path(self, text):
        out = []
        for step in text.split("\n") if text else []:
            above = self.mappings.get(tuple(out))
            out.append("*" if above and above.open and step != "[]" else step)
            if len(out) > 3 and out[-2:] == out[-4:-2]:  # a mapping within one of its own form
                del out[-2:]
        assert len(out) <= DEPTH_MAX, f"{self.kind}: {out} is too deep"
        return tuple(out)

    def merge(self, rows):
        """The paths of the keys that the reader found to be missing."""
        for text, _, kind, *_ in rows:
            mapping = self.mappings.setdefault(self.path(text), Mapping())
            mapping.open |= kind == "open"
            mapping.closed |= kind == "closed"
        lacking = []
        for text, name, kind, there, *limits in rows:
            path = self.path(text)
            if kind == "lacking":
                lacking.append((path, name))
            if name == "":
                continue
            key = self.mappings[path].key(name)
            key.is_mapping |= kind == "is_mapping"
            if kind not in NOTES:
                limits_of = (key.seen if there else key.unseen).setdefault(kind, [])
                if limits not in limits_of:
                    limits_of.append(limits)
        return lacking

    def read(self, name, tree):
        error, rows = self.readers.ask(self.kind, name, tree)
        return error, self.merge(rows)

    def places(self, value, path=(), at=()):
        """(path, steps that lead to it, mapping) of `value`, which has that path, and of all
        mappings below it."""
        mapping = self.mappings.get(path)
        if mapping is None or not isinstance(value, dict):
            return
        yield path, at, value
        for name, item in value.items():
            key = mapping.keys.get("*" if mapping.open else name)
            types = key.types() if key else {}
            step = "\n".join([*path, name])
            if "child" in types:
                yield from self.places(item, self.path(step), (*at, name))
            elif "children" in types and isinstance(item, list):
                for number, one in enumerate(item):
                    yield from self.places(one, self.path(step + "\n[]"), (*at, name, number))
            elif "table" in types and isinstance(item, dict):
                for own, one in item.items():
                    yield from self.places(one, self.path(step + "\n*"), (*at, name, own))

    def thinned(self, name, tree):
        """A good file with few of the entries of its long tables and lists, yet all their keys."""
        for key, long in tree.items():
            if not isinstance(long, (dict, list)) or len(long) <= FEW:
                continue
            seen, kept = set(), []
            for at in long if isinstance(long, dict) else range(len(long)):
                step = "*" if isinstance(long, dict) else "[]"
                below = self.places(long[at], self.path(f"{key}\n{step}"))
                keys = {(path, own) for path, _, value in below for own in ("", *value)}
                if not keys <= seen:
                    kept.append(at)
                    seen |= keys
            few = {at: long[at] for at in kept}
            few = few if isinstance(long, dict) else list(few.values())
            if kept and self.readers.ask(self.kind, name, {**tree, key: few})[0] is None:
                tree = {**tree, key: few}
        return tree

    def with_mapping(self, path, has=None):
        """Each file that has such a mapping: (name, tree, steps that lead to the first one)."""
        for name, tree in self.files:
            for found, at, value in self.places(tree):
                if found == path and (has is None or has in value or (has == "*" and value)):
                    yield name, tree, at
                    break

    def instances(self, path, has=None):
        """Each file that has such a mapping: (name, tree, the first one in it, to be changed)."""
        for name, tree, at in self.with_mapping(path, has):
            yield name, *copied(tree, at)

    def tried(self, path, has=None):
        for at, found in enumerate(self.instances(path, has)):
            if at == FILES_TRIED:
                return
            yield found

    def focused(self, path, has=None):
        """(name, tree, mapping) of the first file that has such a mapping, without what is beside
        it where the reader takes the file without; None where no file has it."""
        for name, tree, at in self.with_mapping(path, has):
            return name, *copied(*self.alone(name, tree, at))
        return None

    def alone(self, name, tree, at):
        """The file without other entries of the tables and lists that the steps `at` lead through,
        and without keys at the top that need not be; and the steps in it."""
        needed = {key for key, one in self.mappings[()].keys.items() if one.required} | {*at[:1]}
        few = {key: value for key, value in tree.items() if key in needed}
        if at and len(few) < len(tree) and self.readers.ask(self.kind, name, few)[0] is None:
            tree = few
        for depth in range(1, len(at)):
            above = functools.reduce(operator.getitem, at[:depth], tree)
            if len(above) < 2:
                continue
            few = [above[at[depth]]] if isinstance(above, list) else {at[depth]: above[at[depth]]}
            less = with_value(tree, at[:depth], few)
            if self.readers.ask(self.kind, name, less)[0] is None:
                tree = less
                at = (*at[:depth], 0, *at[depth + 1 :]) if isinstance(few, list) else at
        return tree, at

    def explore(self):
        tried = set()
        while True:
            todo = [
                (path, name)
                for path, mapping in self.mappings.items()
                for name, key in mapping.keys.items()
                if not key.seen and name != "*" and (path, name) not in tried
            ]
            if not todo:
                return
            for path, name in todo:
                tried.add((path, name))
                self.try_key(path, name)

    def try_key(self, path, name):
        """In each file, until one says what the key is, and takes it where it holds more keys."""
        fillings = 0
        for file, tree, mapping in self.instances(path):
            if name in mapping:
                continue
            mapping[name] = Plain("x")
            self.read(file, tree)
            key = self.mappings[path].keys[name]
            if not key.seen:
                continue
            if key.type() not in BELOW:
                return
            mapping[name] = self.sample(path, name)
            fillings += 1
            filled = copy.deepcopy(tree)
            is_good = self.fill(file, filled)
            if is_good:
                self.files.append((file, filled))
            if is_good or fillings == FILES_TRIED:
                return

    def sample(self, path, name):
        key = self.mappings[path].keys["*" if self.mappings[path].open else name]
        kind = key.type()
        (least, _, words), *_ = key.types()[kind]
        if kind == "choice":
            return Plain(words[0])
        if kind in ("whole", "number"):
            return Plain(int(max(least, 1)))
        return copy.deepcopy(SAMPLES[kind])

    def fill(self, file, tree):
        """Adds what the reader says is missing; is the file a good one then?"""
        for _ in range(FILLINGS_MAX):
            error, lacking = self.read(file, tree)
            if error is None:
                return True
            if not lacking:
                return False
            path, name = lacking[0]
            places = [m for own, _, m in self.places(tree) if own == path and name not in m]
            if not places:
                return False
            places[0][name] = self.sample(path, name)
        return False

    def find_required(self):
        """Keys that all good files have, and without which the reader says that they are missing,
        wherever it is tried."""
        everywhere = {}
        for _, tree in self.good + self.files:
            for path, _, value in self.places(tree):
                everywhere[path] = everywhere.get(path, set(value)) & set(value)
        for path, mapping in self.mappings.items():
            for name, key in mapping.keys.items():
                if name in everywhere.get(path, ()) and not mapping.open:
                    key.required = self.is_missed(path, name)

    def is_missed(self, path, name):
        seen = 0
        for file, tree, mapping in self.tried(path, name):
            del mapping[name]
            error, rows = self.readers.ask(self.kind, file, tree)
            seen += 1
            lacks = [r for r in rows if r[2] == "lacking" and r[1] == name]
            if error is None or path not in [self.path(r[0]) for r in lacks]:
                return False
        return seen > 0

    def known(self, path):
        """All keys that the reader says it knows, in its hint on one that it does not."""
        for file, tree, mapping in self.tried(path):
            mapping[UNKNOWN] = Plain("x")
            error, _ = self.readers.ask(self.kind, file, tree)
            hint = re.search(r"hint: known: (.*)", error or "")
            yield set(hint[1].split(", ")) if hint else set()

    def units(self, kind):
        """Those of a quantity, as the reader lists them where a unit is wrong."""
        for path, mapping in self.mappings.items():
            for name, key in mapping.keys.items():
                if kind not in key.seen:
                    continue
                for file, tree, value in self.tried(path, name):
                    named = next(iter(value)) if name == "*" else name
                    value[named] = Plain("1 " + UNKNOWN)
                    error, _ = self.readers.ask(self.kind, file, tree)
                    if hint := re.search(r"hint: known: (.*)", error or ""):
                        return hint[1].split(", ")
        return []
