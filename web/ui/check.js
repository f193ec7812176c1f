"use strict";
// Check: which rules of a file hold here?
globalThis.fabricast ??= {};
fabricast.views ??= {};
(() => {
  const pasted = "rules.yaml";
  const example = `kind: rules
name: my-rules
title: What I believe of my cluster
topology: dgx-h100
rules:
  - id: small-messages
    claim: all-reduce of 8 KiB on two nodes stays below 60 us
    ask: figure
    figure: time
    claimed: < 60 us
    nodes: 2
    sizes: 8B,8KiB
`;

  function create(catalogue, page) {
    const as_file = { value: "", label: "as the file says" };
    const f = fabricast.machine_fields(catalogue, {
      topology: { initial: "" },
      nodes: { kind: "text", initial: "", placeholder: "as the file says" },
      nccl: {
        always: false,
        options: [as_file, ...catalogue.releases.map((one) => ({ value: one, label: one }))],
        initial: "",
      },
    });
    f.topology.options = [as_file, ...f.topology.options];
    let file = pasted;
    const view = fabricast.runner(page, {
      view: "check",
      study: "check",
      label: "Check the rules",
      groups: [
        {
          title: "Rules",
          fields: [
            {
              name: "rules",
              label: "Rules, YAML",
              file_label: "Open a file of rules…",
              file_name: () => file,
              kind: "area",
              file: "rules",
              local: true,
              also: ["input"],
              initial: example,
              rows: 18,
              hint: "Drop a file of rules on the page, open it, or write them here.",
            },
          ],
        },
        {
          title: "In place of the file’s",
          fields: [f.topology, f.nodes, f.nics, f.gpus, f.fabric, f.sharp, f.gpu, f.nccl, f.env],
        },
      ],
      changed: (event, form) => {
        if (event?.target === form.fields.get("rules").main) file = pasted;
      },
      body: (fields, form) => {
        const body = form.body(fields);
        const text = form.fields.get("rules").get();
        return { input: file, ...body, files: { ...body.files, [file]: text } };
      },
      keep_text: (form) => {
        const text = form.fields.get("rules").get();
        if (text.length > 4000) fabricast.files.add(file, { text, role: "rules" });
      },
      lost: (form) => (form.fields.get("rules").get().length > 4000 ? [file] : []),
      shown: (form, asked) => {
        const name = asked.f?.[0];
        if (name && fabricast.files.has(name)) {
          file = name;
          form.fields.get("rules").set(fabricast.files.get(name).text);
        }
      },
    });
    view.take = (name) => {
      file = name;
      view.form.fields.get("rules").set(fabricast.files.get(name).text);
      page.write(view.question());
      view.run();
    };
    return view;
  }

  fabricast.views.check = { title: "Check", create };
})();
