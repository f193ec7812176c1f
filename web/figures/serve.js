"use strict";
// serve: where the time of a token goes, latency over load, memory.
globalThis.fabricast ??= {};
fabricast.figures ??= {};
(() => {
  const { format, data, charts } = fabricast;

  const latency_words = {
    ttft: "time to first token",
    tpot: "time per output token",
    itl: "between tokens",
    request: "whole request",
  };

  // Of many requests in a queue: what half, nine in ten and all but one in a hundred take at most.
  function latencies(report) {
    const rows = data.records(report, "latency", ["p50_s", "p90_s", "p99_s"]);
    const words = (r) => latency_words[r.what] ?? r.what;
    const shares = [
      ["p50_s", "half of them, at most"],
      ["p90_s", "nine in ten"],
      ["p99_s", "99 in 100"],
    ];
    const said = (r) => shares.map(([c, label]) => `${label} ${format.time_s(r[c])}`).join(", ");
    return rows.length === 0
      ? []
      : [
          {
            id: "latencies",
            title: "How long requests in the queue take",
            hint: "Half of the requests take at most as long as the first mark says, nine in ten as the second, 99 in 100 as the third.",
            alt: `Marks of how long requests take. ${rows.map((r) => `${words(r)}: ${said(r)}`).join(". ")}.`,
            height: charts.bar_height(rows.length, 44),
            table: data.cut(report, "latency"),
            option: (theme) => {
              const { axis, left } = charts.category_y(rows.map(words));
              const point = (column, symbol, size, color) => ({
                type: "scatter",
                name: shares.find(([c]) => c === column)[1],
                symbol,
                symbolSize: size,
                itemStyle: { color },
                z: 5,
                data: rows.map((r, i) => [r[column], i]),
              });
              return {
                legend: charts.legend(shares.map(([, label]) => label)),
                grid: charts.grid({ left }),
                tooltip: {
                  trigger: "item",
                  formatter: (p) => {
                    const r = rows[p.value[1]];
                    return fabricast.tip(
                      words(r),
                      shares.map(([c, label]) => `${label}: ${format.time_s(r[c])}`),
                    );
                  },
                },
                xAxis: charts.time_axis(
                  rows.flatMap((r) => shares.map(([c]) => r[c])),
                  { nameGap: 30, formatter: format.time_s },
                ),
                yAxis: axis,
                series: [
                  charts.whiskers(
                    "from half to 99 in 100",
                    rows.map((r, i) => [r.p50_s, r.p99_s, i]),
                    theme.muted,
                  ),
                  point("p50_s", "diamond", 13, theme.palette[0]),
                  point("p90_s", "rect", 11, theme.palette[1]),
                  point("p99_s", "triangle", 12, theme.palette[2]),
                ],
              };
            },
          },
        ];
  }
  const what_words = { first_token: "first token", token: "each token" };

  // Latency over load: more requests at once give more tokens per second, and each waits longer.
  function loads(report) {
    const rows = data.records(report, "load", ["batch", "token_s", "tokens_per_s"]);
    if (rows.length < 2) return [];
    const asked = report?.job?.ask?.batch;
    const said = (r) =>
      `${format.count(r.batch, "request")}: ${format.time_s(r.token_s)} a token, ${format.number(r.tokens_per_s)} tokens/s`;
    const line = (id, title, value, name, index) => ({
      id,
      title,
      hint: "Each mark is a number of requests at once, written beside it, up to what the memory holds.",
      alt: `Line of ${name} over tokens per second. ${said(rows[0])}; ${said(rows[rows.length - 1])}.`,
      height: 340,
      table: data.cut(report, "load"),
      option: (theme) => {
        const look = charts.look(theme, index);
        return {
          grid: charts.grid({ top: 16, left: 84, right: 60 }),
          tooltip: {
            trigger: "item",
            formatter: (p) => {
              const r = rows[p.dataIndex];
              return fabricast.tip(format.count(r.batch, "request"), [
                `${format.time_s(r.token_s)} a token`,
                `${format.time_s(r.first_token_s)} to the first token`,
                `${format.number(r.tokens_per_s)} tokens/s, ${format.number(r.tokens_per_s_per_gpu)} of a GPU`,
              ]);
            },
          },
          xAxis: charts.value_axis("tokens/s", (v) => format.number(v)),
          yAxis: { ...charts.value_axis(name, format.time_s), nameGap: 60 },
          series: [
            {
              type: "line",
              name,
              symbolSize: 9,
              itemStyle: { color: look.color },
              lineStyle: { color: look.color, type: look.dash },
              label: {
                show: true,
                position: "top",
                color: theme.text,
                formatter: (p) => format.number(rows[p.dataIndex].batch),
              },
              data: rows.map((r) => ({
                value: [r.tokens_per_s, value(r)],
                symbol: r.batch === asked ? "diamond" : look.symbol,
                symbolSize: r.batch === asked ? 14 : 9,
              })),
            },
          ],
        };
      },
    });
    return [
      line("latency", "Time of each token over load", (r) => r.token_s, "time of a token", 0),
      line(
        "first-token",
        "Time to the first token over load",
        (r) => r.first_token_s,
        "time to the first token",
        1,
      ),
    ];
  }

  fabricast.figures.serve = (part) => {
    const report = part?.report;
    const rows = data
      .records(report, "rows", ["what", "time_s"])
      .filter((r) => data.finite(r.time_s));
    if (rows.length === 0) return [];
    const specs = latencies(report);
    const varying = ["variation", "tp", "pp", "ep", "batch", "prompt", "output"].filter(
      (k) => data.unique(rows.map((r) => r[k])).length > 1,
    );
    const label = (r) =>
      [
        what_words[r.what] ?? r.what,
        ...varying.map((k) => (k === "variation" ? r[k] : `${k} ${r[k]}`)),
      ]
        .filter(Boolean)
        .join(", ");
    const serve_parts = data.parts(report, "rows", "s");
    const words = (r) =>
      `${label(r)}: ${format.time_s(r.time_s)}, ${serve_parts
        .filter(([c]) => (r[c] ?? 0) > 0)
        .map(([c, l]) => `${l} ${format.percent(r[c] / r.time_s)}`)
        .join(", ")}`;
    // Prefill and decode differ by a factor of ten: shares compare them.
    const shares = rows.map((r) => {
      const copy = { record: r };
      for (const [c] of serve_parts) copy[c] = (r[c] ?? 0) / r.time_s;
      return copy;
    });
    specs.push({
      id: "serve-shares",
      title: "Where the time of a token goes",
      alt: rows.map((r) => `Stacked bars of the parts of the time. ${words(r)}.`).join(" "),
      height: charts.bar_height(rows.length, 46),
      table: data.cut(report, "rows"),
      option: (theme) => {
        const option = charts.stacked({
          rows: shares,
          labels: rows.map((r) => `${label(r)}\n${format.time_s(r.time_s)}`),
          parts: serve_parts,
          formatter: (v) => format.percent(v),
          name: "share of the time",
          theme,
        });
        option.xAxis.max = 1;
        return option;
      },
    });
    specs.push(...loads(report));
    const memory_rows = rows
      .filter(
        (r, i) =>
          data.finite(r.weights_bytes) &&
          rows.findIndex(
            (o) => o.batch === r.batch && o.tp === r.tp && o.variation === r.variation,
          ) === i,
      )
      .map((r) => ({ ...r, label: `batch ${r.batch}`, step_s: 1, all_bytes: undefined }));
    if (memory_rows.length)
      specs.push(...fabricast.step_memory(memory_rows, data.parts(report, "rows", "B")));
    return specs;
  };
})();
