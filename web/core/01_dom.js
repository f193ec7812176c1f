"use strict";
// Building of elements. Text only ever becomes text nodes.
globalThis.fabricast ??= {};
(() => {
  const svg_tags = new Set(["svg", "path", "rect", "line", "g"]);

  function append(element, children) {
    for (const child of children) {
      if (child === null || child === undefined || child === false) continue;
      if (Array.isArray(child)) append(element, child);
      else element.append(child instanceof Node ? child : String(child));
    }
  }

  // Functions become listeners ("onclick"), booleans attributes without a value.
  fabricast.el = (tag, attributes, ...children) => {
    const element = svg_tags.has(tag)
      ? document.createElementNS("http://www.w3.org/2000/svg", tag)
      : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes ?? {})) {
      if (value === null || value === undefined || value === false) continue;
      if (typeof value === "function") element.addEventListener(name.replace(/^on/, ""), value);
      else element.setAttribute(name, value === true ? "" : String(value));
    }
    append(element, children);
    return element;
  };

  const escapes = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
  fabricast.escape = (text) => String(text ?? "").replace(/[&<>"']/g, (c) => escapes[c]);

  // HTML of a tooltip: a heading and lines, all of it escaped.
  fabricast.tip = (heading, lines) => {
    const parts = [`<strong>${fabricast.escape(heading)}</strong>`];
    for (const line of lines ?? []) if (line) parts.push(fabricast.escape(line));
    return `<div class="tip">${parts.join("<br>")}</div>`;
  };

  fabricast.copy_button = (label, text) => {
    const { el } = fabricast;
    const said = el("span", { class: "quiet", role: "status" });
    const button = el("button", { type: "button", class: "small" }, label);
    button.addEventListener("click", async () => {
      const value = typeof text === "function" ? text() : text;
      let done = false;
      try {
        await navigator.clipboard.writeText(value);
        done = true;
      } catch {
        // Pages opened from a file may have no clipboard: select and copy.
        const area = el("textarea", { class: "offscreen", "aria-hidden": "true" });
        area.value = value;
        document.body.append(area);
        area.select();
        done = document.execCommand("copy");
        area.remove();
        button.focus();
      }
      said.textContent = done ? " copied" : " the browser refused to copy";
      setTimeout(() => {
        said.textContent = "";
      }, 3000);
    });
    return el("span", { class: "copy" }, button, said);
  };
})();
