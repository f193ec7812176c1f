"use strict";
// decide: NCCL's own predictions of every candidate, and what it takes.
globalThis.fabricast ??= {};
fabricast.figures ??= {};
(() => {
  const { format, data, charts } = fabricast;
  const name_of = (r) => [r.algorithm, r.protocol].filter(Boolean).join(" ");
  const setup_of = (r) => `${r.collective}, ${format.count(r.nodes, "node")}`;

  // Curves of candidates; the taken points lie on a broad pale line.
  fabricast.candidate_lines = ({ rows, time, taken, taken_name, x_values, theme, tip }) => {
    const groups = data.group(rows, name_of);
    const names = [...groups.keys()];
    const series = names.map((name) => {
      const style = fabricast.choice_style(name);
      return {
        type: "line",
        name,
        data: groups
          .get(name)
          .filter((r) => data.finite(time(r)) && time(r) > 0)
          .sort((a, b) => a.size_bytes - b.size_bytes)
          .map((r) => ({ value: [r.size_bytes, time(r)], record: r })),
        symbol: style.symbol,
        symbolSize: 5,
        lineStyle: { color: style.color, type: style.dash, width: 1.8 },
        itemStyle: { color: style.color },
        z: 3,
      };
    });
    return {
      legend: charts.legend([taken_name, ...names]),
      grid: charts.grid(),
      tooltip: {
        trigger: "axis",
        formatter: (ps) => {
          const points = ps.filter((p) => p.data?.record);
          if (points.length === 0) return "";
          const sorted = [...points].sort((a, b) => a.data.value[1] - b.data.value[1]);
          return fabricast.tip(
            format.bytes(points[0].data.value[0]),
            sorted.map((p) => tip(p.seriesName, p.data.record, p.data.value[1])),
          );
        },
      },
      xAxis: charts.size_axis(x_values),
      yAxis: charts.time_axis(rows.map(time)),
      series: [
        {
          type: "line",
          name: taken_name,
          data: taken,
          symbol: "none",
          lineStyle: { width: 11, opacity: 0.3, color: theme.muted, cap: "round" },
          itemStyle: { color: theme.muted, opacity: 0.4 },
          z: 1,
        },
        ...series,
      ],
    };
  };

  function candidates(report) {
    const rows = data
      .records(report, "candidates", ["size_bytes", "predicted_us", "algorithm", "protocol"])
      .filter((r) => !r.excluded && data.finite(r.predicted_us) && r.predicted_us > 0);
    const taken = data.records(report, "rows", ["size_bytes", "predicted_us"]);
    const variants = [];
    for (const [setup, all] of data.group(rows, setup_of)) {
      const sizes = data.sorted_numbers(all.map((r) => r.size_bytes));
      if (sizes.length < 2) continue;
      const here = taken
        .filter((r) => setup_of(r) === setup && data.finite(r.predicted_us))
        .sort((a, b) => a.size_bytes - b.size_bytes);
      const first = here[0];
      const last = here[here.length - 1];
      variants.push({
        name: setup,
        alt: `Lines of the time that NCCL predicts for each candidate over size, ${setup}.${
          first
            ? ` NCCL takes ${name_of(first)} at ${format.bytes(first.size_bytes)} (${format.time_us(first.predicted_us)}) and ${name_of(last)} at ${format.bytes(last.size_bytes)} (${format.time_us(last.predicted_us)}).`
            : ""
        }`,
        table: data.cut(
          report,
          "candidates",
          [
            "size_bytes",
            "algorithm",
            "protocol",
            "predicted_us",
            "latency_us",
            "algbw_GBps",
            "excluded",
          ],
          (at) => `${at("collective")}, ${format.count(at("nodes"), "node")}` === setup,
        ),
        option: (theme) =>
          fabricast.candidate_lines({
            rows: all,
            time: (r) => r.predicted_us,
            taken: here.map((r) => ({ value: [r.size_bytes, r.predicted_us] })),
            taken_name: "NCCL takes",
            x_values: sizes,
            theme,
            tip: (name, r, t) => {
              const is = here.some(
                (h) =>
                  h.size_bytes === r.size_bytes &&
                  h.algorithm === r.algorithm &&
                  h.protocol === r.protocol,
              );
              return `${name}: ${format.time_us(t)}${is ? ", taken" : ""}`;
            },
          }),
      });
    }
    if (variants.length === 0) return [];
    return [
      {
        id: "candidates",
        title: "Time that NCCL's tuning model predicts for each candidate",
        hint: "NCCL takes the lowest line, drawn broad and pale. Candidates that NCCL leaves out are in the table, with the reason.",
        height: 430,
        variants,
        variants_label: "Call",
      },
    ];
  }

  function segments(report) {
    const rows = data.records(report, "rows", ["size_bytes", "algorithm"]);
    const sizes = data.sorted_numbers(rows.map((r) => r.size_bytes));
    const all = data.records(report, "segments", ["from_bytes", "algorithm", "protocol"]);
    if (sizes.length < 2 || all.length === 0) return [];
    const end = sizes[sizes.length - 1];
    const pieces = [];
    const groups = data.group(all, setup_of);
    for (const [setup, list] of groups) {
      const sorted = [...list].sort((a, b) => a.from_bytes - b.from_bytes);
      sorted.forEach((s, i) => {
        pieces.push({
          row: setup,
          name: name_of(s),
          from: Math.max(s.from_bytes, sizes[0]),
          to: sorted[i + 1]?.from_bytes ?? end,
          open: i === sorted.length - 1,
        });
      });
    }
    const text = (p) =>
      `from ${format.bytes(p.from)} (${p.from} B)${p.open ? " on" : ` to ${format.bytes(p.to)}`}`;
    return [
      {
        id: "segments",
        title: "What NCCL takes, and from which size on",
        alt: `Stretches of sizes: ${pieces
          .slice(0, 10)
          .map((p) => `${p.name} ${text(p)}`)
          .join("; ")}.`,
        hint: "Borders are exact: the first byte count at which NCCL changes its mind.",
        height: charts.strip_height(groups.size),
        table: data.cut(report, "segments"),
        option: (theme) =>
          charts.strip({
            rows: [...groups.keys()],
            pieces,
            sizes,
            theme,
            style: (n) => fabricast.choice_style(n),
            tip: (p) => fabricast.tip(`${p.row}: ${p.name}`, [text(p)]),
          }),
      },
    ];
  }

  function channels(report) {
    const rows = data.records(report, "rows", ["size_bytes", "nchannels"]);
    const sizes = data.sorted_numbers(rows.map((r) => r.size_bytes));
    if (sizes.length < 2) return [];
    const groups = data.group(rows, setup_of);
    const most = Math.max(1, ...data.sorted_numbers(rows.map((r) => r.nchannels)));
    return [
      {
        id: "channels",
        title: "Channels that get work",
        alt: `Steps of the number of channels over size, at most ${most}.`,
        height: 260,
        table: data.cut(report, "rows", [
          "collective",
          "nodes",
          "size_bytes",
          "algorithm",
          "protocol",
          "nchannels",
          "nchannels_tuner",
          "nthreads",
          "chunk_bytes",
        ]),
        option: (theme) => ({
          legend: groups.size > 1 ? charts.legend([...groups.keys()]) : undefined,
          grid: charts.grid({ top: groups.size > 1 ? 44 : 16 }),
          tooltip: {
            trigger: "axis",
            formatter: (ps) =>
              fabricast.tip(
                format.bytes(ps[0]?.data?.value?.[0]),
                ps.map((p) => `${p.seriesName}: ${p.data.value[1]} channels, ${p.data.text}`),
              ),
          },
          xAxis: charts.size_axis(sizes),
          yAxis: {
            ...charts.value_axis("channels", (v) => format.number(v), { minInterval: 1 }),
            nameGap: 46,
          },
          series: [...groups].map(([name, list], i) => {
            const look = charts.look(theme, i);
            return {
              type: "line",
              step: "middle",
              name,
              symbol: look.symbol,
              symbolSize: 6,
              itemStyle: { color: look.color },
              lineStyle: { color: look.color, type: look.dash },
              data: list.map((r) => ({
                value: [r.size_bytes, r.nchannels],
                text: `${name_of(r)}, ${r.nthreads} threads`,
              })),
            };
          }),
        }),
      },
    ];
  }

  fabricast.figures.decide = (part) => [
    ...candidates(part?.report),
    ...segments(part?.report),
    ...channels(part?.report),
  ];
})();
