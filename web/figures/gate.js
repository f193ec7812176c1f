"use strict";
// gate: what a healthy cluster reaches, the floors under it, and which faults fall below them.
globalThis.fabricast ??= {};
fabricast.figures ??= {};
(() => {
  const { format, data, charts } = fabricast;
  const rate = (v) => format.number(v, "GB/s");
  const told_words = {
    yes: "below the floor",
    often: "often below the floor",
    no: "not told by this floor",
    unseen: "changes nothing here",
  };

  // Rows of one collective on one number of nodes, by its name.
  function blocks(rows) {
    const many = (key) => data.unique(rows.map((r) => r[key])).length > 1;
    const name = (r) =>
      [
        many("source") ? r.source : "",
        many("collective") ? r.collective : "",
        many("nodes") ? format.count(r.nodes, "node") : "",
      ]
        .filter(Boolean)
        .join(", ") || "all";
    return [...data.group(rows, name)];
  }

  // Bus bandwidths go as the inverse of times.
  const share_of = (r, column) => r.expected_us / r[column];
  const expected = (r) => (r.floor_busbw_GBps * r.at_most_us) / r.expected_us;

  // Sizes differ by orders of magnitude in what they reach: shares of what is expected compare them.
  function floors(report) {
    const rows = data.records(report, "rows", ["floor_busbw_GBps", "expected_us", "at_most_us"]);
    const said = (r) =>
      `${format.bytes(r.size_bytes)}: ${rate(expected(r))} expected, floor ${rate(r.floor_busbw_GBps)}${
        data.finite(r.busbw_GBps) ? `, measured ${rate(r.busbw_GBps)}` : ""
      }`;
    const variants = blocks(rows).map(([name, all]) => ({
      name,
      alt: `Bars of floors as shares of what is expected. ${all.map(said).join(". ")}.`,
      height: charts.bar_height(all.length, 40),
      option: (theme) => bars_of_floors(all, theme),
    }));
    const checked = rows.some((r) => data.finite(r.busbw_GBps));
    return rows.length === 0
      ? []
      : [
          {
            id: "floors",
            title: checked ? "What was measured against its floors" : "Floors of bus bandwidth",
            hint: "1 is what a healthy cluster is expected to reach; the line is the floor.",
            variants,
            variants_label: "Calls",
            table: data.cut(report, "rows"),
          },
        ];
  }

  function bars_of_floors(rows, theme) {
    const { axis, left } = charts.category_y(rows.map((r) => format.bytes(r.size_bytes)));
    const measured = (r) => data.finite(r.busbw_GBps);
    const value = (r) => (measured(r) ? share_of(r, "time_us") : 1);
    const most = Math.max(...rows.map(value), 1);
    const wide = Math.max(...rows.map((r) => charts.text_width(words_beside(r))));
    const axis_of = charts.value_axis("share of what is expected", (v) => format.number(v), {
      splitNumber: fabricast.stage_width < 500 ? 2 : 5,
    });
    return {
      grid: charts.grid({ left, top: 12, right: wide + 14 }),
      xAxis: charts.roomy(axis_of, 0, most),
      yAxis: axis,
      series: [
        {
          type: "bar",
          name: rows.some(measured) ? "measured" : "expected",
          barMaxWidth: 22,
          data: rows.map((r) => ({
            value: value(r),
            itemStyle: {
              color: r.passes === false ? theme.bad : theme.palette[0],
              decal: { symbol: "none" },
            },
          })),
          label: {
            show: true,
            position: "right",
            color: theme.text,
            formatter: (p) => words_beside(rows[p.dataIndex]),
          },
        },
        {
          type: "scatter",
          name: "floor",
          symbol: "rect",
          symbolSize: [4, 30],
          itemStyle: { color: theme.text },
          z: 5,
          data: rows.map((r, i) => [share_of(r, "at_most_us"), i]),
        },
      ],
    };
  }

  const words_beside = (r) =>
    `${format.number(r.busbw_GBps ?? expected(r))}, floor ${rate(r.floor_busbw_GBps)}`;

  // Below 1 a floor tells the fault.
  function faults(report) {
    const rows = data
      .records(report, "faults", ["cause", "of_floor"])
      .filter((r) => data.finite(r.of_floor));
    const variants = blocks(rows).flatMap(([name, all]) =>
      [...data.group(all, (r) => r.size_bytes)].reverse().map(([size, of_size]) => ({
        name: name === "all" ? format.bytes(size) : `${name}, ${format.bytes(size)}`,
        rows: [...of_size].sort((a, b) => a.of_floor - b.of_floor),
      })),
    );
    return variants.length === 0
      ? []
      : [
          {
            id: "faults",
            title: "Which faults fall below the floor",
            hint: "Bus bandwidth with the fault over the floor: below 1 the test fails, as it should.",
            variants: variants.map(({ name, rows: shown }) => ({
              name,
              alt: `Bars of bus bandwidth under faults over the floor, ${name}. ${shown
                .map((r) => `${r.cause}: ${format.number(r.of_floor)}`)
                .join(", ")}.`,
              height: charts.bar_height(shown.length, 30),
              option: (theme) => bars_of_faults(shown, theme),
            })),
            variants_label: "Size",
            table: data.cut(report, "faults"),
          },
        ];
  }

  function bars_of_faults(rows, theme) {
    const option = charts.bars({
      rows,
      labels: rows.map((r) => r.cause),
      value: (r) => r.of_floor,
      lower: () => null,
      upper: () => null,
      text: (v) => format.number(v),
      name: "bus bandwidth over the floor",
      theme,
      tip: (r) => `${r.title}: ${told_words[r.told] ?? r.told}`,
    });
    option.series[0].data.forEach((bar, i) => {
      const color = rows[i].of_floor < 1 ? theme.bad : theme.muted;
      bar.itemStyle = { color, decal: { symbol: "none" } };
      if (bar.label.position === "insideLeft") bar.label.color = fabricast.ink_on(color);
    });
    option.series[0].markLine = {
      silent: true,
      symbol: "none",
      label: { show: false },
      lineStyle: { color: theme.text, type: "solid" },
      data: [{ xAxis: 1 }],
    };
    return option;
  }

  fabricast.figures.gate = (part) => [...floors(part?.report), ...faults(part?.report)];
})();
