"""YAML as the program and as editors read it: a tree of dicts, lists and texts, where Plain is a
text without quotes, which editors take for a number or a flag where it looks like one."""

import json
import re

import yaml

WORDS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
NOTHING = {"", "~", "null", "Null", "NULL"}


class Plain(str):
    """A scalar without quotes."""


def tree_of(text):
    def build(node):
        if isinstance(node, yaml.MappingNode):
            return {key.value: build(value) for key, value in node.value}
        if isinstance(node, yaml.SequenceNode):
            return [build(item) for item in node.value]
        return Plain(node.value) if node.style is None else node.value

    return build(yaml.compose(text, Loader=yaml.SafeLoader))


def typed(tree):
    """What a validator of JSON sees, by the core schema of YAML 1.2."""
    if isinstance(tree, dict):
        return {key: typed(value) for key, value in tree.items()}
    if isinstance(tree, list):
        return [typed(item) for item in tree]
    if not isinstance(tree, Plain):
        return tree
    if tree in NOTHING:
        return None
    if tree in WORDS:
        return WORDS[tree]
    if re.fullmatch(r"[-+]?[0-9]+", tree):
        return int(tree)
    if re.fullmatch(r"0x[0-9a-fA-F]+", tree):
        return int(tree, 16)
    if re.fullmatch(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", tree):
        return float(tree)
    return str(tree)


def text_of(tree):
    """The mapping as YAML again: JSON is YAML, and the readers do not look at quotes."""

    def plain(value):
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items()}
        if isinstance(value, list):
            return [plain(item) for item in value]
        return None if isinstance(value, Plain) and value in NOTHING else value

    def line(name, value):
        return f"{json.dumps(name)}: {json.dumps(plain(value), ensure_ascii=False)}\n"

    return "".join(line(name, value) for name, value in tree.items())
