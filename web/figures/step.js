"use strict";
// step and plan: where a training step's time goes, memory, variations, the search, the placement.
globalThis.fabricast ??= {};
fabricast.figures ??= {};
(() => {
  const { format, data, charts } = fabricast;

  const GIB = 2 ** 30;
  const layout_name = (r) =>
    [r.layout, r.recompute === "none" ? "" : r.recompute].filter(Boolean).join(" ");

  // Rows with the tables that belong to them; in a plan the name of a row is its place.
  function joined(report) {
    const rows = data.records(report, "rows", ["step_s"]);
    const by_row = (name) => {
      const all = data.records(report, name, ["variation"]);
      if (all.length === rows.length) return all;
      return rows.map((r) => all.find((x) => x.variation === (r.place ?? r.variation)) ?? {});
    };
    const memory = by_row("memory");
    const hidden = by_row("hidden");
    const layouts = by_row("layouts");
    const costs = by_row("costs");
    const plan = rows.some((r) => data.finite(r.place));
    return rows.map((r, i) => {
      const name = layout_name({ ...layouts[i], ...r });
      return {
        ...layouts[i],
        ...costs[i],
        ...memory[i],
        ...hidden[i],
        ...r,
        label: plan
          ? `${r.place}. ${name}${r.variation ? ` (${r.variation})` : ""}`
          : r.variation || name || "step",
        plan,
      };
    });
  }

  const ran = (rows) => rows.filter((r) => data.finite(r.step_s) && r.step_s > 0);

  function times(report, all) {
    const parts = data.parts(report, "rows", "s");
    const hidden_parts = data.parts(report, "hidden", "s");
    const rows = ran(all);
    if (rows.length === 0) return [];
    const labels = rows.map((r) => r.label);
    const with_hidden = rows.some((r) => hidden_parts.some(([c]) => (r[c] ?? 0) > 0));
    const first = rows[0];
    const largest = parts
      .filter(([c]) => (first[c] ?? 0) > 0)
      .sort((a, b) => first[b[0]] - first[a[0]])
      .slice(0, 4)
      .map(([c, label]) => `${label} ${format.percent(first[c] / first.step_s)}`);
    const specs = [
      {
        id: "step-parts",
        title: "Where the time of a step goes",
        hint: "On the slowest stage. Exposed communication is what kernels do not hide.",
        alt: `Stacked bars of the parts of a training step. ${labels[0]}: ${format.time_s(first.step_s)}, ${largest.join(", ")}.`,
        height: charts.bar_height(rows.length, rows.length > 1 ? 40 : 50),
        table: data.table_of(
          "step",
          [
            ["label", "string"],
            ["step_s", "number", "s"],
            ["lower_s", "number", "s"],
            ["upper_s", "number", "s"],
            ["tokens_per_s", "number"],
            ["mfu", "number"],
            ...parts.map(([c]) => [c, "number", "s"]),
          ],
          rows,
        ),
        option: (theme) =>
          charts.stacked({
            rows,
            labels,
            parts,
            formatter: format.time_s,
            name: "time of a step",
            theme,
            total: (r) => r.step_s,
          }),
      },
    ];
    if (with_hidden) {
      specs.push({
        id: "hidden",
        title: "Communication behind kernels",
        hint: "It costs no time of its own; contention above is what it takes from the kernels.",
        alt: `Stacked bars of hidden communication. ${labels[0]}: ${hidden_parts
          .filter(([c]) => (first[c] ?? 0) > 0)
          .map(([c, label]) => `${label} ${format.time_s(first[c])}`)
          .join(", ")}.`,
        height: charts.bar_height(rows.length, 34),
        table: data.table_of(
          "hidden",
          [["label", "string"], ...hidden_parts.map(([c]) => [c, "number", "s"])],
          rows,
        ),
        option: (theme) =>
          charts.stacked({
            rows,
            labels,
            parts: hidden_parts,
            formatter: format.time_s,
            name: "time of hidden communication",
            theme,
          }),
      });
    }
    return specs;
  }

  function memory(all, memory_parts) {
    const rows = ran(all).filter((r) => memory_parts.some(([c]) => (r[c] ?? 0) > 0));
    if (rows.length === 0) return [];
    const labels = rows.map((r) => r.label);
    const capacity = rows[0].capacity_bytes;
    const one_capacity = rows.every((r) => r.capacity_bytes === capacity) && data.finite(capacity);
    const total = (r) => r.all_bytes ?? memory_parts.reduce((sum, [c]) => sum + (r[c] ?? 0), 0);
    const most = Math.max(...rows.map(total), one_capacity ? capacity : 0);
    return [
      {
        id: "memory",
        title: "Memory of a GPU",
        alt: `Stacked bars of the memory of a GPU. ${labels[0]}: ${format.bytes(total(rows[0]))} of ${format.bytes(rows[0].capacity_bytes)}.`,
        hint: one_capacity ? `The line is the GPU's capacity, ${format.bytes(capacity)}.` : "",
        height: charts.bar_height(rows.length, 38),
        table: data.table_of(
          "memory",
          [
            ["label", "string"],
            ["capacity_bytes", "number", "B"],
            ["all_bytes", "number", "B"],
            ...memory_parts
              .filter(([c]) => rows.some((r) => data.finite(r[c])))
              .map(([c]) => [c, "number", "B"]),
          ],
          rows,
        ),
        option: (theme) => {
          const option = charts.stacked({
            rows,
            labels,
            parts: memory_parts,
            formatter: format.bytes,
            name: "memory",
            theme,
            total,
          });
          const step = [1, 2, 4, 8, 16, 32, 64].find((s) => most / GIB / s <= 9) ?? 128;
          option.xAxis = {
            ...option.xAxis,
            interval: step * GIB,
            max: Math.ceil((most * 1.02) / GIB / step) * step * GIB,
          };
          if (one_capacity && option.series.length) {
            option.series[0].markLine = {
              silent: true,
              symbol: "none",
              animation: false,
              data: [{ xAxis: capacity }],
              lineStyle: { color: theme.bad, width: 2, type: "solid" },
              label: { show: false },
            };
          }
          return option;
        },
      },
    ];
  }

  function variations(all) {
    const rows = ran(all);
    if (rows.length < 2) return [];
    const labels = rows.map((r) => r.label);
    const best = data.least(rows, (r) => r.step_s);
    return [
      {
        id: "step-time",
        title: "Time of a step, and tokens per second",
        hint: "The whisker spans 80 % of measured steps.",
        alt: `Marks of the time of a step with its band. Shortest: ${best.label}, ${format.time_s(best.step_s)}. ${rows
          .slice(0, 6)
          .map((r) => `${r.label}: ${format.time_s(r.step_s)}`)
          .join("; ")}.`,
        height: charts.bar_height(rows.length, 34),
        table: data.table_of(
          "step time",
          [
            ["label", "string"],
            ["step_s", "number", "s"],
            ["lower_s", "number", "s"],
            ["upper_s", "number", "s"],
            ["tokens_per_s", "number"],
            ["tokens_per_s_per_gpu", "number"],
            ["mfu", "number"],
            ["usd_per_step", "number", "USD"],
            ["usd_per_million_tokens", "number", "USD"],
          ].filter(([n]) => n === "label" || rows.some((r) => data.finite(r[n]))),
          rows,
        ),
        option: (theme) => {
          const { axis, left } = charts.category_y(labels, {
            splitLine: { show: true, lineStyle: { color: theme.grid } },
          });
          return {
            grid: charts.grid({ left, top: 10, right: narrow() ? 70 : 250 }),
            tooltip: {
              trigger: "item",
              formatter: (p) => {
                const r = p.data?.record;
                return r
                  ? fabricast.tip(r.label, [
                      `${format.time_s(r.step_s)} (80 %: ${format.time_s(r.lower_s)} to ${format.time_s(r.upper_s)})`,
                      data.finite(r.mfu) ? `MFU ${format.percent(r.mfu)}` : null,
                      data.finite(r.usd_per_million_tokens)
                        ? `${format.number(r.usd_per_million_tokens)} USD for a million tokens`
                        : null,
                    ])
                  : "";
              },
            },
            xAxis: charts.value_axis("time of a step", format.time_s, {
              scale: Math.min(...rows.map((r) => r.lower_s ?? r.step_s)) > 0 && rows[0].plan,
            }),
            yAxis: [
              axis,
              {
                type: "category",
                position: "right",
                inverse: true,
                data: right_labels(rows),
                axisTick: { show: false },
                axisLine: { show: false },
                axisLabel: { interval: 0, color: theme.text },
              },
            ],
            series: [
              charts.whiskers(
                "80 % band",
                rows
                  .map((r, i) => [r.lower_s, r.upper_s, i])
                  .filter((p) => data.finite(p[0]) && data.finite(p[1])),
                theme.line,
              ),
              {
                type: "scatter",
                symbolSize: 12,
                z: 5,
                data: rows.map((r, i) => ({
                  value: [r.step_s, i],
                  record: r,
                  symbol: r === best ? "diamond" : "circle",
                  itemStyle: { color: r === best ? theme.good : theme.palette[9] },
                })),
              },
            ],
          };
        },
      },
    ];
  }

  // The numbers as labels of a second axis, right of the drawing.
  const narrow = () => (fabricast.stage_width || 1000) < 640;
  function right_labels(rows) {
    if (narrow()) return rows.map((r) => format.time_s(r.step_s));
    return rows.map((r) =>
      [
        format.time_s(r.step_s),
        data.finite(r.tokens_per_s) ? `${format.number(r.tokens_per_s)} tokens/s` : null,
        data.finite(r.mfu) ? `MFU ${format.percent(r.mfu)}` : null,
      ]
        .filter(Boolean)
        .join(" · "),
    );
  }

  // plan: what the search found ------------------------------------------------------------------

  function pareto(all) {
    const rows = ran(all);
    if (rows.length < 3 || !rows.some((r) => data.finite(r.memory_bytes))) return [];
    const costs = [["memory_bytes", "memory of a GPU", format.bytes, GIB]];
    if (
      data.unique(rows.map((r) => r.gpus)).length > 1 &&
      rows.some((r) => data.finite(r.usd_per_million_tokens))
    ) {
      costs.push([
        "usd_per_million_tokens",
        "USD for a million tokens",
        (v) => format.number(v),
        1,
      ]);
    }
    const variants = costs.map(([key, name, text, unit]) => {
      const known = rows.filter((r) => data.finite(r[key]));
      // Nobody is both faster and smaller.
      const front = known
        .filter(
          (r) =>
            !known.some(
              (o) =>
                o !== r &&
                o.step_s <= r.step_s &&
                o[key] <= r[key] &&
                (o.step_s < r.step_s || o[key] < r[key]),
            ),
        )
        .sort((a, b) => a[key] - b[key]);
      return {
        name,
        alt: `Scatter of the time of a step over ${name} of ${known.length} layouts. ${front.length} are not beaten in both: ${front
          .slice(0, 5)
          .map((r) => `${r.label} ${format.time_s(r.step_s)}, ${text(r[key])}`)
          .join("; ")}.`,
        table: data.table_of(
          name,
          [
            ["label", "string"],
            ["step_s", "number", "s"],
            [key, "number", key === "memory_bytes" ? "B" : "USD"],
            ["mfu", "number"],
          ],
          known,
        ),
        option: (theme) => ({
          legend: charts.legend(["layouts", "not beaten in both"]),
          grid: charts.grid({ left: 84 }),
          tooltip: {
            trigger: "item",
            formatter: (p) => {
              const r = p.data?.record;
              return r
                ? fabricast.tip(r.label, [
                    `${format.time_s(r.step_s)}, ${text(r[key])}`,
                    `MFU ${format.percent(r.mfu)}`,
                  ])
                : "";
            },
          },
          xAxis: charts.value_axis(name, (v) => text(v * unit), { scale: true }),
          yAxis: {
            ...charts.value_axis("time of a step", format.time_s, { scale: true }),
            nameGap: 62,
          },
          series: [
            {
              type: "scatter",
              name: "layouts",
              symbol: "circle",
              symbolSize: 11,
              itemStyle: { color: theme.palette[0], decal: { symbol: "none" } },
              data: known.map((record) => ({ value: [record[key] / unit, record.step_s], record })),
              label: {
                show: known.length <= 30,
                position: "right",
                color: theme.text,
                fontSize: 11,
                formatter: (p) =>
                  String(p.data.record.place ?? format.short(p.data.record.label, 20)),
              },
              labelLayout: { hideOverlap: true },
            },
            {
              type: "line",
              name: "not beaten in both",
              step: "end",
              symbol: "none",
              lineStyle: { color: theme.palette[1], type: "dashed", width: 2 },
              itemStyle: { color: theme.palette[1] },
              data: front.map((r) => [r[key] / unit, r.step_s]),
              z: 1,
            },
          ],
        }),
      };
    });
    return [
      {
        id: "pareto",
        title: "Time of a step over memory",
        hint: "Each mark is a layout; its number is its place. Left and low is better.",
        height: 400,
        variants,
        variants_label: "Against",
      },
    ];
  }

  const dimensions = [
    ["tp", "TP"],
    ["cp", "CP"],
    ["pp", "PP"],
    ["vpp", "chunks"],
    ["ep", "EP"],
    ["dp", "DP"],
    ["micro_batch", "micro-batch"],
  ];

  function parallel(all) {
    const rows = ran(all);
    if (rows.length < 3) return [];
    const words = ["sharding", "recompute"].filter(
      (k) => data.unique(rows.map((r) => r[k])).length > 1,
    );
    const numbers = dimensions.filter(([k]) => data.unique(rows.map((r) => r[k])).length > 1);
    if (numbers.length + words.length === 0) return [];
    const best = rows[0];
    return [
      {
        id: "parallel",
        title: "Layouts side by side",
        hint: "A line is a layout. The paler, the slower; the best one is broad.",
        least_width: 600,
        alt: `Parallel coordinates of ${rows.length} layouts. Best: ${best.label}, ${format.time_s(best.step_s)}, ${format.bytes(best.memory_bytes)}.`,
        height: 380,
        table: data.table_of(
          "layouts",
          [
            ["label", "string"],
            ...dimensions.map(([k]) => [k, "integer"]),
            ["sharding", "string"],
            ["recompute", "string"],
            ["order", "string"],
            ["step_s", "number", "s"],
            ["memory_bytes", "number", "B"],
          ],
          rows,
        ),
        option: (theme) => {
          const axes = [];
          const values = [];
          for (const [k, label] of numbers) {
            const levels = data.sorted_numbers(rows.map((r) => r[k]));
            axes.push({ name: label, type: "category", data: levels.map(String) });
            values.push((r) => String(r[k]));
          }
          for (const k of words) {
            axes.push({
              name: k,
              type: "category",
              data: data.unique(rows.map((r) => String(r[k]))),
            });
            values.push((r) => String(r[k]));
          }
          axes.push({
            name: "step",
            type: "value",
            scale: true,
            axisLabel: { formatter: format.time_s },
          });
          values.push((r) => r.step_s);
          if (rows.every((r) => data.finite(r.memory_bytes))) {
            axes.push({
              name: "memory",
              type: "value",
              scale: true,
              axisLabel: { formatter: (v) => format.bytes(v * GIB) },
            });
            values.push((r) => r.memory_bytes / GIB);
          }
          const slowest = Math.max(...rows.map((r) => r.step_s));
          const shade = (r) =>
            slowest === best.step_s ? 0 : (r.step_s - best.step_s) / (slowest - best.step_s);
          return {
            tooltip: {
              trigger: "item",
              formatter: (p) => {
                const r = p.data?.record;
                return r
                  ? fabricast.tip(r.label, [format.time_s(r.step_s), format.bytes(r.memory_bytes)])
                  : "";
              },
            },
            parallel: {
              left: 50,
              right: 90,
              top: 36,
              bottom: 20,
              parallelAxisDefault: {
                z: 10,
                nameLocation: "start",
                nameTextStyle: { color: theme.text, fontSize: 12 },
                inverse: false,
                axisLine: { lineStyle: { color: theme.line } },
                axisTick: { show: false },
                axisLabel: {
                  color: theme.text,
                  fontSize: 11,
                  backgroundColor: theme.background,
                  padding: [1, 2],
                },
                nameGap: 14,
                splitLine: { show: false },
              },
            },
            parallelAxis: axes.map((a, dim) => ({ dim, ...a, nameLocation: "end" })),
            series: [
              {
                type: "parallel",
                smooth: 0.1,
                data: rows.map((record) => ({
                  value: values.map((v) => v(record)),
                  record,
                  name: record.label,
                  lineStyle: {
                    color:
                      record === best
                        ? theme.bad
                        : fabricast.shade([theme.palette[0], theme.scale[0]], shade(record) * 0.75),
                    width: record === best ? 4 : 2,
                    opacity: 0.9,
                  },
                })),
              },
            ],
          };
        },
      },
    ];
  }

  // Rank to its index in each dimension; order "tp-cp-dp-pp" is from the innermost.
  function coordinates(r) {
    const order = String(r.order ?? "")
      .split("-")
      .filter((d) => ["tp", "cp", "dp", "pp"].includes(d));
    const sizes = Object.fromEntries(
      ["tp", "cp", "dp", "pp"].map((d) => [d, Math.max(1, r[d] ?? 1)]),
    );
    for (const d of ["tp", "cp", "dp", "pp"]) if (!order.includes(d)) order.push(d);
    const all = sizes.tp * sizes.cp * sizes.dp * sizes.pp;
    const of = (rank) => {
      const at = {};
      let left = rank;
      for (const d of order) {
        at[d] = left % sizes[d];
        left = Math.floor(left / sizes[d]);
      }
      return at;
    };
    const others = (rank, d) => {
      const at = of(rank);
      return order.filter((o) => o !== d).reduce((sum, o) => sum * sizes[o] + at[o], 0);
    };
    // Groups are numbered as they first appear.
    const group = (d) => {
      const seen = new Map();
      return Array.from({ length: all }, (_, rank) => {
        const key = others(rank, d);
        if (!seen.has(key)) seen.set(key, seen.size);
        return seen.get(key);
      });
    };
    // Experts: within a stage, ETP then EP, as Megatron nests them.
    const expert = () => {
      const etp = Math.max(1, r.etp ?? 1);
      const ep = Math.max(1, r.ep ?? 1);
      const inner = order.filter((d) => d !== "pp");
      const seen = new Map();
      return Array.from({ length: all }, (_, rank) => {
        const at = of(rank);
        let p = 0;
        for (const d of [...inner].reverse()) p = p * sizes[d] + at[d];
        const key = `${at.pp}|${p % etp}|${Math.floor(p / (etp * ep))}`;
        if (!seen.has(key)) seen.set(key, seen.size);
        return seen.get(key);
      });
    };
    return { sizes, all, of, group, expert, order };
  }

  function placement(all) {
    const rows = ran(all).filter((r) => r.order && !r.ranks);
    const r = rows[0];
    if (!r || !data.finite(r.gpus) || !data.finite(r.nodes) || r.nodes < 1) return [];
    const each = Math.max(1, Math.round(r.gpus / r.nodes));
    const c = coordinates(r);
    if (c.all !== r.gpus) return [];
    const nodes = Math.min(Math.ceil(c.all / each), 32);
    const kinds = [
      ["tp", "TP groups"],
      ["cp", "CP groups"],
      ["pp", "pipelines (PP groups)"],
      ["dp", "DP groups"],
    ].filter(([d]) => c.sizes[d] > 1);
    const expert_groups = (r.ep ?? 1) > 1;
    const choices = kinds.map(([d, label]) => ({ label, size: c.sizes[d], groups: c.group(d) }));
    if (expert_groups) choices.push({ label: "EP groups", size: r.ep, groups: c.expert() });
    const variants = choices.map(({ label, size, groups }) => {
      const in_group = data.group([...groups.keys()], (rank) => groups[rank]);
      const first = in_group.get(0) ?? [];
      const spans = data.unique(first.map((rank) => Math.floor(rank / each))).length;
      return {
        name: label,
        alt: `Grid of ranks, a row for each node. ${label}: ${in_group.size} of ${size} ranks; the first holds ranks ${first.slice(0, 8).join(", ")}${first.length > 8 ? " …" : ""} on ${format.count(spans, "node")}.`,
        hint: `${r.label}, order ${r.order}: the leftmost is innermost. ${in_group.size} ${label} of ${size} ranks; a group spans ${format.count(spans, "node")}. Cells of one number are one group.${
          Math.ceil(c.all / each) > nodes
            ? ` The first ${nodes} of ${Math.ceil(c.all / each)} nodes.`
            : ""
        }`,
        height: 60 + nodes * (nodes > 16 ? 22 : 30),
        table: data.table_of(
          label,
          [
            ["rank", "integer"],
            ["node", "integer"],
            ["gpu", "integer"],
            ["group", "integer"],
            ...kinds.map(([d]) => [`${d}_index`, "integer"]),
          ],
          groups.map((g, rank) => {
            const at = c.of(rank);
            return {
              rank,
              node: Math.floor(rank / each),
              gpu: rank % each,
              group: g,
              ...Object.fromEntries(kinds.map(([d]) => [`${d}_index`, at[d]])),
            };
          }),
        ),
        option: (theme) => {
          const cells = groups.slice(0, nodes * each).map((g, rank) => ({
            value: [rank % each, Math.floor(rank / each)],
            rank,
            group: g,
          }));
          return {
            grid: charts.grid({ left: 70, right: 12, top: 26, bottom: 8 }),
            tooltip: {
              trigger: "item",
              formatter: (p) => {
                const cell = p.data;
                const at = c.of(cell.rank);
                return fabricast.tip(
                  `rank ${cell.rank}, node ${cell.value[1]}, gpu ${cell.value[0]}`,
                  [`${label}: group ${cell.group}`, kinds.map(([d]) => `${d} ${at[d]}`).join(", ")],
                );
              },
            },
            xAxis: {
              type: "category",
              position: "top",
              data: Array.from({ length: each }, (_, i) => `gpu${i}`),
              axisTick: { show: false },
              axisLine: { show: false },
            },
            yAxis: {
              type: "category",
              inverse: true,
              data: Array.from({ length: nodes }, (_, i) => `node ${i}`),
              axisTick: { show: false },
              axisLine: { show: false },
              axisLabel: { interval: 0 },
            },
            series: [
              {
                type: "custom",
                itemStyle: { decal: { symbol: "none" } },
                data: cells,
                renderItem: (params, api) => {
                  const cell = cells[params.dataIndex];
                  const at = api.coord(cell.value);
                  const [w, h] = api.size([1, 1]);
                  const color = theme.palette[cell.group % theme.palette.length];
                  return {
                    type: "group",
                    children: [
                      charts.cell_rect(at, [w, h], { fill: color }, { r: 2 }),
                      {
                        type: "text",
                        silent: true,
                        style: {
                          text: String(cell.group),
                          x: at[0],
                          y: at[1],
                          align: "center",
                          verticalAlign: "middle",
                          fill: fabricast.ink_on(color),
                          fontSize: 11,
                          fontFamily: fabricast.font,
                        },
                      },
                    ],
                  };
                },
              },
            ],
          };
        },
      };
    });
    return variants.length
      ? [
          {
            id: "placement",
            title: `Where the ranks lie${r.plan ? ": the best layout" : ""}`,
            variants,
            variants_label: "Groups",
          },
        ]
      : [];
  }

  function refused(report) {
    const rows = data.records(report, "rows", ["refused"]).filter((r) => r.refused);
    if (rows.length === 0) return [];
    return [
      {
        id: "refused",
        title: "Variations without a result",
        list: rows.map((r) => ({
          mark: "bad",
          word: "refused",
          text: r.variation || "step",
          details: [r.refused],
        })),
      },
    ];
  }

  function step(part) {
    const report = part?.report;
    const rows = joined(report);
    const of_time = times(report, rows);
    of_time.splice(1, 0, ...fabricast.step_timeline(report));
    return [
      ...of_time,
      ...variations(rows),
      ...memory(rows, data.parts(report, "memory", "B")),
      ...placement(rows),
      ...refused(report),
    ];
  }

  fabricast.figures.step = step;
  fabricast.figures.plan = (part) => {
    const report = part?.report;
    const rows = joined(report);
    return [
      ...pareto(rows),
      ...parallel(rows),
      ...times(report, rows),
      ...variations(rows),
      ...memory(rows, data.parts(report, "memory", "B")),
      ...placement(rows),
      ...refused(report),
    ];
  };

  // What serve draws of a GPU's memory, too.
  fabricast.step_memory = memory;
})();
