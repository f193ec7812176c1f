"use strict";
// calibrate: what the fit moved, and errors by class before and after.
globalThis.fabricast ??= {};
fabricast.figures ??= {};
(() => {
  const { format, data, charts } = fabricast;

  function factors(report) {
    const rows = data
      .records(report, "rows", ["parameter", "factor"])
      .filter((r) => data.finite(r.factor));
    if (rows.length === 0) return [];
    const labels = rows.map((r) => format.short(r.parameter, 40));
    return [
      {
        id: "factors",
        title: "What the fit moved",
        hint: "Factors on the catalogue's values; the whisker is the 90 % interval. 1: not moved.",
        alt: `Factors on the catalogue's values. ${rows
          .slice(0, 8)
          .map((r, i) => `${labels[i]}: ${format.number(r.factor)}`)
          .join("; ")}.`,
        height: charts.bar_height(rows.length, 26),
        table: data.cut(report, "rows"),
        option: (theme) => {
          const { axis, left } = charts.category_y(labels);
          return {
            grid: charts.grid({ left, top: 10 }),
            tooltip: {
              trigger: "item",
              formatter: (p) => {
                const r = rows[p.dataIndex];
                return r
                  ? fabricast.tip(r.parameter, [
                      `${r.from ?? "–"} → ${r.to ?? "–"}`,
                      `${format.count(r.runs ?? 0, "run")} of ${format.count(r.sources ?? 0, "source")}`,
                    ])
                  : "";
              },
            },
            xAxis: charts.log_axis(
              rows.flatMap((r) => [r.factor, r.factor_low, r.factor_high, 1]),
              { name: "factor", nameGap: 30, formatter: (v) => format.number(v) },
            ),
            yAxis: axis,
            series: [
              {
                type: "scatter",
                symbolSize: 11,
                itemStyle: { color: theme.palette[0] },
                data: rows.map((r, i) => [r.factor, i]),
                markLine: {
                  silent: true,
                  symbol: "none",
                  label: { show: false },
                  lineStyle: { color: theme.line, type: "solid" },
                  data: [{ xAxis: 1 }],
                },
              },
              charts.whiskers(
                "90 % interval",
                rows
                  .map((r, i) => [r.factor_low, r.factor_high, i])
                  .filter((p) => data.finite(p[0]) && data.finite(p[1])),
                theme.text,
              ),
            ],
          };
        },
      },
    ];
  }

  function errors(report) {
    const rows = data
      .records(report, "errors", ["class", "sizes", "before", "after"])
      .filter(
        (r) => data.finite(r.before) && data.finite(r.after) && (r.before > 0 || r.after > 0),
      );
    if (rows.length === 0) return [];
    const labels = rows.map((r) => `${r.class}, ${r.sizes}`);
    const percent = (v) => `${format.number(100 * v)} %`;
    return [
      {
        id: "errors",
        title: "Errors before and after",
        hint: "Median of |predicted / measured - 1| over runs, points that were fitted to.",
        alt: `Bars of errors before and after the fit. ${rows
          .slice(0, 6)
          .map((r, i) => `${labels[i]}: ${percent(r.before)} before, ${percent(r.after)} after`)
          .join("; ")}.`,
        height: charts.bar_height(rows.length, 34),
        table: data.cut(report, "errors"),
        option: (theme) => {
          const { axis, left } = charts.category_y(labels);
          const bar = (name, key, place) => ({
            type: "bar",
            name,
            barMaxWidth: 12,
            itemStyle: { color: theme.palette[place] },
            data: rows.map((r) => r[key]),
          });
          return {
            legend: charts.legend(["before", "after"]),
            grid: charts.grid({ left }),
            tooltip: { trigger: "axis", axisPointer: { type: "shadow" }, valueFormatter: percent },
            xAxis: charts.value_axis("error", percent),
            yAxis: axis,
            series: [bar("before", "before", 1), bar("after", "after", 0)],
          };
        },
      },
    ];
  }

  fabricast.figures.calibrate = (part) => [...factors(part.report), ...errors(part.report)];
})();
