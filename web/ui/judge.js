"use strict";
// Judge: is somebody's nccl-tests output as it should be?
globalThis.fabricast ??= {};
fabricast.views ??= {};
(() => {
  const pasted = "pasted.log";

  function create(catalogue, page) {
    const f = fabricast.machine_fields(catalogue, {
      nodes: { kind: "text", initial: "", placeholder: "as the log says" },
      collective: {
        options: [
          { value: "", label: "as the log says" },
          ...catalogue.collectives.map((one) => ({ value: one, label: one })),
        ],
        initial: "",
      },
    });
    let file = pasted;
    const view = fabricast.runner(page, {
      view: "judge",
      study: "judge",
      label: "Judge",
      groups: [
        {
          title: "Measured",
          fields: [
            {
              name: "log",
              label: "Output of nccl-tests",
              file_label: "Open a log…",
              file_name: () => file,
              kind: "area",
              file: "log",
              local: true,
              also: ["input"],
              in_link: 0,
              keep: true,
              hint: "Drop the log on the page, open it, or paste it here, all of its lines.",
            },
            f.collective,
          ],
        },
        {
          title: "Machine",
          fields: [f.topology, f.nodes, f.nics, f.gpus, f.fabric, f.sharp, f.gpu],
        },
        { title: "NCCL", fields: [f.nccl, f.env] },
      ],
      changed: (event, form) => {
        if (event?.target === form.fields.get("log").main) file = pasted;
      },
      body: (fields, form) => {
        const body = form.body(fields);
        const text = form.fields.get("log").get();
        return { input: file, ...body, files: { ...body.files, [file]: text } };
      },
      keep_text: (form) => {
        const text = form.fields.get("log").get();
        if (text !== "") fabricast.files.add(file, { text, role: "log" });
      },
      lost: (form) => (form.fields.get("log").get() === "" ? [] : [file]),
      shown: (form, asked) => {
        const name = asked.f?.[0];
        if (name && fabricast.files.has(name)) {
          file = name;
          form.fields.get("log").set(fabricast.files.get(name).text);
        }
      },
    });
    view.take = (name) => {
      file = name;
      view.form.fields.get("log").set(fabricast.files.get(name).text);
      page.write(view.question());
      view.run();
    };
    return view;
  }

  fabricast.views.judge = { title: "Judge", create };
})();
