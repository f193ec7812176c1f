"""Every study that gives a page: a name, and the words of a command that is quick. STORE is what
stores.py makes."""

STUDIES = {
    "bench": "bench --topology dgx-h100 --nodes 1,2 --explain",
    "bench-one-node": "bench --topology dgx-a100 --collective all_gather --sizes 1KiB..1GiB:x4",
    "decide": "decide --topology dgx-h100 --nodes 2",
    "cutover": "cutover --topology dgx-h100 --nodes 1,2,4 --sizes 64KiB..1GiB:x4",
    "whatif": "whatif --topology dgx-h100 --nodes 2 --to NCCL_NVLS_ENABLE=0",
    "whatif-several": "whatif --topology dgx-h100 --nodes 2 --to-topology hgx-h200 "
    "--to-topology dgx-a100",
    "advise": "advise --topology dgx-h100 --nodes 2 --sizes 1MiB,1GiB",
    "upgrade": "upgrade --topology dgx-h100 --nodes 2 --from 2.21.5 --to 2.27.7",
    "step": "step scenarios/steps/llama-3-70b.yaml",
    "step-vary": "step scenarios/steps/llama-3-70b.yaml --vary nodes=8,16",
    "plan": "plan scenarios/steps/llama-3-70b-tp8.yaml --keep 8",
    "serve": "serve scenarios/serve/llama-2-70b-a100.yaml",
    "serve-load": "serve scenarios/serve-llama-3-70b.yaml",
    "run": "run scenarios/h100-2node.yaml",
    "check": "check scenarios/rules-releases.yaml --topology dgx-h100 "
    "--only ring-border,all-gather",
    "judge": "judge tests/data/logs/coreweave-h100-64.txt --topology dgx-h100",
    "lint": "lint --topology dgx-h100 --env NCCL_ALGO=Rong",
    "gate": "gate dgx-h100 --nodes 2 --sizes 1KiB,1GiB",
    "gate-check": "gate dgx-h100 --check tests/data/logs/coreweave-h100-64.txt",
    "memory": "memory --topology dgx-h100 --nodes 2",
    "hang": "hang scenarios/hang/oom-rank.yaml",
    "hang-misfit": "hang scenarios/hang/fsdp-units.yaml",
    "hang-cycle": "hang scenarios/hang/communicator-order.yaml",
    "topo": "topo dgx-h100 --nodes 2",
    "experts": "experts --topology dgx-h100 --nodes 1,2 --tokens 1,128,4096",
    "validate": "validate nccl-tests --runs tests/cli/files/measured-runs.csv "
    "--points tests/cli/files/measured-points.csv",
    "validate-experts": "validate experts --file tests/cli/files/experts.csv",
    "calibrate": "calibrate tests/cli/files/calibrate.yaml",
    "sweep": "sweep status STORE",
    "query": "query STORE",
    "query-pareto": "query STORE --pareto step_s,usd_per_step",
    "query-group": "query STORE --group-by topology,nodes",
    "query-best": "query STORE --best step_s --group-by topology,nodes",
    "query-diff": "query STORE --diff STORE",
    "compare": "compare --topology dgx-h100,hgx-b200 --nics 4,8 --nodes 4 --sizes 1MiB,1GiB "
    "--layout tests/cli/files/step-small.yaml",
    "compare-one": "compare --topology dgx-h100,hgx-b200 --nodes 2 --sizes 1GiB",
    "solve": "solve scenarios/h100-2node.yaml --fewest nics --such-that busbw_GBps>=300",
}
# Exit code 1: the study answers no, and the page shows it.
ANSWERS_NO = {"lint", "check"}
WITHOUT_FIGURES = {"lint", "validate-experts"}
