"use strict";
// What the columns of a table of points mean: axes that were varied, figures that came out.
globalThis.fabricast ??= {};
(() => {
  const { format, data } = fabricast;

  // Label, and the family: two figures of one family say the same in other words.
  const named = {
    step_s: ["step time", "step"],
    tokens_per_s: ["tokens per second", "step"],
    mfu: ["MFU", "share"],
    time_us: ["time of a call", "call"],
    busbw_GBps: ["busbw", "call"],
    algbw_GBps: ["algbw", "call"],
    token_s: ["time per token", "token"],
    first_token_s: ["time to the first token", "token"],
    usd_per_step: ["cost of a step", "running cost"],
    usd_per_million_tokens: ["cost of a million tokens", "running cost"],
    usd_per_hour: ["cost of an hour", "running cost"],
    fabric_usd: ["price of the fabric", "price"],
    usd_per_GBps: ["price of a GB/s", "price"],
    fabric_watts: ["power of the fabric", "power"],
    memory_bytes: ["memory of a GPU", "memory"],
    nodes: ["nodes", "machine"],
    gpus: ["GPUs", "machine"],
    nics: ["NICs", "machine"],
    nccl: ["NCCL", "nccl"],
    sharp: ["SHARP", "sharp"],
    sizes: ["size", "size"],
    size_bytes: ["size", "size"],
  };
  const details =
    /^(lower|upper)_|_of_best$|^(machine|ranks|gpus|algorithm|protocol|nchannels|holds|refused|points|place|job_sha256|study|program|data|axes|answer|error|error_place|cpu_s|max_rss_bytes|finished_at)$/;
  const figures = /(_us|_s|GBps|_bytes|_watts|_per_gpu)$|^usd_|_usd$|^mfu$/;

  const is_figure = (name) =>
    name !== "size_bytes" && !name.includes(".") && figures.test(name) && !details.test(name);

  // The same rule as that of `--best` and `--pareto`: the most of rates and shares, else the least.
  const more_is_better = (name) =>
    !/^usd_/.test(name) &&
    (/(GBps|_per_s|_per_gpu)$/.test(name) || ["mfu", "holds"].includes(name));

  const usd = (v) =>
    Math.abs(v) >= 1e5 ? `${format.number(v / 1e6)} M USD` : format.number(v, "USD");

  function text_of(name) {
    if (/_us$/.test(name)) return format.time_us;
    if (/^usd_|_usd$/.test(name)) return usd;
    if (/_bytes$/.test(name)) return format.bytes;
    if (/GBps$/.test(name)) return (v) => format.number(v, "GB/s");
    if (name === "mfu") return (v) => format.percent(v);
    if (/_watts$/.test(name)) return (v) => format.number(v, "W");
    if (/_s$/.test(name) && !/_per_s$/.test(name)) return format.time_s;
    return (v) => format.number(v);
  }

  const label_of = (column) =>
    named[column]?.[0] ??
    (figures.test(column)
      ? format.header({ name: column }).text
      : column.replace(/^axis_/, "").replaceAll("_", " "));

  // A figure by the name of its column; "mean step_s" of groups is one, too.
  // `is_more`: more of it is better, where that is not as usual.
  function quantity(column, is_more) {
    const name = column.replace(/^(mean|least|most|before|after) /, "");
    const more = is_more ?? more_is_better(name);
    return {
      name: column,
      label: label_of(name),
      family: named[name]?.[1] ?? name,
      text: text_of(name),
      more,
      better: more ? "more is better" : "less is better",
      // Less is better.
      cost: (row) => (more ? -row[column] : row[column]),
    };
  }

  // As an axis has it: "64KiB", 16, "2.27.7", true.
  function amount(value) {
    if (typeof value === "number") return value;
    const found = /^(-?[\d.]+)\s*([KMGT]i?)?(B|b|[Bb]\/s)?$/.exec(String(value ?? ""));
    if (!found || Number.isNaN(Number(found[1]))) return null;
    const power = " KMGT".indexOf(found[2]?.[0] ?? " ");
    return Number(found[1]) * (found[2]?.endsWith("i") ? 1024 : 1000) ** power;
  }

  // Distinct values: amounts and releases in their order, names as they come.
  function ordered(values) {
    const all = data.unique(values);
    if (all.every((v) => amount(v) !== null)) return all.sort((a, b) => amount(a) - amount(b));
    if (all.every((v) => /^\d+(\.\d+)+/.test(String(v)))) {
      return all.sort((a, b) => String(a).localeCompare(String(b), "en", { numeric: true }));
    }
    return all;
  }

  const is_bare = (value) => typeof value !== "string" || /^(true|false|-?[\d.]+)$/.test(value);

  function value_text(column, value) {
    if (value === null || value === undefined || value === "") return "not set";
    if (["true", "false"].includes(String(value))) return String(value) === "true" ? "on" : "off";
    return format.short(column === "size_bytes" ? format.bytes(value) : value, 60);
  }

  // "dgx-h100, nodes 64"
  const point_text = (row, axes) =>
    axes
      .map((a) =>
        is_bare(row[a]) && a !== "size_bytes"
          ? `${label_of(a)} ${value_text(a, row[a])}`
          : value_text(a, row[a]),
      )
      .join(", ");

  const pairs = (rows, a, b) => new Set(rows.map((r) => JSON.stringify([r[a], r[b]]))).size;

  // Is b another word for a?
  function follows(rows, a, b) {
    const count = data.unique(rows.map((r) => r[a])).length;
    if (count !== data.unique(rows.map((r) => r[b])).length) return false;
    if (pairs(rows, a, b) !== count) return false;
    const same_word =
      [a, b].sort().join() === "size_bytes,sizes" || a === `axis_${b}` || b === `axis_${a}`;
    return same_word || rows.length > count;
  }

  // {axes, figures, rows}: names of columns, and the rows that have figures. Axes have several
  // values, and none says what another says.
  function meanings(table, all) {
    const names = (table?.columns ?? []).map((c) => c.name);
    const order = Object.keys(named);
    const rank = (name) => (order.includes(name) ? order.indexOf(name) : order.length);
    const figures = names
      .filter((n) => is_figure(n) && all.some((r) => data.finite(r[n])))
      .sort((a, b) => rank(a) - rank(b));
    const rows = all.filter((r) => figures.some((f) => data.finite(r[f])));
    const axes = [];
    for (const name of names) {
      const varies = data.unique(rows.map((r) => r[name])).length > 1;
      if (is_figure(name) || details.test(name) || !varies) continue;
      if (!axes.some((other) => follows(rows, other, name))) axes.push(name);
    }
    return { axes, figures, rows };
  }

  // Axes that make another question of a point, not another answer: the best of several sizes says
  // nothing. A call on more nodes is another call; a step on more nodes is the same work.
  const asked_axes = (axes, figures) =>
    axes.filter(
      (a) =>
        ["sizes", "size_bytes", "collective"].includes(a) ||
        (/^(axis_)?nodes$/.test(a) && figures.some((f) => quantity(f).family === "call")),
    );

  // Rows that no other beats in both figures, by the first.
  function front(rows, a, b) {
    const known = rows.filter((r) => data.finite(r[a.name]) && data.finite(r[b.name]));
    const sorted = [...known].sort((r, s) => a.cost(r) - a.cost(s) || b.cost(r) - b.cost(s));
    const kept = [];
    for (const row of sorted) {
      const last = kept[kept.length - 1];
      const ties = last && a.cost(last) === a.cost(row) && b.cost(last) === b.cost(row);
      if (!last || b.cost(row) < b.cost(last) || ties) kept.push(row);
    }
    return kept;
  }

  fabricast.quantities = {
    quantity,
    label_of,
    ordered,
    amount,
    value_text,
    point_text,
    meanings,
    asked_axes,
    front,
  };
})();
