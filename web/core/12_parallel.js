"use strict";
// Parallel coordinates: every point as a line over its axes and figures.
globalThis.fabricast ??= {};
(() => {
  const { format, data, charts, quantities } = fabricast;
  const { wrapped, thinned, spread, share_of, facts_of } = fabricast.points;
  const LINES = 2000; // drawn at most
  const FEW = 14; // values that are words on the axis

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

  fabricast.points.parallel = parallel;
})();
