"use strict";
// One answer of Fabricast as a section: question, answer, figures, assumptions, tables, inputs.
globalThis.fabricast ??= {};
fabricast.figures ??= {};
(() => {
  const { el, format, data } = fabricast;

  // Which figures a Report gets; scenarios answer as the study they run.
  function kind_of(report) {
    const study = String(report?.study ?? "");
    if (data.find(report, "expectations") || report?.job?.cases) return "run";
    return study.replaceAll(/[^a-z0-9]+/gi, "_");
  }
  fabricast.kind_of = kind_of;

  const sites = (job) =>
    [job?.site, job?.before, ...Object.values(job?.setups ?? {})].filter(Boolean);

  function place(job) {
    const site = sites(job)[0];
    if (!site?.topology) return "";
    const nodes = (site.nodes ?? []).map(String);
    const count = nodes.length
      ? `${format.list(nodes.length > 6 ? [nodes[0], "…", nodes[nodes.length - 1]] : nodes)} ${nodes.join() === "1" ? "node" : "nodes"} of `
      : "";
    return `${count}${site.topology}`;
  }

  function collectives(report) {
    const ask = report.job?.ask ?? {};
    const all = ask.collectives ?? (ask.collective ? [ask.collective] : []);
    return all.length ? format.list(all) : "a collective";
  }

  function question_of_query(ask) {
    const label = (column) =>
      fabricast.quantities.quantity(column.replace(/:(most|least)$/, "")).label;
    const by = ask.group_by?.length ? ` of each ${format.list(ask.group_by.map(label))}` : "";
    const where = ask.where ? ` where ${ask.where}` : "";
    if (ask.best) return `Which point${by} has the best ${label(ask.best)}${where}?`;
    if (ask.pareto?.length)
      return `Which points does no other beat in ${format.list(ask.pareto.map(label))}${where}?`;
    return `What are the figures${by || " of each point"}${where}?`;
  }

  const questions = {
    bench: (r) => `How long does ${collectives(r)} take on ${place(r.job)}?`,
    decide: (r) => `What does NCCL take for ${collectives(r)} on ${place(r.job)}?`,
    releases: () => "Which NCCL releases are known, and whose rules do they follow?",
    upgrade: (r) => `What changes from NCCL ${r.job?.ask?.from} to ${r.job?.ask?.to}?`,
    cutover: (r) =>
      `From which size on is another algorithm faster for ${collectives(r)} on ${place(r.job)}?`,
    whatif: (r) =>
      r.job?.setups
        ? `Which of ${Object.keys(r.job.setups).length} setups is fastest on ${place(r.job)}?`
        : `What is each change worth on ${place(r.job)}?`,
    advise: (r) => `Which NCCL settings help ${r.job?.ask?.goal ?? "the job"} on ${place(r.job)}?`,
    step: (r) => `How long does a training step take: ${r.job?.ask?.title ?? place(r.job)}?`,
    plan: (r) => `Which layout trains fastest: ${r.job?.ask?.title ?? place(r.job)}?`,
    calls: (r) => `Which collectives does a training step issue on ${place(r.job)}?`,
    serve: (r) => `How long does a request take: ${r.job?.ask?.title ?? place(r.job)}?`,
    run: (r) => r.job?.ask?.question ?? `What does the scenario ${r.job?.ask?.name ?? ""} say?`,
    check: (r) => `Do the rules of ${r.job?.ask?.name ?? r.job?.ask?.file ?? "the file"} hold?`,
    judge: (r) => `Is the measured bandwidth of ${r.job?.ask?.log ?? "the log"} what it should be?`,
    gate: (r) =>
      r.job?.ask?.logs
        ? "Does what was measured pass?"
        : "What does a healthy cluster reach, and which faults show below it?",
    memory: (r) => `What do NCCL's communicators take of memory on ${place(r.job)}?`,
    experts: (r) => `How long do dispatch and combine of experts take on ${place(r.job)}?`,
    calibrate: () => "Which parameters do measured runs tell, and how well?",
    judge_inspector: () => "Is what NCCL Inspector recorded what it should be?",
    concurrent: (r) => `What do jobs that run at the same time cost each other on ${place(r.job)}?`,
    placement: (r) => `What do the hosts of the job cost on ${place(r.job)}?`,
    calls_of_ranks: () => "Who waits for whom, and what of it is transfer?",
    hang: (r) =>
      r.facts?.hangs === false
        ? "Does the job hang?"
        : "Where does the job hang, and who waits for whom?",
    validate_nccl_tests: () => "How far are predictions from measured nccl-tests?",
    validate_steps: () => "How far are predicted training steps from measured ones?",
    validate_gate: () => "How often are floors wrong: healthy runs that fail, sick ones that pass?",
    validate_engines: () => "How far are all-reduces of inference engines from published times?",
    validate_registered: () => "How far are NCCL's symmetric kernels from measured times?",
    validate_kernels: () => "How far are kernels of GPUs from published times?",
    validate_experts: () => "How far are dispatch and combine of experts from measured ones?",
    validate_serving: () => "How far are served requests from published latencies and throughputs?",
    bill: (r) => `What is ${place(r.job)} made of, and what does it cost?`,
    query: (r) => question_of_query(r.job?.ask ?? {}),
    sweep: () => "How far are the sweeps?",
    compare: () => "Which machine is fastest, and what does each cost?",
    solve: (r) =>
      r.facts?.condition
        ? `From which value on: ${r.facts.condition}?`
        : `Which ${r.job?.ask?.key ?? "value"} is enough?`,
    lint: (r) => `What is wrong with these settings under NCCL ${r.job?.site?.nccl ?? ""}?`,
    machine: () => "What does the machine look like?",
    topo: () => "What does the machine look like?",
  };

  fabricast.question = (report) => {
    const kind = kind_of(report);
    // solve has the name of its file there.
    if (report?.job?.ask?.question && kind !== "solve") return String(report.job.ask.question);
    const known = questions[kind];
    return known ? known(report).trim() : `Answer of fabricast ${report.study}`;
  };

  // The job as nested definition lists, defaults left out where they say nothing.
  function is_empty(value) {
    return (
      value === null ||
      value === undefined ||
      value === "" ||
      value === false ||
      (Array.isArray(value) && value.length === 0) ||
      (typeof value === "object" && !Array.isArray(value) && Object.keys(value).length === 0)
    );
  }

  function said(key, value) {
    if (Array.isArray(value)) {
      if (value.every((v) => typeof v !== "object" || v === null)) {
        const bytes = /sizes?(_bytes)?$/.test(key);
        const words = value.map((v) =>
          bytes && typeof v === "number" ? format.bytes(v) : String(v),
        );
        return words.length > 12
          ? `${words.slice(0, 5).join(", ")} … ${words.slice(-3).join(", ")} (${words.length})`
          : words.join(", ");
      }
      return el(
        "ol",
        { class: "inputs" },
        value.map((v) => el("li", {}, said("", v))),
      );
    }
    if (typeof value === "object" && value !== null) return inputs(value);
    if (typeof value === "boolean") return value ? "yes" : "no";
    if (typeof value === "number" && /_bytes$/.test(key)) return format.bytes(value);
    return String(value);
  }

  // Names of environment variables stay as they are.
  const label_of = (key) => (/[A-Z]/.test(key) ? key : key.replaceAll("_", " "));

  function inputs(object) {
    const entries = Object.entries(object ?? {}).filter(([, v]) => !is_empty(v));
    const defaults = Object.entries(object ?? {}).filter(([, v]) => is_empty(v));
    return el(
      "dl",
      { class: "inputs" },
      entries.map(([key, value]) => [el("dt", {}, label_of(key)), el("dd", {}, said(key, value))]),
      defaults.length
        ? [
            el("dt", { class: "quiet" }, "not set"),
            el("dd", { class: "quiet" }, defaults.map(([k]) => label_of(k)).join(", ")),
          ]
        : null,
    );
  }
  fabricast.inputs = inputs;

  function draw_notes(notes) {
    if (!notes?.length) return null;
    return el(
      "section",
      { class: "notes" },
      el("h3", {}, "Assumptions and notes"),
      el(
        "ul",
        {},
        notes.map((n) =>
          el(
            "li",
            {},
            n.level && n.level !== "note" ? [el("strong", {}, `${n.level}: `)] : null,
            n.text,
          ),
        ),
      ),
    );
  }

  function draw_facts(facts) {
    const all = Object.entries(facts ?? {});
    if (all.length === 0) return null;
    return el(
      "details",
      { class: "folded" },
      el("summary", {}, `Facts: ${format.count(all.length, "figure")}`),
      inputs(facts),
    );
  }

  let parts_drawn = 0;

  fabricast.draw_part = (container, part, options = {}) => {
    const report = part?.report ?? {};
    parts_drawn += 1;
    const id = options.id ?? `part-${parts_drawn}`;
    const section = el("section", { class: "part", id });
    const add = (...children) => section.append(...children.filter(Boolean));

    const question = fabricast.question(report);
    add(
      el(options.heading ?? "h2", {}, options.number ? `${options.number}. ${question}` : question),
    );
    if (report.answer) add(el("p", { class: "answer" }, report.answer));

    const specs = [];
    const draw = fabricast.figures[kind_of(report)];
    try {
      specs.push(...(draw?.(part, { id }) ?? []));
    } catch (error) {
      // One bad table must not cost the page its tables.
      console.error(error);
    }
    const has_machine = specs.some((s) => s.machine);
    if (part?.machine && !has_machine) {
      try {
        specs.push(...fabricast.machine_figures(part.machine));
      } catch (error) {
        console.error(error);
      }
    }
    for (const spec of specs) add(fabricast.figure({ ...spec, id: `${id}-${spec.id}` }));

    add(draw_notes(report.notes));

    const tables = (report.tables ?? []).filter((t) => t?.columns && t?.rows);
    if (tables.length) {
      const holder = el("section", { class: "tables" }, el("h3", {}, "Tables"));
      tables.forEach((table, i) => {
        const name = String(table.name).replaceAll("_", " ");
        const label = `${name}: ${format.count(table.rows.length, "row")}`;
        if (i === 0 && specs.length === 0 && table.rows.length)
          holder.append(fabricast.table(table));
        else if (table.rows.length) holder.append(fabricast.folded_table(table, label));
      });
      const empty = tables
        .filter((t) => t.rows.length === 0)
        .map((t) => t.name.replaceAll("_", " "));
      if (empty.length) holder.append(el("p", { class: "quiet" }, `Empty: ${empty.join(", ")}.`));
      const facts = draw_facts(report.facts);
      if (facts) holder.append(facts);
      add(holder);
    }

    add(
      el(
        "section",
        { class: "job" },
        el("h3", {}, "Inputs"),
        inputs(report.job),
        el("h3", {}, "Versions"),
        el(
          "dl",
          { class: "inputs" },
          [
            ["program", report.program ? `fabricast ${report.program}` : null],
            ["data", report.data],
            ["seed", report.seed],
            ["digest of the simulation", report.digest],
            ["schema", report.schema_version],
          ]
            .filter(([, v]) => !is_empty(v))
            .map(([k, v]) => [el("dt", {}, k), el("dd", {}, String(v))]),
        ),
      ),
    );
    if (part?.command) {
      add(
        el(
          "section",
          { class: "repeat" },
          el("h3", {}, "Repeat this"),
          el("pre", { tabindex: "0" }, el("code", {}, part.command)),
          fabricast.copy_button("copy the command", part.command),
        ),
      );
    }
    container.append(section);
    return section;
  };
})();
