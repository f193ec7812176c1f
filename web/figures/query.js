"use strict";
// query: what the results of a sweep say. sweep: how far it is.
globalThis.fabricast ??= {};
fabricast.figures ??= {};
(() => {
  const { format, data, charts, quantities } = fabricast;
  const BARS = 40;

  const first_of = (rows, most = BARS) => rows.slice(0, most);
  const cut_hint = (rows) =>
    rows.length > BARS ? ` The first ${BARS} of ${format.number(rows.length)} are drawn.` : "";

  // --diff: rows come with the largest change first.
  function differences(rows, table) {
    const before = table.columns.find((c) => c.name.startsWith("before "))?.name;
    const after = table.columns.find((c) => c.name.startsWith("after "))?.name;
    if (!before || !after || rows.length === 0) return [];
    const q = quantities.quantity(after);
    const points = rows.map((r) => {
      try {
        return { ...JSON.parse(r.axes), record: r };
      } catch {
        return { point: r.axes, record: r };
      }
    });
    const axes = data
      .unique(points.flatMap((p) => Object.keys(p)))
      .filter((a) => a !== "record" && data.unique(points.map((p) => p[a])).length > 1);
    const shown = first_of(points.filter((p) => data.finite(p.record.change)));
    const labels = shown.map((p) =>
      axes.length ? quantities.point_text(p, axes) : "the question",
    );
    const values = shown.map((p) => p.record.change);
    return [
      {
        id: "difference",
        title: `Change of the ${q.label}, the largest first`,
        hint: `Blue is better; ${q.better}.${cut_hint(points)}`,
        alt: `Bars of the change of the ${q.label}. ${labels
          .slice(0, 6)
          .map((l, i) => `${l}: ${format.percent(values[i], true)}`)
          .join("; ")}.`,
        height: charts.bar_height(shown.length, 28) - 20,
        table,
        option: (theme) =>
          charts.change_bars({
            labels,
            values,
            theme,
            name: `change of the ${q.label}`,
            good_is_less: !q.more,
            tips: (i) => [
              `${q.text(shown[i].record[before])} → ${q.text(shown[i].record[after])}`,
              format.percent(values[i], true),
            ],
          }),
      },
    ];
  }

  // Bars of a figure with the least and the most of each row where they are there.
  function bars({ id, title, rows, labels, figures, table, tip }) {
    const known = figures.map((f) => quantities.quantity(f.column));
    return {
      id,
      title,
      picks: [{ label: "Figure", names: known.map((q) => q.label) }],
      view: ([at]) => {
        const q = known[at];
        const { column, least, most } = figures[at];
        const kept = rows
          .map((r, i) => ({ r, label: labels[i] }))
          .filter(({ r }) => data.finite(r[column]));
        const shown = first_of(kept);
        return {
          height: charts.bar_height(shown.length, 30),
          hint: `${least ? "Bars are means; whiskers span the least and the most of the points. " : ""}${q.better.replace(/^./, (c) => c.toUpperCase())}.${cut_hint(kept)}`,
          alt: `Bars of the ${q.label}. ${shown
            .slice(0, 8)
            .map(({ r, label }) => `${label}: ${q.text(r[column])}`)
            .join("; ")}.`,
          table,
          option: (theme) =>
            charts.bars({
              rows: shown.map((s) => s.r),
              labels: shown.map((s) => s.label),
              value: (r) => r[column],
              lower: (r) => (least ? r[least] : null),
              upper: (r) => (most ? r[most] : null),
              whisker: "least to most",
              text: q.text,
              name: q.label,
              theme,
              tip,
            }),
        };
      },
    };
  }

  // --group-by: "points" and "mean X", "least X", "most X".
  function groups(all, table, keys) {
    const names = table.columns.map((c) => c.name);
    const figures = names
      .filter((n) => n.startsWith("mean "))
      .map((column) => ({
        column,
        least: column.replace("mean ", "least "),
        most: column.replace("mean ", "most "),
      }))
      .filter((f) => {
        const told = quantities.quantity(f.column);
        return (
          told.family !== told.name.replace("mean ", "") &&
          all.some((r) => data.finite(r[f.column]))
        );
      });
    if (figures.length === 0) return [];
    const rows = all.filter((r) => figures.some((f) => data.finite(r[f.column])));
    const labels = rows.map((r) => quantities.point_text(r, keys));
    return [
      bars({
        id: "groups",
        title: `Mean of each group by ${format.list(keys.map(quantities.label_of))}`,
        rows,
        labels,
        figures,
        table,
        tip: (r) => (data.finite(r.points) ? format.count(r.points, "point") : null),
      }),
      ...fabricast.points.heat({
        rows,
        axes: keys,
        figures: figures.map((f) => f.column),
        what: "mean",
      }),
    ];
  }

  function best_of_groups(rows, table, keys, best, meaning) {
    const labels = rows.map((r) => quantities.point_text(r, keys));
    const others = meaning.axes.filter((a) => !keys.includes(a));
    const figures = [best, ...meaning.figures.filter((f) => f !== best)];
    return [
      bars({
        id: "best",
        title: `The best of each ${format.list(keys.map(quantities.label_of))} by ${quantities.quantity(best).label}`,
        rows,
        labels,
        figures: figures.map((column) => ({ column })),
        table,
        tip: (r) => (others.length ? `with ${quantities.point_text(r, others)}` : null),
      }),
    ];
  }

  // "nodes:most"
  function aim_of(text) {
    const [column, word] = String(text).split(/:(?=most$|least$)/);
    return { column, more: word ? word === "most" : undefined };
  }

  fabricast.figures.query = (part) => {
    const report = part?.report;
    const table = data.cut(report, "rows");
    const rows = data.records(report, "rows");
    if (!table || rows.length === 0) return [];
    const ask = report.job?.ask ?? {};
    const keys = (ask.group_by ?? []).filter((k) => table.columns.some((c) => c.name === k));
    if (table.columns.some((c) => c.name === "change")) return differences(rows, table);
    const are_means = table.columns.some((c) => c.name.startsWith("mean "));
    if (keys.length && are_means) return groups(rows, table, keys);
    const meaning = quantities.meanings(table, rows);
    const best = ask.best ? aim_of(ask.best).column : null;
    if (keys.length && rows.some((r) => data.finite(r[best]))) {
      return best_of_groups(rows, table, keys, best, meaning);
    }
    const asked = quantities.asked_axes(meaning.axes, meaning.figures);
    const sizes = asked.some((a) => /nodes$/.test(a)) ? [] : ["nodes"];
    const aims = (ask.pareto ?? []).map(aim_of);
    const all = { table, ...meaning };
    const plane = fabricast.points.plane({
      ...all,
      figures: data.unique([...meaning.figures, ...aims.map((a) => a.column), ...sizes]),
      first: aims.length >= 2 ? [aims[1].column, aims[0].column] : [],
      more: Object.fromEntries(aims.map((a) => [a.column, a.more])),
    });
    const rest = [...fabricast.points.heat(all), ...fabricast.points.parallel(all)];
    return aims.length ? [...plane, ...rest] : [...rest, ...plane];
  };

  const states = [
    ["done", "done"],
    ["failed", "failed"],
    ["claimed", "under way"],
    ["open", "open"],
  ];

  fabricast.figures.sweep = (part) => {
    const report = part?.report;
    const rows = data.records(report, "rows", ["sweep", "points", "done"]);
    if (rows.length === 0) return [];
    const labels = rows.map((r) => String(r.sweep));
    return [
      {
        id: "progress",
        title: "Points of each sweep: done, failed and open",
        alt: `Stacked bars of points. ${rows
          .map(
            (r, i) =>
              `${labels[i]}: ${states
                .filter(([c]) => r[c])
                .map(([c, word]) => `${format.number(r[c])} ${word}`)
                .join(", ")}`,
          )
          .join("; ")}.`,
        height: charts.bar_height(rows.length, 44),
        table: data.cut(report, "rows"),
        option: (theme) => {
          const option = charts.stacked({
            rows,
            labels,
            parts: states,
            formatter: (v) => format.number(v),
            total: (r) => r.points,
            name: "points",
            theme,
          });
          const colors = { done: theme.good, failed: theme.bad, open: theme.line };
          for (const one of option.series)
            one.itemStyle.color = colors[one.name] ?? one.itemStyle.color;
          return option;
        },
      },
    ];
  };
})();
