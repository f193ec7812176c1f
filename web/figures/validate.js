"use strict";
// validate: predicted over measured, for nccl-tests and for training steps.
globalThis.fabricast ??= {};
fabricast.figures ??= {};
(() => {
  const { format, data, charts } = fabricast;

  const guides = (theme, values) => ({
    silent: true,
    symbol: "none",
    animation: false,
    data: values.map((v) => ({
      yAxis: v,
      lineStyle: {
        color: v === 1 ? theme.text : theme.line,
        type: v === 1 ? "solid" : "dashed",
        width: v === 1 ? 1.5 : 1,
      },
      label: { show: true, position: "insideEndTop", color: theme.muted, formatter: String(v) },
    })),
  });

  function ratios(report) {
    const rows = data
      .records(report, "rows", ["size_bytes", "measured_us", "predicted_us"])
      .filter((r) => r.measured_us > 0 && r.predicted_us > 0 && r.size_bytes > 0)
      .map((r) => ({ ...r, ratio: r.predicted_us / r.measured_us }));
    if (rows.length === 0) return [];
    const classes = data.group(rows, (r) => r.class || "not said");
    const middle = data.median(rows.map((r) => Math.abs(Math.log(r.ratio))));
    const banded = rows.filter((r) => data.finite(r.lower_us));
    const inside = banded.filter(
      (r) => r.measured_us >= r.lower_us && r.measured_us <= r.upper_us,
    ).length;
    return [
      {
        id: "ratio",
        title: "Predicted over measured time, by size",
        hint: `1 is a right prediction; the dashed lines are factors of 1.25 and 2. ${banded.length ? `${inside} of ${banded.length} measured times lie in their 80 % band.` : ""}`,
        alt: `Scatter of predicted over measured time of ${rows.length} points, by class. Half of them are within a factor of ${format.number(Math.exp(middle))}.`,
        height: 420,
        table: data.table_of(
          "predicted over measured",
          [
            ["run_id", "string"],
            ["collective", "string"],
            ["class", "string"],
            ["size_bytes", "integer", "B"],
            ["measured_us", "number", "us"],
            ["predicted_us", "number", "us"],
            ["ratio", "number"],
            ["error", "number"],
          ],
          rows,
        ),
        option: (theme) => ({
          legend: charts.legend([...classes.keys()], { itemWidth: 16 }),
          grid: charts.grid(),
          tooltip: {
            trigger: "item",
            formatter: (p) => {
              const r = p.data?.record;
              return r
                ? fabricast.tip(`${r.run_id}, ${r.collective}, ${format.bytes(r.size_bytes)}`, [
                    `measured ${format.time_us(r.measured_us)}, predicted ${format.time_us(r.predicted_us)}`,
                    `predicted over measured ${format.number(r.ratio)}`,
                    `${r.algorithm ?? ""} ${r.protocol ?? ""}, ${r.class ?? ""}`,
                  ])
                : "";
            },
          },
          xAxis: charts.size_axis(rows.flatMap((r) => [r.size_bytes / 2, r.size_bytes * 2])),
          yAxis: charts.log_axis([...rows.map((r) => r.ratio), 0.75, 1.35], {
            name: "predicted over measured",
            nameGap: 50,
            formatter: (v) => format.number(v),
          }),
          series: [...classes].map(([name, all], i) => {
            const look = charts.look(theme, i);
            return {
              type: "scatter",
              name,
              symbol: look.symbol,
              symbolSize: rows.length > 500 ? 6 : 10,
              itemStyle: { color: look.color, opacity: rows.length > 500 ? 0.6 : 0.9 },
              data: all.map((record) => ({ value: [record.size_bytes, record.ratio], record })),
              markLine: i === 0 ? guides(theme, [0.5, 0.8, 1, 1.25, 2]) : undefined,
            };
          }),
        }),
      },
    ];
  }

  function errors(report) {
    const rows = data.records(report, "classes", ["class", "sizes", "median_error"]);
    if (rows.length === 0) return [];
    const classes = data.unique(rows.map((r) => r.class));
    const sizes = data.unique(rows.map((r) => r.sizes));
    const most = Math.max(0.1, ...rows.map((r) => r.median_error ?? 0));
    const worst = rows.reduce((a, b) => ((b.median_error ?? 0) > (a.median_error ?? 0) ? b : a));
    return [
      {
        id: "errors",
        title: "Median error by class of machine and size",
        alt: `Grid of the median error by class and size. Largest: ${format.percent(worst.median_error)}, ${worst.class}, ${worst.sizes}.`,
        hint: "Below the error: its direction (more than 0 predicts too long a time) and how many runs it is known from.",
        height: 100 + 52 * classes.length,
        table: data.cut(report, "classes"),
        option: (theme) => {
          const { axis, left } = charts.category_y(classes);
          const cells = rows.map((record) => ({
            value: [sizes.indexOf(record.sizes), classes.indexOf(record.class)],
            record,
          }));
          return {
            grid: charts.grid({ left, top: 12, bottom: 50 }),
            tooltip: {
              trigger: "item",
              formatter: (p) => {
                const r = p.data?.record;
                return r
                  ? fabricast.tip(`${r.class}, ${r.sizes}`, [
                      `median error ${format.percent(r.median_error)}`,
                      `median bias ${format.percent(r.median_bias, true)}`,
                      format.count(r.runs, "run"),
                    ])
                  : "";
              },
            },
            xAxis: {
              type: "category",
              data: sizes,
              name: "message size",
              nameLocation: "middle",
              nameGap: 30,
              axisTick: { show: false },
            },
            yAxis: axis,
            series: [
              {
                type: "custom",
                itemStyle: { decal: { symbol: "none" } },
                data: cells,
                renderItem: (params, api) => {
                  const { record } = cells[params.dataIndex];
                  const p = api.coord([api.value(0), api.value(1)]);
                  const [w, h] = api.size([1, 1]);
                  const color = fabricast.shade(theme.heat, (record.median_error ?? 0) / most);
                  return {
                    type: "group",
                    children: [
                      {
                        type: "rect",
                        shape: {
                          x: p[0] - w / 2 + 1,
                          y: p[1] - h / 2 + 1,
                          width: w - 2,
                          height: h - 2,
                        },
                        style: { fill: color },
                      },
                      {
                        type: "text",
                        silent: true,
                        style: {
                          text: `${format.percent(record.median_error)}\n${format.percent(record.median_bias, true)}, ${format.count(record.runs, "run")}`,
                          x: p[0],
                          y: p[1],
                          align: "center",
                          verticalAlign: "middle",
                          lineHeight: 15,
                          fill: fabricast.ink_on(color),
                          fontSize: 11.5,
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
      },
    ];
  }

  function ranges(report) {
    const all = data.records(report, "ranges", ["era", "sizes", "median_over_classes"]);
    if (all.length === 0) return [];
    const variants = [...data.group(all, (r) => r.era)].map(([era, rows]) => {
      const measures = [
        ["median_over_classes", "median of classes"],
        ["p90_over_runs", "90th percentile of runs"],
        ["left_out_median", "median, run left out"],
        ["left_out_p90", "90th percentile, run left out"],
      ].filter(([k]) => rows.some((r) => data.finite(r[k])));
      return {
        name: String(era),
        alt: `Bars of the error by size range, ${era}. ${rows
          .map(
            (r) =>
              `${r.sizes}: median ${format.percent(r.median_over_classes)}, 90th percentile ${format.percent(r.p90_over_runs)}`,
          )
          .join("; ")}.`,
        table: data.cut(report, "ranges", null, (at) => at("era") === era),
        option: (theme) => ({
          legend: charts.legend(measures.map(([, l]) => l)),
          grid: charts.grid(),
          tooltip: {
            trigger: "axis",
            axisPointer: { type: "shadow" },
            formatter: (ps) =>
              fabricast.tip(
                rows[ps[0]?.dataIndex ?? 0].sizes,
                ps.map((p) => `${p.seriesName}: ${format.percent(p.value)}`),
              ),
          },
          xAxis: {
            type: "category",
            data: rows.map((r) => r.sizes),
            name: "message size",
            nameLocation: "middle",
            nameGap: 30,
          },
          yAxis: { ...charts.value_axis("error", (v) => format.percent(v)), nameGap: 50 },
          series: measures.map(([k, label], i) => ({
            type: "bar",
            name: label,
            barMaxWidth: 34,
            itemStyle: { color: theme.palette[i] },
            data: rows.map((r) => r[k]),
            label: {
              show: true,
              position: "top",
              color: theme.text,
              fontSize: 11,
              formatter: (p) => format.percent(p.value),
            },
          })),
        }),
      };
    });
    return [
      {
        id: "ranges",
        title: "Error by size range",
        hint: "Left out: predicted without the run's own measurements.",
        height: 340,
        variants,
        variants_label: "Era",
      },
    ];
  }

  function pairs(report) {
    const rows = data
      .records(report, "pairs", ["measured_ratio", "predicted_ratio", "what_changed", "ratio_of"])
      .filter((r) => r.measured_ratio > 0 && r.predicted_ratio > 0);
    if (rows.length === 0) return [];
    const labels = rows.map(
      (r) => `${r.what_changed}, ${format.bytes(r.size_bytes)} (${r.ratio_of})`,
    );
    return [
      {
        id: "pairs",
        title: "What a change does: measured and predicted",
        hint: "Ratio of the run with the change to the run without. 1 is no change.",
        alt: `Marks of measured and predicted ratios. ${rows
          .slice(0, 6)
          .map(
            (r, i) =>
              `${labels[i]}: ${format.number(r.measured_ratio)} measured, ${format.number(r.predicted_ratio)} predicted`,
          )
          .join("; ")}.`,
        height: charts.bar_height(rows.length, 34),
        table: data.cut(report, "pairs"),
        option: (theme) => {
          const { axis, left } = charts.category_y(labels, {
            splitLine: { show: true, lineStyle: { color: theme.grid } },
          });
          return {
            legend: charts.legend(["measured", "predicted"], { itemWidth: 16 }),
            grid: charts.grid({ left }),
            tooltip: {
              trigger: "item",
              formatter: (p) => {
                const r = rows[p.data?.value?.[1] ?? 0];
                return fabricast.tip(r.what_changed, [
                  `${r.run_id} against ${r.baseline_run}`,
                  `measured ${format.number(r.measured_ratio)}`,
                  `predicted ${format.number(r.predicted_ratio)}`,
                ]);
              },
            },
            xAxis: charts.log_axis(
              [...rows.flatMap((r) => [r.measured_ratio, r.predicted_ratio]), 0.9, 1.1],
              {
                name: "ratio",
                nameGap: 30,
                formatter: (v) => format.number(v),
              },
            ),
            yAxis: axis,
            series: [
              ["measured", "measured_ratio", "ring", theme.palette[1], 15],
              ["predicted", "predicted_ratio", "diamond", theme.palette[0], 10],
            ].map(([name, key, symbol, color, size]) => ({
              type: "scatter",
              name,
              ...charts.mark(symbol, color, size),
              data: rows.map((r, i) => ({ value: [r[key], i] })),
              markLine:
                name === "measured"
                  ? {
                      silent: true,
                      symbol: "none",
                      label: { show: false },
                      lineStyle: { color: theme.line, type: "solid" },
                      data: [{ xAxis: 1 }],
                    }
                  : undefined,
            })),
          };
        },
      },
    ];
  }

  fabricast.figures.validate_nccl_tests = (part) => [
    ...ratios(part?.report),
    ...errors(part?.report),
    ...ranges(part?.report),
    ...pairs(part?.report),
  ];

  // Training steps -------------------------------------------------------------------------------

  function step_rows(report) {
    return data
      .records(report, "rows", ["measured_s", "predicted_s"])
      .filter((r) => r.measured_s > 0 && r.predicted_s > 0)
      .map((r) => ({ ...r, ratio: r.predicted_s / r.measured_s }));
  }

  const step_columns = [
    ["case_id", "string"],
    ["framework", "string"],
    ["gpu", "string"],
    ["measured_s", "number", "s"],
    ["predicted_s", "number", "s"],
    ["lower_s", "number", "s"],
    ["upper_s", "number", "s"],
    ["ratio", "number"],
  ];

  function steps_scatter(rows) {
    const groups = data.group(rows, (r) => r.framework || "not said");
    const ends = [
      Math.min(...rows.map((r) => Math.min(r.measured_s, r.predicted_s))),
      Math.max(...rows.map((r) => Math.max(r.measured_s, r.predicted_s))),
    ];
    const middle = Math.exp(data.median(rows.map((r) => Math.abs(Math.log(r.ratio)))));
    const banded = rows.filter((r) => data.finite(r.lower_s));
    const inside = banded.filter(
      (r) => r.measured_s >= r.lower_s && r.measured_s <= r.upper_s,
    ).length;
    const axis = (name, gap) =>
      charts.log_axis(ends, { name, nameGap: gap, formatter: format.time_s });
    const line = (factor, theme) => ({
      type: "line",
      silent: true,
      symbol: "none",
      z: 1,
      data: [
        [ends[0], ends[0] * factor],
        [ends[1], ends[1] * factor],
      ],
      lineStyle: {
        color: factor === 1 ? theme.text : theme.line,
        type: factor === 1 ? "solid" : "dashed",
        width: 1.2,
      },
    });
    return {
      id: "steps",
      title: "Predicted over measured time of a step",
      hint: `On the line the prediction is right; the dashed lines are a factor of 1.25. ${banded.length ? `${inside} of ${banded.length} measured steps lie in their 80 % band.` : ""}`,
      alt: `Scatter of predicted over measured step times of ${rows.length} cases, by framework. Half of them are within a factor of ${format.number(middle)}.`,
      height: 520,
      table: data.table_of("steps", step_columns, rows),
      option: (theme) => ({
        legend: charts.legend([...groups.keys()], { itemWidth: 16 }),
        grid: charts.grid(),
        tooltip: {
          trigger: "item",
          formatter: (p) => {
            const r = p.data?.record;
            return r
              ? fabricast.tip(r.case_id, [
                  `measured ${format.time_s(r.measured_s)}, predicted ${format.time_s(r.predicted_s)} (${format.number(r.ratio)})`,
                  `80 %: ${format.time_s(r.lower_s)} to ${format.time_s(r.upper_s)}`,
                  `${r.framework ?? ""}, ${r.gpu ?? ""}`,
                ])
              : "";
          },
        },
        xAxis: axis("measured", 30),
        yAxis: axis("predicted", 58),
        series: [
          line(1, theme),
          line(1.25, theme),
          line(0.8, theme),
          ...[...groups].map(([name, all], i) => {
            const look = charts.look(theme, i);
            return {
              type: "scatter",
              name,
              symbol: look.symbol,
              symbolSize: rows.length > 300 ? 6 : 9,
              itemStyle: { color: look.color, opacity: rows.length > 300 ? 0.65 : 0.9 },
              data: all.map((record) => ({
                value: [record.measured_s, record.predicted_s],
                record,
              })),
            };
          }),
        ],
      }),
    };
  }

  function steps_spread(rows) {
    const by = [
      ["framework", "framework"],
      ["gpu", "GPU"],
    ];
    const quantile = (sorted, q) => {
      const at = (sorted.length - 1) * q;
      const low = Math.floor(at);
      return (
        sorted[low] + (sorted[Math.min(low + 1, sorted.length - 1)] - sorted[low]) * (at - low)
      );
    };
    const variants = by.map(([key, name]) => {
      const all = [...data.group(rows, (r) => r[key] || "not said")]
        .map(([label, list]) => {
          const sorted = list.map((r) => r.ratio).sort((a, b) => a - b);
          return {
            label: String(label),
            cases: list.length,
            least: quantile(sorted, 0.1),
            middle: quantile(sorted, 0.5),
            most: quantile(sorted, 0.9),
          };
        })
        .sort((a, b) => b.cases - a.cases)
        .slice(0, 30);
      const labels = all.map((r) => `${r.label} (${r.cases})`);
      return {
        name: `by ${name}`,
        alt: `Median and spread of predicted over measured by ${name}. ${all
          .slice(0, 6)
          .map((r) => `${r.label}: ${format.number(r.middle)}`)
          .join("; ")}.`,
        height: charts.bar_height(all.length, 32),
        table: data.table_of(
          "spread",
          [
            ["label", "string"],
            ["cases", "integer"],
            ["least", "number"],
            ["middle", "number"],
            ["most", "number"],
          ],
          all,
        ),
        option: (theme) => {
          const { axis, left } = charts.category_y(labels, {
            splitLine: { show: true, lineStyle: { color: theme.grid } },
          });
          return {
            grid: charts.grid({ left, top: 10 }),
            tooltip: {
              trigger: "item",
              formatter: (p) => {
                const r = all[p.data?.[1] ?? 0];
                return fabricast.tip(r.label, [
                  `median ${format.number(r.middle)}`,
                  `8 of 10 cases from ${format.number(r.least)} to ${format.number(r.most)}`,
                  format.count(r.cases, "case"),
                ]);
              },
            },
            xAxis: charts.log_axis([...all.flatMap((r) => [r.least, r.most]), 0.9, 1.1], {
              name: "predicted over measured",
              nameGap: 30,
              formatter: (v) => format.number(v),
            }),
            yAxis: axis,
            series: [
              charts.whiskers(
                "spread",
                all.map((r, i) => [r.least, r.most, i]),
                theme.line,
              ),
              {
                type: "scatter",
                symbol: "diamond",
                symbolSize: 13,
                itemStyle: { color: theme.palette[0] },
                z: 5,
                data: all.map((r, i) => [r.middle, i]),
                markLine: {
                  silent: true,
                  symbol: "none",
                  label: { show: false },
                  lineStyle: { color: theme.text, type: "solid" },
                  data: [{ xAxis: 1 }],
                },
              },
            ],
          };
        },
      };
    });
    return {
      id: "spread",
      title: "Predicted over measured, median and spread",
      hint: "A mark is the median, its whisker holds 8 of 10 cases; in brackets how many cases.",
      variants,
      variants_label: "Shown",
    };
  }

  fabricast.figures.validate_steps = (part) => {
    const rows = step_rows(part?.report);
    return rows.length ? [steps_scatter(rows), steps_spread(rows)] : [];
  };
})();
