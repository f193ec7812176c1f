"use strict";
// cutover: fastest algorithm by nodes and size, what NCCL's choice loses, thresholds, all curves.
globalThis.fabricast ??= {};
fabricast.figures ??= {};
(() => {
  const { format, data, charts } = fabricast;
  const as_asked = (changed) => (changed ? String(changed) : "as asked");

  const axis_x = (sizes) => ({
    type: "category",
    data: sizes.map((s) => format.bytes(s)),
    name: "message size",
    nameLocation: "middle",
    nameGap: 30,
    axisTick: { show: false },
    axisLabel: { hideOverlap: true },
  });
  const axis_y = (nodes) => ({
    type: "category",
    data: nodes.map((n) => format.count(n, "node")),
    axisTick: { show: false },
    inverse: false,
  });

  const cell_text = (color, text, x, y, wide) => ({
    type: "text",
    silent: true,
    style: {
      text,
      x,
      y,
      width: wide,
      align: "center",
      verticalAlign: "middle",
      fill: fabricast.ink_on(color),
      backgroundColor: color,
      borderRadius: 2,
      padding: [1, 3],
      fontSize: 11.5,
      lineHeight: 14,
      fontFamily: fabricast.font,
    },
  });

  function fastest(choices) {
    const variants = [];
    for (const [changed, rows] of data.group(choices, (r) => as_asked(r.changed))) {
      const sizes = data.sorted_numbers(rows.map((r) => r.size_bytes));
      const nodes = data.sorted_numbers(rows.map((r) => r.nodes));
      for (const [key, words] of [
        ["fastest", "fastest"],
        ["nccl", "what NCCL takes"],
      ]) {
        const names = data.unique(rows.map((r) => r[key]).filter(Boolean));
        variants.push({
          name: `${changed === "as asked" ? "" : `${changed}: `}${words}`,
          alt: `Grid of ${words} by number of nodes and size: ${names
            .map(
              (n) => `${n} in ${rows.filter((r) => r[key] === n).length} of ${rows.length} cells`,
            )
            .join(", ")}.`,
          height: 130 + 46 * nodes.length,
          table: data.table_of(
            words,
            [
              ["nodes", "integer"],
              ["size_bytes", "integer", "B"],
              ["fastest", "string"],
              ["nccl", "string"],
              ["loss", "number"],
            ],
            rows,
          ),
          option: (theme) => ({
            legend: charts.legend(names),
            grid: charts.grid({ left: 84 }),
            tooltip: {
              trigger: "item",
              formatter: (p) => {
                const r = p.data?.record;
                return r
                  ? fabricast.tip(
                      `${format.count(r.nodes, "node")}, ${format.bytes(r.size_bytes)}`,
                      [
                        `fastest: ${r.fastest}`,
                        `NCCL takes: ${r.nccl}`,
                        `loss: ${format.percent(r.loss)}`,
                      ],
                    )
                  : "";
              },
            },
            xAxis: axis_x(sizes),
            yAxis: axis_y(nodes),
            series: names.map((name) => {
              const color = fabricast.choice_style(name).color;
              return {
                type: "custom",
                name,
                itemStyle: { color },
                data: rows
                  .filter((r) => r[key] === name)
                  .map((record) => ({
                    value: [sizes.indexOf(record.size_bytes), nodes.indexOf(record.nodes)],
                    record,
                  })),
                renderItem: (_, api) => {
                  const at = api.coord([api.value(0), api.value(1)]);
                  const [w, h] = api.size([1, 1]);
                  return {
                    type: "group",
                    children: [
                      charts.cell_rect(at, [w, h], { fill: color, decal: api.visual("decal") }),
                      cell_text(
                        color,
                        name.length * 6.3 > w - 8 ? name.replace(" ", "\n") : name,
                        at[0],
                        at[1],
                      ),
                    ],
                  };
                },
              };
            }),
          }),
        });
      }
    }
    return variants.length
      ? [
          {
            id: "fastest",
            title: "Fastest algorithm and protocol",
            variants,
            variants_label: "Shown",
          },
        ]
      : [];
  }

  function losses(choices) {
    const variants = [];
    for (const [changed, rows] of data.group(choices, (r) => as_asked(r.changed))) {
      const sizes = data.sorted_numbers(rows.map((r) => r.size_bytes));
      const nodes = data.sorted_numbers(rows.map((r) => r.nodes));
      const known = rows.filter((r) => data.finite(r.loss));
      if (known.length === 0) continue;
      const most = Math.max(...known.map((r) => r.loss));
      const worst = known.find((r) => r.loss === most);
      const scale = Math.max(0.1, most);
      variants.push({
        name: changed,
        alt: `Grid of what NCCL's choice loses to the fastest one. Worst: ${format.percent(most)} at ${format.bytes(worst.size_bytes)} on ${format.count(worst.nodes, "node")}, where NCCL takes ${worst.nccl} and ${worst.fastest} is fastest.`,
        height: 130 + 46 * nodes.length,
        table: data.table_of(
          "loss",
          [
            ["nodes", "integer"],
            ["size_bytes", "integer", "B"],
            ["fastest", "string"],
            ["nccl", "string"],
            ["loss", "number"],
          ],
          rows,
        ),
        option: (theme) => ({
          grid: charts.grid({ left: 84 }),
          tooltip: {
            trigger: "item",
            formatter: (p) => {
              const r = p.data?.record;
              return r
                ? fabricast.tip(`${format.count(r.nodes, "node")}, ${format.bytes(r.size_bytes)}`, [
                    `NCCL's ${r.nccl} takes ${format.percent(r.loss)} longer than ${r.fastest}`,
                  ])
                : "";
            },
          },
          xAxis: axis_x(sizes),
          yAxis: axis_y(nodes),
          visualMap: {
            type: "continuous",
            min: 0,
            max: scale,
            dimension: 2,
            seriesIndex: [],
            orient: "horizontal",
            left: "center",
            top: 2,
            itemHeight: 150,
            itemWidth: 11,
            text: [`${format.percent(scale)} longer`, "0 %"],
            textStyle: { color: theme.text },
            inRange: { color: theme.heat },
          },
          series: [
            {
              type: "custom",
              itemStyle: { decal: { symbol: "none" } },
              data: known.map((record) => ({
                value: [sizes.indexOf(record.size_bytes), nodes.indexOf(record.nodes), record.loss],
                record,
              })),
              renderItem: (_, api) => {
                const at = api.coord([api.value(0), api.value(1)]);
                const [w, h] = api.size([1, 1]);
                const loss = api.value(2);
                const color = fabricast.shade(theme.heat, loss / scale);
                return {
                  type: "group",
                  children: [
                    charts.cell_rect(at, [w, h], { fill: color }),
                    cell_text(color, loss < 0.0005 ? "0" : format.percent(loss), at[0], at[1]),
                  ],
                };
              },
            },
          ],
        }),
      });
    }
    return variants.length
      ? [
          {
            id: "loss",
            title: "What NCCL's choice loses to the fastest",
            hint: "0 is where NCCL takes the fastest.",
            variants,
            variants_label: "Setup",
          },
        ]
      : [];
  }

  function thresholds(report) {
    const rows = data.records(report, "cutovers", ["size_bytes", "from", "to"]);
    if (rows.length === 0) return [];
    const variants = [];
    for (const [changed, all] of data.group(rows, (r) => as_asked(r.changed))) {
      const label = (r) =>
        `${format.count(r.nodes, "node")}, ${r.of === "nccl" ? "NCCL's" : String(r.of ?? "choice")}`;
      const labels = data.unique(all.map(label));
      const kinds = data.unique(all.map((r) => r.of));
      variants.push({
        name: changed,
        alt: `Sizes at which another choice takes over: ${all
          .slice(0, 6)
          .map((r) => `${label(r)}: ${r.from} to ${r.to} at ${format.bytes(r.size_bytes)}`)
          .join("; ")}.`,
        height: 110 + 42 * labels.length,
        table: data.cut(report, "cutovers", null, (at) => as_asked(at("changed")) === changed),
        option: (theme) => {
          const { axis, left } = charts.category_y(labels, {
            splitLine: { show: true, lineStyle: { color: theme.grid } },
          });
          return {
            legend: charts.legend(
              kinds.map((k) => (k === "nccl" ? "NCCL changes" : `${k} changes`)),
              { itemWidth: 16 },
            ),
            grid: charts.grid({ left }),
            tooltip: {
              trigger: "item",
              formatter: (p) => {
                const r = p.data?.record;
                return r
                  ? fabricast.tip(`${label(r)}: ${r.from} → ${r.to}`, [
                      `at ${format.bytes(r.size_bytes)}`,
                      r.near_first_bytes !== r.near_last_bytes
                        ? `less than 10 % apart from ${format.bytes(r.near_first_bytes)} to ${format.bytes(r.near_last_bytes)}`
                        : null,
                    ])
                  : "";
              },
            },
            xAxis: charts.size_axis(
              all.flatMap((r) => [
                r.size_bytes / 2,
                r.near_first_bytes,
                r.near_last_bytes,
                r.size_bytes * 2,
              ]),
            ),
            yAxis: axis,
            series: [
              charts.whiskers(
                "near",
                all
                  .filter((r) => r.near_first_bytes < r.near_last_bytes)
                  .map((r) => [r.near_first_bytes, r.near_last_bytes, labels.indexOf(label(r))]),
                theme.line,
              ),
              ...kinds.map((kind, i) => ({
                type: "scatter",
                name: kind === "nccl" ? "NCCL changes" : `${kind} changes`,
                symbol: kind === "nccl" ? "diamond" : "circle",
                symbolSize: 11,
                itemStyle: { color: theme.palette[kind === "nccl" ? 1 : i === 0 ? 0 : i + 1] },
                z: 5,
                data: all
                  .filter((r) => r.of === kind)
                  .map((record) => ({
                    value: [record.size_bytes, labels.indexOf(label(record))],
                    record,
                  })),
                label: {
                  show: true,
                  position: "top",
                  distance: 3,
                  color: theme.text,
                  fontSize: 11,
                  formatter: (p) => `→ ${p.data.record.to}`,
                },
                labelLayout: { hideOverlap: true },
              })),
            ],
          };
        },
      });
    }
    return [
      {
        id: "thresholds",
        title: "Sizes at which another choice takes over",
        hint: "A mark says what is taken from that size on. A whisker spans the sizes at which the two are nearly equal.",
        variants,
        variants_label: "Setup",
      },
    ];
  }

  function curves(report) {
    const rows = data
      .records(report, "rows", ["nodes", "size_bytes", "time_us", "algorithm", "protocol"])
      .filter((r) => data.finite(r.time_us) && r.time_us > 0);
    const variants = [];
    for (const [key, all] of data.group(
      rows,
      (r) => `${r.collective}, ${format.count(r.nodes, "node")}`,
    )) {
      const sizes = data.sorted_numbers(all.map((r) => r.size_bytes));
      if (sizes.length < 2) continue;
      const taken = all.filter((r) => r.nccl_takes).sort((a, b) => a.size_bytes - b.size_bytes);
      const best = all.filter((r) => r.fastest).sort((a, b) => a.size_bytes - b.size_bytes);
      const last = best[best.length - 1];
      variants.push({
        name: key,
        alt: `Lines of the simulated time of each candidate over size, ${key}.${
          last
            ? ` At ${format.bytes(last.size_bytes)} ${last.algorithm} ${last.protocol} is fastest, ${format.time_us(last.time_us)}.`
            : ""
        }`,
        table: data.table_of(
          "candidates",
          [
            ["nodes", "integer"],
            ["size_bytes", "integer", "B"],
            ["algorithm", "string"],
            ["protocol", "string"],
            ["time_us", "number", "us"],
            ["busbw_GBps", "number", "GB/s"],
            ["extrapolated", "boolean"],
            ["fastest", "boolean"],
            ["nccl_takes", "boolean"],
          ],
          all,
        ),
        option: (theme) =>
          fabricast.candidate_lines({
            rows: all,
            time: (r) => r.time_us,
            taken: taken.map((r) => ({ value: [r.size_bytes, r.time_us] })),
            taken_name: "NCCL takes",
            x_values: sizes,
            theme,
            tip: (name, r, t) =>
              `${name}: ${format.time_us(t)}${r.fastest ? ", fastest" : ""}${r.nccl_takes ? ", NCCL takes it" : ""}${r.extrapolated ? " (extrapolated)" : ""}`,
          }),
      });
    }
    return variants.length
      ? [
          {
            id: "curves",
            title: "Simulated time of every candidate",
            hint: "NCCL's choice is drawn broad and pale; where it is not the lowest line, it loses.",
            height: 430,
            variants,
            variants_label: "Nodes",
          },
        ]
      : [];
  }

  fabricast.figures.cutover = (part) => {
    const report = part?.report;
    const choices = data.records(report, "choices", ["nodes", "size_bytes", "fastest", "nccl"]);
    return [...fastest(choices), ...losses(choices), ...thresholds(report), ...curves(report)];
  };
})();
