"use strict";
// bench: time and bandwidth over size, NCCL's choices, where the time goes, links.
globalThis.fabricast ??= {};
fabricast.figures ??= {};
(() => {
  const { format, data, charts } = fabricast;
  const LINES = 24;

  const setup_name = (r, vary) => {
    const words = [];
    if (vary.case) words.push(r.case);
    if (vary.collective || (!vary.case && !vary.nodes)) words.push(r.collective);
    if (vary.nodes && r.nodes !== undefined && r.nodes !== null)
      words.push(format.count(r.nodes, "node"));
    return words.filter((w) => w !== undefined && w !== null && w !== "").join(", ") || "all";
  };

  // Records with their setup; only what tells them apart is in its name.
  function with_setups(rows, skip = []) {
    const varies = (key) => !skip.includes(key) && data.unique(rows.map((r) => r[key])).length > 1;
    const vary = { case: varies("case"), collective: varies("collective"), nodes: varies("nodes") };
    return rows.map((r) => ({ ...r, setup: setup_name(r, vary) }));
  }

  const choice_of = (r) => {
    if (r.choice) return String(r.choice).split(",")[0];
    return r.protocol && r.algorithm !== "none"
      ? `${r.algorithm} ${r.protocol}`
      : (r.algorithm ?? "");
  };

  const columns = [
    ["setup", "string"],
    ["size_bytes", "integer", "B"],
    ["time_us", "number", "us"],
    ["lower_us", "number", "us"],
    ["upper_us", "number", "us"],
    ["algbw_GBps", "number", "GB/s"],
    ["busbw_GBps", "number", "GB/s"],
    ["taken", "string"],
    ["nchannels", "integer"],
  ];
  const kept = (rows) =>
    columns.filter(([n]) => rows.some((r) => r[n] !== undefined && r[n] !== null));

  function extremes(rows) {
    const by_size = data.group(rows, (r) => r.setup);
    const words = [];
    for (const [name, all] of [...by_size].slice(0, 4)) {
      const sorted = [...all].sort((a, b) => a.size_bytes - b.size_bytes);
      const last = sorted[sorted.length - 1];
      words.push({ name, first: sorted[0], last });
    }
    return words;
  }

  // At most so many setups are drawn, spread over all of them; the table has all.
  function thinned(setups) {
    const all = [...setups];
    if (all.length <= LINES) return setups;
    const step = (all.length - 1) / (LINES - 1);
    return new Map(Array.from({ length: LINES }, (_, i) => all[Math.round(i * step)]));
  }
  const thin_hint = (setups) =>
    setups.size > LINES
      ? `${LINES} of ${format.number(setups.size)} setups are drawn; the table has all.`
      : "";

  // Lines that hide each other are said.
  function coinciding(setups, y) {
    const alike = data.group([...setups], ([, rows]) =>
      rows.map((r) => `${r.size_bytes}|${r.nodes}|${y(r)?.toPrecision(3)}`).join(" "),
    );
    const said = [...alike.values()].filter((g) => g.length > 1).slice(0, 3);
    return said.map((g) => `Lines of ${format.list(g.map(([n]) => n))} coincide.`).join(" ");
  }

  // What a link can carry one way, as lines beside busbw: all NICs of a node, all NVLinks of a GPU.
  // Busbw counts what a ring would send, so that trees and NVLS on few nodes may pass it.
  function bounds(machine, theme) {
    const devices = Array.isArray(machine?.devices) ? machine.devices : [];
    const links = Array.isArray(machine?.links) ? machine.links : [];
    const nics = devices
      .filter((d) => d.kind === "nic" && data.finite(d.port_bytes_per_s))
      .reduce((sum, d) => sum + d.port_bytes_per_s / 1e9, 0);
    const first = devices.find((d) => d.kind === "gpu")?.name;
    const nvlink = links
      .filter((l) => l.kind === "nvlink" && l.from === first && data.finite(l.bytes_per_s))
      .reduce((sum, l) => sum + l.bytes_per_s / 1e9, 0);
    const found = [];
    if (nvlink > 0) found.push([`NVLinks of a GPU, ${format.number(nvlink)} GB/s`, nvlink]);
    if (nics > 0 && machine.nodes > 1)
      found.push([`NICs of a node, ${format.number(nics)} GB/s`, nics]);
    // Lines may lie close together: the name of the upper one stands above it, the other below.
    found.sort(([, one], [, other]) => other - one);
    return found.map(([name, value], i) => ({
      type: "line",
      name,
      data: [],
      silent: true,
      markLine: {
        silent: true,
        symbol: "none",
        lineStyle: { color: theme.muted ?? theme.text, type: i === 0 ? [2, 3] : [8, 4], width: 1 },
        label: {
          formatter: name,
          position: i === 0 ? "insideStartTop" : "insideStartBottom",
          color: theme.text,
        },
        data: [{ yAxis: value }],
      },
    }));
  }

  function time_and_bandwidth(all, machine) {
    const rows = all.map((r) => ({ ...r, taken: choice_of(r) }));
    const sizes = data.sorted_numbers(rows.map((r) => r.size_bytes));
    const node_counts = data.sorted_numbers(rows.map((r) => r.nodes));
    const measures = [
      {
        id: "time",
        title: "Time of one call",
        what: "time",
        y: (r) => r.time_us,
        lower: (r) => r.lower_us,
        upper: (r) => r.upper_us,
        text: format.time_us,
        axis: (values) => charts.time_axis(values),
      },
      {
        id: "busbw",
        title: "Bus bandwidth",
        what: "busbw",
        y: (r) => r.busbw_GBps,
        // The slowest time gives the least bandwidth.
        lower: (r) => (r.busbw_GBps * r.time_us) / r.upper_us,
        upper: (r) => (r.busbw_GBps * r.time_us) / r.lower_us,
        text: (v) => format.number(v, "GB/s"),
        axis: (values) =>
          charts.log_axis(values, {
            name: "busbw (GB/s)",
            nameGap: 58,
            formatter: (v) => format.number(v),
          }),
      },
    ];
    const specs = [];
    for (const m of measures) {
      const with_value = rows.filter((r) => data.finite(m.y(r)) && m.y(r) > 0);
      if (with_value.length === 0) continue;
      const over_size = sizes.length > 1 && sizes[0] > 0;
      const over_nodes = !over_size && node_counts.length > 1;
      const named = with_setups(with_value, over_nodes ? ["nodes"] : []);
      const setups = data.group(named, (r) => r.setup);
      const values = named.flatMap((r) => [m.y(r), m.lower(r), m.upper(r)]);
      const table = data.table_of(m.title, kept(named), named);
      const banded = named.some((r) => data.finite(r.lower_us));
      const drawn = thinned(setups);
      const same = coinciding(drawn, m.y);
      const hint = banded
        ? `80 % of measured times lie in the ${over_size || over_nodes ? "shaded band" : "whiskers"}.${
            setups.size > charts.BANDS ? " Bands are in the tooltip: there are too many lines." : ""
          }`
        : "";
      const hints = [hint, thin_hint(setups), same].filter(Boolean).join(" ");
      const ends = extremes(named)
        .map(({ name, first, last }) =>
          first === last
            ? `${name}: ${m.text(m.y(last))}`
            : `${name}: ${m.text(m.y(first))} at ${format.bytes(first.size_bytes)}, ${m.text(m.y(last))} at ${format.bytes(last.size_bytes)}`,
        )
        .join("; ");
      if (over_size || over_nodes) {
        specs.push({
          id: m.id,
          title: `${m.title} over ${over_size ? "message size" : "nodes"}`,
          alt: `Lines of ${m.what} over ${over_size ? "message size" : "the number of nodes"}, logarithmic axes. ${ends}.`,
          hint: hints,
          height: 400,
          table,
          option: (theme) => {
            const drawn_lines = charts.lines({
              tip: choice_of,
              setups: drawn,
              theme,
              x: (r) => (over_size ? r.size_bytes : r.nodes),
              x_axis: over_size
                ? charts.size_axis(sizes)
                : charts.size_axis(node_counts, {
                    name: "nodes",
                    formatter: (v) => format.number(v),
                    exact: true,
                  }),
              x_text: (v) => (over_size ? format.bytes(v) : format.count(v, "node")),
              y: m.y,
              y_axis: m.axis(values),
              y_text: m.text,
              lower: m.lower,
              upper: m.upper,
            });
            if (m.id === "busbw") drawn_lines.series.push(...bounds(machine, theme));
            return drawn_lines;
          },
        });
      } else {
        const labels = named.map((r) => `${r.setup}, ${format.bytes(r.size_bytes)}`);
        specs.push({
          id: m.id,
          title: m.title,
          alt: `Bars of ${m.what}. ${named
            .slice(0, 8)
            .map((r, i) => `${labels[i]}: ${m.text(m.y(r))}`)
            .join("; ")}.`,
          hint: hints,
          height: charts.bar_height(labels.length),
          table,
          option: (theme) =>
            charts.bars({
              tip: choice_of,
              rows: named,
              labels,
              value: m.y,
              lower: m.lower,
              upper: m.upper,
              text: m.text,
              name: m.what,
              theme,
            }),
        });
      }
    }
    return specs;
  }

  function choices(rows) {
    const sizes = data.sorted_numbers(rows.map((r) => r.size_bytes));
    if (sizes.length < 2 || sizes[0] <= 0) return [];
    const named = with_setups(rows.filter((r) => choice_of(r)));
    const pieces = [];
    const all_setups = data.group(named, (r) => r.setup);
    const setups = thinned(all_setups);
    for (const [setup, all] of setups) {
      for (const s of charts.stretches(all, choice_of)) pieces.push({ ...s, row: setup });
    }
    if (pieces.length === 0) return [];
    const names = [...setups.keys()];
    const text = (p) =>
      p.first === p.last
        ? format.bytes(p.first)
        : `${format.bytes(p.first)} to ${format.bytes(p.last)}`;
    const channels = (p) => {
      const all = (setups.get(p.row) ?? []).filter(
        (r) => r.size_bytes >= p.first && r.size_bytes <= p.last && data.finite(r.nchannels),
      );
      const counts = data.sorted_numbers(all.map((r) => r.nchannels));
      if (counts.length === 0) return null;
      return counts.length === 1
        ? format.count(counts[0], "channel")
        : `${counts[0]} to ${counts[counts.length - 1]} channels`;
    };
    return [
      {
        id: "choices",
        title: "What NCCL takes at each size",
        alt: `Stretches of sizes with one algorithm and protocol. ${names
          .slice(0, 4)
          .map(
            (n) =>
              `${n}: ${pieces
                .filter((p) => p.row === n)
                .map((p) => `${p.name} ${text(p)}`)
                .join(", ")}`,
          )
          .join("; ")}.`,
        hint: `A border is drawn halfway between the two sizes that were asked. ${thin_hint(all_setups)}`.trim(),
        height: charts.strip_height(names.length),
        table: data.table_of(
          "stretches",
          [
            ["setup", "string"],
            ["choice", "string"],
            ["first_bytes", "integer", "B"],
            ["last_bytes", "integer", "B"],
            ["channels", "string"],
          ],
          pieces.map((p) => ({
            setup: p.row,
            choice: p.name,
            first_bytes: p.first,
            last_bytes: p.last,
            channels: channels(p),
          })),
        ),
        option: (theme) =>
          charts.strip({
            rows: names,
            pieces,
            sizes,
            theme,
            style: (n) => fabricast.choice_style(n),
            tip: (p) => fabricast.tip(`${p.row}: ${p.name}`, [text(p), channels(p)]),
          }),
      },
    ];
  }

  const path_parts = [
    ["launch_us", "launch"],
    ["latency_us", "latency"],
    ["link_us", "waiting for links"],
    ["worker_us", "copying and reducing"],
    ["slots_us", "waiting for slots"],
  ];

  // Records of critical paths with launch, which is of the runs, and the time that all parts make.
  function whole_paths(report) {
    const key = (r) => JSON.stringify([r.collective, r.size_bytes, r.nodes]);
    const runs = new Map(data.records(report, "runs", ["launch_us"]).map((r) => [key(r), r]));
    return data.records(report, "critical_path", ["size_bytes", "latency_us"]).map((r) => {
      const all = { ...r, launch_us: runs.get(key(r))?.launch_us ?? 0 };
      all.total = path_parts.reduce((sum, [c]) => sum + (all[c] ?? 0), 0);
      return all;
    });
  }

  function where_time_went(report) {
    const rows = with_setups(whole_paths(report));
    if (rows.length === 0) return [];
    const setups = thinned(data.group(rows, (r) => r.setup));
    const shown = path_parts.filter(([c]) => rows.some((r) => (r[c] ?? 0) > 0));
    const variants = [];
    for (const [setup, all] of setups) {
      const sorted = [...all].sort((a, b) => a.size_bytes - b.size_bytes);
      const big = sorted[sorted.length - 1];
      for (const share of [true, false]) {
        variants.push({
          name: `${setup}, ${share ? "shares" : "time"}`,
          share,
          alt: `Stacked bars of where the time of a call goes, ${setup}. At ${format.bytes(big.size_bytes)}: ${shown
            .map(([c, label]) => `${label} ${format.percent((big[c] ?? 0) / (big.total || 1))}`)
            .join(", ")} of ${format.time_us(big.total)}.`,
          table: data.table_of(
            "where the time went",
            [
              ["setup", "string"],
              ["size_bytes", "integer", "B"],
              ["total_us", "number", "us"],
              ...path_parts.map(([c]) => [c, "number", "us"]),
            ],
            sorted.map((r) => ({ ...r, total_us: r.total })),
          ),
          option: (theme) => ({
            legend: charts.legend(shown.map(([, label]) => label)),
            grid: charts.grid({ bottom: 60 }),
            tooltip: {
              trigger: "axis",
              axisPointer: { type: "shadow" },
              formatter: (ps) => {
                const r = sorted[ps[0]?.dataIndex ?? 0];
                return fabricast.tip(
                  `${format.bytes(r.size_bytes)}: ${format.time_us(r.total)}`,
                  shown.map(
                    ([c, label]) =>
                      `${label}: ${format.time_us(r[c] ?? 0)} (${format.percent((r[c] ?? 0) / (r.total || 1))})`,
                  ),
                );
              },
            },
            xAxis: {
              type: "category",
              name: "message size",
              nameLocation: "middle",
              nameGap: 32,
              data: sorted.map((r) => format.bytes(r.size_bytes)),
              axisLabel: { hideOverlap: true },
              axisTick: { alignWithLabel: true },
            },
            yAxis: {
              ...charts.value_axis(share ? "share of the time" : "time", (v) =>
                share ? format.percent(v) : format.time_us(v),
              ),
              nameGap: 58,
              max: share ? 1 : undefined,
            },
            series: shown.map(([c, label], i) => ({
              type: "bar",
              name: label,
              stack: "path",
              barCategoryGap: "18%",
              itemStyle: {
                color: theme.palette[i],
                borderColor: theme.background,
                borderWidth: 0.5,
              },
              data: sorted.map((r) => (share ? (r[c] ?? 0) / (r.total || 1) : (r[c] ?? 0))),
            })),
          }),
        });
      }
    }
    // The last setup has most nodes; shares come first.
    variants.reverse().sort((a, b) => Number(b.share) - Number(a.share));
    return [
      {
        id: "critical-path",
        title: "Where the time of a call goes",
        hint: "Parts of the critical path. They sum up to the time of the call.",
        height: 380,
        variants,
        variants_label: "Setup",
      },
    ];
  }

  const technology = (link) => /\(([^()]*)\)\s*$/.exec(link)?.[1] ?? "";

  function busiest_links(part) {
    const report = part.report;
    const rows = data.records(report, "links", ["link", "utilisation"]);
    if (rows.length === 0) return [];
    const named = with_setups(rows);
    const setups = [...thinned(data.group(named, (r) => r.setup))].reverse();
    const variants = [];
    const machine_variants = [];
    for (const [setup, all] of setups) {
      const largest = Math.max(...data.sorted_numbers(all.map((r) => r.size_bytes)));
      const here = all
        .filter((r) => r.size_bytes === largest && data.finite(r.utilisation))
        .sort((a, b) => b.utilisation - a.utilisation);
      if (here.length === 0) continue;
      // Links that do the same are one bar.
      const alike = data.group(here, (r) => {
        const ends = String(r.link).replace(/\d+(\.\d+)?/g, "#");
        return `${ends} ${r.utilisation.toPrecision(6)} ${technology(r.link)}`;
      });
      const bars = [...alike.values()].map((same) => ({
        link: same[0].link,
        like: same.length - 1,
        copies: same.reduce((sum, r) => sum + (r.copies ?? 1), 0),
        carried_bytes: same[0].carried_bytes,
        utilisation: same[0].utilisation,
      }));
      const top = bars.slice(0, 16);
      const label = (b) => `${format.short(b.link, 50)}${b.copies > 1 ? `  ×${b.copies}` : ""}`;
      variants.push({
        name: `${setup}, ${format.bytes(largest)}`,
        alt: `Bars of the busiest links of ${setup} at ${format.bytes(largest)}: ${top
          .slice(0, 4)
          .map((b) => `${label(b)} ${format.percent(b.utilisation)}`)
          .join(", ")}.`,
        height: charts.bar_height(top.length, 27),
        table: data.table_of(
          "links",
          [
            ["link", "string"],
            ["copies", "integer"],
            ["carried_bytes", "integer", "B"],
            ["utilisation", "number"],
          ],
          here,
        ),
        option: (theme) => {
          const { axis, left } = charts.category_y(top.map(label), { triggerEvent: false });
          return {
            grid: charts.grid({ left: Math.min(left, 400), top: 10, right: 60 }),
            tooltip: {
              trigger: "axis",
              axisPointer: { type: "shadow" },
              formatter: (ps) => {
                const b = top[ps[0]?.dataIndex ?? 0];
                return fabricast.tip(b.link, [
                  `carried bytes ${format.percent(b.utilisation)} of the time after launch`,
                  data.finite(b.carried_bytes) ? `${format.bytes(b.carried_bytes)} each` : null,
                  b.copies > 1 ? `${b.copies} links like it` : null,
                ]);
              },
            },
            xAxis: { ...charts.value_axis("utilisation", (v) => format.percent(v)), max: 1 },
            yAxis: axis,
            series: [
              {
                type: "bar",
                barMaxWidth: 20,
                data: top.map((b) => ({
                  value: b.utilisation,
                  itemStyle: {
                    color: fabricast.shade(theme.scale, b.utilisation),
                    decal: { symbol: "none" },
                  },
                })),
                label: {
                  show: true,
                  position: "right",
                  color: theme.text,
                  formatter: (p) => format.percent(p.value),
                },
              },
            ],
          };
        },
      });
      if (part.machine) {
        const spec = fabricast.machine_figures(part.machine, here)[0];
        if (spec) machine_variants.push({ ...spec, name: `${setup}, ${format.bytes(largest)}` });
      }
    }
    const specs = [];
    if (machine_variants.length) {
      specs.push({
        ...machine_variants[0],
        id: "machine",
        machine: true,
        title: machine_variants[0].title,
        variants: machine_variants,
        variants_label: "Setup",
      });
    }
    if (variants.length) {
      specs.push({
        id: "links",
        title: "Busiest links at the largest size",
        hint: "Share of the time after launch in which a link carries bytes. Links that do the same are one bar.",
        variants,
        variants_label: "Setup",
      });
    }
    return specs;
  }

  function healthy(report) {
    const rows = data.records(report, "faults", ["healthy_time_us"]);
    const times = new Map(
      data
        .records(report, "rows", ["time_us"])
        .map((r) => [JSON.stringify([r.collective, r.size_bytes, r.nodes]), r.time_us]),
    );
    const all = with_setups(rows)
      .map((r) => ({
        ...r,
        time_us: times.get(JSON.stringify([r.collective, r.size_bytes, r.nodes])),
      }))
      .filter((r) => data.finite(r.time_us) && r.healthy_time_us > 0)
      .map((r) => ({ ...r, factor: r.time_us / r.healthy_time_us }));
    if (all.length === 0) return [];
    const labels = all.map((r) => `${r.setup}, ${format.bytes(r.size_bytes)}`);
    return [
      {
        id: "faults",
        title: "Time with the faults over time without",
        alt: `Bars of the time with faults over the healthy one. ${all
          .slice(0, 5)
          .map((r, i) => `${labels[i]}: ${format.number(r.factor)} times`)
          .join("; ")}.`,
        height: charts.bar_height(all.length, 26),
        table: data.table_of(
          "faults",
          [
            ["setup", "string"],
            ["size_bytes", "integer", "B"],
            ["healthy_time_us", "number", "us"],
            ["time_us", "number", "us"],
            ["factor", "number"],
          ],
          all,
        ),
        option: (theme) =>
          charts.bars({
            tip: choice_of,
            rows: all,
            labels,
            value: (r) => r.factor,
            lower: () => null,
            upper: () => null,
            text: (v) => `${format.number(v)} x`,
            name: "time over healthy time",
            theme,
          }),
      },
    ];
  }

  fabricast.bench_parts = {
    with_setups,
    choice_of,
    time_and_bandwidth,
    choices,
    path_parts,
    whole_paths,
  };

  fabricast.figures.bench = (part) => {
    const report = part?.report;
    const rows = data.records(report, "rows", ["size_bytes", "time_us"]);
    if (rows.length === 0) return [];
    return [
      ...time_and_bandwidth(rows, part.machine),
      ...choices(rows),
      ...where_time_went(report),
      ...healthy(report),
      ...busiest_links(part),
    ];
  };
})();
