"use strict";
// Pieces of ECharts options that several studies share.
globalThis.fabricast ??= {};
(() => {
  const { format, data } = fabricast;
  const LEFT = 76;
  const RIGHT = 28;

  // Ticks of a logarithmic axis: powers of two for sizes, else 1-2-5 or powers of ten.
  function log_ticks(low, high, binary) {
    const ticks = [];
    if (binary) {
      const first = Math.floor(Math.log2(low) + 1e-9);
      const last = Math.ceil(Math.log2(high) - 1e-9);
      const step = Math.max(1, Math.ceil((last - first) / 11));
      for (let p = first; p <= last; p += step) ticks.push(2 ** p);
      return ticks;
    }
    const decades = Math.log10(high / low);
    const steps = decades < 0.7 ? [1, 1.2, 1.5, 2, 3, 4, 5, 6, 8] : decades < 2.6 ? [1, 2, 5] : [1];
    const every = Math.max(1, Math.ceil(decades / 9));
    for (let p = Math.floor(Math.log10(low)); p <= Math.ceil(Math.log10(high)); p += every) {
      for (const s of steps) {
        const tick = s * 10 ** p;
        if (tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9)) ticks.push(tick);
      }
    }
    return ticks;
  }

  const positive = (values) => values.filter((v) => data.finite(v) && v > 0);

  function log_axis(values, { name, formatter, binary = false, exact = false, ...more }) {
    const all = positive(values);
    let low = all.length ? Math.min(...all.slice(0, 1)) : 1;
    let high = low;
    for (const v of all) {
      if (v < low) low = v;
      if (v > high) high = v;
    }
    if (low === high) {
      low /= 2;
      high *= 2;
    } else if (binary && !exact) {
      low = 2 ** Math.floor(Math.log2(low) + 1e-9);
      high = 2 ** Math.ceil(Math.log2(high) - 1e-9);
    } else if (!exact) {
      const room = (high / low) ** 0.04;
      low /= room;
      high *= room;
    }
    const customValues = log_ticks(low, high, binary);
    return {
      type: "log",
      logBase: binary ? 2 : 10,
      min: low,
      max: high,
      name,
      nameLocation: "middle",
      axisLabel: { formatter, customValues, hideOverlap: true },
      axisTick: { customValues },
      splitLine: { customValues },
      minorTick: { show: false },
      ...more,
    };
  }

  const size_axis = (values, more) =>
    log_axis(values, {
      name: "message size",
      nameGap: 30,
      formatter: format.bytes,
      binary: true,
      ...more,
    });
  const time_axis = (values, more) =>
    log_axis(values, { name: "time", nameGap: 58, formatter: format.time_us, ...more });

  // A linear axis whose bounds leave room for labels: the bounds themselves are not written.
  const roomy = (axis, low, high) => ({
    ...axis,
    min: low,
    max: high,
    axisLabel: { ...axis.axisLabel, showMinLabel: low === 0, showMaxLabel: false },
  });

  // A linear axis from 0; more overrides.
  const value_axis = (name, formatter, more) => ({
    type: "value",
    name,
    nameLocation: "middle",
    nameGap: 30,
    axisLabel: { formatter, hideOverlap: true },
    ...more,
  });

  const grid = (more) => ({ left: LEFT, right: RIGHT, top: 44, bottom: 52, ...more });
  const legend = (names, more) => ({
    type: "scroll",
    top: 4,
    left: 8,
    right: 8,
    itemWidth: 28,
    data: names,
    formatter: (n) => format.short(n, 44),
    ...more,
  });

  // A cell of a grid of two category axes: a rectangle around `at`.
  const cell_rect = (at, [width, height], style, more) => ({
    type: "rect",
    shape: {
      x: at[0] - width / 2 + 1,
      y: at[1] - height / 2 + 1,
      width: width - 2,
      height: height - 2,
      ...more,
    },
    style,
  });

  // Room for the labels of a category axis, in pixels.
  const text_width = (text) =>
    globalThis.echarts?.format?.getTextRect
      ? echarts.format.getTextRect(text, `12px ${fabricast.font}`).width
      : text.length * 7.2;
  const label_width = (labels, most = 380) => {
    const width = labels.reduce((w, l) => Math.max(w, text_width(String(l))), 40);
    return Math.ceil(Math.min(most, 0.4 * (fabricast.stage_width || 1000), width + 4));
  };
  // In two lines where one is too short; what is longer yet is cut by the axis.
  function in_two_lines(text, width) {
    if (text.includes("\n") || text_width(text) <= width) return text;
    const words = text.split(/(?<=[ _=])/);
    let first = words.shift();
    while (words.length > 0 && text_width(first + words[0]) <= width) first += words.shift();
    return words.length > 0 ? `${first.trimEnd()}\n${words.join("")}` : first;
  }
  function category_y(labels, more) {
    const width = label_width(labels);
    return {
      axis: {
        type: "category",
        data: labels,
        inverse: true,
        axisTick: { show: false },
        axisLabel: {
          width,
          overflow: "truncate",
          interval: 0,
          lineHeight: 15,
          formatter: (label) => in_two_lines(String(label), width),
        },
        ...more,
      },
      left: width + 20,
    };
  }

  // Area between lower and upper over x: points are [x, lower, upper].
  function band(name, points, color, more) {
    const all = points.filter((p) => p.every(data.finite));
    return {
      type: "custom",
      name,
      data: all,
      encode: { x: 0, y: [1, 2] },
      dimensions: ["x", "lower", "upper"],
      silent: true,
      clip: true,
      z: 1,
      itemStyle: { color, decal: { symbol: "none" } },
      renderItem: (params, api) => {
        if (params.dataIndex !== 0 || all.length < 2) return { type: "group", children: [] };
        const upper = all.map((p) => api.coord([p[0], p[2]]));
        const lower = all.map((p) => api.coord([p[0], p[1]])).reverse();
        return {
          type: "polygon",
          shape: { points: [...upper, ...lower] },
          style: { fill: color, opacity: 0.16 },
        };
      },
      ...more,
    };
  }

  // Horizontal whisker in category row y: data are [lower, upper, y].
  function whiskers(name, points, color, more) {
    return {
      type: "custom",
      name,
      data: points,
      encode: { x: [0, 1], y: 2 },
      dimensions: ["lower", "upper", "row"],
      silent: true,
      z: 2,
      renderItem: (_, api) => {
        const a = api.coord([api.value(0), api.value(2)]);
        const b = api.coord([api.value(1), api.value(2)]);
        const line = (x1, y1, x2, y2) => ({
          type: "line",
          shape: { x1, y1, x2, y2 },
          style: { stroke: color, lineWidth: 2 },
        });
        return {
          type: "group",
          children: [
            line(a[0], a[1], b[0], b[1]),
            line(a[0], a[1] - 6, a[0], a[1] + 6),
            line(b[0], b[1] - 6, b[0], b[1] + 6),
          ],
        };
      },
      ...more,
    };
  }

  // Vertical whisker at x: data are [x, lower, upper].
  function bars_of_error(points, color) {
    return {
      type: "custom",
      data: points,
      encode: { x: 0, y: [1, 2] },
      silent: true,
      z: 3,
      renderItem: (_, api) => {
        const a = api.coord([api.value(0), api.value(1)]);
        const b = api.coord([api.value(0), api.value(2)]);
        const line = (x1, y1, x2, y2) => ({
          type: "line",
          shape: { x1, y1, x2, y2 },
          style: { stroke: color, lineWidth: 1.5 },
        });
        return {
          type: "group",
          children: [
            line(a[0], a[1], b[0], b[1]),
            line(a[0] - 5, a[1], a[0] + 5, a[1]),
            line(b[0] - 5, b[1], b[0] + 5, b[1]),
          ],
        };
      },
    };
  }

  // Points at which a choice changes lie between two sizes: halfway in the logarithm.
  function stretches(rows, name_of) {
    const sorted = [...rows].sort((a, b) => a.size_bytes - b.size_bytes);
    const all = [];
    for (let i = 0; i < sorted.length; i++) {
      const name = name_of(sorted[i]);
      const size = sorted[i].size_bytes;
      const before = i > 0 ? Math.sqrt(sorted[i - 1].size_bytes * size) : size;
      const last = all[all.length - 1];
      if (last && last.name === name) {
        last.last = size;
      } else {
        if (last) last.to = before;
        all.push({ name, from: before, first: size, last: size, to: size });
      }
    }
    if (all.length) all[all.length - 1].to = sorted[sorted.length - 1].size_bytes;
    return all;
  }

  // Strip: rows of [{row, name, from, to, first, last}]; one series for each name, so that patterns
  // and the legend tell them apart.
  function strip({ rows, pieces, sizes, style, tip, theme, x }) {
    const names = data.unique(pieces.map((p) => p.name));
    const { axis, left } = category_y(rows);
    const axis_x = x ?? size_axis(sizes);
    return {
      legend: legend(names),
      grid: grid({ left: Math.max(LEFT, left), top: 40 }),
      tooltip: {
        trigger: "item",
        formatter: (p) => tip(p.data?.piece ?? p.data),
      },
      xAxis: axis_x,
      yAxis: axis,
      series: names.map((name) => {
        const color = style(name).color;
        return {
          type: "custom",
          name,
          itemStyle: { color },
          encode: { x: [0, 1], y: 2 },
          clip: true,
          data: pieces
            .filter((p) => p.name === name)
            .map((piece) => ({ value: [piece.from, piece.to, rows.indexOf(piece.row)], piece })),
          renderItem: (params, api) => {
            const a = api.coord([api.value(0), api.value(2)]);
            const b = api.coord([api.value(1), api.value(2)]);
            const tall = Math.min(34, api.size([0, 1])[1] * 0.72);
            const width = Math.max(2, b[0] - a[0]);
            const size = 11.5;
            const fits = name.length * 6.4 + 10 <= width;
            const rect = { x: a[0], y: a[1] - tall / 2, width, height: tall };
            return {
              type: "group",
              children: [
                {
                  type: "rect",
                  shape: rect,
                  style: {
                    fill: color,
                    stroke: theme.background,
                    lineWidth: 1.5,
                    decal: api.visual("decal"),
                  },
                },
                fits && {
                  type: "text",
                  silent: true,
                  style: {
                    text: name,
                    x: a[0] + width / 2,
                    y: a[1],
                    align: "center",
                    verticalAlign: "middle",
                    fill: fabricast.ink_on(color),
                    backgroundColor: color,
                    padding: [2, 4],
                    borderRadius: 2,
                    fontSize: size,
                    fontFamily: fabricast.font,
                  },
                },
              ].filter(Boolean),
            };
          },
        };
      }),
    };
  }

  const strip_height = (rows) => 110 + 44 * rows;

  // Stacked horizontal bars. parts: [[column, label]], rows: records, label: record -> text.
  const part_colors = (theme) => theme.palette;
  function stacked({ rows, labels, parts, formatter, name, theme, stack = "all", total, marks }) {
    const { axis, left } = category_y(labels);
    const shown = parts.filter(([column]) => rows.some((r) => (r[column] ?? 0) !== 0));
    const colors = part_colors(theme);
    return {
      legend: legend(shown.map(([, label]) => label)),
      grid: grid({ left, top: shown.length > 6 ? 48 : 44 }),
      tooltip: {
        trigger: "axis",
        axisPointer: { type: "shadow" },
        formatter: (ps) => {
          const i = ps[0]?.dataIndex ?? 0;
          return fabricast.tip(labels[i], [
            total ? `total ${formatter(total(rows[i]))}` : null,
            ...shown.map(
              ([column, label]) =>
                `${label}: ${formatter(rows[i][column] ?? 0)}${
                  total ? ` (${format.percent((rows[i][column] ?? 0) / total(rows[i]))})` : ""
                }`,
            ),
          ]);
        },
      },
      xAxis: value_axis(name, formatter),
      yAxis: axis,
      series: [
        ...shown.map(([column, label], i) => ({
          type: "bar",
          name: label,
          stack,
          barMaxWidth: 34,
          itemStyle: {
            color: colors[i % colors.length],
            borderColor: theme.background,
            borderWidth: 0.5,
          },
          data: rows.map((r) => r[column] ?? 0),
        })),
        ...(marks ?? []),
      ],
    };
  }

  const bar_height = (rows, each = 34) => 110 + each * Math.max(1, rows);

  const dashes = ["solid", "dashed", "dotted", [8, 3, 2, 3], [2, 2], [12, 4]];
  const symbols = ["circle", "rect", "triangle", "diamond", "roundRect", "pin", "arrow"];
  // Look of the i-th line: hue, dashes and symbol change together.
  const look = (theme, i) => ({
    color: theme.palette[i % theme.palette.length],
    dash: dashes[i % dashes.length],
    symbol: symbols[i % symbols.length],
  });

  // A filled symbol, or a ring through which the other mark is seen.
  const mark = (symbol, color, size) =>
    symbol === "ring"
      ? {
          symbol: "circle",
          symbolSize: size,
          itemStyle: { color: "transparent", borderColor: color, borderWidth: 2.5 },
        }
      : { symbol, symbolSize: size, itemStyle: { color } };

  fabricast.charts = {
    cell_rect,
    text_width,
    mark,
    LEFT,
    log_axis,
    size_axis,
    time_axis,
    value_axis,
    roomy,
    grid,
    legend,
    category_y,
    band,
    whiskers,
    bars_of_error,
    stretches,
    strip,
    strip_height,
    stacked,
    bar_height,
    look,
    log_ticks,
  };
})();
