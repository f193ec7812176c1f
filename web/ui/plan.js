"use strict";
// Plan: the best layouts of a model on a cluster.
globalThis.fabricast ??= {};
fabricast.views ??= {};
(() => {
  const own_file = "layout.yaml";
  const parallel_keys = ["tp", "cp", "pp", "vpp", "ep", "etp"];
  // Keys of a layout file that a row of the plan replaces.
  const replaced = [
    "parallel",
    "sharding",
    "shard_group",
    "micro_batch",
    "order",
    "recompute",
    "context_exchange",
    "topology",
    "nodes",
    "nccl",
    "schedule",
  ];

  // The text without these keys at its left edge, and what is indented under them.
  function without(text, keys) {
    const kept = [];
    let skipping = false;
    for (const line of text.split("\n")) {
      const key = /^([A-Za-z_]+)\s*:/.exec(line)?.[1];
      if (key !== undefined) skipping = keys.includes(key);
      else if (/^#/.test(line)) skipping = false;
      if (!skipping) kept.push(line);
    }
    return kept.join("\n").replace(/\n+$/, "");
  }

  // A layout file of one row of a plan, for `step`.
  function layout_of(text, row, more) {
    const lines = [
      `parallel: {${parallel_keys
        .filter((key) => row[key] > 1)
        .map((key) => `${key}: ${row[key]}`)
        .join(", ")}}`,
      `sharding: ${row.sharding}`,
      `micro_batch: ${row.micro_batch}`,
      // Some layers whole and the others not is what only auto finds.
      `recompute: ${more.recompute_full_share > 0 && more.recompute_full_share < 1 ? "auto" : row.recompute}`,
      `context_exchange: ${row.context_exchange}`,
      `topology: ${row.topology}`,
      `nodes: ${row.nodes}`,
    ];
    if (row.nccl) lines.push(`nccl: ${row.nccl}`);
    if (row.order && row.ep <= 1 && row.sharding !== "hsdp") lines.push(`order: ${row.order}`);
    if (more.shard_group > 0) lines.push(`shard_group: ${more.shard_group}`);
    if (more.schedule) lines.push(`schedule: ${more.schedule}`);
    return `${without(text, replaced)}\n${lines.join("\n")}\n`;
  }

  const words_of = (row, more) => `${more.layout ?? ""}, recompute ${row.recompute}`;

  function create(catalogue, page) {
    const { el } = fabricast;
    const layouts = catalogue.layouts ?? [];
    const first = layouts.find((one) => one.name === "llama-3-70b") ??
      layouts[0] ?? { name: "", text: "" };
    let step_abort = null;

    const text_of = (form) => form.fields.get("layout").get();
    const example_of = (name) => layouts.find((one) => one.name === name)?.text ?? "";

    const needs_file = (form) =>
      text_of(form).length > 4000 && text_of(form) !== example_of(form.fields.get("example").get());

    function body(fields, form) {
      const sent = form.body(fields);
      return { input: own_file, ...sent, files: { ...sent.files, [own_file]: text_of(form) } };
    }

    const view = fabricast.runner(page, {
      view: "plan",
      study: "plan",
      label: "Find the best layouts",
      groups: [
        {
          title: "Training",
          fields: [
            {
              name: "example",
              label: "Begin with",
              kind: "choice",
              local: true,
              options: layouts.map((one) => ({ value: one.name, label: one.name })),
              initial: first.name,
            },
            {
              name: "layout",
              label: "Layout, YAML",
              file_label: "Open a layout file…",
              file_name: () => own_file,
              kind: "area",
              file: "layout",
              local: true,
              also: ["input"],
              rows: 16,
              initial: first.text,
              hint: "Model, cluster, batch. Its parallelism, micro-batch and sharding are open.",
            },
          ],
        },
        {
          title: "Constraints",
          fields: [
            {
              name: "within",
              label: "Stay inside",
              list: true,
              placeholder: "tp=node",
              hint: "tp=node cp=rack: groups that do not leave a node or a rack",
            },
            {
              name: "fix",
              label: "Only with",
              list: true,
              placeholder: "tp=4 pp=1",
              hint: "tp, cp, pp, vpp, ep, etp, dp, micro_batch, sharding",
            },
            {
              name: "vary",
              label: "Also vary",
              list: true,
              placeholder: "nodes=8,16",
              hint: "topology, fabric, nodes, nics, oversubscription, bucket or an NCCL variable",
            },
            { name: "headroom", label: "Free memory", initial: "8%" },
            { name: "keep", label: "Layouts to rank", initial: "10", numeric: true, integer: true },
          ],
        },
      ],
      changed: (event, form) => {
        const example = form.fields.get("example");
        if (event?.target === example.main)
          form.fields.get("layout").set(example_of(example.get()));
      },
      body,
      // An example that was not edited needs no text in the link.
      tidy: (q) => {
        if (q.layout === example_of(q.example ?? first.name)) q.layout = undefined;
      },
      keep_text: (form) => {
        if (needs_file(form))
          fabricast.files.add(own_file, { text: text_of(form), role: "layout" });
      },
      lost: (form) => (needs_file(form) ? [own_file] : []),
      shown: (form, asked) => {
        const file = asked.f?.[0];
        if (asked.q.layout !== undefined) return;
        if (file && fabricast.files.has(file))
          form.fields.get("layout").set(fabricast.files.get(file).text);
        else form.fields.get("layout").set(example_of(form.fields.get("example").get()));
      },
      draw: (container, part) => draw(container, part),
    });

    function draw(container, part) {
      const { records } = fabricast.data;
      const rows = records(part.report, "rows", ["place", "step_s"]).filter(
        (row) => row.step_s > 0,
      );
      const layouts_by = new Map(
        records(part.report, "layouts").map((row) => [String(row.variation), row]),
      );
      const step = el("section", { class: "point", "aria-label": "One layout" });
      const text = text_of(view.form);

      const table = el("table", { class: "plan-rows" });
      table.append(
        el("caption", {}, "The best layouts"),
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            ...["place", "layout", "step", "tokens/s", "MFU", "memory", ""].map((name) =>
              el(
                "th",
                { scope: "col" },
                name === "" ? el("span", { class: "unseen" }, "look") : name,
              ),
            ),
          ),
        ),
      );
      const lines = el("tbody", {});
      for (const row of rows) {
        const name = row.variation ? `${row.variation} ${row.place}` : String(row.place);
        const more = layouts_by.get(name) ?? {};
        const look = el("button", { type: "button" }, "Look");
        look.setAttribute("aria-label", `Look at place ${row.place}: ${words_of(row, more)}`);
        const varied = row.variation ? ` (${row.variation})` : "";
        const line = el(
          "tr",
          {},
          el("td", { class: "number" }, row.equal_to_best ? `${row.place} =` : String(row.place)),
          el("td", {}, words_of(row, more) + varied),
          el("td", { class: "number" }, fabricast.format.time_s(row.step_s)),
          el("td", { class: "number" }, fabricast.format.number(row.tokens_per_s)),
          el("td", { class: "number" }, fabricast.format.percent(row.mfu)),
          el("td", { class: "number" }, fabricast.format.number(row.memory_bytes / 1e9, "GB")),
          el("td", {}, look),
        );
        const open = () => {
          for (const other of lines.children) other.removeAttribute("aria-current");
          line.setAttribute("aria-current", "true");
          look_at(row, more, text, step);
        };
        line.addEventListener("click", open);
        lines.append(line);
      }
      table.append(lines);
      const box = el("div", { class: "scroll" }, table);
      container.append(box);
      if (rows.length > 0) {
        container.append(
          el("p", { class: "hint" }, "=: as fast as the best, as far as the simulation can tell."),
        );
        container.append(step);
      }
      const rest = el("div", {});
      container.append(rest);
      fabricast.draw_part(rest, part);
    }

    // One layout of the table as a step of its own; its parts where that cannot be asked.
    async function look_at(row, more, text, box) {
      step_abort?.abort();
      for (const figure of box.querySelectorAll("figure")) figure.dispose?.();
      const abort = new AbortController();
      step_abort = abort;
      box.replaceChildren(el("p", { class: "busy" }, `Simulating place ${row.place}…`));
      const input = `place-${row.place}.yaml`;
      const body = { input, files: { [input]: layout_of(text, row, more) } };
      if (row.variation) body.vary = row.variation.split(", ");
      try {
        const part = await fabricast.api.ask("step", body, { signal: abort.signal });
        if (abort.signal.aborted) return;
        box.replaceChildren();
        fabricast.draw_part(box, part);
        const [step] = fabricast.data.records(part.report, "rows");
        if (step && Math.abs(step.step_s / row.step_s - 1) > 0.001) {
          box.append(
            el(
              "p",
              { class: "hint" },
              `The plan had ${fabricast.format.time_s(row.step_s)}: the file cannot say all that the plan chose.`,
            ),
          );
        }
        const details = el("details", {}, el("summary", {}, `The layout file, ${input}`));
        details.append(el("pre", {}, body.files[input]));
        box.append(details);
      } catch (error) {
        if (error.name === "AbortError") return;
        box.replaceChildren(
          el("h2", {}, `Place ${row.place}: ${words_of(row, more)}`),
          el("p", { class: "hint" }, `Not simulated again: ${error.message}`),
        );
        const list = el("dl", { class: "shares" });
        for (const [name, value] of Object.entries(row)) {
          if (!/_s$/.test(name) || !(value > 0) || /per_s|^step|^lower|^upper/.test(name)) continue;
          list.append(
            el("dt", {}, name.replace(/_s$/, "").replace(/_/g, " ")),
            el("dd", {}, fabricast.format.time_s(value)),
          );
        }
        box.append(list);
      }
    }

    view.take = (name) => {
      view.form.fields.get("layout").set(fabricast.files.get(name).text);
      page.write(view.question());
    };
    const stop = view.stop;
    view.stop = () => {
      stop();
      step_abort?.abort();
    };
    return view;
  }

  fabricast.views.plan = { title: "Plan", create };
  fabricast.layout_of = layout_of;
})();
