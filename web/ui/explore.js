"use strict";
// Explore: curves that follow every change of the setup, beside a pinned one.
globalThis.fabricast ??= {};
fabricast.views ??= {};
(() => {
  const wait_ms = 20; // changes within it are one question
  const first_wait_ms = 40; // before the rows that there are get drawn
  const part_wait_ms = 80; // between such drawings
  const lint_wait_ms = 150;

  const choice_of = (row) => `${row.algorithm} ${row.protocol}`;
  const full_choice_of = (row) => `${choice_of(row)}, ${row.nchannels} ch`;

  // Stretches of sizes with one choice, of the rows of one number of nodes.
  function stretches(rows) {
    const found = [];
    for (const row of rows) {
      const last = found[found.length - 1];
      if (last && last.choice === choice_of(row)) last.to = row.size_bytes;
      else found.push({ choice: choice_of(row), from: row.size_bytes, to: row.size_bytes, row });
    }
    return found;
  }

  function groups_of(part) {
    const rows = fabricast.data.records(part?.report, "rows", ["size_bytes", "time_us", "nodes"]);
    return [...fabricast.data.group(rows, (row) => row.nodes)];
  }

  const nodes_text = (nodes) => `${nodes} ${Number(nodes) === 1 ? "node" : "nodes"}`;

  // What both figures draw. `old`: the answer before, shown until the new one is whole.
  const measures = {
    busbw: {
      id: "explore-busbw",
      title: "Bus bandwidth",
      axis: "busbw, GB/s",
      value: (row) => row.busbw_GBps,
      low: (row) => (row.busbw_GBps * row.time_us) / row.upper_us,
      high: (row) => (row.busbw_GBps * row.time_us) / row.lower_us,
      text: (value) => fabricast.format.number(value, "GB/s"),
      type: "value",
    },
    time: {
      id: "explore-time",
      title: "Time of a call",
      axis: "time, us",
      value: (row) => row.time_us,
      low: (row) => row.lower_us,
      high: (row) => row.upper_us,
      text: (value) => fabricast.format.time_us(value),
      type: "log",
    },
  };

  // A band of lower and upper ends; ECharts has none on a log axis.
  function band(id, points, color) {
    return {
      id,
      type: "custom",
      name: id,
      silent: true,
      z: 1,
      clip: true,
      data: points,
      encode: { x: 0, y: [1, 2] },
      tooltip: { show: false },
      renderItem: (params, api) => {
        if (params.dataIndexInside !== 0) return null;
        const upper = points.map(([x, , high]) => api.coord([x, high]));
        const lower = points.map(([x, low]) => api.coord([x, low])).reverse();
        return {
          type: "polygon",
          shape: { points: [...upper, ...lower] },
          style: { fill: color, opacity: 0.16 },
        };
      },
    };
  }

  const series_most = 6;
  const margins = { left: 64, right: 20 };
  let places = 1; // curves drawn so far: updates merge, so what was drawn once is drawn again, empty
  const symbols = ["circle", "triangle", "rect", "diamond", "roundRect", "pin"];

  // A coloured area for each choice. Names that would run into each other stand in rows; the last
  // one ends where the curves do.
  function areas(found, range) {
    const { text_width } = fabricast.charts;
    const { left, right } = margins;
    const per_doubling = (fabricast.stage_width - left - right) / Math.log2(range[1] / range[0]);
    const pixel = (size) => Math.log2(size / range[0]) * per_doubling;
    const ends = []; // of the rows of names
    return found.map(({ choice, from, to, row }, place) => {
      const until = found[place + 1]?.from ?? to;
      const wide = text_width(choice) + 6;
      const is_last = place === found.length - 1 && pixel(until) - pixel(from) < wide;
      const begin = is_last ? pixel(until) - wide : (pixel(from) + pixel(until) - wide) / 2;
      let line = ends.findIndex((end) => end <= begin);
      if (line < 0) line = ends.length;
      ends[line] = begin + wide;
      const style = fabricast.choice_style(row.algorithm, row.protocol);
      return [
        {
          name: choice,
          xAxis: from,
          itemStyle: { color: style.color, opacity: 0.13 },
          label: { position: is_last ? "insideTopRight" : "insideTop", distance: 4 + 14 * line },
        },
        { xAxis: until },
      ];
    });
  }

  function curve_option(measure, live, pinned, old, at, range) {
    return (theme) => {
      const series = [];
      const live_groups = groups_of(live).slice(0, series_most);
      const pinned_groups = groups_of(pinned).slice(0, series_most);
      const old_groups = groups_of(old).slice(0, series_most);
      const points = (rows) => rows.map((row) => [row.size_bytes, measure.value(row)]);
      const name = (letter, nodes) => `${letter}${nodes_text(nodes)}`;
      const marks = [];
      if (live_groups.length === 1) {
        marks.push(...areas(stretches(live_groups[0][1]), range));
      }
      places = Math.max(places, live_groups.length, pinned_groups.length, old_groups.length);
      for (let place = 0; place < places; ++place) {
        const color = theme.palette[place % theme.palette.length];
        const [pinned_nodes, pinned_rows] = pinned_groups[place] ?? ["", []];
        const [live_nodes, live_rows] = live_groups[place] ?? ["", []];
        const [, old_rows] = old_groups[place] ?? ["", []];
        const banded = live_groups.length === 1 ? live_rows.filter((row) => row.upper_us > 0) : [];
        if (place === 0) {
          series.push(
            band(
              "band",
              banded.map((row) => [row.size_bytes, measure.low(row), measure.high(row)]),
              color,
            ),
          );
        }
        series.push({
          id: `old ${place}`,
          type: "line",
          name: "before",
          data: points(old_rows),
          showSymbol: false,
          silent: true,
          lineStyle: { color: theme.line, width: 1 },
          tooltip: { show: false },
          z: 2,
        });
        series.push({
          id: `A ${place}`,
          type: "line",
          name: pinned_rows.length > 0 ? name("A: ", pinned_nodes) : `A ${place}`,
          data: points(pinned_rows),
          symbol: `empty${symbols[place][0].toUpperCase()}${symbols[place].slice(1)}`,
          symbolSize: 5,
          lineStyle: {
            color: theme.palette[(place + 1) % theme.palette.length],
            type: "dashed",
            width: 2,
          },
          itemStyle: { color: theme.palette[(place + 1) % theme.palette.length] },
          z: 3,
        });
        series.push({
          id: `B ${place}`,
          type: "line",
          name: live_rows.length > 0 ? name(pinned ? "B: " : "", live_nodes) : `B ${place}`,
          data: points(live_rows),
          symbol: symbols[place],
          symbolSize: 7,
          lineStyle: { color, width: 2.5 },
          itemStyle: { color },
          markArea: {
            silent: true,
            label: { position: "insideTop", color: theme.text, fontSize: 11 },
            data: place === 0 ? marks : [],
          },
          markLine: {
            silent: true,
            symbol: ["none", "none"],
            label: { show: false },
            lineStyle: { color: theme.text, type: "dotted" },
            data: place === 0 && at ? [{ xAxis: at }] : [],
          },
          z: 4,
        });
      }
      const shown = series
        .filter((one) => /^[AB]/.test(one.id) && one.data.length > 0)
        .map((one) => one.name);
      const rows_at = (groups, size) =>
        groups
          .map(([nodes, rows]) => [nodes, rows.find((row) => row.size_bytes === size)])
          .filter(([, row]) => row);
      return {
        animation: false,
        // Curves differ by symbol and dash; patterns are for areas.
        aria: { decal: { show: false } },
        grid: { ...margins, top: 40, bottom: 48 },
        legend: { data: shown, show: shown.length > 1, top: 0 },
        tooltip: {
          trigger: "axis",
          formatter: (items) => {
            const size = items[0]?.value?.[0] ?? items[0]?.axisValue;
            const lines = [];
            const tell = (letter, groups) => {
              for (const [nodes, row] of rows_at(groups, size)) {
                lines.push(
                  `${letter}${nodes_text(nodes)}: ${measure.text(measure.value(row))}, ${full_choice_of(row)}`,
                );
                if (letter !== "A: " && row.upper_us > 0) {
                  lines.push(
                    `80 % of measured lie in ${measure.text(measure.low(row))} .. ${measure.text(measure.high(row))}`,
                  );
                }
              }
            };
            tell(pinned ? "B: " : "", live_groups);
            tell("A: ", pinned_groups);
            return fabricast.tip(fabricast.format.bytes(size), lines);
          },
        },
        xAxis: {
          type: "log",
          logBase: 16,
          min: range[0],
          max: range[1],
          name: "size",
          nameLocation: "middle",
          nameGap: 30,
          axisLabel: { formatter: (value) => fabricast.format.bytes(value), hideOverlap: true },
          splitLine: { show: false },
        },
        yAxis: {
          type: measure.type,
          boundaryGap: measure.type === "value" ? [0, "12%"] : undefined, // for names of areas
          name: measure.axis,
          nameTextStyle: { align: "left", padding: [0, 0, 0, -40] },
          axisLabel: { formatter: (value) => fabricast.format.number(value) },
        },
        series,
      };
    };
  }

  function range_of(...parts) {
    let low = Number.POSITIVE_INFINITY;
    let high = 0;
    for (const part of parts) {
      for (const [, rows] of groups_of(part)) {
        for (const row of rows) {
          low = Math.min(low, row.size_bytes);
          high = Math.max(high, row.size_bytes);
        }
      }
    }
    if (high === 0) return [1, 2];
    return low < high ? [low, high] : [low / 2, high * 2];
  }

  function sentence(measure, part, pinned) {
    const site = part?.report?.job?.site ?? {};
    const ask = part?.report?.job?.ask ?? {};
    const ends = groups_of(part).map(([nodes, rows]) => {
      const first = rows[0];
      const last = rows[rows.length - 1];
      const value = (row) =>
        `${measure.text(measure.value(row))} at ${fabricast.format.bytes(row.size_bytes)} (${choice_of(row)})`;
      return `${nodes_text(nodes)} of ${site.topology ?? "?"}: ${value(first)} to ${value(last)}`;
    });
    const what = (ask.collectives ?? []).join(", ");
    return `${measure.title} of ${what}. ${ends.join("; ")}.${pinned ? " The pinned setup A is drawn dashed." : ""}`;
  }

  function curve_spec(measure, live, pinned, old, at) {
    const table = fabricast.data.cut(live.report, "rows", [
      "nodes",
      "size_bytes",
      "time_us",
      "busbw_GBps",
      "lower_us",
      "upper_us",
      "algorithm",
      "protocol",
      "nchannels",
    ]);
    return {
      id: measure.id,
      title: measure.title,
      alt: sentence(measure, live, pinned),
      height: 330,
      hint: "Click near a point to see where its time goes.",
      option: curve_option(measure, live, pinned, old, at, range_of(live, pinned, old)),
      table,
    };
  }

  // A and B size by size, for fabricast.table.
  function differences(pinned, live) {
    const rows = [];
    const a_groups = groups_of(pinned);
    const b_groups = groups_of(live);
    for (let place = 0; place < Math.min(a_groups.length, b_groups.length); ++place) {
      const of_size = new Map(a_groups[place][1].map((row) => [row.size_bytes, row]));
      for (const b of b_groups[place][1]) {
        const a = of_size.get(b.size_bytes);
        if (!a) continue;
        const changed = full_choice_of(a) === full_choice_of(b) ? "" : "differs";
        rows.push([
          b.size_bytes,
          a.nodes,
          b.nodes,
          a.time_us,
          b.time_us,
          b.time_us / a.time_us,
          full_choice_of(a),
          full_choice_of(b),
          changed,
        ]);
      }
    }
    const column = (name, type, unit) => (unit ? { name, type, unit } : { name, type });
    return {
      name: "A and B",
      columns: [
        column("size_bytes", "integer", "B"),
        column("A_nodes", "integer"),
        column("B_nodes", "integer"),
        column("A_time_us", "number", "us"),
        column("B_time_us", "number", "us"),
        column("B_of_A", "number"),
        column("A_choice", "string"),
        column("B_choice", "string"),
        column("choice", "string"),
      ],
      rows,
    };
  }

  function create(catalogue, page) {
    const { el } = fabricast;
    const f = fabricast.machine_fields(catalogue);
    const form = fabricast.form(
      [
        {
          title: "Machine",
          fields: [f.topology, f.nodes, f.nics, f.gpus, f.fabric, f.sharp, f.gpu],
        },
        { title: "NCCL", fields: [f.nccl, f.env] },
        { title: "Work", fields: [f.collective, f.sizes] },
      ],
      (event, draft) => changed(event, draft),
    );

    const charts = el("div", { class: "charts" });
    const choices = el("p", { class: "choices" });
    const notes = el("ul", { class: "notes" });
    const point_text = el("div", {});
    const point_machine = el("div", {});
    const busy = el("span", { class: "busy" });
    const pin = el("button", { type: "button" }, "Pin as A");
    const unpin = el("button", { type: "button" }, "Unpin");
    const size_select = el("select", { id: "explore-at" });
    const point = el("section", { class: "point", "aria-label": "Where the time goes" });
    const compare = el("section", { class: "compare", "aria-label": "A and B" });
    const tools = page.tools({
      study: "bench",
      body: () => form.body(form.changed()),
      part: () => live,
    });
    unpin.disabled = true;
    point.append(point_text, point_machine);

    const element = el(
      "div",
      { class: "split" },
      form.element,
      el(
        "div",
        { class: "result" },
        el("div", { class: "bar" }, pin, unpin, tools, busy),
        charts,
        choices,
        notes,
        compare,
        el(
          "div",
          { class: "bar" },
          el("label", { for: "explore-at" }, "Where the time goes at "),
          size_select,
        ),
        point,
      ),
    );

    let live = null; // the newest whole answer
    let pinned = null; // the answer of A
    let pinned_fields; // q of A
    let at = 0;
    let figures = null;
    let main_abort = null;
    let point_abort = null;
    let lint_abort = null;
    let pinned_abort = null;
    let timer = 0;
    let lint_timer = 0;
    let told = 0; // time of the first input that was not asked yet
    let last_run = 0;
    let asked_key = "";
    let linted = "";

    function question() {
      const asked = { v: "explore", q: form.changed() };
      if (pinned_fields) asked.a = pinned_fields;
      if (at) asked.at = at;
      return asked;
    }

    function changed(event, draft) {
      if (told === 0) told = event?.timeStamp || performance.now();
      page.write(question(), { draft });
      schedule();
    }

    // The first change is asked at once, those that follow within wait_ms together.
    function schedule() {
      lint_later();
      if (timer !== 0) return;
      timer = setTimeout(
        () => {
          timer = 0;
          run(false);
        },
        Math.max(0, last_run + wait_ms - performance.now()),
      );
    }

    function draw(part, old) {
      const specs = [
        curve_spec(measures.busbw, part, pinned, old, at),
        curve_spec(measures.time, part, pinned, old, at),
      ];
      if (figures === null) {
        figures = specs.map((spec) => fabricast.figure(spec));
        charts.append(...figures);
        for (const figure of figures) figure.addEventListener("click", picked);
      } else {
        figures.forEach((figure, place) => figure.update(specs[place]));
      }
    }

    // The size nearest to a click in a chart.
    function picked(event) {
      const stage = event.target.closest?.("[_echarts_instance_]");
      const chart = stage && echarts.getInstanceByDom(stage);
      if (!chart || !live) return;
      const box = stage.getBoundingClientRect();
      const place = [event.clientX - box.left, event.clientY - box.top];
      if (!chart.containPixel("grid", place)) return;
      const [size] = chart.convertFromPixel({ xAxisIndex: 0, yAxisIndex: 0 }, place);
      const sizes = sizes_of(live);
      const far = (one) => Math.abs(Math.log2(one / size));
      const best = sizes.reduce((one, other) => (far(other) < far(one) ? other : one), sizes[0]);
      if (best) look_at(best);
    }

    function sizes_of(part) {
      return fabricast.data.sorted_numbers(
        groups_of(part).flatMap(([, rows]) => rows.map((row) => row.size_bytes)),
      );
    }

    function fill_sizes() {
      const sizes = sizes_of(live);
      if (at && !sizes.includes(at)) sizes.push(at);
      size_select.replaceChildren(el("option", { value: "0" }, "no size"));
      for (const size of sizes) {
        size_select.append(el("option", { value: String(size) }, fabricast.format.bytes(size)));
      }
      size_select.value = String(at);
    }

    function look_at(size) {
      at = size;
      size_select.value = String(size);
      page.write(question());
      if (live) draw(live, null);
      explain();
    }

    size_select.addEventListener("change", () => look_at(Number(size_select.value)));

    function tell_choices(part) {
      const texts = groups_of(part).map(([nodes, rows]) => {
        const said = stretches(rows).map(({ choice, from, to }) =>
          from === to
            ? `${fabricast.format.bytes(from)} ${choice}`
            : `${fabricast.format.bytes(from)} to ${fabricast.format.bytes(to)} ${choice}`,
        );
        return `${nodes_text(nodes)}: ${said.join(" · ")}`;
      });
      choices.replaceChildren();
      if (part.report.answer) choices.append(`${part.report.answer} `);
      choices.append(el("strong", {}, "NCCL takes "), texts.join("; "));
      notes.replaceChildren(
        ...(part.report.notes ?? []).map(({ level, text }) => el("li", {}, `${level}: ${text}`)),
      );
    }

    async function run(again) {
      last_run = performance.now();
      const fields = form.changed();
      const body = form.body(fields);
      const key = JSON.stringify(body);
      // The end of a drag asks what its last step did.
      if (!again && key === asked_key) {
        told = 0;
        return;
      }
      asked_key = key;
      main_abort?.abort();
      const abort = new AbortController();
      main_abort = abort;
      const started = told || last_run;
      told = 0;
      form.clear();
      page.clear_banner();
      if (!form.has_files(fields)) return;
      busy.textContent = "Simulating…";
      const old = live;
      let last_draw = last_run; // an answer that comes at once is drawn once
      let first = true;
      const follow = (some, before) => {
        draw(some, before);
        if (first) page.followed(started);
        first = false;
        last_draw = performance.now();
      };
      try {
        const part = await fabricast.api.ask("bench", body, {
          signal: abort.signal,
          keep: true,
          seen: {
            part: (some) => {
              const wait = first ? first_wait_ms : part_wait_ms;
              if (abort.signal.aborted || performance.now() - last_draw < wait) return;
              follow(some, old);
            },
          },
        });
        if (abort.signal.aborted) return;
        live = part;
        follow(part, null);
        page.drawn(started);
        busy.textContent = "";
        tell_choices(part);
        fill_sizes();
        tell_differences();
        const rows = part.report.tables[0].rows.length;
        page.say(`${rows} ${rows === 1 ? "row" : "rows"} simulated`);
        if (at) explain();
      } catch (error) {
        if (error.name === "AbortError") return;
        busy.textContent = live ? "The curves are of the last setup that could be simulated." : "";
        page.fail(form, error);
      }
    }

    // Panel of one size.
    async function explain() {
      point_abort?.abort();
      if (!at) {
        clear_point();
        return;
      }
      const abort = new AbortController();
      point_abort = abort;
      const fields = form.changed();
      const body = { ...form.body(fields), sizes: `${at}B`, explain: true };
      try {
        const part = await fabricast.api.ask("bench", body, { signal: abort.signal, keep: true });
        if (!abort.signal.aborted) show_point(part);
      } catch (error) {
        if (error.name === "AbortError") return;
        point_text.replaceChildren(el("p", { class: "error" }, error.message));
      }
    }

    function show_point(part) {
      const { records, cut } = fabricast.data;
      const { report } = part;
      const parts = [];
      const [row] = records(report, "rows");
      if (!row) return;
      parts.push(
        el(
          "h2",
          {},
          `${fabricast.format.bytes(row.size_bytes)} on ${nodes_text(row.nodes)}: ${fabricast.format.time_us(row.time_us)}, ${full_choice_of(row)}`,
        ),
      );
      for (const path of fabricast.bench_parts.whole_paths(report)) {
        parts.push(...path_list(path, row));
      }
      const links = cut(report, "links", [
        "nodes",
        "link",
        "copies",
        "carried_bytes",
        "utilisation",
      ]);
      if (links && links.rows.length > 0) {
        links.rows.sort((one, other) => other[other.length - 1] - one[one.length - 1]);
        parts.push(fabricast.table(links, { caption: "Busiest links", limit: 12 }));
      }
      point_text.replaceChildren(...parts);
      const links_used = records(report, "links", ["link", "utilisation"]);
      const specs = (part.machine && fabricast.machine_figures?.(part.machine, links_used)) || [];
      for (const spec of specs) spec.id = `explore-${spec.id}`;
      const drawn = [...point_machine.children];
      if (drawn.length === specs.length) {
        drawn.forEach((figure, place) => figure.update(specs[place]));
      } else {
        for (const figure of drawn) figure.dispose();
        point_machine.replaceChildren(...specs.map((spec) => fabricast.figure(spec)));
      }
    }

    // A call in a row of others begins before the last has ended everywhere: that takes less.
    function path_list(path, row) {
      const { format } = fabricast;
      const list = el("dl", { class: "shares" });
      for (const [name, label] of fabricast.bench_parts.path_parts) {
        const share = path.total > 0 ? path[name] / path.total : 0;
        const bar = el("span", { class: "share-bar", "aria-hidden": "true" });
        bar.style.width = `${(100 * share).toFixed(1)}%`;
        list.append(
          el("dt", {}, label),
          el(
            "dd",
            {},
            el("span", { class: "share-number" }, format.time_us(path[name])),
            el("span", { class: "share-of" }, format.percent(share)),
            el("span", { class: "share-track" }, bar),
          ),
        );
      }
      const alone = format.time_us(path.total);
      const in_a_row = format.time_us(row.time_us);
      const times = alone === in_a_row ? alone : `one call alone ${alone}, in a row ${in_a_row}`;
      return [el("h3", {}, `The critical path, ${nodes_text(path.nodes)}: ${times}`), list];
    }

    function clear_point() {
      point_text.replaceChildren();
      for (const figure of point_machine.children) figure.dispose();
      point_machine.replaceChildren();
    }

    // Remarks of lint, while variables are typed.
    function lint_later() {
      const fields = form.changed();
      const asked = JSON.stringify([fields.env, fields.nccl, fields.topology, fields.nodes]);
      if (asked === linted) return;
      linted = asked;
      clearTimeout(lint_timer);
      lint_timer = setTimeout(lint, lint_wait_ms);
    }

    async function lint() {
      lint_abort?.abort();
      const env = form.fields.get("env");
      if (env.get().length === 0) {
        env.remark([]);
        return;
      }
      const abort = new AbortController();
      lint_abort = abort;
      const whole = form.body(form.changed());
      const body = {};
      for (const name of ["topology", "gpu", "nics", "fabric", "env", "nccl", "files"]) {
        if (whole[name] !== undefined) body[name] = whole[name];
      }
      if (/^\d+$/.test(whole.nodes ?? "")) body.nodes = Number(whole.nodes);
      try {
        const part = await fabricast.api.ask("lint", body, { signal: abort.signal });
        const remarks = [];
        for (const found of fabricast.data.records(part.report, "findings")) {
          const number = /#(\d+)/.exec(found.file ?? "");
          const named = env.get().findIndex((text) => text.startsWith(`${found.variable}=`));
          const row = number ? Number(number[1]) - 1 : named;
          const text = [found.message, found.suggestion].filter((one) => one).join(". ");
          remarks.push({ row: Math.max(row, 0), severity: found.severity, text });
        }
        env.remark(remarks);
      } catch (error) {
        // The answer to the curves says what is wrong with the fields.
        if (error.name !== "AbortError") env.remark([]);
      }
    }

    // A, the pinned setup.
    async function ask_pinned() {
      unpin.disabled = !pinned_fields;
      pin.textContent = pinned_fields ? "Pin as A again" : "Pin as A";
      pinned_abort?.abort();
      pinned = null;
      if (!pinned_fields) return;
      const abort = new AbortController();
      pinned_abort = abort;
      const body = form.body(pinned_fields);
      try {
        const part = await fabricast.api.ask("bench", body, { signal: abort.signal, keep: true });
        if (!abort.signal.aborted) pinned = part;
      } catch (error) {
        if (error.name === "AbortError") return;
        page.banner(`The pinned setup A: ${error.message}`, error.hint);
      }
    }

    async function redraw_pinned() {
      await ask_pinned();
      if (live) draw(live, null);
      tell_differences();
    }

    pin.addEventListener("click", () => {
      pinned_fields = form.changed();
      page.write(question());
      page.say("The present setup is A.");
      redraw_pinned();
    });
    unpin.addEventListener("click", () => {
      pinned_fields = undefined;
      page.write(question());
      page.say("A is gone.");
      redraw_pinned();
      pin.focus();
    });

    const shown_value = (value) => {
      if (Array.isArray(value)) return value.length > 0 ? value.join(" ") : "none";
      if (typeof value === "boolean") return value ? "yes" : "no";
      return value === "" || value === undefined ? "default" : String(value);
    };

    function tell_differences() {
      compare.replaceChildren();
      if (!pinned_fields || !pinned || !live) return;
      const fields = form.changed();
      const list = el("ul", {});
      for (const made of form.fields.values()) {
        const { name, label, initial, kind } = made.spec;
        const first = kind === "env" ? [] : (initial ?? (kind === "check" ? false : ""));
        const a = pinned_fields[name] ?? first;
        const b = fields[name] ?? first;
        if (JSON.stringify(a) !== JSON.stringify(b)) {
          list.append(el("li", {}, `${label}: ${shown_value(a)} → ${shown_value(b)}`));
        }
      }
      compare.append(el("h2", {}, "A, dashed, and B"));
      if (list.children.length === 0) {
        compare.append(el("p", {}, "B is still the same as A: change something."));
        return;
      }
      const table = differences(pinned, live);
      const ratios = table.rows.map((row) => row[5]);
      const other = table.rows.filter((row) => row[8] !== "").length;
      compare.append(el("p", {}, "From A to B:"), list);
      if (ratios.length > 0) {
        const least = Math.min(...ratios);
        const most = Math.max(...ratios);
        compare.append(
          el(
            "p",
            {},
            `B takes ${fabricast.format.number(least)} to ${fabricast.format.number(most)} times as long as A; NCCL chooses otherwise at ${other} of ${table.rows.length} sizes.`,
          ),
        );
      }
      compare.append(fabricast.table(table, { caption: "A and B, size by size", limit: 10 }));
    }

    async function show(asked) {
      form.set(asked.q);
      pinned_fields = asked.a;
      at = Number(asked.at) || 0;
      told = performance.now();
      if (!at) clear_point();
      lint_later();
      await Promise.all([redraw_pinned(), run(true)]);
      if (pinned && live) draw(live, null);
      tell_differences();
    }

    function stop() {
      main_abort?.abort();
      point_abort?.abort();
      lint_abort?.abort();
      pinned_abort?.abort();
      asked_key = "";
      linted = "";
      busy.textContent = "";
    }

    return { element, form, question, show, stop, rerun: schedule };
  }

  fabricast.views.explore = { title: "Explore", create };
})();
