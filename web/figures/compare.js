"use strict";
// compare: machines that could be bought beside each other: speed, price, bill, training step.
globalThis.fabricast ??= {};
fabricast.figures ??= {};
(() => {
  const { format, data, charts, quantities } = fabricast;
  const LINES = 10;

  // Machines by name; with several numbers of nodes each is a machine of its own.
  function with_machines(rows) {
    const several = data.unique(rows.map((r) => r.nodes)).length > 1;
    return rows.map((r) => {
      const name =
        r.machine ??
        quantities.point_text(
          r,
          ["topology", "nics", "fabric", "sharp", "nccl"].filter((c) => r[c] !== undefined),
        );
      const nodes = several && data.finite(r.nodes) ? `, ${format.count(r.nodes, "node")}` : "";
      // "dgx-h100:nics=4" has its NICs in a column of their own.
      const topology = data.finite(r.nics) ? r.topology?.replace(/:nics=\d+$/, "") : r.topology;
      return { ...r, topology, machine: `${name}${nodes}` };
    });
  }

  const largest = (rows) => {
    const sizes = data.sorted_numbers(rows.map((r) => r.size_bytes));
    return sizes.length ? rows.filter((r) => r.size_bytes === sizes[sizes.length - 1]) : rows;
  };

  // By the best of a figure, best first.
  const ranked = (rows, column) => {
    const figure = quantities.quantity(column);
    return rows
      .filter((r) => data.finite(r[column]))
      .sort((a, b) => figure.cost(a) - figure.cost(b));
  };

  const lower = (r) => (r.busbw_GBps * r.time_us) / r.upper_us;
  const upper = (r) => (r.busbw_GBps * r.time_us) / r.lower_us;
  const GBps = (v) => format.number(v, "GB/s");
  const choice = (r) => [r.algorithm, r.protocol].filter(Boolean).join(" ");

  function speed_bars(rows, table, what) {
    const shown = ranked(rows, "busbw_GBps").slice(0, 40);
    return {
      height: charts.bar_height(shown.length, 30),
      hint: `The fastest first.${shown.some((r) => data.finite(lower(r))) ? " Whiskers: 80 % of measured runs lie in them." : ""}`,
      alt: `Bars of busbw ${what}. ${shown
        .slice(0, 8)
        .map((r) => `${r.machine}: ${GBps(r.busbw_GBps)}`)
        .join("; ")}.`,
      table,
      option: (theme) =>
        charts.bars({
          rows: shown,
          labels: shown.map((r) => r.machine),
          value: (r) => r.busbw_GBps,
          lower,
          upper,
          text: GBps,
          name: "busbw",
          theme,
          tip: choice,
        }),
    };
  }

  // Names of machines are long: a legend of several lines, none of them folded away.
  function all_names_above(option, names) {
    const letters = (fabricast.stage_width || 1000) / 6.2;
    const rows = Math.ceil(names.reduce((sum, n) => sum + Math.min(44, n.length) + 8, 0) / letters);
    return {
      ...option,
      legend: { ...option.legend, type: "plain" },
      grid: { ...option.grid, top: 26 + 24 * rows },
    };
  }

  function speed_lines(rows, table) {
    const sizes = data.sorted_numbers(rows.map((r) => r.size_bytes));
    const order = ranked(largest(rows), "busbw_GBps").map((r) => r.machine);
    const all = data.group(rows, (r) => r.machine);
    const setups = new Map(order.slice(0, LINES).map((name) => [name, all.get(name)]));
    const more = order.length > LINES ? ` The ${LINES} fastest of ${order.length} are drawn.` : "";
    const bands =
      setups.size > charts.BANDS
        ? "80 % bands are in the tooltip: there are too many lines."
        : "80 % of measured runs lie in the shaded band.";
    const [best, last] = [order[0], order[Math.min(order.length, LINES) - 1]].map((name) => {
      const top = largest(rows).find((r) => r.machine === name);
      return `${name}: ${GBps(top?.busbw_GBps)}`;
    });
    return {
      height: 480,
      hint: `${bands}${more}`,
      alt: `Lines of busbw over message size, logarithmic axes. At ${format.bytes(sizes[sizes.length - 1])} from ${best} to ${last}.`,
      table,
      option: (theme) => {
        const option = charts.lines({
          setups,
          theme,
          x: (r) => r.size_bytes,
          x_axis: charts.size_axis(sizes),
          x_text: format.bytes,
          y: (r) => r.busbw_GBps,
          y_axis: charts.value_axis("busbw (GB/s)", (v) => format.number(v), { nameGap: 50 }),
          y_text: GBps,
          lower,
          upper,
          tip: choice,
        });
        return all_names_above(option, [...setups.keys()]);
      },
    };
  }

  function speed(all, table) {
    const specs = [];
    for (const [collective, of_call] of data.group(all, (r) => r.collective ?? "")) {
      const rows = of_call.filter((r) => r.busbw_GBps > 0);
      if (rows.length === 0) continue;
      const sizes = data.sorted_numbers(rows.map((r) => r.size_bytes));
      const end = sizes.length ? `at ${format.bytes(sizes[sizes.length - 1])}` : "";
      const variants = [{ name: end, ...speed_bars(largest(rows), table, end) }];
      if (sizes.length > 1) variants.unshift({ name: "over size", ...speed_lines(rows, table) });
      specs.push({
        id: `busbw${specs.length || ""}`,
        title: `Bus bandwidth of each machine${collective ? `, ${collective}` : ""}${sizes.length > 1 ? "" : ` ${end}`}`,
        variants,
      });
    }
    return specs;
  }

  function price(all, table) {
    const rows = largest(all).map((r) => ({ ...r, size_bytes: undefined }));
    const size = largest(all)[0]?.size_bytes;
    const figures = [
      "busbw_GBps",
      "step_s",
      "tokens_per_s",
      "fabric_usd",
      "usd_per_hour",
      "usd_per_step",
      "usd_per_million_tokens",
      "fabric_watts",
      "usd_per_GBps",
    ].filter((f) => rows.some((r) => data.finite(r[f])));
    const { axes } = quantities.meanings(table, rows);
    return fabricast.points.plane({
      rows,
      axes: axes.length ? axes : ["machine"],
      figures,
      table,
      first: ["fabric_usd", "busbw_GBps"],
      id: "price",
      title: `What speed costs${data.finite(size) ? `, busbw at ${format.bytes(size)}` : ""}`,
    });
  }

  // The sum at the end of each stacked bar.
  const totals = (rows, text, theme) => ({
    type: "scatter",
    symbolSize: 1,
    silent: true,
    itemStyle: { color: "transparent" },
    data: rows.map((r, i) => [r.total, i]),
    label: {
      show: true,
      position: "right",
      color: theme.text,
      formatter: (p) => text(rows[p.dataIndex].total),
    },
  });

  // The bill by kind of part; watts are those of all pieces.
  function bill(report) {
    const lines = with_machines(data.records(report, "bill", ["machine", "kind"]));
    const kinds = data.unique(lines.map((l) => String(l.kind)));
    const measures = [
      ["USD", (l) => l.usd, "price", quantities.quantity("fabric_usd").text],
      [
        "W",
        (l) => l.watts ?? (l.watts_each ?? 0) * (l.count ?? 0),
        "power",
        quantities.quantity("fabric_watts").text,
      ],
    ];
    const variants = [];
    for (const [unit, of, what, text] of measures) {
      const machines = [...data.group(lines, (l) => l.machine)].map(([machine, own]) => {
        const row = { machine, total: 0 };
        for (const l of own) {
          row[l.kind] = (row[l.kind] ?? 0) + (of(l) ?? 0);
          row.total += of(l) ?? 0;
        }
        return row;
      });
      const rows = machines.filter((m) => m.total > 0).sort((a, b) => a.total - b.total);
      if (rows.length === 0) continue;
      const shown = rows.slice(0, 40);
      variants.push({
        name: what,
        height: charts.bar_height(shown.length, 34),
        alt: `Stacked bars of the ${what} of each fabric by kind of part. ${shown
          .slice(0, 6)
          .map((r) => `${r.machine}: ${text(r.total)}`)
          .join("; ")}.`,
        hint: `The ${what === "price" ? "cheapest" : "most frugal"} first.`,
        table: data.table_of(
          "bill by kind",
          [
            ["machine", "string"],
            ...kinds.map((k) => [k, "number", unit]),
            ["total", "number", unit],
          ],
          rows,
        ),
        option: (theme) => {
          const option = charts.stacked({
            rows: shown,
            labels: shown.map((r) => r.machine),
            parts: kinds.map((k) => [k, k]),
            formatter: text,
            total: (r) => r.total,
            name: `${what} of the fabric`,
            theme,
            marks: [totals(shown, text, theme)],
          });
          return { ...option, grid: { ...option.grid, right: 96 } };
        },
      });
    }
    return variants.length
      ? [{ id: "bill", title: "Bill of the fabric by kind of part", variants }]
      : [];
  }

  const steps = [
    ["step_s", "lower_s", "upper_s"],
    ["usd_per_step"],
    ["tokens_per_s"],
    ["usd_per_million_tokens"],
  ];

  function step(all, table) {
    // A machine has one step, and a row for each call.
    const machines = [...data.group(all, (r) => r.machine).values()].map((rows) => rows[0]);
    const variants = [];
    for (const [column, low, high] of steps) {
      const rows = ranked(machines, column).slice(0, 40);
      if (rows.length === 0) continue;
      const q = quantities.quantity(column);
      const banded = rows.some((r) => data.finite(r[low]));
      variants.push({
        name: q.label,
        height: charts.bar_height(rows.length, 30),
        hint: `The best first: ${q.better}.${banded ? " Whiskers: 80 % of measured steps lie in them." : ""}`,
        alt: `Bars of the ${q.label} of each machine. ${rows
          .slice(0, 8)
          .map((r) => `${r.machine}: ${q.text(r[column])}`)
          .join("; ")}.`,
        table,
        option: (theme) =>
          charts.bars({
            rows,
            labels: rows.map((r) => r.machine),
            value: (r) => r[column],
            lower: (r) => r[low],
            upper: (r) => r[high],
            text: q.text,
            name: q.label,
            theme,
          }),
      });
    }
    return variants.length
      ? [{ id: "step", title: "The training step of each machine", variants }]
      : [];
  }

  fabricast.figures.compare = (part) => {
    const report = part?.report;
    const table = data.cut(report, "rows");
    const rows = with_machines(data.records(report, "rows"));
    if (rows.length === 0) return [];
    return [...speed(rows, table), ...price(rows, table), ...step(rows, table), ...bill(report)];
  };
})();
