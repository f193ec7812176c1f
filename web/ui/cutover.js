"use strict";
// Cutover: which algorithm and protocol is fastest where.
globalThis.fabricast ??= {};
fabricast.views ??= {};
(() => {
  function create(catalogue, page) {
    const f = fabricast.machine_fields(catalogue, {
      nodes: {
        kind: "text",
        initial: "1,2,4,8,16",
        hint: "1,2,4 or 1..64 (doubling)",
      },
      sizes: {
        initial: "64KiB..1GiB:x4",
        hint: "8B..16GiB doubles; 64KiB..1GiB:x4 takes every other",
      },
      collective: {
        options: ["all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce"].map(
          (one) => ({
            value: one,
            label: one,
          }),
        ),
      },
    });
    return fabricast.runner(page, {
      view: "cutover",
      study: "cutover",
      label: "Simulate all of them",
      groups: [
        {
          title: "Machine",
          fields: [f.topology, f.nodes, f.nics, f.gpus, f.fabric, f.sharp, f.gpu],
        },
        { title: "NCCL", fields: [f.nccl, f.env] },
        {
          title: "Work",
          fields: [
            f.collective,
            f.sizes,
            {
              name: "sensitivity",
              label: "Also with slower switches, SHARP, fewer NICs",
              kind: "check",
            },
          ],
        },
      ],
    });
  }

  fabricast.views.cutover = { title: "Cutover", create };
})();
