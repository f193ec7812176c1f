"use strict";
// Start of a report page: reads the data of the page and draws its parts.
(() => {
  const { el } = fabricast;
  const main = document.getElementById("fabricast-report");
  const source = document.getElementById("fabricast-data");
  let page;
  try {
    page = JSON.parse(source.textContent);
  } catch (error) {
    main.append(
      el("p", { role: "alert" }, `The data of this page cannot be read: ${error.message}`),
    );
    return;
  }
  const parts = Array.isArray(page?.parts) ? page.parts : [];
  if (parts.length > 1) {
    main.append(
      el(
        "nav",
        { class: "contents", "aria-label": "Contents" },
        el("h2", {}, "Contents"),
        el(
          "ol",
          {},
          parts.map((part, i) =>
            el(
              "li",
              {},
              el("a", { href: `#part-${i + 1}` }, fabricast.question(part?.report ?? {})),
              part?.report?.answer ? el("div", { class: "quiet" }, part.report.answer) : null,
            ),
          ),
        ),
      ),
    );
  }
  parts.forEach((part, i) => {
    fabricast.draw_part(main, part, {
      id: `part-${i + 1}`,
      number: parts.length > 1 ? i + 1 : null,
    });
  });
  if (parts.length === 0) main.append(el("p", {}, "This report has no parts."));
})();
