"use strict";
// Tables: sortable, 50 rows first, copied as CSV with full precision.
globalThis.fabricast ??= {};
(() => {
  const { el, format } = fabricast;
  const FIRST = 50;
  const CHUNK = 2000;

  function csv_cell(value) {
    if (value === null || value === undefined) return "";
    // A flag as the command line writes it.
    const text = typeof value === "boolean" ? String(Number(value)) : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }

  fabricast.csv = (table) =>
    [table.columns.map((c) => c.name), ...table.rows]
      .map((row) => `${row.map(csv_cell).join(",")}\n`)
      .join("");

  function compare(a, b) {
    const no_a = a === null || a === undefined;
    const no_b = b === null || b === undefined;
    if (no_a || no_b) return no_a === no_b ? 0 : no_a ? 1 : -1;
    if (typeof a === "number" && typeof b === "number") return a - b;
    return String(a).localeCompare(String(b), "en", { numeric: true });
  }

  fabricast.table = (table, options = {}) => {
    const columns = table?.columns ?? [];
    let rows = table?.rows ?? [];
    const limit = options.limit ?? FIRST;
    let shown = Math.min(limit, rows.length);
    let sorted_by = -1;
    let descending = false;
    const caption = options.caption ?? String(table?.name ?? "").replaceAll("_", " ");
    // Words left, numbers right; a column is of numbers by its type.
    const numeric = columns.map((c) => c.type === "number" || c.type === "integer");

    const body = el("tbody");
    const heads = columns.map((column, i) => {
      const { text, unit } = format.header(column);
      const button = el(
        "button",
        { type: "button", title: column.name, onclick: () => sort(i) },
        text,
        unit ? el("span", { class: "unit" }, ` ${unit}`) : null,
        el("span", { class: "arrow", "aria-hidden": "true" }),
      );
      return el("th", { scope: "col", class: numeric[i] ? "number" : null }, button);
    });
    const more = el("p", { class: "more" });

    function line(row) {
      const tr = document.createElement("tr");
      for (let i = 0; i < columns.length; i++) {
        const td = document.createElement("td");
        const value = row[i];
        if (numeric[i]) td.className = "number";
        else if (typeof value === "string" && value.length > 60) td.className = "long";
        td.textContent = format.cell(value, columns[i]);
        tr.append(td);
      }
      return tr;
    }

    function fill(from, to) {
      const fragment = document.createDocumentFragment();
      for (let i = from; i < to; i++) fragment.append(line(rows[i]));
      body.append(fragment);
    }

    function draw_more() {
      more.replaceChildren();
      if (shown >= rows.length) return;
      const next = el(
        "button",
        { type: "button", class: "small", onclick: () => show_all() },
        `show all ${format.number(rows.length)}`,
      );
      more.append(`${format.number(shown)} of ${format.number(rows.length)} rows. `, next);
    }

    // Large tables are filled in pieces, so that the page stays alive.
    function show_all() {
      const step = () => {
        const to = Math.min(rows.length, shown + CHUNK);
        fill(shown, to);
        shown = to;
        draw_more();
        if (shown < rows.length) setTimeout(step, 0);
      };
      step();
    }

    function sort(i) {
      if (sorted_by === i && descending) {
        sorted_by = -1;
        rows = table.rows;
      } else {
        descending = sorted_by === i;
        sorted_by = i;
        const sign = descending ? -1 : 1;
        rows = [...table.rows].sort((a, b) => sign * compare(a[i], b[i]));
      }
      heads.forEach((th, k) => {
        if (k === sorted_by) th.setAttribute("aria-sort", descending ? "descending" : "ascending");
        else th.removeAttribute("aria-sort");
      });
      body.replaceChildren();
      fill(0, shown);
    }

    fill(0, shown);
    draw_more();
    return el(
      "div",
      { class: "table" },
      el(
        "div",
        { class: "scroll", tabindex: "0", role: "group", "aria-label": `Table: ${caption}` },
        el("table", {}, el("caption", {}, caption), el("thead", {}, el("tr", {}, heads)), body),
      ),
      el(
        "div",
        { class: "table-foot" },
        more,
        rows.length ? fabricast.copy_button("copy as CSV", () => fabricast.csv(table)) : null,
      ),
    );
  };

  // A table in a <details>, made when it is opened first.
  fabricast.folded_table = (table, label) => {
    const details = el(
      "details",
      { class: "folded" },
      el("summary", {}, label ?? `Table: ${format.count(table.rows.length, "row")}`),
    );
    details.addEventListener("toggle", () => {
      if (details.open && details.children.length === 1) details.append(fabricast.table(table));
    });
    return details;
  };
})();
