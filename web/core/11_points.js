"use strict";
// Points with axes and figures as pictures: parallel coordinates, heat maps, two figures against
// each other with the front that nothing beats.
globalThis.fabricast ??= {};
(() => {
  const { format, data, charts, quantities } = fabricast;
  const LINES = 2000;
  const FEW = 14;
  const HEAT = 40;

  // Broken after a hyphen, a comma, a colon, a space, so that a line has about so many letters.
  function wrapped(text, letters) {
    const lines = [""];
    for (const piece of String(text).split(/(?<=[-_:, ])/)) {
      const last = lines[lines.length - 1];
      if (last && last.length + piece.length > letters) lines.push(piece);
      else lines[lines.length - 1] += piece;
    }
    return lines.map((l) => l.trim()).join("\n");
  }

  // The best `most` rows as evenly spaced ranks by a figure, worst first so that good ones lie on top.
  function thinned(rows, figure, most) {
    const ranked = [...rows].sort((a, b) => figure.cost(b) - figure.cost(a));
    if (ranked.length <= most) return ranked;
    const step = (ranked.length - 1) / (most - 1);
    return Array.from({ length: most }, (_, i) => ranked[Math.round(i * step)]);
  }

  const spread = (values) => {
    const all = values.filter(data.finite);
    const least = all.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
    const most = all.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
    return { least, most, wide: least > 0 && most / least > 100 };
  };

  // Share (0..1) of a value between the least and the most, of large ratios by the logarithm.
  function share_of(values) {
    const { least, most } = spread(values);
    if (!(most > least)) return () => 0;
    return least > 0 && most / least > 8
      ? (v) => Math.log(v / least) / Math.log(most / least)
      : (v) => (v - least) / (most - least);
  }

  // One axis of parallel coordinates: {words} for few values or text, else numbers.
  function dimension(rows, name, is_axis) {
    const label = quantities.label_of(name);
    const values = rows.map((r) => r[name]);
    const distinct = is_axis ? quantities.ordered(values) : [];
    if (is_axis && (distinct.length <= FEW || !distinct.every((v) => data.finite(v)))) {
      const words = distinct.map((v) => quantities.value_text(name, v));
      const at = new Map(distinct.map((v, i) => [v, i]));
      return { name, label, words, value: (r) => at.get(r[name]) };
    }
    const text = is_axis ? (v) => quantities.value_text(name, v) : quantities.quantity(name).text;
    return { name, label, text, ...spread(values), value: (r) => r[name] };
  }

  function parallel_axis(d, i, room, theme) {
    const letters = Math.max(6, Math.floor(room / 6.6));
    const common = {
      dim: i,
      name: wrapped(d.label, letters),
      nameGap: 12,
      nameTextStyle: { color: theme.text, fontWeight: 600, lineHeight: 15 },
      axisLine: { lineStyle: { color: theme.line } },
      areaSelectStyle: { width: 22, color: theme.good, opacity: 0.25, borderColor: theme.good },
    };
    const label = { color: theme.text, backgroundColor: theme.background, padding: [1, 2] };
    if (d.words) {
      const each = Math.ceil(d.words.length / 24);
      return {
        ...common,
        type: "category",
        data: d.words,
        axisLabel: {
          ...label,
          interval: each - 1,
          formatter: (v) => wrapped(format.short(v, 3 * letters), letters),
        },
      };
    }
    const room_at_ends = (d.most - d.least) * 0.03 || 1;
    return d.wide
      ? {
          ...common,
          ...charts.log_axis([d.least, d.most], { name: common.name }),
          nameLocation: "end",
          axisLabel: {
            ...label,
            formatter: d.text,
            customValues: charts.log_ticks(d.least, d.most),
          },
        }
      : {
          ...common,
          type: "value",
          min: d.least - room_at_ends,
          max: d.most + room_at_ends,
          axisLabel: { ...label, formatter: d.text, showMinLabel: false, showMaxLabel: false },
        };
  }

  // What a point says in a tooltip.
  const facts_of = (row, figures) =>
    figures
      .filter((f) => data.finite(row[f]))
      .map((f) => quantities.quantity(f))
      .map((q) => `${q.label}: ${q.text(row[q.name])}`);

  // Colour from the best to the worst of a figure.
  const quality = (theme) => [theme.good, theme.palette[9], theme.bad];

  function parallel_option({ rows, axes, figures, colour }, theme) {
    const width = (fabricast.stage_width || 1000) - 130;
    const dimensions = [
      ...axes.map((a) => dimension(rows, a, true)),
      ...figures.map((f) => dimension(rows, f, false)),
    ];
    const room = width / Math.max(1, dimensions.length - 1) - 14;
    const share = share_of(rows.map((r) => r[colour.name]));
    const badness = (v) => (colour.more ? 1 - share(v) : share(v));
    return {
      animation: false,
      aria: { decal: { show: false } },
      parallel: { left: 90, right: 84, top: 62, bottom: 24 },
      parallelAxis: dimensions.map((d, i) => parallel_axis(d, i, room, theme)),
      tooltip: {
        trigger: "item",
        formatter: (p) => {
          const row = p.data?.record;
          return row ? fabricast.tip(quantities.point_text(row, axes), facts_of(row, figures)) : "";
        },
      },
      series: [
        {
          type: "parallel",
          smooth: false,
          inactiveOpacity: 0.04,
          activeOpacity: 1,
          progressive: 0,
          emphasis: { lineStyle: { width: 4, opacity: 1 } },
          data: rows.map((row) => ({
            value: dimensions.map((d) => d.value(row)),
            record: row,
            lineStyle: {
              color: data.finite(row[colour.name])
                ? fabricast.shade(quality(theme), badness(row[colour.name]))
                : theme.line,
              width: rows.length > 300 ? 1 : 1.6,
              opacity: rows.length > 300 ? 0.45 : 0.75,
            },
          })),
        },
      ],
    };
  }

  // Every point as a line over its axes and figures. A pick keeps one value of an axis: what a
  // brush does with the mouse.
  function parallel({ rows, axes, figures, table }) {
    const size = axes.find((a) => ["sizes", "size_bytes"].includes(a));
    if (figures.length === 0 || axes.length === 0 || rows.length < 3) return [];
    const shown_axes = axes.slice(0, 6);
    const shown_figures = figures.slice(0, Math.max(1, Math.min(4, 9 - shown_axes.length)));
    const only = [{ name: "all points", holds: () => true }];
    for (const a of shown_axes) {
      const values = quantities.ordered(rows.map((r) => r[a]));
      if (values.length > 20) continue;
      for (const v of values)
        only.push({
          name: `${quantities.label_of(a)} ${quantities.value_text(a, v)}`,
          holds: (r) => r[a] === v,
          is_size: a === size,
        });
    }
    const first = Math.max(
      0,
      only.findLastIndex((o) => o.is_size),
    );
    const quality_of = shown_figures.map((f) => quantities.quantity(f));
    return [
      {
        id: "points",
        title: "All points: each line is one, over its axes and figures",
        picks: [
          { label: "Colour", names: quality_of.map((q) => q.label) },
          { label: "Only", names: only.map((o) => o.name), first },
        ],
        view: ([colour_at, only_at]) => {
          const colour = quality_of[colour_at];
          const kept = rows.filter(only[only_at].holds);
          const drawn = thinned(kept, colour, LINES);
          const best = data.least(kept, colour.cost);
          const best_text = best
            ? ` Best ${colour.label}: ${colour.text(best[colour.name])}, ${quantities.point_text(best, axes)}.`
            : "";
          return {
            height: 440,
            alt: `Parallel coordinates of ${format.count(kept.length, "point")} over ${format.list([...shown_axes, ...shown_figures].map(quantities.label_of))}.${best_text}`,
            hint: `Blue is the best ${colour.label}, orange the worst (${colour.better}).${best_text} Drag along an axis to keep only the lines that cross there; click beside the bar to let go.${
              drawn.length < kept.length
                ? ` ${format.number(drawn.length)} of ${format.number(kept.length)} are drawn, evenly over the ranks of ${colour.label}.`
                : ""
            }${table.rows.length > rows.length ? ` ${format.count(table.rows.length - rows.length, "point")} without a figure: left out.` : ""}`,
            table,
            option: (theme) =>
              parallel_option(
                {
                  rows: drawn,
                  axes: shown_axes.filter((a) => data.unique(kept.map((r) => r[a])).length > 1),
                  figures: shown_figures,
                  colour,
                },
                theme,
              ),
          };
        },
      },
    ];
  }

  // A choice for each axis that makes another question: one value of it, at first the last one.
  function questions(rows, axes, figures) {
    return quantities.asked_axes(axes, figures).map((axis) => {
      const values = quantities.ordered(rows.map((r) => r[axis]));
      return {
        axis,
        values,
        label: quantities.label_of(axis),
        names: [...values.map((v) => quantities.value_text(axis, v)), "all"],
        first: values.length - 1,
      };
    });
  }
  // Rows at the chosen values of axes that are not shown themselves.
  const asked_rows = (rows, asked, chosen, shown) =>
    asked.reduce(
      (kept, q, i) =>
        shown.includes(q.axis) || chosen[i] >= q.values.length
          ? kept
          : kept.filter((r) => r[q.axis] === q.values[chosen[i]]),
      rows,
    );

  // Longer names go to the side, where they have room.
  function across_and_down(rows, a, b) {
    const words = (name) =>
      quantities.ordered(rows.map((r) => r[name])).map((v) => quantities.value_text(name, v));
    const room = (name) => words(name).length * Math.max(...words(name).map((w) => w.length));
    const [most, least] = words(a).length >= words(b).length ? [a, b] : [b, a];
    return room(most) > 150 && room(least) < room(most) ? [least, most] : [most, least];
  }

  const cell_text = (color, text, at) => ({
    type: "text",
    silent: true,
    style: {
      text,
      x: at[0],
      y: at[1],
      align: "center",
      verticalAlign: "middle",
      fill: fabricast.ink_on(color),
      fontSize: 12,
      fontFamily: fabricast.font,
    },
  });

  function heat_option({ cells, across, down, columns, lines, figure, axes }, theme) {
    const { least, most } = spread(cells.map((c) => c.value));
    const share = share_of(cells.map((c) => c.value));
    const units = data.unique(cells.map((c) => figure.text(c.value).split(" ").at(-1)));
    const words = (name, values) => values.map((v) => quantities.value_text(name, v));
    const { axis, left } = charts.category_y(words(down, lines));
    const best = data.least(cells, (c) => figure.cost(c.row));
    const letters = Math.floor(
      ((fabricast.stage_width || 1000) - left - 40) / columns.length / 6.6,
    );
    return {
      grid: charts.grid({ left: left + 18, top: 40, bottom: 64 }),
      tooltip: {
        trigger: "item",
        formatter: (p) => {
          const cell = p.data?.cell;
          if (!cell) return "";
          return fabricast.tip(`${figure.label}: ${figure.text(cell.value)}`, [
            quantities.point_text(cell.row, axes),
            cell.of > 1 ? `best of ${cell.of} points` : null,
          ]);
        },
      },
      visualMap: {
        type: "continuous",
        min: 0,
        max: 1,
        seriesIndex: [],
        orient: "horizontal",
        left: "center",
        top: 2,
        itemHeight: 150,
        itemWidth: 11,
        text: [figure.text(most), figure.text(least)],
        textStyle: { color: theme.text },
        inRange: { color: theme.heat },
      },
      xAxis: {
        type: "category",
        data: words(across, columns),
        name: quantities.label_of(across),
        nameLocation: "middle",
        nameGap: 44,
        axisTick: { show: false },
        axisLabel: {
          interval: 0,
          hideOverlap: true,
          lineHeight: 14,
          formatter: (v) => wrapped(format.short(v, 2 * letters), letters),
        },
      },
      yAxis: {
        ...axis,
        name: quantities.label_of(down),
        nameLocation: "middle",
        nameGap: left,
      },
      series: [
        {
          type: "custom",
          itemStyle: { decal: { symbol: "none" } },
          data: cells.map((cell) => ({
            value: [columns.indexOf(cell.row[across]), lines.indexOf(cell.row[down])],
            cell,
          })),
          renderItem: (params, api) => {
            const cell = cells[params.dataIndex];
            const at = api.coord([api.value(0), api.value(1)]);
            const [w, h] = api.size([1, 1]);
            const color = fabricast.shade(theme.heat, share(cell.value));
            const is_best = cell === best;
            // Where a cell is narrow and all have one unit, the legend says it.
            const full = figure.text(cell.value);
            const text =
              full.length * 6.6 > w - 16 && units.length === 1 ? full.replace(/ \S+$/, "") : full;
            return {
              type: "group",
              children: [
                charts.cell_rect(at, [w, h], {
                  fill: color,
                  stroke: is_best ? theme.good : theme.background,
                  lineWidth: is_best ? 4 : 0,
                }),
                text.length * 6.6 < w - 4 && cell_text(color, text, at),
              ].filter(Boolean),
            };
          },
        },
      ],
    };
  }

  function heat_cells(rows, across, down, figure) {
    const groups = data.group(
      rows.filter((r) => data.finite(r[figure.name])),
      (r) => JSON.stringify([r[across], r[down]]),
    );
    return [...groups.values()].map((all) => {
      const row = data.least(all, figure.cost);
      return { row, value: row[figure.name], of: all.length };
    });
  }

  // A figure over two axes: the best over all others.
  function heat({ rows, axes, figures, what = "best" }) {
    const count = (a) => data.unique(rows.map((r) => r[a])).length;
    const asked = questions(rows, axes, figures);
    const is_asked = (a) => asked.some((q) => q.axis === a);
    const usable = axes
      .filter((a) => count(a) <= HEAT)
      .sort((a, b) => is_asked(a) - is_asked(b) || count(b) - count(a));
    const pairs = usable.flatMap((a, i) => usable.slice(i + 1).map((b) => [a, b]));
    if (pairs.length === 0 || figures.length === 0) return [];
    const known = figures.map((f) => quantities.quantity(f));
    const label = quantities.label_of;
    return [
      {
        id: "heat",
        title: "A figure over two axes",
        picks: [
          { label: "Axes", names: pairs.map(([a, b]) => `${label(a)}, ${label(b)}`) },
          { label: "Figure", names: known.map((q) => q.label) },
          ...asked,
        ],
        view: ([pair_at, figure_at, ...chosen]) => {
          const figure = known[figure_at];
          const [across, down] = across_and_down(rows, ...pairs[pair_at]);
          const kept = asked_rows(rows, asked, chosen, [across, down]);
          const cells = heat_cells(kept, across, down, figure);
          const columns = quantities.ordered(kept.map((r) => r[across]));
          const lines = quantities.ordered(kept.map((r) => r[down]));
          const best = data.least(cells, (c) => figure.cost(c.row));
          const others = axes.filter(
            (a) => a !== across && a !== down && data.unique(kept.map((r) => r[a])).length > 1,
          );
          const said = best
            ? `Best ${figure.label}: ${figure.text(best.value)}, ${quantities.point_text(best.row, axes)}.`
            : "";
          const named = what === "mean" ? `mean ${figure.label}` : figure.label;
          const name = named.replace(/^./, (c) => c.toUpperCase());
          return {
            title: `${name} over ${label(across)} and ${label(down)}${others.length ? `, the ${what} of each cell` : ""}`,
            height: 150 + Math.max(26, Math.min(44, 560 / lines.length)) * lines.length,
            alt: `Grid of ${figure.label} by ${label(across)} and ${label(down)}. ${said}`,
            hint: `${said} Framed (${figure.better}).${others.length ? ` Each cell has the best over ${format.list(others.map(label))}.` : ""}`,
            table: data.table_of(
              figure.label,
              [
                ...[across, down, ...others].map((a) => [
                  a,
                  cells.every((c) => typeof c.row[a] === "number") ? "number" : "string",
                ]),
                [figure.name, "number"],
              ],
              cells.map((c) => c.row),
            ),
            option: (theme) =>
              heat_option({ cells, across, down, columns, lines, figure, axes }, theme),
          };
        },
      },
    ];
  }

  // Room for labels on the better side, where no point can be.
  function plane_axis(rows, figure, theme, gap, room) {
    const { least, most, wide } = spread(rows.map((r) => r[figure.name]));
    const look = {
      name: `${figure.label} (${figure.better})`,
      nameGap: gap,
      nameTextStyle: { color: theme.text },
    };
    const [below, above] = figure.more ? [0.08, room] : [room, 0.08];
    if (wide) {
      const ratio = most / least;
      const ends = [least / ratio ** below, most * ratio ** above];
      return charts.log_axis(ends, { ...look, formatter: figure.text, exact: true });
    }
    const span = most - least || Math.abs(most) * 0.5 || 1;
    // Room for labels may reach below 0, where there are no amounts.
    const text = (v) => (v < 0 && least >= 0 ? "" : figure.text(v));
    return charts.roomy(
      charts.value_axis(look.name, text, { ...look, splitNumber: 5, axisLine: { onZero: false } }),
      least - span * below,
      most + span * above,
    );
  }

  // Points at one place are one mark, named by what they share.
  function places(rows, x, y, axes) {
    const varies = axes.filter((a) => data.unique(rows.map((r) => r[a])).length > 1);
    const told = varies.length ? varies : axes;
    const groups = data.group(rows, (r) => JSON.stringify([r[x.name], r[y.name]]));
    return [...groups.values()].map((all) => {
      const is_shared = (a) => all.every((r) => r[a] === all[0][a]);
      const shared = told.filter(is_shared);
      return {
        all,
        value: [all[0][x.name], all[0][y.name]],
        label: quantities.point_text(all[0], shared.length ? shared : axes.filter(is_shared)),
      };
    });
  }

  const LABELS = 10;
  const label_of_place = (place) => format.short(place.label, 48);

  // Share of the span that the longest label takes: that of any point may be the outermost one.
  function room_for(marks) {
    const longest = Math.max(...marks.map((m) => label_of_place(m).length), 0);
    const share = Math.min(0.4, (longest * 6.2 + 8) / ((fabricast.stage_width || 1000) - 120));
    return (1.08 * share) / (1 - share);
  }

  function plane_option({ rows, front, x, y, axes, figures }, theme) {
    const marks = places(front, x, y, axes);
    const on_front = new Set(front);
    const beaten = thinned(
      rows.filter((r) => !on_front.has(r)),
      y,
      LINES,
    );
    const tip = (p) => {
      const all = p.data?.place?.all ?? (p.data?.record ? [p.data.record] : []);
      if (all.length === 0) return "";
      const words = all.slice(0, 6).map((r) => quantities.point_text(r, axes));
      return fabricast.tip(words[0], [
        ...words.slice(1),
        all.length > 6 ? `and ${all.length - 6} more` : null,
        ...facts_of(all[0], figures),
      ]);
    };
    return {
      legend: charts.legend(
        ["no other is better in both", "beaten by another"].slice(0, beaten.length ? 2 : 1),
      ),
      grid: charts.grid({ left: 92, bottom: 58 }),
      tooltip: { trigger: "item", formatter: tip },
      xAxis: plane_axis(rows, x, theme, 34, room_for(marks)),
      yAxis: plane_axis(rows, y, theme, 72, 0.14),
      series: [
        {
          type: "line",
          name: "no other is better in both",
          symbol: "diamond",
          symbolSize: 12,
          z: 5,
          lineStyle: { color: theme.good, width: 2, type: "dashed" },
          itemStyle: { color: theme.good },
          data: marks.map((place) => ({
            value: place.value,
            place,
          })),
          label: {
            show: true,
            color: theme.text,
            position: y.more ? "top" : "bottom",
            align: x.more ? "left" : "right",
            distance: 8,
            // With many points on the front, every so many are named.
            formatter: (p) =>
              p.dataIndex % Math.ceil(marks.length / LABELS) === 0
                ? label_of_place(p.data.place)
                : "",
          },
          labelLayout: { hideOverlap: true },
        },
        {
          type: "scatter",
          name: "beaten by another",
          symbolSize: beaten.length > 300 ? 5 : 8,
          z: 3,
          itemStyle: { color: theme.line, opacity: 0.6, decal: { symbol: "none" } },
          data: beaten.map((record) => ({ value: [record[x.name], record[y.name]], record })),
        },
      ],
    };
  }

  // Two figures against each other. `first`: names of columns that are shown at first.
  // `more`: {column: whether more is better} where that is not as usual.
  function plane({ rows, axes, figures, table, first = [], more = {}, id = "front", title }) {
    const names = figures.filter(
      (f) => data.unique(rows.map((r) => r[f]).filter(data.finite)).length > 1,
    );
    const known = names.map((n) => quantities.quantity(n, more[n]));
    const at = (wanted, otherwise) => (names.includes(wanted) ? names.indexOf(wanted) : otherwise);
    // Cost and size tell more beside a speed than another word for it.
    const families = ["price", "running cost", "machine", "power"];
    const others = known.filter((q) => q.family !== known[0]?.family);
    const beside = others.find((q) => families.includes(q.family)) ?? others[0];
    const other = known.indexOf(beside);
    if (known.length < 2 || (other < 0 && first.length === 0)) return [];
    const asked = questions(rows, axes, figures);
    const y_first = at(first[1], 0);
    const x_first = at(first[0], other < 0 ? 1 : other);
    return [
      {
        id,
        title: title ?? "Two figures against each other, and what nothing beats",
        picks: [
          { label: "Across", names: known.map((q) => q.label), first: x_first },
          { label: "Up", names: known.map((q) => q.label), first: y_first },
          ...asked,
        ],
        view: ([x_at, y_at, ...chosen]) => {
          const [x, y] = [known[x_at], known[y_at]];
          const kept = asked_rows(rows, asked, chosen, [x.name, y.name]);
          const shown = kept.filter((r) => data.finite(r[x.name]) && data.finite(r[y.name]));
          const front = quantities.front(shown, x, y);
          const said = places(front, x, y, axes)
            .slice(0, 6)
            .map(
              (p) =>
                `${p.label}: ${x.label} ${x.text(p.value[0])}, ${y.label} ${y.text(p.value[1])}`,
            )
            .join("; ");
          return {
            height: 440,
            alt: `Points of ${y.label} over ${x.label}. No other is better in both than ${said}.`,
            hint: `${format.number(front.length)} of ${format.count(shown.length, "point")} are on the front: no other is better in both.`,
            table,
            option: (theme) => plane_option({ rows: shown, front, x, y, axes, figures }, theme),
          };
        },
      },
    ];
  }

  fabricast.points = { parallel, heat, plane };
})();
