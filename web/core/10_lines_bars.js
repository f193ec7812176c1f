"use strict";
// Lines over size or nodes, bars with whiskers, bars of changes: options that several studies share.
globalThis.fabricast ??= {};
(() => {
  const { format, data, charts } = fabricast;
  const BANDS = 6; // with more lines their bands would hide each other

  // Lines over x (size or nodes), one for each setup.
  function lines({ setups, x, x_axis, x_text, y, y_axis, y_text, lower, upper, theme, tip }) {
    const names = [...setups.keys()];
    const few = names.length <= BANDS;
    const series = [];
    let i = 0;
    for (const [name, rows] of setups) {
      const look = charts.look(theme, i);
      const sorted = rows.filter((r) => data.finite(y(r)) && y(r) > 0).sort((a, b) => x(a) - x(b));
      series.push({
        type: "line",
        name,
        data: sorted.map((r) => ({ value: [x(r), y(r)], record: r })),
        symbol: look.symbol,
        symbolSize: 6,
        showSymbol: sorted.length <= 60,
        lineStyle: { color: look.color, type: look.dash, width: 2 },
        itemStyle: { color: look.color },
        z: 4,
      });
      // After the line, which gives the legend its mark.
      if (few) {
        const points = sorted.map((r) => [x(r), lower(r), upper(r)]);
        series.push(charts.band(name, points, look.color));
      }
      i += 1;
    }
    return {
      legend: charts.legend(names),
      grid: charts.grid(),
      tooltip: {
        trigger: "axis",
        axisPointer: { type: "line" },
        formatter: (ps) => {
          const points = ps.filter((p) => p.data?.record);
          if (points.length === 0) return "";
          return fabricast.tip(
            x_text(x(points[0].data.record)),
            points.slice(0, 14).map((p) => {
              const r = p.data.record;
              const range = data.finite(lower(r))
                ? ` (80 %: ${y_text(lower(r))} to ${y_text(upper(r))})`
                : "";
              return [`${p.seriesName}: ${y_text(y(r))}${range}`, tip?.(r)]
                .filter(Boolean)
                .join(", ");
            }),
          );
        },
      },
      xAxis: x_axis,
      yAxis: y_axis,
      series,
    };
  }

  // Words to the right of what ends at x in row y: [x, y, words].
  const beside = (points, theme) => ({
    type: "scatter",
    symbolSize: 1,
    silent: true,
    itemStyle: { color: "transparent" },
    data: points.map(([x, y]) => [x, y]),
    label: {
      show: true,
      position: "right",
      color: theme.text,
      formatter: (p) => points[p.dataIndex][2],
    },
  });

  // Bars where nothing varies over x.
  function bars({ rows, labels, value, lower, upper, text, name, theme, tip, whisker = "80 %" }) {
    const { axis, left } = charts.category_y(labels);
    const banded = (r) => data.finite(lower(r)) && data.finite(upper(r));
    const end = (r) => Math.max(value(r), banded(r) ? upper(r) : 0);
    const most = Math.max(...rows.map(end));
    return {
      grid: charts.grid({ left, top: 12, right: rows.some(banded) ? 76 : 52 }),
      tooltip: {
        trigger: "axis",
        axisPointer: { type: "shadow" },
        formatter: (ps) => {
          const r = rows[ps[0]?.dataIndex ?? 0];
          return fabricast.tip(labels[ps[0]?.dataIndex ?? 0], [
            text(value(r)),
            data.finite(lower(r)) ? `${whisker}: ${text(lower(r))} to ${text(upper(r))}` : null,
            tip?.(r),
          ]);
        },
      },
      xAxis: charts.value_axis(name, text),
      yAxis: axis,
      series: [
        {
          type: "bar",
          barMaxWidth: 26,
          itemStyle: { color: theme.palette[0], decal: { symbol: "none" } },
          data: rows.map((r) => ({
            value: value(r),
            // Beside a bar that is too short for it.
            label: banded(r)
              ? { show: false }
              : value(r) < 0.12 * most
                ? { position: "right", color: theme.text, backgroundColor: theme.background }
                : { position: "insideLeft", color: fabricast.ink_on(theme.palette[0]) },
          })),
          label: { show: true, padding: [1, 3], formatter: (p) => text(p.value) },
        },
        charts.whiskers(
          "80 % band",
          rows
            .map((r, i) => [lower(r), upper(r), i])
            .filter((p) => data.finite(p[0]) && data.finite(p[1])),
          theme.text,
          { z: 3 },
        ),
        beside(rows.map((r, i) => banded(r) && [end(r), i, text(value(r))]).filter(Boolean), theme),
      ],
    };
  }

  // Bars of a change in percent, left is better.
  function change_bars({ labels, values, tips, theme, name, doubts = [], good_is_less = true }) {
    const { axis, left } = charts.category_y(labels);
    const ends = [...values, ...doubts.flatMap((d) => d ?? [])];
    const most = Math.max(0.01, ...ends.map((v) => Math.abs(v ?? 0)));
    const low = Math.min(0, ...ends);
    const high = Math.max(0, ...ends);
    return {
      grid: charts.grid({ left, top: 10, right: 60 }),
      tooltip: {
        trigger: "axis",
        axisPointer: { type: "shadow" },
        formatter: (ps) =>
          fabricast.tip(labels[ps[0]?.dataIndex ?? 0], tips(ps[0]?.dataIndex ?? 0)),
      },
      xAxis: charts.roomy(
        charts.value_axis(name, (v) => format.percent(v, true)),
        low < 0 ? low - most * 0.2 : 0,
        high + most * 0.2,
      ),
      yAxis: { ...axis, axisLine: { show: false, onZero: false } },
      series: [
        {
          type: "bar",
          barMaxWidth: 22,
          data: values.map((v) => ({
            value: v,
            itemStyle: {
              color: v === 0 ? theme.muted : v < 0 === good_is_less ? theme.good : theme.bad,
              decal: { symbol: "none" },
            },
            label: { position: v < 0 ? "left" : "right" },
          })),
          label: {
            show: doubts.length === 0,
            color: theme.text,
            formatter: (p) => format.percent(p.value, true),
          },
          markLine: {
            silent: true,
            symbol: "none",
            animation: false,
            label: { show: false },
            lineStyle: { color: theme.line, type: "solid" },
            data: [{ xAxis: 0 }],
          },
        },
        ...(doubts.some((d) => d)
          ? [
              charts.whiskers(
                "80 % of measured",
                doubts.map((d, i) => d && [...d, i]).filter(Boolean),
                theme.text,
                { z: 5 },
              ),
            ]
          : []),
        ...(doubts.length > 0
          ? [
              beside(
                values.map((v, i) => [
                  Math.max(v, doubts[i]?.[1] ?? v, 0),
                  i,
                  format.percent(v, true),
                ]),
                theme,
              ),
            ]
          : []),
      ],
    };
  }

  Object.assign(fabricast.charts, { BANDS, lines, bars, change_bars });
})();
