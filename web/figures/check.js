"use strict";
// check: rules by release; lint: findings. Read as lists, not as charts.
globalThis.fabricast ??= {};
fabricast.figures ??= {};
(() => {
  const { format, data } = fabricast;

  const verdicts = {
    holds: ["ok", "holds"],
    "holds-in-range": ["part", "holds in a range"],
    fails: ["bad", "does not hold"],
    "does-not-hold": ["bad", "does not hold"],
    "not-simulated": ["none", "not simulated"],
  };
  const verdict_mark = (text) =>
    Object.hasOwn(verdicts, text)
      ? verdicts[text]
      : [
          /^holds/.test(text) ? "part" : /not.simulated/.test(text) ? "none" : "bad",
          String(text ?? "").replaceAll("-", " "),
        ];

  fabricast.figures.check = (part) => {
    const report = part?.report;
    const rules = data.records(report, "rules", ["id", "verdict"]);
    if (rules.length === 0) return [];
    const releases = data.unique(rules.map((r) => r.nccl ?? ""));
    const by_rule = data.group(rules, (r) => r.id);
    const surprising = rules.filter((r) => r.as_expected === false).length;
    const specs = [
      {
        id: "rules",
        title: `Rules: ${rules.filter((r) => r.verdict === "holds").length} of ${rules.length} hold${surprising ? `, ${surprising} not as expected` : ""}`,
        grid: {
          corner: "rule",
          columns: releases.map((r) => (r ? `NCCL ${r}` : "verdict")),
          rows: [...by_rule].map(([id, all]) => ({
            head: all[0].claim || id,
            note: [id, all[0].source].filter(Boolean).join(", "),
            cells: releases.map((release) => {
              const r = all.find((x) => (x.nccl ?? "") === release);
              if (!r) return null;
              const [mark, word] = verdict_mark(r.verdict);
              return {
                mark,
                word,
                text: [
                  r.range || (r.verdict !== "holds" ? r.why : ""),
                  r.not_simulated ? `not simulated: ${r.not_simulated}` : "",
                  r.as_expected === false ? `expected: ${r.expected}` : "",
                ]
                  .filter(Boolean)
                  .join("; "),
              };
            }),
          })),
        },
        table: data.cut(report, "rules"),
      },
    ];
    const points = data.records(report, "points", ["id", "where", "holds"]);
    if (points.length) {
      const keys = data.unique(points.map((p) => JSON.stringify([p.id, p.where])));
      const columns = data.unique(points.map((p) => p.nccl ?? ""));
      const claims = new Map(rules.map((r) => [r.id, r.claim]));
      const index = data.group(points, (p) => JSON.stringify([p.id, p.where]));
      const failing = points.filter((p) => p.holds === false).length;
      specs.push({
        id: "points",
        title: `Points: ${points.filter((p) => p.holds).length} hold, ${failing} do not`,
        grid: {
          corner: "point",
          columns: columns.map((c) => (c ? `NCCL ${c}` : "verdict")),
          rows: keys.slice(0, 200).map((key, i) => {
            const all = index.get(key);
            const before = i > 0 ? index.get(keys[i - 1])[0].id : null;
            return {
              head: all[0].where || all[0].id,
              group: all[0].id === before ? null : claims.get(all[0].id) || all[0].id,
              cells: columns.map((column) => {
                const p = all.find((x) => (x.nccl ?? "") === column);
                if (!p) return null;
                const mark =
                  p.holds === null || p.holds === undefined ? "none" : p.holds ? "ok" : "bad";
                return {
                  mark,
                  text: `${p.claimed ?? ""} claimed, ${p.found ?? format.NONE} found`,
                };
              }),
            };
          }),
        },
        hint: keys.length > 200 ? `The first 200 of ${keys.length}; the table has all.` : "",
        table: data.cut(report, "points"),
      });
    }
    return specs;
  };

  const severities = ["error", "warning", "note"];

  fabricast.figures.lint = (part) => {
    const report = part?.report;
    const rows = data.records(report, "findings", ["severity", "message"]);
    if (!data.find(report, "findings")) return [];
    if (rows.length === 0) {
      return [
        {
          id: "findings",
          title: "Findings",
          list: [{ mark: "ok", word: "no finding", text: "Nothing is wrong with these settings." }],
        },
      ];
    }
    const rank = (r) => {
      const at = severities.indexOf(r.severity);
      return at < 0 ? severities.length : at;
    };
    const sorted = [...rows].sort((a, b) => rank(a) - rank(b));
    const counts = severities
      .map((s) => [s, rows.filter((r) => r.severity === s).length])
      .filter(([, n]) => n > 0)
      .map(([s, n]) => format.count(n, s));
    const where = (r) =>
      [r.file, r.line ? `line ${r.line}` : null, r.column ? `column ${r.column}` : null]
        .filter(Boolean)
        .join(", ");
    return [
      {
        id: "findings",
        title: `Findings: ${format.list(counts)}`,
        list: sorted.slice(0, 300).map((r) => ({
          mark: severities.includes(r.severity) ? r.severity : "note",
          word: r.severity,
          text: r.message,
          details: [
            r.suggestion ? `Suggestion: ${r.suggestion}` : null,
            r.reason ? `Why: ${r.reason}` : null,
            [r.rule, where(r), r.source].filter(Boolean).join(" · "),
          ],
        })),
        hint: rows.length > 300 ? `The first 300 of ${rows.length}; the table has all.` : "",
        table: data.cut(report, "findings"),
      },
    ];
  };
})();
