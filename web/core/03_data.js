"use strict";
// Reading of a Report's tables. Every function accepts missing tables and columns.
globalThis.fabricast ??= {};
(() => {
  const find = (report, name) =>
    (Array.isArray(report?.tables) ? report.tables : []).find((t) => t?.name === name) ?? null;

  // Rows as objects; [] where the table or one of the needed columns is missing.
  function records(report, name, needs = []) {
    const table = find(report, name);
    if (!table || !Array.isArray(table.rows) || !Array.isArray(table.columns)) return [];
    const names = table.columns.map((c) => c.name);
    if (needs.some((n) => !names.includes(n))) return [];
    return table.rows.map((row) => {
      const record = {};
      for (let i = 0; i < names.length; i++) record[names[i]] = row[i];
      return record;
    });
  }

  // The columns that are parts of one whole, and what each part is called.
  function parts(report, name, unit) {
    const columns = find(report, name)?.columns ?? [];
    return columns.filter((c) => c.part && c.unit === unit).map((c) => [c.name, c.part]);
  }

  const finite = (x) => typeof x === "number" && Number.isFinite(x);

  function unique(values) {
    return [...new Set(values)];
  }

  function sorted_numbers(values) {
    return unique(values.filter(finite)).sort((a, b) => a - b);
  }

  // Map from key to the records of it, in the order of first appearance.
  function group(items, key) {
    const groups = new Map();
    for (const item of items) {
      const k = key(item);
      if (!groups.has(k)) groups.set(k, []);
      groups.get(k).push(item);
    }
    return groups;
  }

  // The table of a figure: {name, columns, rows} from records.
  function table_of(name, columns, items) {
    return {
      name,
      columns: columns.map(([n, type, unit]) => ({ name: n, type, ...(unit ? { unit } : {}) })),
      rows: items.map((item) => columns.map(([n]) => item[n] ?? null)),
    };
  }

  // A Report's own table, cut to some columns and rows.
  function cut(report, name, columns, keep) {
    const table = find(report, name);
    if (!table) return null;
    const chosen = columns
      ? columns.map((c) => table.columns.findIndex((k) => k.name === c)).filter((i) => i >= 0)
      : table.columns.map((_, i) => i);
    const names = table.columns.map((c) => c.name);
    const at = (row, n) => row[names.indexOf(n)];
    const rows = keep ? table.rows.filter((row) => keep((n) => at(row, n))) : table.rows;
    return {
      name,
      columns: chosen.map((i) => table.columns[i]),
      rows: rows.map((row) => chosen.map((i) => row[i])),
    };
  }

  function median(values) {
    const all = values.filter(finite).sort((a, b) => a - b);
    if (all.length === 0) return null;
    const middle = all.length >> 1;
    return all.length % 2 ? all[middle] : (all[middle - 1] + all[middle]) / 2;
  }

  function least(items, value) {
    let best = null;
    for (const item of items) {
      if (finite(value(item)) && (best === null || value(item) < value(best))) best = item;
    }
    return best;
  }

  fabricast.data = {
    find,
    records,
    parts,
    finite,
    unique,
    sorted_numbers,
    group,
    table_of,
    cut,
    median,
    least,
  };
})();
