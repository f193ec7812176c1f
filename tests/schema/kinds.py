"""The kinds of YAML files, and good files of each."""

import re
from pathlib import Path

from yaml_tree import tree_of

ROOT = Path(__file__).resolve().parents[2]
PAGES = "docs/"

# Kind -> (what it is, page that says what its keys mean). The word of the key `kind`; aws-ofi,
# targets and variables have no such key.
KINDS = {
    "algorithm": ("a custom algorithm of a collective", "custom-algorithms.md"),
    "aliases": ("other names of topologies", "topologies.md"),
    "aws-ofi": ("what the tuner of aws-ofi-nccl asks for", "tuners.md"),
    "calibrated": ("figures and bands that calibrate wrote", "calibrate.md"),
    "calibration": ("a recipe of calibrate", "calibrate.md"),
    "cluster": ("a cluster: nodes of one type and a fabric", "topologies.md"),
    "compare": ("a question of compare", "compare.md"),
    "engines": ("what all-reduce kernels of inference engines cost", "engines.md"),
    "experts": ("costs of the kernels of expert parallelism", "experts.md"),
    "fabric": ("a fabric: switches, cables, routing", "topologies.md"),
    "frameworks": ("training frameworks and their releases", "steps.md"),
    "gpus": ("how fast GPUs compute", "steps.md"),
    "hang": ("a question of hang", "hang.md"),
    "kernels": ("what kernels of a GPU cost", "kernels.md"),
    "model": ("a transformer", "steps.md"),
    "neighbour": ("a second job of placement", "placement.md"),
    "node": ("a type of node: GPUs, NICs, switches and how they are joined", "topologies.md"),
    "parts": ("parts of nodes and fabrics, on top of the catalogue", "topologies.md"),
    "plan": ("a question of plan", "steps.md"),
    "prices": ("prices of parts, GPU hours and power", "costs.md"),
    "rules": ("rules that check tries", "check.md"),
    "scenario": ("a question of run, with what is expected", "scenarios.md"),
    "serve": ("a question of serve", "serve.md"),
    "serving": ("what inference engines cost beside their kernels", "serve.md"),
    "serving_pools": ("how many requests decode engines of published pools take", "serve.md"),
    "step": ("a layout of step: model, cluster, parallelism", "steps.md"),
    "step_fits": ("what published steps say of running jobs", "steps.md"),
    "sweep": ("a sweep: a question and the values of its keys", "sweep.md"),
    "targets": ("machines of upgrade --targets", "upgrade.md"),
    "variables": ("environment variables and what is known of them", "variables.md"),
}
BY_NAME = {"variables.yaml": "variables", "aws-ofi.yaml": "aws-ofi", "targets.yaml": "targets"}


def kind_of(path, text):
    said = re.search(r"^kind: *([\w-]+)", text, re.MULTILINE)
    return said[1] if said else BY_NAME.get(path.name)


def shipped_files():
    """{path: kind} of the YAML files that users get."""
    out = {}
    for folder in ("calibration", "examples", "models", "scenarios", "topologies", "workloads"):
        for path in sorted((ROOT / folder).rglob("*.yaml")):
            out[path] = kind_of(path, path.read_text())
    return out


def files_by_kind():
    """Kind -> [(path, tree)]: what is shipped, and what other tests read."""
    out = {kind: [] for kind in KINDS}
    paths = [*shipped_files(), *sorted((ROOT / "tests").rglob("*.yaml"))]
    for path in paths:
        text = path.read_text()
        kind = kind_of(path, text)
        if kind in out:
            out[kind].append((path, tree_of(text)))
    return out
