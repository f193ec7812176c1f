"use strict";
// whatif: what each change is worth; advise: what settings help; upgrade: what a release changes.
globalThis.fabricast ??= {};
fabricast.figures ??= {};
(() => {
  const { format, data, charts } = fabricast;
  const call_of = (r) =>
    [
      r.collective,
      r.size_bytes ? format.bytes(r.size_bytes) : null,
      data.finite(r.nodes) ? format.count(r.nodes, "node") : null,
    ]
      .filter(Boolean)
      .join(", ");

  // Where the time ends with a change, by 80 % of measured ones: the doubt of the change alone.
  function doubt_of(f, from) {
    if (!data.finite(f.alone_low_us) || f.alone_low_us === f.alone_high_us) return null;
    const others = (f.shapley_us ?? 0) - f.alone_us;
    return [from - f.alone_high_us - others, from - f.alone_low_us - others];
  }

  function waterfall(report) {
    const rows = data.records(report, "rows", ["factor", "shapley_us", "before_us", "after_us"]);
    const whole = data.records(report, "before_and_after", ["before_us", "ratio_lower"]);
    const variants = [];
    for (const [call, factors] of data.group(rows, call_of)) {
      const { before_us: before, after_us: after } = factors[0];
      if (!data.finite(before) || !data.finite(after)) continue;
      let at = before;
      const steps = [{ label: "before", from: 0, to: before, whole: true }];
      for (const f of factors) {
        // A saving is more than 0 and makes the time shorter.
        const next = at - (f.shapley_us ?? 0);
        steps.push({
          label: String(f.factor),
          from: at,
          to: next,
          saves: f.shapley_us ?? 0,
          doubt: doubt_of(f, at),
          record: f,
        });
        at = next;
      }
      const both = whole.find((r) => call_of(r) === call);
      const doubt =
        both && both.ratio_lower < both.ratio_upper
          ? [before * both.ratio_lower, before * both.ratio_upper]
          : null;
      steps.push({ label: "after", from: 0, to: after, whole: true, doubt });
      const worth = factors
        .map(
          (f) =>
            `${f.factor} ${(f.shapley_us ?? 0) >= 0 ? "saves" : "costs"} ${format.time_us(Math.abs(f.shapley_us ?? 0))}`,
        )
        .join(", ");
      const text = (s) =>
        s.whole
          ? format.time_us(s.to)
          : s.saves === 0
            ? "no change"
            : `${s.saves > 0 ? "−" : "+"}${format.time_us(Math.abs(s.saves))} (${format.percent(-s.saves / before, true)})`;
      // Where there is no room for both, the time.
      const short_text = (s) =>
        fabricast.stage_width < 500 ? text(s).replace(/ \(.*/, "") : text(s);
      variants.push({
        changes: Math.abs(after / before - 1),
        name: call,
        alt: `Waterfall from ${format.time_us(before)} before to ${format.time_us(after)} after, ${call}: ${worth}.`,
        height: charts.bar_height(steps.length, 38) - 20,
        table: data.table_of(
          "worth",
          [
            ["factor", "string"],
            ["shapley_us", "number", "us"],
            ["alone_us", "number", "us"],
            ["in_order_us", "number", "us"],
            ["last_us", "number", "us"],
            ["alone_low_us", "number", "us"],
            ["alone_high_us", "number", "us"],
            ["before_us", "number", "us"],
            ["after_us", "number", "us"],
          ],
          factors,
        ),
        option: (theme) => {
          const { axis, left } = charts.category_y(steps.map((s) => format.short(s.label, 46)));
          const color = (s) => (s.whole ? theme.palette[9] : s.saves >= 0 ? theme.good : theme.bad);
          const most = Math.max(...steps.map((s) => Math.max(s.from, s.to, ...(s.doubt ?? []))));
          const room = Math.max(...steps.map((s) => charts.text_width(short_text(s))));
          return {
            grid: charts.grid({ left, top: 10, right: room + 12 }),
            tooltip: {
              trigger: "item",
              formatter: (p) => {
                const s = steps[p.dataIndex];
                return fabricast.tip(s.label, [
                  text(s),
                  s.doubt
                    ? `80 % of measured: ends at ${format.time_us(s.doubt[0])} to ${format.time_us(s.doubt[1])}`
                    : null,
                  s.record ? `alone: saves ${format.time_us(s.record.alone_us)}` : null,
                  s.record ? `as the last change: saves ${format.time_us(s.record.last_us)}` : null,
                ]);
              },
            },
            xAxis: charts.roomy(charts.value_axis("time of the call", format.time_us), 0, most),
            yAxis: axis,
            series: [
              {
                type: "custom",
                itemStyle: { decal: { symbol: "none" } },
                encode: { x: [0, 1], y: 2 },
                data: steps.map((s, i) => [s.from, s.to, i]),
                renderItem: (params, api) => {
                  const s = steps[params.dataIndex];
                  const a = api.coord([Math.min(s.from, s.to), params.dataIndex]);
                  const b = api.coord([Math.max(s.from, s.to), params.dataIndex]);
                  const tall = Math.min(24, api.size([0, 1])[1] * 0.62);
                  const next = steps[params.dataIndex + 1];
                  const end = api.coord([s.to, params.dataIndex]);
                  const row = api.size([0, 1])[1];
                  return {
                    type: "group",
                    children: [
                      {
                        type: "rect",
                        shape: {
                          x: a[0],
                          y: a[1] - tall / 2,
                          width: Math.max(2, b[0] - a[0]),
                          height: tall,
                        },
                        style: { fill: color(s) },
                      },
                      next && {
                        type: "line",
                        shape: {
                          x1: end[0],
                          y1: a[1] + tall / 2,
                          x2: end[0],
                          y2: a[1] + row - tall / 2,
                        },
                        style: { stroke: theme.line, lineDash: [3, 3] },
                      },
                      {
                        type: "text",
                        style: {
                          text: short_text(s),
                          x: Math.max(b[0], s.doubt ? api.coord([s.doubt[1], 0])[0] : 0) + 8,
                          y: b[1],
                          verticalAlign: "middle",
                          fill: theme.text,
                          fontSize: 12,
                          fontFamily: fabricast.font,
                        },
                      },
                    ].filter(Boolean),
                  };
                },
              },
              charts.whiskers(
                "80 % of measured",
                steps
                  .map((s, i) => s.doubt && [Math.max(0, s.doubt[0]), s.doubt[1], i])
                  .filter(Boolean),
                theme.text,
                { z: 5 },
              ),
            ],
          };
        },
      });
    }
    if (variants.length === 0) return [];
    variants.sort((a, b) => b.changes - a.changes);
    return [
      {
        id: "worth",
        title: "What each change is worth",
        hint: "From the time before to the time after. Changes that act together share what they save (Shapley value); the table has each alone and as the last one. A whisker spans 80 % of what measured changes of a setting, or of a machine, came to.",
        variants,
        variants_label: "Call",
      },
    ];
  }

  function before_and_after(report) {
    const rows = data
      .records(report, "before_and_after", ["before_us", "after_us"])
      .filter((r) => r.before_us > 0 && data.finite(r.after_us))
      .map((r) => ({
        ...r,
        change: r.after_us / r.before_us - 1,
        doubt: r.ratio_lower < r.ratio_upper ? [r.ratio_lower - 1, r.ratio_upper - 1] : null,
      }));
    if (rows.length === 0) return [];
    const labels = rows.map(call_of);
    return [
      {
        id: "change",
        title: "Change of the time, all changes together",
        alt: `Bars of the change of time. ${rows
          .slice(0, 6)
          .map((r, i) => `${labels[i]}: ${format.percent(r.change, true)}`)
          .join("; ")}.`,
        hint: "Less than 0 is faster. A whisker spans 80 % of measured changes.",
        height: charts.bar_height(rows.length, 32) - 20,
        table: data.table_of(
          "before and after",
          [
            ["collective", "string"],
            ["nodes", "integer"],
            ["size_bytes", "integer", "B"],
            ["before_us", "number", "us"],
            ["after_us", "number", "us"],
            ["change", "number"],
            ["ratio_lower", "number"],
            ["ratio_upper", "number"],
            ["before_busbw_GBps", "number", "GB/s"],
            ["after_busbw_GBps", "number", "GB/s"],
            ["before", "string"],
            ["after", "string"],
            ["mechanism", "string"],
          ],
          rows,
        ),
        option: (theme) =>
          charts.change_bars({
            labels,
            values: rows.map((r) => r.change),
            doubts: rows.map((r) => r.doubt),
            theme,
            name: "change of the time",
            tips: (i) => [
              `${format.time_us(rows[i].before_us)} → ${format.time_us(rows[i].after_us)}`,
              `${rows[i].before} → ${rows[i].after}`,
              rows[i].mechanism,
            ],
          }),
      },
    ];
  }

  // Several setups against the first.
  function setups(report) {
    const rows = data.records(report, "rows", ["setup", "time_us", "of_the_first"]);
    if (rows.length === 0) return [];
    const calls = data.group(rows, call_of);
    const names = data.unique(rows.map((r) => r.setup));
    const totals = data.records(report, "setups", ["setup", "total_us"]);
    const best = data.least(totals, (r) => r.total_us);
    const specs = [
      {
        id: "setups",
        title: "Time of each setup over that of the first",
        hint: `1 is ${names[0]}; less is faster.`,
        alt: `Bars of the time of each setup over the first, by call. ${rows
          .slice(0, 8)
          .map((r) => `${r.setup}, ${call_of(r)}: ${format.number(r.of_the_first)}`)
          .join("; ")}.`,
        height: 110 + names.length * (16 + 17 * calls.size),
        table: data.cut(report, "rows"),
        option: (theme) => {
          const { axis, left } = charts.category_y(names);
          return {
            legend: charts.legend([...calls.keys()]),
            grid: charts.grid({ left, right: 60 }),
            tooltip: {
              trigger: "item",
              formatter: (p) => {
                const r = p.data?.record;
                return r
                  ? fabricast.tip(`${r.setup}: ${call_of(r)}`, [
                      `${format.number(r.of_the_first)} of the first's time`,
                      r.of_the_first_lower < r.of_the_first_upper
                        ? `80 % of measured: ${format.number(r.of_the_first_lower)} to ${format.number(r.of_the_first_upper)}`
                        : null,
                      format.time_us(r.time_us),
                      r.choice,
                    ])
                  : "";
              },
            },
            xAxis: charts.value_axis("time over the first setup's", (v) => format.number(v)),
            yAxis: axis,
            series: [...calls].map(([call, list], i) => ({
              type: "bar",
              name: call,
              barMaxWidth: 18,
              itemStyle: { color: theme.palette[i % theme.palette.length] },
              data: names.map((n) => {
                const record = list.find((r) => r.setup === n);
                return { value: record?.of_the_first ?? null, record };
              }),
              label: {
                show: calls.size * names.length <= 40,
                position: "right",
                color: theme.text,
                fontSize: 11,
                formatter: (p) =>
                  data.finite(p.value)
                    ? `${format.number(p.value)}  ${format.time_us(p.data.record?.time_us)}`
                    : "",
              },
            })),
          };
        },
      },
    ];
    if (totals.length > 1 && best) {
      specs.push({
        id: "totals",
        title: "Time of all calls of a setup",
        alt: `Bars of the total time of each setup: ${totals
          .slice(0, 8)
          .map((r) => `${r.setup} ${format.time_us(r.total_us)}`)
          .join(", ")}. Shortest: ${best.setup}.`,
        height: charts.bar_height(totals.length, 30) - 20,
        table: data.cut(report, "setups"),
        option: (theme) => {
          const { axis, left } = charts.category_y(totals.map((r) => r.setup));
          return {
            grid: charts.grid({ left, top: 10, right: 70 }),
            tooltip: {
              trigger: "axis",
              formatter: (ps) => {
                const r = totals[ps[0]?.dataIndex ?? 0];
                return fabricast.tip(r.setup, [
                  format.time_us(r.total_us),
                  `${format.number(r.of_the_first)} of the first's`,
                ]);
              },
            },
            xAxis: charts.value_axis("time", format.time_us),
            yAxis: axis,
            series: [
              {
                type: "bar",
                barMaxWidth: 22,
                data: totals.map((r) => ({
                  value: r.total_us,
                  itemStyle: {
                    color: r === best ? theme.good : theme.palette[9],
                    decal: { symbol: "none" },
                  },
                })),
                label: {
                  show: true,
                  position: "right",
                  color: theme.text,
                  formatter: (p) => format.time_us(p.value),
                },
              },
            ],
          };
        },
      });
    }
    return specs;
  }

  fabricast.figures.whatif = (part) => [
    ...before_and_after(part?.report),
    ...waterfall(part?.report),
    ...setups(part?.report),
  ];

  // advise -------------------------------------------------------------------------------------

  function advised_times(report) {
    const rows = data
      .records(report, "rows", ["what", "before_us", "advised_us"])
      .filter((r) => data.finite(r.before_us) && data.finite(r.advised_us));
    if (rows.length === 0) return [];
    const labels = rows.map((r) => format.short(r.what, 48));
    const change = (r) => r.advised_us / r.before_us - 1;
    const saved = rows.filter((r) => change(r) < -0.0005).length;
    return [
      {
        id: "advised",
        title: "Time before and with the advice",
        hint: "A whisker spans 80 % of measured times with the advice. Rows that do not count for the goal are marked (shown only).",
        alt: `Marks of the time before and as advised. ${saved} of ${rows.length} rows get faster. ${rows
          .slice(0, 6)
          .map(
            (r) =>
              `${r.what}: ${format.time_us(r.before_us)} before, ${format.time_us(r.advised_us)} advised`,
          )
          .join("; ")}.`,
        height: charts.bar_height(rows.length, 38),
        table: data.cut(report, "rows"),
        option: (theme) => {
          const { axis, left } = charts.category_y(
            labels.map((l, i) => (rows[i].counts === false ? `${l} (shown only)` : l)),
            { splitLine: { show: true, lineStyle: { color: theme.grid } } },
          );
          const point = (name, key, symbol, color, size) => ({
            type: "scatter",
            name,
            ...charts.mark(symbol, color, size),
            z: 5,
            data: rows.map((r, i) => ({ value: [r[key], i], record: r })),
          });
          return {
            legend: charts.legend(["before", "advised"], { itemWidth: 16 }),
            grid: charts.grid({ left }),
            tooltip: {
              trigger: "item",
              formatter: (p) => {
                const r = p.data?.record;
                return r
                  ? fabricast.tip(r.what, [
                      `before ${format.time_us(r.before_us)}`,
                      `advised ${format.time_us(r.advised_us)} (${format.percent(change(r), true)})`,
                      `80 %: ${format.time_us(r.lower_us)} to ${format.time_us(r.upper_us)}`,
                      r.choice,
                    ])
                  : "";
              },
            },
            xAxis: charts.time_axis(
              rows.flatMap((r) => [r.before_us, r.advised_us, r.lower_us, r.upper_us]),
              { nameGap: 30 },
            ),
            yAxis: axis,
            series: [
              charts.whiskers(
                "80 % band",
                rows
                  .map((r, i) => [r.lower_us, r.upper_us, i])
                  .filter((p) => data.finite(p[0]) && data.finite(p[1])),
                theme.line,
              ),
              point("before", "before_us", "ring", theme.palette[1], 15),
              point("advised", "advised_us", "diamond", theme.palette[0], 10),
            ],
          };
        },
      },
    ];
  }

  function worths(report) {
    const rows = data.records(report, "line_worths", ["name", "last_us"]);
    if (rows.length === 0) return [];
    const names = data.unique(rows.map((r) => r.name));
    const before = new Map(
      data.records(report, "rows", ["what"]).map((r) => [r.what, r.before_us]),
    );
    const calls = data.unique(rows.map((r) => r.row));
    const share = (r) => {
      const whole = before.get(r.row);
      return data.finite(whole) && whole > 0 && data.finite(r.last_us) ? r.last_us / whole : null;
    };
    return [
      {
        id: "line-worths",
        title: "What each advised line saves, as the last one set",
        hint: "Share of the row's time before. Less than 0 costs time.",
        alt: `Bars of what each line saves. ${rows
          .slice(0, 8)
          .map((r) => `${r.name}, ${r.row}: ${format.percent(share(r))}`)
          .join("; ")}.`,
        height: 110 + names.length * (16 + 15 * calls.length),
        table: data.cut(report, "line_worths"),
        option: (theme) => {
          const { axis, left } = charts.category_y(names.map((n) => format.short(n, 46)));
          return {
            legend: charts.legend(calls),
            grid: charts.grid({ left, right: 60 }),
            tooltip: {
              trigger: "item",
              formatter: (p) => {
                const r = p.data?.record;
                return r
                  ? fabricast.tip(r.name, [
                      r.row,
                      `${format.time_us(r.last_us)} (${format.percent(share(r))})`,
                    ])
                  : "";
              },
            },
            xAxis: charts.value_axis("share of the time that is saved", (v) => format.percent(v)),
            yAxis: axis,
            series: calls.map((call, i) => ({
              type: "bar",
              name: call,
              barMaxWidth: 16,
              itemStyle: { color: theme.palette[i % theme.palette.length] },
              data: names.map((n) => {
                const record = rows.find((r) => r.name === n && r.row === call);
                return { value: record ? share(record) : null, record };
              }),
            })),
          };
        },
      },
    ];
  }

  function saving_list(report, name, id, title, hint, key) {
    const rows = data.records(report, name, [key]);
    const label = (r) => String(r.what ?? r.name ?? "");
    const shown = rows.filter((r) => data.finite(r[key])).slice(0, 24);
    if (shown.length === 0) return [];
    const labels = shown.map((r) => format.short(r.name ?? label(r), 46));
    return [
      {
        id,
        title,
        hint,
        alt: `${title}: ${shown
          .slice(0, 6)
          .map((r, i) => `${labels[i]} ${format.percent(r[key])}`)
          .join(", ")}.`,
        height: charts.bar_height(shown.length, 28) - 20,
        table: data.cut(report, name),
        option: (theme) =>
          charts.change_bars({
            labels,
            values: shown.map((r) => r[key]),
            theme,
            name: "share of the time that is saved",
            good_is_less: false,
            tips: (i) => [
              `saves ${format.percent(shown[i][key])}${shown[i].row ? ` of ${shown[i].row}` : ""}`,
              data.finite(shown[i].saves)
                ? `all rows: saves ${format.percent(shown[i].saves)}`
                : null,
              shown[i].reason,
            ],
          }),
      },
    ];
  }

  // Settings with their reasons are read, not measured: a list.
  function held_back_list(report) {
    const rows = data.records(report, "held_back", ["what", "reason"]);
    if (rows.length === 0) return [];
    return [
      {
        id: "held-back-reasons",
        title: "Why settings are held back",
        list: rows.slice(0, 40).map((r) => ({
          mark: "none",
          word: "held back",
          text: r.what,
          details: [r.reason],
        })),
      },
    ];
  }

  fabricast.figures.advise = (part) => {
    const report = part?.report;
    return [
      ...advised_times(report),
      ...saving_list(
        report,
        "lines",
        "lines",
        "What the advised lines save over all rows",
        "",
        "saves",
      ),
      ...worths(report),
      ...saving_list(
        report,
        "held_back",
        "held-back",
        "Settings that help one row, and are held back",
        "Most that the setting saves on a single row. What speaks against it is in the list below.",
        "saves_most",
      ),
      ...held_back_list(report),
    ];
  };

  // upgrade ------------------------------------------------------------------------------------

  fabricast.figures.upgrade = (part) => {
    const report = part?.report;
    const rows = data
      .records(report, "rows", ["first_bytes", "last_bytes", "change", "collective"])
      .filter((r) => data.finite(r.change));
    if (rows.length === 0) return [];
    const many_machines = data.unique(rows.map((r) => r.topology)).length > 1;
    const row_of = (r) =>
      [
        many_machines ? r.topology : null,
        r.collective,
        data.finite(r.nodes) ? format.count(r.nodes, "node") : null,
      ]
        .filter(Boolean)
        .join(", ");
    const choice = (r, when) => {
      const channels = r[`${when}_nchannels`];
      return `${r[`${when}_algorithm`]} ${r[`${when}_protocol`]}, ${format.count(channels, "channel")} x ${r[`${when}_nthreads`]} threads`;
    };
    const stretch = (r) =>
      r.first_bytes === r.last_bytes
        ? format.bytes(r.first_bytes)
        : `${format.bytes(r.first_bytes)} to ${format.bytes(r.last_bytes)}`;
    const tip = (r) => [
      `${stretch(r)}, ${format.percent(r.change, true)} at ${format.bytes(r.size_bytes)}`,
      `before: ${choice(r, "before")}, ${format.time_us(r.before_us)}`,
      `after: ${choice(r, "after")}, ${format.time_us(r.after_us)}`,
      `since ${r.since}, ${r.stage}: ${r.cause}`,
      r.rule,
      r.remedy ? `remedy: ${r.remedy} (${format.time_us(r.remedy_us)})` : null,
    ];
    const sorted = [...rows].sort((a, b) => b.change - a.change);
    const worst = sorted[0];
    const best = sorted[sorted.length - 1];
    const names = data.unique(rows.map(row_of));
    const asked = report?.job?.ask?.sizes;
    const sizes = data.sorted_numbers([
      ...(Array.isArray(asked) ? asked : []),
      ...rows.flatMap((r) => [r.first_bytes, r.last_bytes]),
    ]);
    const columns = [
      "topology",
      "collective",
      "nodes",
      "first_bytes",
      "last_bytes",
      "before_us",
      "after_us",
      "change",
      "differs",
      "since",
      "stage",
      "cause",
      "remedy",
    ];
    const most = Math.max(0.01, ...rows.map((r) => Math.abs(r.change)));
    const alt = `Largest loss ${format.percent(Math.max(0, worst.change), true)}${worst.change > 0 ? ` (${row_of(worst)}, ${stretch(worst)})` : ""}, largest gain ${format.percent(Math.min(0, best.change), true)} (${row_of(best)}, ${stretch(best)}).`;
    const labels = sorted.map((r) => `${row_of(r)}, ${stretch(r)}`);
    const specs = [];
    if (sizes.length > 1) {
      specs.push({
        id: "stretches",
        title: "Which sizes change, and by how much",
        hint: "A box spans the sizes of one change of NCCL's decision; empty stretches stay as they are. Change of the time: more than 0 is slower.",
        alt: `Stretches of sizes that change. ${alt}`,
        height: 120 + 44 * names.length,
        table: data.cut(report, "rows", columns),
        option: (theme) => {
          const { axis, left } = charts.category_y(names, {
            splitLine: { show: true, lineStyle: { color: theme.grid } },
          });
          return {
            grid: charts.grid({ left }),
            tooltip: {
              trigger: "item",
              formatter: (p) =>
                p.data?.record ? fabricast.tip(row_of(p.data.record), tip(p.data.record)) : "",
            },
            visualMap: {
              type: "continuous",
              min: -most,
              max: most,
              seriesIndex: [],
              orient: "horizontal",
              left: "center",
              top: 2,
              itemHeight: 150,
              itemWidth: 11,
              text: [
                `${format.percent(most, true)} slower`,
                `${format.percent(-most, true)} faster`,
              ],
              textStyle: { color: theme.text },
              inRange: { color: theme.diverging },
            },
            xAxis: charts.size_axis(sizes),
            yAxis: axis,
            series: [
              {
                type: "custom",
                itemStyle: { decal: { symbol: "none" } },
                encode: { x: [0, 1], y: 2 },
                data: rows.map((record) => ({
                  // Half a power of two on each side, so that one size is seen.
                  value: [
                    Math.max(sizes[0], record.first_bytes / Math.SQRT2),
                    Math.min(sizes[sizes.length - 1], record.last_bytes * Math.SQRT2),
                    names.indexOf(row_of(record)),
                  ],
                  record,
                })),
                renderItem: (params, api) => {
                  const r = rows[params.dataIndex];
                  const a = api.coord([api.value(0), api.value(2)]);
                  const b = api.coord([api.value(1), api.value(2)]);
                  const color = fabricast.shade(theme.diverging, 0.5 + r.change / most / 2);
                  const words = Math.abs(r.change) < 0.0005 ? "0" : format.percent(r.change, true);
                  const width = Math.max(3, b[0] - a[0]);
                  return {
                    type: "group",
                    children: [
                      {
                        type: "rect",
                        shape: { x: a[0], y: a[1] - 14, width, height: 28 },
                        style: { fill: color, stroke: theme.line, lineWidth: 1 },
                      },
                      words.length * 6.4 + 4 < width && {
                        type: "text",
                        silent: true,
                        style: {
                          text: words,
                          x: a[0] + width / 2,
                          y: a[1],
                          align: "center",
                          verticalAlign: "middle",
                          fill: fabricast.ink_on(color),
                          fontSize: 11.5,
                          fontFamily: fabricast.font,
                        },
                      },
                    ].filter(Boolean),
                  };
                },
              },
            ],
          };
        },
      });
    }
    const shown = sorted.slice(0, 40);
    specs.push({
      id: "changes",
      title: "Change of the time, each change of a decision",
      hint: `More than 0 is slower.${sorted.length > 40 ? " The 40 worst; the table has all." : ""}`,
      alt: `Bars of the change of time. ${alt}`,
      height: charts.bar_height(shown.length, 27) - 20,
      table: data.cut(report, "rows", columns),
      option: (theme) =>
        charts.change_bars({
          labels: labels.slice(0, 40),
          values: shown.map((r) => r.change),
          theme,
          name: "change of the time",
          tips: (i) => tip(shown[i]),
        }),
    });
    specs.push({
      id: "causes",
      title: "Causes",
      list: [...data.group(sorted, (r) => JSON.stringify([r.since, r.cause]))]
        .slice(0, 30)
        .map(([, all]) => {
          const r = all[0];
          return {
            mark: r.change > 0.005 ? "bad" : r.change < -0.005 ? "ok" : "none",
            word: r.change > 0.005 ? "slower" : r.change < -0.005 ? "faster" : "as fast",
            text: `${all
              .map((x) => `${row_of(x)}, ${stretch(x)} (${format.percent(x.change, true)})`)
              .join("; ")}: ${r.cause}`,
            details: [
              `Since NCCL ${r.since}, ${r.stage}. ${r.rule ?? ""}`,
              r.remedy ? `Remedy: ${r.remedy}, ${format.time_us(r.remedy_us)}` : null,
            ],
          };
        }),
    });
    return specs;
  };
})();
