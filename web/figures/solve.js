"use strict";
// solve: the figure over the value that was looked for, with what it has to reach.
globalThis.fabricast ??= {};
fabricast.figures ??= {};
(() => {
  const { format, data, charts, quantities } = fabricast;

  // The figure that a condition is about: its first name, "step_s" of "step_s <= 1.03 * base.step_s".
  const figure_of = (condition) =>
    quantities.quantity(/(?:^|[^.\w])([A-Za-z_]\w*)/.exec(condition ?? "")?.[1] ?? "figure");

  const DASHES = "path://M0 6h7v2h-7zM11 6h7v2h-7zM22 6h7v2h-7z";

  const same = (a, b) => a === b || String(a) === String(b);

  // Values that were asked, in their order, with those of the answer and its doubt.
  function line_of(points, answer) {
    const values = quantities.ordered(
      [
        ...points.map((p) => p.value),
        answer?.value,
        answer?.value_if_fast,
        answer?.value_if_slow,
      ].filter((v) => v !== null && v !== undefined),
    );
    const at = (v) => values.findIndex((one) => same(one, v));
    const rows = points
      .filter((p) => data.finite(p.figure))
      .sort((a, b) => at(a.value) - at(b.value));
    return { values, at, rows };
  }

  const told = (p) => {
    if (p.holds === true && p.holds_low === false)
      return "holds, but not at the fast end of the band";
    if (p.holds === true && p.holds_high === false)
      return "holds, but not at the slow end of the band";
    if (p.holds === false && p.holds_low === true) return "holds at the fast end of the band only";
    if (p.holds === false && p.holds_high === true) return "holds at the slow end of the band only";
    return p.holds ? "holds" : "does not hold";
  };

  function marked_answer(answer, at, theme) {
    const place = at(answer?.value);
    if (place < 0) return { markLine: undefined, markArea: undefined };
    const ends = [answer.value_if_fast, answer.value_if_slow].map(at).filter((i) => i >= 0);
    const [low, high] = [Math.min(place, ...ends), Math.max(place, ...ends)];
    return {
      markLine: {
        silent: true,
        symbol: "none",
        animation: false,
        lineStyle: { color: theme.good, type: "solid", width: 2 },
        label: {
          formatter: `answer: ${answer.value}`,
          color: theme.text,
          backgroundColor: theme.background,
          padding: [1, 4],
        },
        data: [{ xAxis: place }],
      },
      markArea:
        high > low
          ? {
              silent: true,
              itemStyle: { color: theme.good, opacity: 0.13 },
              data: [[{ xAxis: low }, { xAxis: high }]],
            }
          : undefined,
    };
  }

  function option_of({ line, answer, q, key }, theme) {
    const { values, at, rows } = line;
    const kinds = [
      ["holds", (p) => p.holds, "circle", theme.good],
      ["does not hold", (p) => !p.holds, "triangle", theme.bad],
    ].filter(([, fits]) => rows.some(fits));
    const thresholds = rows.filter((p) => data.finite(p.threshold));
    const numbers = rows.flatMap((p) => [p.figure, p.threshold]).filter(data.finite);
    const [least, most] = [Math.min(...numbers), Math.max(...numbers)];
    const y_axis =
      least > 0 && most / least > 30
        ? charts.log_axis([least, most], { name: q.label, nameGap: 72, formatter: q.text })
        : charts.roomy(
            charts.value_axis(q.label, q.text, { nameGap: 72 }),
            most - least > 0.3 * most ? Math.min(0, least) : least - (most - least || most) * 0.3,
            most + (most - least || most) * 0.2,
          );
    const series = kinds.map(([name, fits, symbol, color]) => ({
      type: "scatter",
      name,
      symbol,
      symbolSize: 13,
      z: 5,
      itemStyle: { color, decal: { symbol: "none" } },
      data: rows.filter(fits).map((p) => ({ value: [at(p.value), p.figure], point: p })),
      label: {
        show: rows.length <= 16,
        position: "top",
        color: theme.text,
        backgroundColor: theme.background,
        padding: [0, 2],
        formatter: (m) => q.text(m.data.point.figure),
      },
      labelLayout: { hideOverlap: true },
    }));
    return {
      legend: charts.legend([
        ...kinds.map(([n]) => n),
        ...(thresholds.length ? [{ name: "threshold", icon: DASHES }] : []),
      ]),
      grid: charts.grid({ left: 92, top: 62, bottom: 58 }),
      tooltip: {
        trigger: "item",
        formatter: (m) => {
          const p = m.data?.point;
          return p
            ? fabricast.tip(`${key} ${p.value}: ${told(p)}`, [
                `${q.label}: ${q.text(p.figure)}`,
                data.finite(p.threshold) ? `threshold: ${q.text(p.threshold)}` : null,
                data.finite(p.order) ? `asked as number ${p.order}` : null,
              ])
            : "";
        },
      },
      xAxis: {
        type: "category",
        data: values.map((v) => format.short(v, 30)),
        name: key,
        nameLocation: "middle",
        nameGap: 32,
        axisLabel: { hideOverlap: true },
        axisTick: { alignWithLabel: true },
      },
      yAxis: y_axis,
      series: [
        {
          type: "line",
          name: "asked",
          silent: true,
          symbol: "none",
          lineStyle: { color: theme.line, width: 1.5 },
          data: rows.map((p) => [at(p.value), p.figure]),
          ...marked_answer(answer, at, theme),
        },
        ...series,
        {
          type: "line",
          name: "threshold",
          symbol: "none",
          z: 3,
          lineStyle: { color: theme.text, type: "dashed", width: 2 },
          itemStyle: { color: theme.text },
          data: thresholds.map((p) => [at(p.value), p.threshold]),
        },
      ],
    };
  }

  function variant(others, points, answer, report) {
    const ask = report.job?.ask ?? {};
    const key = quantities.label_of(String(answer?.key ?? ask.key ?? "value"));
    const q = figure_of(ask.condition);
    const line = line_of(points, answer);
    if (line.rows.length === 0) return null;
    const has_answer = answer?.value !== null && answer?.value !== undefined;
    const doubt = [answer?.value_if_fast, answer?.value_if_slow].filter(
      (v) => v !== null && v !== undefined,
    );
    const ends = data.unique(doubt.map(String));
    const doubt_text =
      ends.length > 1
        ? ` The 80 % band makes it ${format.list(ends, "or")}: the shaded range.`
        : "";
    const refused = points.filter((p) => p.refused).map((p) => p.value);
    const answer_text = has_answer ? `Answer: ${key} ${answer.value}.` : "No value fits.";
    return {
      name: others || "all",
      hint: `${answer_text}${doubt_text}${refused.length ? ` Refused: ${format.list(refused)}.` : ""}`,
      alt: `${q.label} over ${key}, with the threshold. ${line.rows
        .slice(0, 8)
        .map((p) => `${p.value}: ${q.text(p.figure)}, ${told(p)}`)
        .join("; ")}. ${answer_text}${doubt_text}`,
      height: 400,
      table: data.table_of(
        "points",
        [
          ["value", typeof points[0].value === "number" ? "number" : "string"],
          ["figure", "number"],
          ["threshold", "number"],
          ["holds", "boolean"],
          ["holds_low", "boolean"],
          ["holds_high", "boolean"],
          ["order", "integer"],
          ["refused", "string"],
        ].filter(([c]) => points.some((p) => p[c] !== null && p[c] !== undefined)),
        points,
      ),
      option: (theme) => option_of({ line, answer, q, key }, theme),
    };
  }

  fabricast.figures.solve = (part) => {
    const report = part?.report;
    const points = data
      .records(report, "points", ["value", "figure"])
      .map((p) => ({ ...p, order: p.order ?? p.evaluated }));
    const answers = data.records(report, "answer");
    const variants = [...data.group(points, (p) => p.others ?? "")]
      .map(([others, own]) =>
        variant(
          others,
          own,
          answers.find((a) => (a.others ?? "") === others) ?? answers[0],
          report,
        ),
      )
      .filter(Boolean);
    if (variants.length === 0) return [];
    const q = figure_of(report.job?.ask?.condition);
    return [
      {
        id: "answer",
        title: `${q.label.replace(/^./, (c) => c.toUpperCase())} over ${quantities.label_of(String(answers[0]?.key ?? report.job?.ask?.key ?? "the value"))}: where the condition holds`,
        variants,
        variants_label: "With",
      },
    ];
  };
})();
