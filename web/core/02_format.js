"use strict";
// Numbers and sizes for people.
globalThis.fabricast ??= {};
(() => {
  const NONE = "–";

  function trim(text) {
    return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
  }

  // Four significant digits, no exponent between 0.0001 and 10^15.
  function plain(value) {
    if (value === 0) return "0";
    const size = Math.abs(value);
    if (size < 1e-4 || size >= 1e15) return value.toExponential(2);
    const text = size >= 1000 ? String(Math.round(value)) : trim(value.toPrecision(4));
    const [whole, part] = text.split(".");
    const digits = whole.replace("-", "").length;
    const grouped = digits > 4 ? whole.replace(/\B(?=(\d{3})+$)/g, "\u202f") : whole;
    return part === undefined ? grouped : `${grouped}.${part}`;
  }

  function is_none(value) {
    return (
      value === null || value === undefined || (typeof value === "number" && Number.isNaN(value))
    );
  }

  function number(value, unit) {
    if (is_none(value)) return NONE;
    if (typeof value !== "number") return String(value);
    if (!Number.isFinite(value)) return value > 0 ? "∞" : "-∞";
    return unit ? `${plain(value)} ${unit}` : plain(value);
  }

  const binary = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
  function bytes(value) {
    if (is_none(value)) return NONE;
    if (typeof value !== "number" || !Number.isFinite(value)) return String(value);
    let scaled = Math.abs(value);
    let unit = 0;
    while (scaled >= 1024 && unit < binary.length - 1) {
      scaled /= 1024;
      unit += 1;
    }
    return `${value < 0 ? "-" : ""}${plain(scaled)} ${binary[unit]}`;
  }

  function time_us(value) {
    if (is_none(value)) return NONE;
    const size = Math.abs(value);
    if (size === 0) return "0";
    if (size < 0.1) return `${plain(value * 1000)} ns`;
    if (size < 1000) return `${plain(value)} us`;
    if (size < 1e6) return `${plain(value / 1000)} ms`;
    return `${plain(value / 1e6)} s`;
  }

  function time_s(value) {
    return is_none(value) ? NONE : time_us(value * 1e6);
  }

  // 0.0312 is "3.12 %"; with sign, "+3.12 %".
  function percent(value, signed) {
    if (is_none(value)) return NONE;
    const hundred = value * 100;
    const size = Math.abs(hundred);
    const text =
      size >= 100 ? plain(Math.round(hundred)) : trim(hundred.toPrecision(size < 1 ? 2 : 3));
    return `${signed && value > 0 ? "+" : ""}${size < 0.005 ? "0" : text} %`;
  }

  const byte_columns = /(^|_)bytes$/;

  function is_bytes(column) {
    return column.unit === "B" || byte_columns.test(column.name);
  }

  function cell(value, column) {
    if (is_none(value)) return NONE;
    if (typeof value === "boolean") return value ? "yes" : "no";
    if (typeof value === "number" && column) {
      if (is_bytes(column)) return bytes(value);
      // A line of a file or a rank is a name, not an amount.
      if (column.type === "integer") return number(value);
    }
    return number(value);
  }

  const unit_suffix = [
    [/_us$/, "us"],
    [/_GBps$/, "GB/s"],
    [/_bytes$/, ""],
    [/_s$/, "s"],
    [/_gb$/, "GB"],
  ];
  const plural_units = { B: "", us: "us", s: "s" };

  // "time_us" -> {text: "time", unit: "us"}; cells of bytes carry their unit.
  function header(column) {
    let text = column.name;
    let unit = column.unit ?? "";
    if (!/_per_/.test(text)) {
      for (const [suffix, its_unit] of unit_suffix) {
        if (suffix.test(text)) {
          text = text.replace(suffix, "");
          unit = unit || its_unit;
          break;
        }
      }
    }
    if (unit in plural_units) unit = plural_units[unit];
    return { text: text.replaceAll("_", " "), unit };
  }

  function list(words, last = "and") {
    const all = words.map(String);
    if (all.length < 2) return all.join("");
    return `${all.slice(0, -1).join(", ")} ${last} ${all[all.length - 1]}`;
  }

  function count(n, one, many) {
    return `${number(n)} ${n === 1 ? one : (many ?? `${one}s`)}`;
  }

  // Cut in the middle of a chart's label; the table has all of it.
  function short(text, most = 40) {
    const all = String(text ?? "").replace(/\s+/g, " ");
    return all.length <= most ? all : `${all.slice(0, most - 1)}…`;
  }

  fabricast.format = {
    number,
    bytes,
    time_us,
    time_s,
    percent,
    cell,
    header,
    is_bytes,
    list,
    count,
    short,
    NONE,
  };
})();
