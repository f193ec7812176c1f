"use strict";
// memory: what NCCL takes for which purpose, and what would take less.
globalThis.fabricast ??= {};
fabricast.figures ??= {};
(() => {
  const { format, data, charts } = fabricast;
  const MIB = 1 << 20; // axes have round numbers of them
  const places = { gpu: "of a GPU", host: "of the host" };

  const in_bytes = (mib) => format.bytes(mib * MIB);

  // What one purpose takes may be several allocations.
  function purposes(rows) {
    return [...data.group(rows, (r) => r.purpose)]
      .map(([, all]) => ({ ...all[0], bytes: all.reduce((sum, r) => sum + r.bytes, 0) }))
      .sort((a, b) => b.bytes - a.bytes);
  }

  function taken(report) {
    const rows = data.records(report, "rows", ["purpose", "bytes"]);
    const many = (key) => data.unique(rows.map((r) => r[key])).length > 1;
    const name = (r) =>
      [
        `Memory ${places[r.place] ?? r.place}`,
        many("nccl") ? `NCCL ${r.nccl}` : "",
        many("nodes") ? format.count(r.nodes, "node") : "",
        many("group") ? r.group : "",
      ]
        .filter(Boolean)
        .join(", ");
    const variants = [...data.group(rows, name)].map(([title, all]) => {
      const shown = purposes(all);
      const sum = shown.reduce((bytes, r) => bytes + r.bytes, 0);
      return {
        name: title,
        alt: `Bars of ${title.toLowerCase()} by purpose, ${format.bytes(sum)} in all. ${shown
          .slice(0, 6)
          .map((r) => `${r.purpose}: ${format.bytes(r.bytes)}`)
          .join(", ")}.`,
        height: charts.bar_height(shown.length, 30),
        option: (theme) => bars_of_bytes(shown, theme, sum),
      };
    });
    return variants.length === 0
      ? []
      : [
          {
            id: "memory-purposes",
            title: "What the memory of a communicator is for",
            variants,
            variants_label: "Of",
            table: data.cut(report, "rows"),
          },
        ];
  }

  const bars_of_bytes = (rows, theme, sum) =>
    charts.bars({
      rows,
      labels: rows.map((r) => r.purpose),
      value: (r) => r.bytes / MIB,
      lower: () => null,
      upper: () => null,
      text: in_bytes,
      name: "memory",
      theme,
      tip: (r) => [format.percent(r.bytes / sum), r.variables].filter(Boolean).join(", "),
    });

  function saved(report) {
    const rows = data
      .records(report, "savings", ["variable", "gpu_saved_bytes"])
      .filter((r) => r.gpu_saved_bytes > 0);
    return rows.length === 0
      ? []
      : [
          {
            id: "memory-savings",
            title: "What takes less of a GPU",
            hint: "Each alone; together they do not add up.",
            alt: `Bars of memory saved. ${rows
              .map((r) => `${r.variable}=${r.value}: ${format.bytes(r.gpu_saved_bytes)}`)
              .join(", ")}.`,
            height: charts.bar_height(rows.length, 30),
            table: data.cut(report, "savings"),
            option: (theme) =>
              charts.bars({
                rows,
                labels: rows.map((r) => `${r.variable}=${r.value}`),
                value: (r) => r.gpu_saved_bytes / MIB,
                lower: () => null,
                upper: () => null,
                text: in_bytes,
                name: "memory that it saves",
                theme,
              }),
          },
        ];
  }

  fabricast.figures.memory = (part) => [...taken(part?.report), ...saved(part?.report)];
})();
