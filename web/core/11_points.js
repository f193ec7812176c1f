"use strict";
// Points with axes and figures: what their pictures share.
globalThis.fabricast ??= {};
(() => {
  const { data, quantities } = fabricast;

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

  // What a point says in a tooltip.
  const facts_of = (row, figures) =>
    figures
      .filter((f) => data.finite(row[f]))
      .map((f) => quantities.quantity(f))
      .map((q) => `${q.label}: ${q.text(row[q.name])}`);

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

  fabricast.points = { wrapped, thinned, spread, share_of, facts_of, questions, asked_rows };
})();
