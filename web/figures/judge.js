"use strict";
// judge: measured against expected, verdicts, causes that would explain the rest.
globalThis.fabricast ??= {};
fabricast.figures ??= {};
(() => {
  const { format, data, charts } = fabricast;
  const OVERLAID = 5;

  const verdict_look = (theme, verdict) =>
    ({
      within: { symbol: "circle", color: theme.palette[0] },
      above: { symbol: "triangle", color: theme.palette[2] },
      below: { symbol: "diamond", color: theme.bad },
    })[verdict] ?? { symbol: "rect", color: theme.muted };

  const verdict_words = {
    within: "within the band",
    above: "better than the band",
    below: "worse than the band",
  };

  function bandwidth(source, rows, label) {
    const known = rows
      .filter((r) => data.finite(r.expected_us) && data.finite(r.time_us) && r.size_bytes > 0)
      .sort((a, b) => a.size_bytes - b.size_bytes);
    if (known.length === 0) return [];
    const sizes = known.map((r) => r.size_bytes);
    const factor = (r) => r.expected_busbw_GBps * r.expected_us;
    const verdicts = data.unique(known.map((r) => r.verdict));
    const last = known[known.length - 1];
    const table = data.table_of(
      "measured and expected",
      [
        ["size_bytes", "integer", "B"],
        ["time_us", "number", "us"],
        ["expected_us", "number", "us"],
        ["lower_us", "number", "us"],
        ["upper_us", "number", "us"],
        ["ratio", "number"],
        ["busbw_GBps", "number", "GB/s"],
        ["expected_busbw_GBps", "number", "GB/s"],
        ["verdict", "string"],
      ],
      known,
    );
    const tip = (r) => [
      `measured ${format.time_us(r.time_us)}, ${format.number(r.busbw_GBps, "GB/s")}`,
      `expected ${format.time_us(r.expected_us)}, ${format.number(r.expected_busbw_GBps, "GB/s")}`,
      `80 %: ${format.time_us(r.lower_us)} to ${format.time_us(r.upper_us)} (${r.band_basis ?? ""})`,
      `${verdict_words[r.verdict] ?? r.verdict}; expected choice ${r.algorithm} ${r.protocol}`,
    ];
    const specs = [];
    if (known.every((r) => data.finite(r.expected_busbw_GBps))) {
      specs.push({
        id: "busbw",
        title: `Measured and expected bus bandwidth${label}`,
        hint: "The band spans 80 % of measured times of such machines.",
        alt: `Measured and expected busbw over size. At ${format.bytes(last.size_bytes)}: ${format.number(last.busbw_GBps, "GB/s")} measured, ${format.number(last.expected_busbw_GBps, "GB/s")} expected, ${verdict_words[last.verdict] ?? last.verdict}.`,
        height: 380,
        table,
        option: (theme) => ({
          legend: charts.legend([
            "expected",
            ...verdicts.map((v) => `measured, ${verdict_words[v] ?? v}`),
          ]),
          grid: charts.grid(),
          tooltip: {
            trigger: "item",
            formatter: (p) =>
              p.data?.record
                ? fabricast.tip(format.bytes(p.data.record.size_bytes), tip(p.data.record))
                : "",
          },
          xAxis: charts.size_axis(sizes),
          yAxis: { ...charts.value_axis("busbw (GB/s)", (v) => format.number(v)), nameGap: 50 },
          series: [
            charts.band(
              "expected",
              known.map((r) => [r.size_bytes, factor(r) / r.upper_us, factor(r) / r.lower_us]),
              theme.palette[9],
            ),
            {
              type: "line",
              name: "expected",
              symbol: "circle",
              symbolSize: 6,
              itemStyle: { color: theme.palette[9] },
              lineStyle: { type: "dashed", color: theme.palette[9], width: 2 },
              data: known.map((record) => ({
                value: [record.size_bytes, record.expected_busbw_GBps],
                record,
              })),
            },
            ...verdicts.map((v) => ({
              type: "scatter",
              name: `measured, ${verdict_words[v] ?? v}`,
              symbol: verdict_look(theme, v).symbol,
              symbolSize: 12,
              itemStyle: { color: verdict_look(theme, v).color },
              z: 6,
              data: known
                .filter((r) => r.verdict === v)
                .map((record) => ({ value: [record.size_bytes, record.busbw_GBps], record })),
            })),
          ],
        }),
      });
    }
    return specs;
  }

  function ratio(report, source, rows, label) {
    const known = rows
      .filter((r) => r.expected_us > 0 && data.finite(r.time_us) && r.size_bytes > 0)
      .sort((a, b) => a.size_bytes - b.size_bytes);
    if (known.length === 0) return [];
    const causes = data
      .records(report, "causes", ["cause", "rank"])
      .filter((c) => c.source === source)
      .sort((a, b) => a.rank - b.rank)
      .slice(0, OVERLAID);
    const expected = new Map(known.map((r) => [r.size_bytes, r.expected_us]));
    const curves = data
      .records(report, "cause_times", ["cause", "size_bytes", "time_us"])
      .filter((r) => r.source === source && expected.has(r.size_bytes) && data.finite(r.time_us))
      .map((r) => ({ ...r, of_expected: r.time_us / expected.get(r.size_bytes) }));
    const by_cause = data.group(curves, (r) => r.cause);
    const shown = causes.filter((c) => by_cause.has(c.cause));
    const values = [
      1,
      ...known.flatMap((r) => [r.time_us, r.lower_us, r.upper_us].map((t) => t / r.expected_us)),
      ...shown.flatMap((c) => by_cause.get(c.cause).map((r) => r.of_expected)),
    ];
    const worst = known.reduce((a, b) =>
      b.time_us / b.expected_us > a.time_us / a.expected_us ? b : a,
    );
    return [
      {
        id: "ratio",
        title: `Measured over expected time${label}, and causes that would explain it`,
        hint: `1 is as expected, more is slower. The band spans 80 % of measured times.${shown.length ? ` Thin lines: the time with one of the ${shown.length} likeliest causes.` : ""}`,
        alt: `Measured over expected time by size, with the band. Largest: ${format.number(worst.time_us / worst.expected_us)} at ${format.bytes(worst.size_bytes)}.${
          shown.length
            ? ` Overlaid causes: ${format.list(shown.map((c) => c.title || c.cause || "unnamed"))}.`
            : ""
        }`,
        height: 420,
        table: data.table_of(
          "ratio",
          [
            ["what", "string"],
            ["size_bytes", "integer", "B"],
            ["of_expected", "number"],
          ],
          [
            ...known.map((r) => ({
              what: "measured",
              size_bytes: r.size_bytes,
              of_expected: r.time_us / r.expected_us,
            })),
            ...curves.map((r) => ({ ...r, what: r.cause })),
          ],
        ),
        option: (theme) => ({
          legend: charts.legend(["measured", ...shown.map((c) => c.title || c.cause || "unnamed")]),
          grid: charts.grid(),
          tooltip: {
            trigger: "axis",
            formatter: (ps) => {
              const points = ps.filter((p) => Array.isArray(p.data) && p.seriesType === "line");
              if (points.length === 0) return "";
              return fabricast.tip(
                format.bytes(points[0].data[0]),
                points.map(
                  (p) => `${p.seriesName}: ${format.number(p.data[1])} of the expected time`,
                ),
              );
            },
          },
          xAxis: charts.size_axis(known.map((r) => r.size_bytes)),
          yAxis: charts.log_axis(values, {
            name: "time over expected time",
            nameGap: 50,
            formatter: (v) => format.number(v),
          }),
          series: [
            charts.band(
              "band",
              known.map((r) => [
                r.size_bytes,
                r.lower_us / r.expected_us,
                r.upper_us / r.expected_us,
              ]),
              theme.palette[9],
            ),
            {
              type: "line",
              name: "measured",
              symbol: "circle",
              symbolSize: 10,
              itemStyle: { color: theme.text },
              lineStyle: { color: theme.text, width: 3 },
              z: 6,
              data: known.map((r) => [r.size_bytes, r.time_us / r.expected_us]),
              markLine: {
                silent: true,
                symbol: "none",
                label: { show: false },
                lineStyle: { color: theme.line, type: "solid" },
                data: [{ yAxis: 1 }],
              },
            },
            ...shown.map((c, i) => {
              const look = charts.look(theme, i);
              return {
                type: "line",
                name: c.title || c.cause || "unnamed",
                symbol: look.symbol,
                symbolSize: 6,
                itemStyle: { color: look.color },
                lineStyle: { color: look.color, type: look.dash, width: 1.6 },
                data: [...by_cause.get(c.cause)]
                  .sort((a, b) => a.size_bytes - b.size_bytes)
                  .map((r) => [r.size_bytes, r.of_expected]),
              };
            }),
          ],
        }),
      },
    ];
  }

  function causes(report, source, label) {
    const rows = data
      .records(report, "causes", ["cause", "rank"])
      .filter((c) => c.source === source)
      .sort((a, b) => a.rank - b.rank);
    if (rows.length === 0) return [];
    const shown = rows.filter((r) => data.finite(r.typical_error)).slice(0, 15);
    if (shown.length === 0) return [];
    const labels = shown.map((r) => format.short(`${r.rank}. ${r.title || r.cause}`, 50));
    return [
      {
        id: "causes",
        title: `Causes, the likeliest first${label}`,
        hint: "Typical distance of the measured times from those with the cause: less explains more. Ranks also count how many rows a cause explains.",
        alt: `Bars of how far measured times are from those with each cause. ${shown
          .slice(0, 5)
          .map((r, i) => `${labels[i]}: ${format.percent(r.typical_error)}`)
          .join("; ")}.`,
        height: charts.bar_height(shown.length, 26) - 20,
        table: data.cut(report, "causes", null, (at) => at("source") === source),
        option: (theme) => {
          const { axis, left } = charts.category_y(labels);
          return {
            grid: charts.grid({ left, top: 10, right: 130 }),
            tooltip: {
              trigger: "axis",
              axisPointer: { type: "shadow" },
              formatter: (ps) => {
                const r = shown[ps[0]?.dataIndex ?? 0];
                return fabricast.tip(r.title || r.cause, [
                  `typical error ${format.percent(r.typical_error)}`,
                  `explains ${format.count(r.rows_explained, "row")}`,
                  data.finite(r.loss) ? `loss ${format.number(r.loss)}` : null,
                  `check: ${r.check}`,
                ]);
              },
            },
            xAxis: charts.value_axis("typical error", (v) => format.percent(v)),
            yAxis: axis,
            series: [
              {
                type: "bar",
                barMaxWidth: 18,
                itemStyle: { color: theme.palette[0], decal: { symbol: "none" } },
                data: shown.map((r) => r.typical_error),
                label: {
                  show: true,
                  position: "right",
                  color: theme.text,
                  fontSize: 11,
                  formatter: (p) =>
                    `${format.percent(p.value)}, ${format.count(shown[p.dataIndex].rows_explained, "row")}`,
                },
              },
            ],
          };
        },
      },
      {
        id: "checks",
        title: "How to check the first causes",
        list: rows.slice(0, 5).map((r) => ({
          mark: "rank",
          word: `${r.rank}`,
          text: r.title || r.cause,
          details: [r.check],
        })),
      },
    ];
  }

  fabricast.figures.judge = (part) => {
    const report = part?.report;
    const rows = data.records(report, "rows", ["source", "size_bytes", "time_us", "expected_us"]);
    const specs = [];
    const logs = data.records(report, "tables", ["source", "verdict"]);
    if (logs.length) {
      specs.push({
        id: "verdicts",
        title: "Verdict of each table of the log",
        list: logs.map((t) => ({
          mark:
            t.verdict === "as expected"
              ? "ok"
              : /unknown|no /.test(t.verdict ?? "")
                ? "none"
                : "bad",
          word: t.verdict,
          text: `${t.collective} on ${format.count(t.nodes, "node")} of ${t.topology}, ${format.count(t.ranks, "rank")}, NCCL ${t.nccl}`,
          details: [
            t.source,
            t.rows_with_wrong_values
              ? `${format.count(t.rows_with_wrong_values, "row")} with wrong values`
              : null,
          ],
        })),
        table: data.cut(report, "tables"),
      });
    }
    const groups = data.group(rows, (r) => r.source);
    let i = 0;
    for (const [source, all] of groups) {
      const label = groups.size > 1 ? `: ${source}` : "";
      for (const spec of [
        ...bandwidth(source, all, label),
        ...ratio(report, source, all, label),
        ...causes(report, source, label),
      ]) {
        specs.push({ ...spec, id: groups.size > 1 ? `${spec.id}-${i}` : spec.id });
      }
      i += 1;
    }
    const targets = data.records(report, "targets", ["size_bytes", "verdict"]);
    if (targets.length) {
      specs.push({
        id: "targets",
        title: "Targets",
        list: targets.map((t) => ({
          mark: /miss|below|fail/.test(t.verdict ?? "") ? "bad" : "ok",
          word: t.verdict,
          text: `${format.bytes(t.size_bytes)}: ${format.number(t.measured_busbw_GBps, "GB/s")} measured, at least ${format.number(t.least_busbw_GBps ?? t.expected_busbw_GBps, "GB/s")} wanted`,
          details: [
            data.finite(t.simulated_busbw_GBps)
              ? `${format.number(t.simulated_busbw_GBps, "GB/s")} simulated`
              : null,
          ],
        })),
        table: data.cut(report, "targets"),
      });
    }
    return specs;
  };
})();
