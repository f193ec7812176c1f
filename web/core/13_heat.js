"use strict";
// Heat map: a figure over two axes of points.
globalThis.fabricast ??= {};
(() => {
  const { format, data, charts, quantities } = fabricast;
  const { wrapped, spread, share_of, questions, asked_rows } = fabricast.points;
  const HEAT = 40; // values of an axis at most

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

  fabricast.points.heat = heat;
})();
