"use strict";
// Two figures against each other, and the front: points that no other beats in both.
globalThis.fabricast ??= {};
(() => {
  const { format, data, charts, quantities } = fabricast;
  const { thinned, spread, facts_of, questions, asked_rows } = fabricast.points;
  const BEATEN = 2000; // drawn at most

  // Room for labels on the better side, where no point can be.
  function plane_axis(rows, figure, theme, gap, room) {
    const { least, most, wide } = spread(rows.map((r) => r[figure.name]));
    const look = {
      name: `${figure.label} (${figure.better})`,
      nameGap: gap,
      nameTextStyle: { color: theme.text },
    };
    const [below, above] = figure.more ? [0.08, room] : [room, 0.08];
    if (wide) {
      const ratio = most / least;
      const ends = [least / ratio ** below, most * ratio ** above];
      return charts.log_axis(ends, { ...look, formatter: figure.text, exact: true });
    }
    const span = most - least || Math.abs(most) * 0.5 || 1;
    // Room for labels may reach below 0, where there are no amounts.
    const text = (v) => (v < 0 && least >= 0 ? "" : figure.text(v));
    return charts.roomy(
      charts.value_axis(look.name, text, { ...look, splitNumber: 5, axisLine: { onZero: false } }),
      least - span * below,
      most + span * above,
    );
  }

  // Points at one place are one mark, named by what they share.
  function places(rows, x, y, axes) {
    const varies = axes.filter((a) => data.unique(rows.map((r) => r[a])).length > 1);
    const told = varies.length ? varies : axes;
    const groups = data.group(rows, (r) => JSON.stringify([r[x.name], r[y.name]]));
    return [...groups.values()].map((all) => {
      const is_shared = (a) => all.every((r) => r[a] === all[0][a]);
      const shared = told.filter(is_shared);
      return {
        all,
        value: [all[0][x.name], all[0][y.name]],
        label: quantities.point_text(all[0], shared.length ? shared : axes.filter(is_shared)),
      };
    });
  }

  const LABELS = 10;
  const label_of_place = (place) => format.short(place.label, 48);

  // Share of the span that the longest label takes: that of any point may be the outermost one.
  function room_for(marks) {
    const longest = Math.max(...marks.map((m) => label_of_place(m).length), 0);
    const share = Math.min(0.4, (longest * 6.2 + 8) / ((fabricast.stage_width || 1000) - 120));
    return (1.08 * share) / (1 - share);
  }

  function plane_option({ rows, front, x, y, axes, figures }, theme) {
    const marks = places(front, x, y, axes);
    const on_front = new Set(front);
    const beaten = thinned(
      rows.filter((r) => !on_front.has(r)),
      y,
      BEATEN,
    );
    const tip = (p) => {
      const all = p.data?.place?.all ?? (p.data?.record ? [p.data.record] : []);
      if (all.length === 0) return "";
      const words = all.slice(0, 6).map((r) => quantities.point_text(r, axes));
      return fabricast.tip(words[0], [
        ...words.slice(1),
        all.length > 6 ? `and ${all.length - 6} more` : null,
        ...facts_of(all[0], figures),
      ]);
    };
    return {
      legend: charts.legend(
        ["no other is better in both", "beaten by another"].slice(0, beaten.length ? 2 : 1),
      ),
      grid: charts.grid({ left: 92, bottom: 58 }),
      tooltip: { trigger: "item", formatter: tip },
      xAxis: plane_axis(rows, x, theme, 34, room_for(marks)),
      yAxis: plane_axis(rows, y, theme, 72, 0.14),
      series: [
        {
          type: "line",
          name: "no other is better in both",
          symbol: "diamond",
          symbolSize: 12,
          z: 5,
          lineStyle: { color: theme.good, width: 2, type: "dashed" },
          itemStyle: { color: theme.good },
          data: marks.map((place) => ({
            value: place.value,
            place,
          })),
          label: {
            show: true,
            color: theme.text,
            position: y.more ? "top" : "bottom",
            align: x.more ? "left" : "right",
            distance: 8,
            // With many points on the front, every so many are named.
            formatter: (p) =>
              p.dataIndex % Math.ceil(marks.length / LABELS) === 0
                ? label_of_place(p.data.place)
                : "",
          },
          labelLayout: { hideOverlap: true },
        },
        {
          type: "scatter",
          name: "beaten by another",
          symbolSize: beaten.length > 300 ? 5 : 8,
          z: 3,
          itemStyle: { color: theme.line, opacity: 0.6, decal: { symbol: "none" } },
          data: beaten.map((record) => ({ value: [record[x.name], record[y.name]], record })),
        },
      ],
    };
  }

  // Two figures against each other. `first`: names of columns that are shown at first.
  // `more`: {column: whether more is better} where that is not as usual.
  function plane({ rows, axes, figures, table, first = [], more = {}, id = "front", title }) {
    const names = figures.filter(
      (f) => data.unique(rows.map((r) => r[f]).filter(data.finite)).length > 1,
    );
    const known = names.map((n) => quantities.quantity(n, more[n]));
    const at = (wanted, otherwise) => (names.includes(wanted) ? names.indexOf(wanted) : otherwise);
    // Cost and size tell more beside a speed than another word for it.
    const families = ["price", "running cost", "machine", "power"];
    const others = known.filter((q) => q.family !== known[0]?.family);
    const beside = others.find((q) => families.includes(q.family)) ?? others[0];
    const other = known.indexOf(beside);
    if (known.length < 2 || (other < 0 && first.length === 0)) return [];
    const asked = questions(rows, axes, figures);
    const y_first = at(first[1], 0);
    const x_first = at(first[0], other < 0 ? 1 : other);
    return [
      {
        id,
        title: title ?? "Two figures against each other, and what nothing beats",
        picks: [
          { label: "Across", names: known.map((q) => q.label), first: x_first },
          { label: "Up", names: known.map((q) => q.label), first: y_first },
          ...asked,
        ],
        view: ([x_at, y_at, ...chosen]) => {
          const [x, y] = [known[x_at], known[y_at]];
          const kept = asked_rows(rows, asked, chosen, [x.name, y.name]);
          const shown = kept.filter((r) => data.finite(r[x.name]) && data.finite(r[y.name]));
          const front = quantities.front(shown, x, y);
          const said = places(front, x, y, axes)
            .slice(0, 6)
            .map(
              (p) =>
                `${p.label}: ${x.label} ${x.text(p.value[0])}, ${y.label} ${y.text(p.value[1])}`,
            )
            .join("; ");
          return {
            height: 440,
            alt: `Points of ${y.label} over ${x.label}. No other is better in both than ${said}.`,
            hint: `${format.number(front.length)} of ${format.count(shown.length, "point")} are on the front: no other is better in both.`,
            table,
            option: (theme) => plane_option({ rows: shown, front, x, y, axes, figures }, theme),
          };
        },
      },
    ];
  }

  fabricast.points.plane = plane;
})();
