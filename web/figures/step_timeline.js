"use strict";
// step: one training step as a timeline, a row for each stream of each stage.
globalThis.fabricast ??= {};
(() => {
  const { format, data, charts } = fabricast;

  const EXPOSED = "exposed TP, CP, EP inside";
  // In pixels: slim boxes near each other are one shape, in which gaps that are thin are closed.
  const SLIM = 4;
  const NEAR = 12;
  const THIN = 0.4;
  const HATCHED = 10; // from here on a pattern, which takes ECharts long to make
  const READABLE = 12; // boxes of the first row in a window that is chosen
  const lines = (rotation, gap) => ({
    symbol: "rect",
    symbolSize: 1,
    dashArrayX: [1, 0],
    dashArrayY: [2, gap],
    rotation,
  });
  const dots = (gap) => ({
    symbol: "circle",
    symbolSize: 1,
    dashArrayX: [
      [gap, gap],
      [0, gap, gap, 0],
    ],
    dashArrayY: [gap, 0],
    rotation: 0,
  });
  const plain = { symbol: "none" };

  // What a stream does: the letter in its boxes, its colour in the palette, its pattern.
  const kinds = {
    forward: ["F", 0, plain],
    backward: ["B", 1, lines(Math.PI / 4, 5)],
    "weight gradients": ["W", 4, dots(4)],
    "gather parameters": ["G", 2, lines(-Math.PI / 4, 5)],
    "reduce gradients": ["R", 3, lines(0, 4)],
    send: ["S", 5, plain],
    "norm of gradients": ["N", 9, dots(3)],
    optimizer: ["O", 8, lines(Math.PI / 2, 4)],
  };
  const kind_of = (what) => {
    const [letter, color, decal] = Object.hasOwn(kinds, what) ? kinds[what] : ["", 7, plain];
    return { letter, color, decal };
  };

  function read(report) {
    const spans = data
      .records(report, "timeline", ["stage", "stream", "what", "start_s", "end_s"])
      .filter((s) => data.finite(s.start_s) && data.finite(s.end_s));
    const streams = data.group(spans, (s) => `stage ${s.stage} ${s.stream}`);
    const rows = [...streams.keys()];
    rows.forEach((name, row) => {
      for (const span of streams.get(name)) span.row = row;
    });
    return {
      spans,
      rows,
      first: streams.get(rows[0]) ?? [],
      end: spans.reduce((most, s) => Math.max(most, s.end_s), 0),
      chunks: spans.some((s) => s.chunk > 0),
    };
  }

  // Times on the axis: all in one unit, with as many digits as a window needs.
  function clock(end) {
    const [unit, scale] = end >= 1 ? ["s", 1] : end >= 1e-3 ? ["ms", 1e3] : ["us", 1e6];
    return (time) => `${Number((time * scale).toPrecision(7))} ${unit}`;
  }

  const short_name = (span, chunks) => {
    const { letter } = kind_of(span.what);
    if (!data.finite(span.micro_batch)) return letter;
    return `${letter}${span.micro_batch}${chunks ? `.${span.chunk}` : ""}`;
  };

  const sum = (spans, value) => spans.reduce((all, s) => all + value(s), 0);

  function words({ spans, rows, first, end }) {
    const stages = data.unique(spans.map((s) => s.stage)).length;
    const micro_batches = data.sorted_numbers(spans.map((s) => s.micro_batch)).length;
    const idle = Math.max(0, 1 - sum(first, (s) => s.end_s - s.start_s) / end);
    const exposed = sum(first, (s) => s.exposed_s ?? 0) / end;
    const waits =
      exposed > 0 ? ` and waits ${format.percent(exposed)} of it for TP, CP and EP` : "";
    return `Timeline of ${format.count(stages, "stage")} and ${format.count(micro_batches, "micro-batch", "micro-batches")} in a training step of ${format.time_s(end)}: ${rows[0]} is idle ${format.percent(idle)} of it${waits}.`;
  }

  // The window in pixels, the same for all boxes of one rendering.
  function view_of(params, api) {
    const { x, width } = params.coordSys;
    const pixels = api.size([1, 0])[0];
    const zero = api.coord([0, 0])[0];
    return {
      left: x - 2,
      right: x + width + 2,
      row: api.size([0, 1])[1],
      x: (time) => zero + time * pixels,
      y: (row) => api.coord([0, row])[1],
      decal: api.visual("decal"),
    };
  }

  // Where each span lies, null outside of the window.
  function places_of(spans, view) {
    return spans.map((span) => {
      const from = view.x(span.start_s);
      const to = view.x(span.end_s);
      const { row, what } = span;
      return to < view.left || from > view.right ? null : { from, to, row, what };
    });
  }

  const alike = (a, b) => a?.row === b.row && a?.what === b.what;

  const exposed_share = (span) => {
    const long = span.end_s - span.start_s;
    return span.exposed_s > 0 && long > 0 ? Math.min(1, span.exposed_s / long) : 0;
  };

  // Strips at the ends of spans; what is less than a pixel waits for the next strip of its row.
  function strips_of(spans, view) {
    let waiting = 0;
    let last = null;
    return places_of(spans, view).map((place, i) => {
      if (!place) return null;
      if (!alike(last, place)) waiting = 0;
      last = place;
      const long = place.to - place.from;
      waiting += long * exposed_share(spans[i]);
      if (waiting < 1) return null;
      const width = Math.min(waiting, Math.max(1, long));
      waiting -= width;
      return { ...place, from: place.to - width };
    });
  }

  function grow(box, { from, to }) {
    const tooth = box.teeth[box.teeth.length - 1];
    if (from - tooth[1] < THIN) tooth[1] = to;
    else box.teeth.push([from, to]);
    box.to = to;
    box.spans += 1;
  }

  // Boxes of places; a place that went into the box before it has none.
  function boxes_of(places) {
    let last = null;
    return places.map((place) => {
      if (!place) return null;
      const slim = place.to - place.from < SLIM;
      if (slim && last?.teeth && alike(last, place) && place.from - last.to < NEAR) {
        grow(last, place);
        return null;
      }
      last = { ...place, spans: 1, teeth: slim ? [[place.from, place.to]] : null };
      return last;
    });
  }

  // Forward stands a little higher than backward: they differ where boxes are too narrow for more.
  const lift = { forward: -1, backward: 1 };
  function rect_of(box, span, view) {
    const x = Math.max(box.from, view.left);
    const shift = (lift[span.what] ?? 0) * Math.min(2.5, view.row * 0.08);
    const height = Math.max(1, Math.min(26, view.row * 0.74) - (lift[span.what] ? 3 : 0));
    return {
      x,
      y: view.y(span.row) + shift - height / 2,
      width: Math.min(box.to, view.right) - x,
      height,
    };
  }

  // Slim boxes of one row as one shape.
  function comb_of(box, span, view, color) {
    const { y, height } = rect_of(box, span, view);
    const least = box.spans > 1 ? 0.6 : 1;
    const points = box.teeth.flatMap(([from, to]) => {
      const right = Math.max(to, from + least);
      return [
        [from, y + height],
        [from, y],
        [right, y],
        [right, y + height],
      ];
    });
    return { type: "polygon", shape: { points }, style: { fill: color } };
  }

  function label_of(text, rect, color) {
    return {
      type: "text",
      silent: true,
      style: {
        text,
        x: rect.x + rect.width / 2,
        y: rect.y + rect.height / 2,
        align: "center",
        verticalAlign: "middle",
        fill: fabricast.ink_on(color),
        backgroundColor: color,
        padding: [1, 2],
        fontSize: Math.min(11, rect.height - 3),
        fontFamily: fabricast.font,
      },
    };
  }

  // The longest that fits of "optimizer" and "O"; a pass has its number.
  function text_in(span, width, chunks) {
    const short = short_name(span, chunks);
    const texts = data.finite(span.micro_batch) ? [short] : [span.what, short];
    return texts.find((t) => t && t.length * 6.4 + 8 <= width);
  }

  function draw_box(box, span, view, { color, theme, chunks }) {
    if (box.teeth) return comb_of(box, span, view, color);
    const shape = rect_of(box, span, view);
    const rect = {
      type: "rect",
      shape,
      style: {
        fill: color,
        stroke: theme.background,
        lineWidth: 1,
        decal: shape.width >= HATCHED ? view.decal : undefined,
      },
    };
    // Words stand left of what is exposed.
    const inner = box.to - (box.to - box.from) * exposed_share(span);
    const left = { ...shape, width: Math.min(view.right, inner) - shape.x };
    const text = text_in(span, left.width, chunks);
    if (!text || shape.height < 9) return rect;
    return { type: "group", children: [rect, label_of(text, left, color)] };
  }

  // A custom series: `place` says where its spans lie, `draw` makes an element of a box.
  function series_of(name, spans, { place, draw, drawn, ...more }) {
    return {
      type: "custom",
      name,
      encode: { x: [0, 1], y: 2 },
      clip: true,
      progressive: 0,
      data: spans.map((s) => [s.start_s, s.end_s, s.row]),
      renderItem: (params, api) => {
        const { context } = params;
        if (!context.view) {
          context.view = view_of(params, api);
          context.boxes = boxes_of(place(spans, context.view));
          drawn?.(context.boxes);
        }
        const box = context.boxes[params.dataIndex];
        return box ? draw(box, spans[params.dataIndex], context.view) : undefined;
      },
      ...more,
    };
  }

  function series_of_what(what, spans, theme, chunks) {
    const kind = kind_of(what);
    const color = theme.palette[kind.color];
    return series_of(what, spans, {
      place: places_of,
      // For the tooltip.
      drawn: (boxes) => {
        for (let i = 0; i < boxes.length; i++) spans[i].drawn = boxes[i]?.spans ?? 0;
      },
      draw: (box, span, view) => draw_box(box, span, view, { color, theme, chunks }),
      itemStyle: { color, decal: kind.decal },
    });
  }

  function series_of_exposed(spans, theme) {
    return series_of(EXPOSED, spans, {
      place: strips_of,
      draw: (box, span, view) =>
        box.teeth
          ? comb_of(box, span, view, theme.text)
          : { type: "rect", shape: rect_of(box, span, view), style: { fill: theme.text } },
      itemStyle: { color: theme.text, decal: plain },
      silent: true,
      z: 3,
    });
  }

  function tip_of(span, time, chunks) {
    const stream = `stage ${span.stage}, ${span.stream}`;
    if (span.drawn > 1) return fabricast.tip(`${span.drawn} × ${span.what}`, [stream, "zoom in"]);
    const of_batch = data.finite(span.micro_batch)
      ? ` of micro-batch ${span.micro_batch}${chunks ? `, chunk ${span.chunk}` : ""}`
      : "";
    const exposed = `${format.time_s(span.exposed_s)} (${format.percent(exposed_share(span))})`;
    return fabricast.tip(`${span.what}${of_batch}`, [
      stream,
      `from ${time(span.start_s)}, ${format.time_s(span.end_s - span.start_s)} long`,
      span.exposed_s > 0 ? `${EXPOSED}: ${exposed}` : null,
    ]);
  }

  // The slider is for a screen; the wheel scrolls the page unless Ctrl is held.
  function zooms([from, to], end, time, theme) {
    const window = {
      xAxisIndex: 0,
      filterMode: "none",
      startValue: from,
      endValue: to,
      minValueSpan: end * 1e-5,
      throttle: 40,
    };
    return [
      { type: "inside", zoomOnMouseWheel: "ctrl", preventDefaultMouseMove: false, ...window },
      {
        type: "slider",
        show: !fabricast.is_printing(),
        height: 18,
        bottom: 8,
        showDataShadow: false,
        borderColor: theme.line,
        labelFormatter: time,
        ...window,
      },
    ];
  }

  function axis_of_time(end, time) {
    const axis = charts.value_axis("time", time, { min: 0, max: end, nameGap: 24 });
    Object.assign(axis.axisLabel, {
      alignMinLabel: "left",
      alignMaxLabel: "right",
      showMaxLabel: false,
      padding: [0, 5],
    });
    return axis;
  }

  const ROOM = 116; // pixels of legend, axis and slider
  const row_height = (rows) => Math.min(34, (700 - ROOM) / rows);

  function draw(timeline, window, theme) {
    const { spans, rows, end, chunks } = timeline;
    const time = clock(end);
    const found = data.unique(spans.map((s) => s.what));
    const whats = data.unique([...Object.keys(kinds).filter((k) => found.includes(k)), ...found]);
    const of = data.group(spans, (s) => s.what);
    const exposed = whats.flatMap((w) => of.get(w).filter((s) => exposed_share(s) > 0));
    const { axis, left } = charts.category_y(rows, {
      splitLine: { show: true, lineStyle: { color: theme.grid } },
    });
    axis.axisLabel.interval = Math.ceil(13 / row_height(rows.length)) - 1;
    return {
      animation: false,
      legend: charts.legend(exposed.length ? [...whats, EXPOSED] : whats, {
        itemWidth: 22,
        itemGap: 8,
        formatter: (n) => (kind_of(n).letter ? `${kind_of(n).letter} ${n}` : n),
      }),
      grid: charts.grid({ left, top: 36, bottom: fabricast.is_printing() ? 46 : ROOM - 36 }),
      tooltip: {
        trigger: "item",
        formatter: (p) => tip_of(of.get(p.seriesName)[p.dataIndex], time, chunks),
      },
      dataZoom: zooms(window, end, time, theme),
      xAxis: axis_of_time(end, time),
      yAxis: axis,
      series: [
        ...whats.map((what) => series_of_what(what, of.get(what), theme, chunks)),
        ...(exposed.length ? [series_of_exposed(exposed, theme)] : []),
      ],
    };
  }

  // Windows in which boxes can be read, where the whole step has too many of them.
  function windows({ first, end }) {
    const whole = ["the whole step", [0, end]];
    if (first.length <= 2 * READABLE) return [whole];
    const width = (end * READABLE) / first.length;
    return [
      whole,
      ["its start", [0, width]],
      ["its middle", [(end - width) / 2, (end + width) / 2]],
      ["its end", [end - width, end]],
    ];
  }

  fabricast.step_timeline = (report) => {
    const timeline = read(report);
    if (timeline.spans.length === 0 || timeline.end <= 0) return [];
    const example = timeline.chunks
      ? "F3.1 is forward of micro-batch 3, chunk\u00a01."
      : "F3 is forward of micro-batch 3.";
    return [
      {
        id: "timeline",
        title: "The step as a timeline",
        hint: `A row for each stream of each stage; where it is blank, the stream waits. ${example} Zoom with the slider, or with Ctrl and the wheel; drag the drawing to move.`,
        alt: words(timeline),
        height: Math.round(ROOM + timeline.rows.length * row_height(timeline.rows.length)),
        table: data.cut(report, "timeline"),
        variants_label: "Shown",
        variants: windows(timeline).map(([name, window]) => ({
          name,
          option: (theme) => draw(timeline, window, theme),
        })),
      },
    ];
  };
})();
