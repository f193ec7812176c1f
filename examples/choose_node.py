#!/usr/bin/env python3
"""Which node should a 70B training run be bought on? Three node types, the same fabric: what
AllReduce does on each, then what a training step takes. Cells are parted by "# %%", as notebooks
read them; pictures go where the first argument says (default: here)."""

# %% The question
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pandas as pd

import fabricast

ROOT = Path(__file__).resolve().parents[1]
PICTURES = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
NODES = ["dgx-h100", "hgx-h200", "dgx-b200"]
LAYOUT = ROOT / "scenarios/steps/llama-3-70b.yaml"

# %% Gradients: AllReduce over sixteen nodes
calls = {node: fabricast.bench(topology=node, nodes=16, sizes="1MiB..1GiB:x4") for node in NODES}
figure, axes = plt.subplots()
for node, report in calls.items():
    report.plot(y="busbw_GBps", ax=axes)
    axes.lines[-1].set_label(node)
axes.legend()
figure.savefig(PICTURES / "allreduce.png")
rates = pd.concat(report.to_pandas().assign(node=node) for node, report in calls.items())
print(rates.pivot(index="size_bytes", columns="node", values="busbw_GBps").round(1))

# %% The step
steps = fabricast.step(LAYOUT, vary=["topology=" + ",".join(NODES)])
table = steps.to_pandas()
print(table[["topology", "step_s", "lower_s", "upper_s", "tokens_per_s", "mfu"]])

# %% The answer
figure, axes = plt.subplots()
axes.bar(table["topology"], table["tokens_per_s"])
axes.set_ylabel("tokens/s")
figure.savefig(PICTURES / "step.png")
best = table.loc[table["tokens_per_s"].idxmax()]
print(f"{best['topology']}: {best['tokens_per_s']:,.0f} tokens/s on {best['gpus']} GPUs")
