"use strict";
// run: cases of a scenario, its expectations, and what was measured.
globalThis.fabricast ??= {};
fabricast.figures ??= {};
(() => {
  const { format, data, charts } = fabricast;

  function expectations(report) {
    const rows = data.records(report, "expectations", ["holds", "what"]);
    if (rows.length === 0) return [];
    const good = rows.filter((r) => r.holds).length;
    return [
      {
        id: "expectations",
        title: `Expectations: ${good} of ${rows.length} hold`,
        list: rows.map((r) => ({ mark: r.holds ? "ok" : "bad", text: r.what })),
      },
    ];
  }

  function measured(report) {
    const rows = data
      .records(report, "measured", ["what", "measured", "predicted"])
      .filter((r) => data.finite(r.measured) && data.finite(r.predicted));
    if (rows.length === 0) return [];
    const ratios = rows.map((r) => r.predicted / r.measured);
    const labels = rows.map((r) => format.short(r.what, 46));
    return [
      {
        id: "measured",
        title: "Predicted over measured",
        hint: "1 is a right prediction.",
        alt: `Marks of predicted over measured. ${rows
          .slice(0, 6)
          .map((_, i) => `${labels[i]}: ${format.number(ratios[i])}`)
          .join("; ")}.`,
        height: charts.bar_height(rows.length, 30),
        table: data.cut(report, "measured"),
        option: (theme) => {
          const { axis, left } = charts.category_y(labels, {
            splitLine: { show: true, lineStyle: { color: theme.grid } },
          });
          return {
            grid: charts.grid({ left, top: 10 }),
            tooltip: {
              trigger: "item",
              formatter: (p) => {
                const r = rows[p.dataIndex];
                return fabricast.tip(r.what, [
                  `measured ${format.number(r.measured, r.unit)}`,
                  `predicted ${format.number(r.predicted, r.unit)}`,
                  r.source,
                ]);
              },
            },
            xAxis: charts.log_axis([...ratios, 0.8, 1.25], {
              name: "predicted over measured",
              nameGap: 30,
              formatter: (v) => format.number(v),
            }),
            yAxis: axis,
            series: [
              {
                type: "scatter",
                symbolSize: 12,
                itemStyle: { color: theme.palette[0] },
                data: ratios.map((v, i) => [v, i]),
                markLine: {
                  silent: true,
                  symbol: "none",
                  label: { show: false },
                  lineStyle: { color: theme.line, type: "solid" },
                  data: [{ xAxis: 1 }],
                },
              },
            ],
          };
        },
      },
    ];
  }

  // Groups of communicators that share the machine.
  function groups(report) {
    const rows = data.records(report, "groups", ["group", "alone_us", "together_us"]);
    if (rows.length === 0) return [];
    const labels = rows.map((r) => [r.case, r.group].filter(Boolean).join(", "));
    return [
      {
        id: "groups",
        title: "Time alone and together",
        alt: `Bars of the time of each group alone and together with the others. ${rows
          .slice(0, 6)
          .map((r, i) => `${labels[i]}: ${format.number(r.slowdown)} times`)
          .join("; ")}.`,
        height: charts.bar_height(rows.length, 46),
        table: data.cut(report, "groups"),
        option: (theme) => {
          const { axis, left } = charts.category_y(labels);
          const bar = (name, key, color, text) => ({
            type: "bar",
            name,
            barMaxWidth: 16,
            itemStyle: { color },
            data: rows.map((r) => r[key]),
            label: {
              show: true,
              position: "right",
              color: theme.text,
              fontSize: 11,
              formatter: (p) => text(rows[p.dataIndex]),
            },
          });
          return {
            legend: charts.legend(["alone", "together"]),
            grid: charts.grid({ left, right: 120 }),
            tooltip: {
              trigger: "axis",
              axisPointer: { type: "shadow" },
              formatter: (ps) => {
                const r = rows[ps[0]?.dataIndex ?? 0];
                return fabricast.tip(labels[ps[0]?.dataIndex ?? 0], [
                  `${r.collective}, ${format.bytes(r.size_bytes)}, ${r.ranks} ranks, ${r.communicators} communicators`,
                  `alone ${format.time_us(r.alone_us)}, ${format.number(r.alone_busbw_GBps, "GB/s")}`,
                  `together ${format.time_us(r.together_us)}, ${format.number(r.together_busbw_GBps, "GB/s")}`,
                  `slowdown ${format.number(r.slowdown)}`,
                  `share of the NICs ${format.percent(r.nic_share)}`,
                ]);
              },
            },
            xAxis: charts.value_axis("time", format.time_us),
            yAxis: axis,
            series: [
              bar("alone", "alone_us", theme.palette[0], (r) => format.time_us(r.alone_us)),
              bar(
                "together",
                "together_us",
                theme.palette[1],
                (r) => `${format.time_us(r.together_us)}  ×${format.number(r.slowdown)}`,
              ),
            ],
          };
        },
      },
    ];
  }

  fabricast.figures.run = (part) => {
    const report = part?.report;
    const specs = [...expectations(report)];
    const bench = fabricast.bench_parts;
    const rows = data.records(report, "rows", ["size_bytes", "time_us"]);
    if (
      rows.length &&
      !data.find(report, "candidates") &&
      !rows[0].factor &&
      rows[0].of_the_first === undefined
    ) {
      specs.push(...bench.time_and_bandwidth(rows), ...bench.choices(rows));
    } else if (data.find(report, "rows")) {
      const other = fabricast.figures[String(report.study).replaceAll(/[^a-z0-9]+/gi, "_")];
      if (other && other !== fabricast.figures.run && report.study !== "bench")
        specs.push(...other(part));
    }
    return [...specs, ...groups(report), ...measured(report)];
  };
  fabricast.figures.concurrent = fabricast.figures.run;
})();
