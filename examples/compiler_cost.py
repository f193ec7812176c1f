#!/usr/bin/env python3
"""The cost function of a compiler that bundles collectives: 100,000 estimates while it searches for
the bundles in which a model's gradients are reduced."""

import random
import time

import fabricast

ASKED = 100_000
MiB = 1 << 20


class Costs:
    """Microseconds of a call, on the machines that will run it."""

    def __init__(self, **site):
        self.estimator = fabricast.Estimator(**site)
        self.asked = 0

    def __call__(self, collective, nbytes, ranks=None):
        self.asked += 1
        return self.estimator.estimate(collective, nbytes, ranks, dtype="bfloat16").us


def step_us(bundles, cost, backward_us):
    """Gradients come one bundle after another while the backward pass runs; reductions follow one
    another, each begins when its bundle is there."""
    total = sum(bundles)
    there = done = 0.0
    for nbytes in bundles:
        there += backward_us * nbytes / total
        done = max(done, there) + cost("reduce_scatter", nbytes) + cost("all_gather", nbytes)
    return max(done, backward_us)


def search(tensors, cost, asked, draw):
    """Bundles of neighbours: one border after another moves to where the step gets shorter."""
    borders = draw.sample(range(1, len(tensors)), 8)
    best = None
    while cost.asked < asked:
        tried = list(borders)
        tried[draw.randrange(len(tried))] = draw.randrange(1, len(tensors))
        ends = [0, *sorted(set(tried)), len(tensors)]
        bundles = [sum(tensors[begin:end]) for begin, end in zip(ends, ends[1:])]
        us = step_us(bundles, cost, backward_us=40_000)
        if best is None or us < best[0]:
            best = us, bundles
            borders = tried
    return best


def main():
    draw = random.Random(1)
    cost = Costs(topology="dgx-h100", nodes=16)
    tensors = [16 * MiB] * 128
    begin = time.perf_counter()
    us, bundles = search(tensors, cost, ASKED, draw)
    took = time.perf_counter() - begin
    print(f"best: {us / 1000:.2f} ms with bundles of {[nbytes // MiB for nbytes in bundles]} MiB")
    print(f"{cost.asked:,} estimates in {took:.2f} s: {1e6 * took / cost.asked:.1f} us each")


if __name__ == "__main__":
    main()
