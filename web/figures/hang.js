"use strict";
// hang: who waits for whom. Ranks that are stuck in the same call are one box.
globalThis.fabricast ??= {};
fabricast.figures ??= {};
(() => {
  const { format, data } = fabricast;

  // "0-2 6" -> 0 1 2 6
  const numbers = (text) =>
    String(text ?? "")
      .split(/[\s,]+/)
      .filter((t) => /^\d+(-\d+)?$/.test(t))
      .flatMap((t) => {
        const [first, last = first] = t.split("-").map(Number);
        return Array.from({ length: last - first + 1 }, (_, i) => first + i);
      });

  // 0 1 2 3 6 -> "0-3, 6"
  function runs(ranks) {
    const sorted = [...new Set(ranks)].sort((a, b) => a - b);
    const words = [];
    for (let i = 0; i < sorted.length; ) {
      let k = i;
      while (sorted[k + 1] === sorted[k] + 1) k += 1;
      words.push(k > i ? `${sorted[i]}-${sorted[k]}` : `${sorted[i]}`);
      i = k + 1;
    }
    return words.length > 6
      ? `${words.slice(0, 5).join(", ")} … (${sorted.length})`
      : words.join(", ");
  }

  fabricast.figures.hang = (part) => {
    const report = part?.report;
    const rows = data.records(report, "rows", ["rank", "waits_for"]);
    if (rows.length === 0) return [];
    const misfits = data.records(report, "mismatches", ["ranks", "other_ranks"]);
    const ended = new Map(data.records(report, "ended", ["rank"]).map((r) => [r.rank, r]));
    const boxes = [];
    const box_of = new Map();
    for (const [, all] of data.group(rows, (r) =>
      JSON.stringify([r.op, r.group, r.sequence, r.call, r.waits_for]),
    )) {
      const ranks = all.map((r) => r.rank);
      const r = all[0];
      const box = {
        id: `w${boxes.length}`,
        ranks,
        waits: numbers(r.waits_for),
        text: `rank${ranks.length > 1 ? "s" : ""} ${runs(ranks)}\n${r.op ?? ""}${r.group ? ` in ${format.short(r.group, 16)}` : ""}\ncall ${r.call ?? format.NONE}`,
        lines: [
          `${r.op}, group ${r.group}, sequence ${r.sequence}`,
          `call ${r.call}, line ${r.line}${all.length > 1 ? " …" : ""}`,
          r.waits_for
            ? `waits for ${runs(numbers(r.waits_for))}`
            : "waits for nobody: all are there",
          data.finite(r.fires_at_s)
            ? `the watchdog fires at ${format.number(r.fires_at_s, "s")}`
            : null,
        ],
        stuck: true,
      };
      boxes.push(box);
      for (const rank of ranks) box_of.set(rank, box);
    }
    // Ranks that are waited for, and are not stuck themselves.
    for (const rank of data.unique(boxes.flatMap((b) => b.waits))) {
      if (box_of.has(rank)) continue;
      const end = ended.get(rank);
      const box = {
        id: `e${boxes.length}`,
        ranks: [rank],
        waits: [],
        text: `rank ${rank}\n${end ? `ended after ${end.calls} calls` : "is not there"}`,
        lines: [end?.why ?? "never makes the call"],
        stuck: false,
      };
      boxes.push(box);
      box_of.set(rank, box);
    }
    const links = [];
    const seen = new Set();
    for (const box of boxes) {
      for (const rank of box.waits) {
        const other = box_of.get(rank);
        if (!other) continue;
        const key = `${box.id}|${other.id}`;
        if (seen.has(key)) continue;
        seen.add(key);
        links.push({ source: box, target: other });
      }
    }
    // Both sides of calls that meet and do not fit.
    for (const misfit of misfits) {
      const [one, other] = [misfit.ranks, misfit.other_ranks].map((t) => box_of.get(numbers(t)[0]));
      if (!one || !other || one === other) continue;
      links.push({ source: one, target: other, misfit: true });
      const words = (side) => `does not fit what ${runs(side.ranks)} call: ${misfit.what}`;
      one.lines.push(words(other));
      other.lines.push(words(one));
    }
    // Those who wait stand left, those who are waited for right; a cycle is a circle.
    const roots = boxes.filter((b) => !b.stuck);
    const waiters = boxes.filter((b) => b.stuck);
    const tallest = Math.max(waiters.length, roots.length);
    boxes.forEach((box, i) => {
      if (roots.length === 0) {
        const angle = (2 * Math.PI * i) / boxes.length - Math.PI / 2;
        box.at = [50 + 36 * Math.cos(angle), 50 + 38 * Math.sin(angle)];
      } else {
        const column = box.stuck ? waiters : roots;
        box.at = [box.stuck ? 20 : 80, (100 * (column.indexOf(box) + 0.5)) / column.length];
      }
    });
    const ring = report?.facts?.cycle ?? [];
    const first = misfits[0];
    const cause = first
      ? `Ranks ${runs(numbers(first.ranks))} and ${runs(numbers(first.other_ranks))} meet in calls that do not fit (${first.what}).`
      : roots.length
        ? `They wait for ${format.list(roots.slice(0, 6).map((b) => `rank ${runs(b.ranks)}`))}.`
        : ring.length
          ? `They wait for each other in a cycle of ${format.list(ring.slice(0, 6).map((r) => `rank ${r}`))}.`
          : "";
    const wide = 200;
    const tall = Math.max(14, Math.min(62, 860 / Math.max(1, tallest)));

    // From a box's centre to where the line to the other leaves it.
    function edge_point(from, to) {
      const dx = to[0] - from[0];
      const dy = to[1] - from[1];
      const share = Math.min(
        dx === 0 ? Number.POSITIVE_INFINITY : wide / 2 / Math.abs(dx),
        dy === 0 ? Number.POSITIVE_INFINITY : tall / 2 / Math.abs(dy),
      );
      return Number.isFinite(share) ? [from[0] + dx * share, from[1] + dy * share] : from;
    }

    const draw = (theme) => ({
      grid: { left: 10, right: 10, top: 30, bottom: 10 },
      legend: {
        top: 2,
        left: 8,
        itemWidth: 16,
        data: roots.length ? ["stuck", "waited for"] : ["stuck"],
      },
      tooltip: {
        trigger: "item",
        formatter: (p) =>
          p.data?.box ? fabricast.tip(`rank ${runs(p.data.box.ranks)}`, p.data.box.lines) : "",
      },
      xAxis: { type: "value", show: false, min: 0, max: 100 },
      yAxis: { type: "value", show: false, min: 0, max: 100, inverse: true },
      series: [
        {
          type: "custom",
          name: "waits for",
          silent: true,
          z: 1,
          encode: { x: [0, 2], y: [1, 3] },
          data: links.map((l) => [...l.source.at, ...l.target.at]),
          renderItem: (params, api) => {
            const from = api.coord([api.value(0), api.value(1)]);
            const to = api.coord([api.value(2), api.value(3)]);
            const a = edge_point(from, to);
            const b = edge_point(to, from);
            const { misfit } = links[params.dataIndex];
            const angle = Math.atan2(b[1] - a[1], b[0] - a[0]);
            const wing = (turn) => [
              b[0] - 12 * Math.cos(angle + turn),
              b[1] - 12 * Math.sin(angle + turn),
            ];
            return {
              type: "group",
              children: [
                {
                  type: "line",
                  shape: { x1: a[0], y1: a[1], x2: b[0], y2: b[1] },
                  style: misfit
                    ? { stroke: theme.bad, lineWidth: 2.4, lineDash: [6, 4] }
                    : { stroke: theme.muted, lineWidth: links.length > 200 ? 0.6 : 1.8 },
                },
                misfit
                  ? {
                      type: "text",
                      style: {
                        text: "does not fit",
                        x: (a[0] + b[0]) / 2 + 10,
                        y: (a[1] + b[1]) / 2,
                        verticalAlign: "middle",
                        fill: theme.bad,
                        fontSize: 12,
                        fontFamily: fabricast.font,
                      },
                    }
                  : {
                      type: "polygon",
                      shape: { points: [b, wing(0.4), wing(-0.4)] },
                      style: { fill: theme.muted },
                    },
              ],
            };
          },
        },
        ...[waiters, roots].map((side, k) => {
          const color = k === 0 ? theme.palette[0] : theme.bad;
          return {
            type: "custom",
            name: k === 0 ? "stuck" : "waited for",
            z: 3,
            itemStyle: { color, decal: { symbol: "none" } },
            data: side.map((box) => ({ value: box.at, box })),
            renderItem: (params, api) => {
              const box = side[params.dataIndex];
              const at = api.coord([api.value(0), api.value(1)]);
              const lines = tall >= 56 ? box.text : box.text.replaceAll("\n", ", ");
              return {
                type: "group",
                children: [
                  {
                    type: "rect",
                    shape: {
                      x: at[0] - wide / 2,
                      y: at[1] - tall / 2,
                      width: wide,
                      height: tall - 2,
                      r: k === 0 ? 8 : 0,
                    },
                    style: {
                      fill: theme.background,
                      stroke: color,
                      lineWidth: 2,
                      lineDash: k === 0 ? null : [6, 3],
                    },
                  },
                  {
                    type: "text",
                    silent: true,
                    style: {
                      text: lines,
                      x: at[0],
                      y: at[1] - 1,
                      width: wide - 10,
                      overflow: "truncate",
                      align: "center",
                      verticalAlign: "middle",
                      fill: theme.text,
                      fontSize: tall < 20 ? 10 : 12,
                      lineHeight: 16,
                      fontFamily: fabricast.font,
                    },
                  },
                ],
              };
            },
          };
        }),
      ],
    });
    return [
      {
        id: "waits",
        title: "Who waits for whom",
        hint: `An arrow points to the rank that is waited for. Ranks that are stuck in the same call are one box.${misfits.length ? " A dashed line joins calls that meet and do not fit." : ""}`,
        alt: `Graph of ${rows.length} stuck ranks in ${format.count(waiters.length, "box", "boxes")}. ${cause}`.trim(),
        height: roots.length ? Math.min(960, Math.max(150, (tall + 14) * tallest + 50)) : 520,
        table: data.cut(report, "rows"),
        option: draw,
      },
    ];
  };
})();
