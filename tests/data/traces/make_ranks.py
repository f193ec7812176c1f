"""Writes traces of ranks as Kineto does, from a story that is known: which rank comes late, how
long each transfer takes, how far each rank's clock is off. Names and units of the JSON are those of
pytorch/kineto (libkineto/src/output_json.cpp); nothing was measured.

python3 make_ranks.py FOLDER RANKS STEPS LAYERS"""
import json
import random
import sys
from pathlib import Path

TRANSFER = {"allreduce": 380.0, "_allgather_base": 55.0}  # us
LATE_RANK, LATE_US = 2, 400.0


def offset_us(rank):
    return 0.0 if rank == 0 else 1500.0 * rank + 37.5


def kernel(start, took, correlation, **args):
    return {"ph": "X", "cat": "kernel", "pid": 0, "tid": 7, "ts": round(start, 3),
            "dur": round(took, 3), "args": {"correlation": correlation, "stream": 7, **args},
            "name": "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)" if args
            else "sm90_xmma_gemm_bf16bf16_bf16f32"}


def trace(rank, ranks, steps, layers):
    draw = random.Random(1)  # the same story for all ranks
    events, now, correlation = [], 1000.0, 0
    sizes = [("_allgather_base", 1 << 20, (1 << 20) * ranks), ("allreduce", 1 << 25, 1 << 25)]
    for step in range(10, 10 + steps):
        begin = now
        for layer in range(layers):
            compute = 500.0 + draw.random() * 50
            for name, elements_in, elements_out in sizes:
                jitter = [draw.random() * 20 for _ in range(ranks)]
                late = [LATE_US if r == LATE_RANK and layer == 1 else 0.0 for r in range(ranks)]
                arrivals = [now + compute + j + d for j, d in zip(jitter, late)]
                end = max(arrivals) + TRANSFER[name]
                shift = offset_us(rank)
                correlation += 2
                launched = now + 5 + shift
                events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernelExC",
                               "pid": 9, "tid": 9, "ts": round(launched, 3), "dur": 4.0,
                               "args": {"correlation": correlation}})
                events.append(kernel(now + shift, arrivals[rank] - now, correlation + 1))
                events.append(kernel(
                    arrivals[rank] + shift, end - arrivals[rank], correlation,
                    **{"Collective name": name, "In msg nelems": elements_in,
                       "Out msg nelems": elements_out, "Group size": ranks, "dtype": "BFloat16",
                       "Process Group Name": "0", "Process Group Description": "default_pg",
                       "Process Group Ranks": str(list(range(ranks)))}))
                now = end
        events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}",
                       "pid": 9, "tid": 9, "ts": round(begin + offset_us(rank), 3),
                       "dur": round(now - begin, 3), "args": {}})
        now += 100.0
    return {"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": rank,
                                                    "world_size": ranks, "nccl_version": "2.27.7"},
            "baseTimeNanoseconds": 1727000000000000000, "traceEvents": events}


def main(folder, ranks, steps, layers):
    Path(folder).mkdir(parents=True, exist_ok=True)
    for rank in range(ranks):
        (Path(folder) / f"rank{rank}.json").write_text(
            json.dumps(trace(rank, ranks, steps, layers), indent=0) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
