"use strict";
// A figure: title, drawing, table of the same numbers. Drawn when it is scrolled near.
globalThis.fabricast ??= {};
(() => {
  const { el, format } = fabricast;
  const MANY_POINTS = 2000;
  const PRINT_WIDTH = 690;
  const alive = new Set();

  function points(option) {
    const series = [option.series ?? []].flat();
    return series.reduce((sum, s) => sum + (s.data?.length ?? 0) + (s.links?.length ?? 0), 0);
  }

  // What all charts share; the figure's own option wins.
  function complete(option, theme, animated) {
    const narrow = option.animation === undefined ? animated : option.animation;
    return {
      ...option,
      animation: narrow,
      animationDuration: 300,
      animationDurationUpdate: 300,
      aria: { enabled: true, label: { enabled: false }, decal: { show: true }, ...option.aria },
      tooltip: option.tooltip && {
        confine: true,
        renderMode: "html",
        transitionDuration: 0,
        ...option.tooltip,
      },
    };
  }

  const observer =
    typeof IntersectionObserver === "undefined"
      ? null
      : new IntersectionObserver(
          (entries) => {
            for (const entry of entries) {
              entry.target.fabricast_near = entry.isIntersecting;
              if (entry.isIntersecting) entry.target.fabricast_draw?.();
            }
          },
          { rootMargin: "400px 0px" },
        );
  const resizer =
    typeof ResizeObserver === "undefined"
      ? null
      : new ResizeObserver((entries) => {
          for (const entry of entries) entry.target.fabricast_resize?.();
        });

  const marks = {
    ok: { sign: "✓", word: "holds" },
    part: { sign: "◐", word: "in part" },
    bad: { sign: "✗", word: "does not hold" },
    none: { sign: "–", word: "not simulated" },
    error: { sign: "✗", word: "error" },
    warning: { sign: "!", word: "warning" },
    note: { sign: "i", word: "note" },
    rank: { sign: "", word: "" },
  };

  function mark(kind, word) {
    const known = marks[kind] ?? marks.none;
    return el(
      "span",
      { class: `mark mark-${kind in marks ? kind : "none"}` },
      known.sign ? el("span", { "aria-hidden": "true" }, `${known.sign} `) : null,
      word ?? known.word,
    );
  }
  fabricast.mark = mark;

  // spec.list: [{mark, word?, text, details: [..]}]
  function draw_list(list) {
    return el(
      "ul",
      { class: "marks" },
      list.map((item) =>
        el(
          "li",
          {},
          mark(item.mark, item.word),
          el(
            "div",
            {},
            el("div", {}, item.text),
            (item.details ?? []).filter(Boolean).map((d) => el("div", { class: "quiet" }, d)),
          ),
        ),
      ),
    );
  }

  // spec.grid: {corner, columns: [text], rows: [{head, note?, cells: [{mark, word?, text?}]}]}
  function draw_grid(grid, title) {
    return el(
      "div",
      { class: "scroll", tabindex: "0", role: "group", "aria-label": title },
      el(
        "table",
        { class: "grid" },
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            el("th", { scope: "col" }, grid.corner),
            grid.columns.map((c) => el("th", { scope: "col" }, c)),
          ),
        ),
        el(
          "tbody",
          {},
          grid.rows.map((row) => [
            row.group
              ? el(
                  "tr",
                  {},
                  el("th", { class: "group", colspan: grid.columns.length + 1 }, row.group),
                )
              : null,
            el(
              "tr",
              {},
              el(
                "th",
                { scope: "row" },
                row.head,
                row.note ? el("div", { class: "quiet" }, row.note) : null,
              ),
              row.cells.map((cell) =>
                el(
                  "td",
                  {},
                  cell ? mark(cell.mark, cell.word) : format.NONE,
                  cell?.text ? el("span", { class: "quiet" }, ` ${cell.text}`) : null,
                ),
              ),
            ),
          ]),
        ),
      ),
    );
  }

  fabricast.figure = (first_spec) => {
    let spec = first_spec;
    let chosen = [];
    let seen = { key: null, view: null };
    let chart = null;
    let renderer = "";
    let dirty = true;

    const root = el("figure", { class: "figure" });
    const caption = el("figcaption");
    const tools = el("div", { class: "figure-tools" });
    const hint = el("p", { class: "hint" });
    const stage = el("div", { class: "chart", role: "img" });
    const html = el("div", { class: "drawn" });
    const folded = el("div", { class: "figure-table" });
    const head = el("div", { class: "figure-head" }, caption, tools);

    // Choices of what is shown: spec.picks [{label, names, first?}] with spec.view(indices), or one
    // choice among spec.variants.
    const picks = () =>
      spec.picks ??
      (spec.variants?.length > 1
        ? [{ label: spec.variants_label ?? "Shown", names: spec.variants.map((v) => v.name) }]
        : []);
    const indices = () =>
      picks().map((pick, i) => Math.min(chosen[i] ?? pick.first ?? 0, pick.names.length - 1));
    function current() {
      const at = indices();
      if (!spec.view) return spec.variants?.[at[0] ?? 0] ?? spec;
      const key = at.join();
      if (seen.key !== key) seen = { key, view: spec.view(at) };
      return seen.view;
    }
    // Paper is short: two charts have to fit on a page.
    const height = () => {
      const wanted = current().height ?? spec.height ?? 380;
      return fabricast.is_printing() && wanted > 340 && wanted < 440 ? 340 : wanted;
    };

    // spec.least_width: pixels of a page below which the numbers say more than the drawing.
    const is_narrow = () =>
      !fabricast.is_printing() &&
      globalThis.innerWidth < (current().least_width ?? spec.least_width ?? 0);

    function close() {
      chart?.dispatchAction({ type: "hideTip" });
      chart?.dispose();
      chart = null;
    }

    function draw(animated) {
      const view = current();
      if (!view.option || stage.hidden || typeof echarts === "undefined") return;
      dirty = false;
      const theme = fabricast.theme();
      // Labels take their share of what there is.
      fabricast.stage_width = fabricast.is_printing() ? PRINT_WIDTH : stage.clientWidth;
      const option = typeof view.option === "function" ? view.option(theme) : view.option;
      const wanted = points(option) > MANY_POINTS ? "canvas" : "svg";
      const theme_name = theme.name;
      if (chart && (renderer !== wanted || stage.dataset.theme !== theme_name)) close();
      if (!chart) {
        renderer = wanted;
        stage.dataset.theme = theme_name;
        stage.replaceChildren();
        chart = echarts.init(stage, fabricast.echarts_theme(theme), {
          renderer,
          width: fabricast.is_printing() ? PRINT_WIDTH : stage.clientWidth || undefined,
          height: height(),
        });
      }
      const calm = globalThis.matchMedia?.("(prefers-reduced-motion: reduce)").matches;
      // A tooltip that is due would look for what is no longer there.
      chart.dispatchAction({ type: "hideTip" });
      chart.setOption(complete(option, theme, Boolean(animated) && !calm), { notMerge: !animated });
    }

    function save() {
      if (!chart) draw();
      const url = chart.getDataURL({
        type: renderer === "svg" ? "svg" : "png",
        pixelRatio: 2,
        backgroundColor: fabricast.theme().background,
      });
      el("a", { href: url, download: `${spec.id}.${renderer === "svg" ? "svg" : "png"}` }).click();
    }

    function fill_text() {
      const view = current();
      const charted = Boolean(view.option);
      caption.textContent = view.title ?? spec.title;
      hint.textContent = view.hint ?? spec.hint ?? "";
      hint.hidden = !hint.textContent;
      const narrow = is_narrow();
      stage.hidden = !charted || narrow;
      stage.style.height = charted ? `${height()}px` : "";
      stage.setAttribute("aria-label", view.alt ?? spec.alt ?? spec.title);
      html.replaceChildren();
      if (view.list) html.append(draw_list(view.list));
      if (view.grid) html.append(draw_grid(view.grid, spec.title));
      html.hidden = html.children.length === 0;
      const table = view.table ?? spec.table;
      const was_open = folded.querySelector("details")?.open;
      folded.replaceChildren();
      if (table) {
        const details = fabricast.folded_table(
          { ...table, name: table.name || spec.title },
          `The numbers: ${format.count(table.rows.length, "row")}`,
        );
        folded.append(details);
        if (was_open || narrow) details.open = true;
      }
    }

    function fill_tools() {
      tools.replaceChildren();
      picks().forEach((pick, i) => {
        if (pick.names.length < 2) return;
        const select = el(
          "select",
          { "aria-label": `${spec.title}: ${pick.label}` },
          pick.names.map((name, k) => el("option", { value: k }, name)),
        );
        select.value = String(indices()[i]);
        select.addEventListener("change", () => {
          chosen = indices();
          chosen[i] = Number(select.value);
          fill_text();
          if (chart) chart.resize({ height: height() });
          draw();
        });
        tools.append(el("label", { class: "quiet" }, `${pick.label} `, select));
      });
      if (current().option) {
        tools.append(
          el(
            "button",
            { type: "button", class: "small quiet-button", onclick: save },
            "Save picture",
          ),
        );
      }
    }

    root.id = spec.id ?? "";
    root.append(head, hint, stage, html, folded);
    fill_tools();
    fill_text();

    stage.fabricast_draw = () => {
      if (dirty || !chart) draw();
    };
    root.refit = () => {
      if (is_narrow() !== (stage.hidden && Boolean(current().option))) fill_text();
    };
    stage.fabricast_resize = () => {
      if (chart && !fabricast.is_printing() && stage.clientWidth) {
        chart.resize({ width: stage.clientWidth, height: height() });
      }
    };
    root.redraw = (all) => {
      dirty = true;
      if (chart || all || stage.fabricast_near) draw();
    };
    root.print_size = (on) => {
      stage.style.height = current().option ? `${height()}px` : "";
      if (chart) chart.resize({ width: on ? PRINT_WIDTH : stage.clientWidth, height: height() });
    };
    root.update = (next) => {
      const names = picks().map((pick, i) => pick.names[indices()[i]]);
      spec = next;
      seen = { key: null, view: null };
      chosen = picks().map((pick, i) => {
        const same = pick.names.indexOf(names[i]);
        return same >= 0 ? same : (pick.first ?? 0);
      });
      fill_tools();
      fill_text();
      dirty = true;
      if (chart) {
        chart.resize({ height: height() });
        draw(true);
      } else if (stage.fabricast_near || !observer) draw();
    };
    root.dispose = () => {
      observer?.unobserve(stage);
      resizer?.unobserve(stage);
      close();
      alive.delete(root);
    };

    // The wheel scrolls the page; with Ctrl it is the chart's.
    for (const wheel of ["wheel", "mousewheel"]) {
      const keep = (event) => event.ctrlKey || event.stopPropagation();
      stage.addEventListener(wheel, keep, { capture: true, passive: true });
    }
    alive.add(root);
    observer?.observe(stage);
    resizer?.observe(stage);
    if (!observer) setTimeout(() => draw(), 0);
    return root;
  };

  function redraw_all(all) {
    for (const root of alive) {
      if (root.isConnected) root.redraw(all);
    }
  }
  fabricast.redraw_all = redraw_all;
  globalThis.addEventListener?.("resize", () => {
    for (const root of alive) root.refit();
  });
  fabricast.on_theme?.(() => redraw_all(false));

  // Paper is white and shows every chart.
  function print(on) {
    if (fabricast.is_printing() === on) return;
    fabricast.set_printing(on);
    for (const root of alive) {
      if (!root.isConnected) continue;
      root.redraw(on);
      root.print_size(on);
    }
  }
  globalThis.addEventListener?.("beforeprint", () => print(true));
  globalThis.addEventListener?.("afterprint", () => print(false));
  globalThis.matchMedia?.("print").addEventListener?.("change", (e) => print(e.matches));
})();
