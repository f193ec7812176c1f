"use strict";
// Forms: fields that know the option they stand for, and show its errors beside themselves.
globalThis.fabricast ??= {};
(() => {
  let last_id = 0;
  const new_id = (stem) => `${stem}-${++last_id}`;

  function option_element(value, label) {
    const item = fabricast.el("option", { value }, label);
    return item;
  }

  function text_input(id, spec) {
    const input = fabricast.el("input", { id, type: "text", autocomplete: "off" });
    input.spellcheck = false;
    if (spec.numeric) input.inputMode = "numeric";
    if (spec.placeholder) input.placeholder = spec.placeholder;
    return input;
  }

  // Each kind of field gives {elements, main, get, set} and may add more.
  const kinds = {};

  kinds.text = (id, spec) => {
    const main = text_input(id, spec);
    return {
      elements: [main],
      main,
      get: () => main.value.trim(),
      set: (value) => {
        main.value = String(value);
      },
    };
  };

  kinds.check = (id) => {
    const main = fabricast.el("input", { id, type: "checkbox" });
    return {
      elements: [main],
      main,
      get: () => main.checked,
      set: (value) => {
        main.checked = value === true;
      },
    };
  };

  // A number of nodes: powers of two on a slider, any text that the option takes beside it.
  kinds.nodes = (id, spec) => {
    const main = text_input(id, { ...spec, numeric: true });
    main.size = 6;
    const slider = fabricast.el("input", {
      type: "range",
      min: "0",
      max: String(spec.powers ?? 7),
      step: "1",
      "aria-label": `${spec.label}, as powers of two`,
    });
    const follow = () => {
      const count = Number.parseInt(main.value, 10);
      if (count >= 1) slider.value = String(Math.round(Math.log2(count)));
      slider.setAttribute("aria-valuetext", `${2 ** Number(slider.value)} nodes`);
    };
    slider.addEventListener("input", () => {
      main.value = String(2 ** Number(slider.value));
      slider.setAttribute("aria-valuetext", `${main.value} nodes`);
    });
    main.addEventListener("input", follow);
    return {
      elements: [fabricast.el("div", { class: "field-row" }, slider, main)],
      main,
      get: () => main.value.trim(),
      set: (value) => {
        main.value = String(value);
        follow();
      },
    };
  };

  // A file button that is reached by keyboard; the page's drop area does the same.
  function file_button(label, take) {
    const id = new_id("file");
    const input = fabricast.el("input", { id, type: "file", class: "unseen" });
    input.addEventListener("change", (event) => {
      event.stopPropagation();
      const [file] = input.files;
      if (file) take(file);
      input.value = "";
    });
    input.addEventListener("input", (event) => event.stopPropagation());
    const face = fabricast.el("label", { for: id, class: "button file-button" }, label);
    return fabricast.el("span", { class: "file-pick" }, input, face);
  }

  // A list of names, and files that were dropped for the same purpose.
  kinds.choice = (id, spec) => {
    const main = fabricast.el("select", { id });
    let wanted = "";
    const fill = () => {
      main.replaceChildren();
      for (const { value, label } of spec.options) main.append(option_element(value, label));
      const own = spec.file ? fabricast.files.of(spec.file) : [];
      if (own.length > 0) {
        const group = fabricast.el("optgroup", { label: "Files" });
        for (const name of own) group.append(option_element(name, name));
        main.append(group);
      }
      if (![...main.options].some((item) => item.value === wanted)) {
        const label = looks_like_file(wanted) ? `${wanted} (not here)` : wanted;
        main.append(option_element(wanted, label));
      }
      main.value = wanted;
    };
    if (spec.file) {
      fabricast.files.on_add(() => {
        wanted = main.value;
        fill();
      });
    }
    const elements = [main];
    if (spec.file) {
      elements.push(
        file_button(spec.file_label ?? `File for ${spec.label.toLowerCase()}…`, (file) =>
          fabricast.take_file(file, { role: spec.file, field: spec.name }),
        ),
      );
    }
    return {
      elements,
      main,
      get: () => main.value,
      set: (value) => {
        wanted = String(value);
        fill();
      },
    };
  };

  function looks_like_file(name) {
    return /\.\w+$/.test(name) && !fabricast.files.has(name);
  }

  // A long text: typed, pasted, or out of a file.
  kinds.area = (id, spec) => {
    const main = fabricast.el("textarea", { id, rows: String(spec.rows ?? 12), wrap: "off" });
    main.spellcheck = false;
    if (spec.placeholder) main.placeholder = spec.placeholder;
    return {
      elements: [
        main,
        file_button(spec.file_label ?? `File for ${spec.label.toLowerCase()}…`, (file) =>
          fabricast.take_file(file, { role: spec.file, field: spec.name }),
        ),
      ],
      main,
      get: () => main.value,
      set: (value) => {
        main.value = String(value);
      },
    };
  };

  // Environment variables: a row each, with remarks of lint under it.
  kinds.env = (id, spec) => {
    const list = fabricast.el("div", { class: "env-rows" });
    const names_id = new_id("variables");
    const names = fabricast.el("datalist", { id: names_id });
    for (const variable of spec.variables)
      names.append(option_element(variable.name, variable.what));
    const more = fabricast.el("button", { id, type: "button" }, "Add a variable");
    const rows = [];
    let told = () => {};

    function add(text) {
      const at = text.indexOf("=");
      const row_id = new_id("env");
      const name = fabricast.el("input", {
        type: "text",
        list: names_id,
        "aria-label": "Variable",
        "aria-describedby": row_id,
        placeholder: "NCCL_…",
        autocomplete: "off",
      });
      const value = fabricast.el("input", {
        type: "text",
        "aria-label": "Value",
        "aria-describedby": row_id,
        placeholder: "value",
        autocomplete: "off",
      });
      name.value = at < 0 ? text : text.slice(0, at);
      value.value = at < 0 ? "" : text.slice(at + 1);
      name.spellcheck = false;
      value.spellcheck = false;
      const away = fabricast.el(
        "button",
        { type: "button", "aria-label": "Remove the variable" },
        "×",
      );
      const remarks = fabricast.el("ul", { id: row_id, class: "remarks" });
      const element = fabricast.el(
        "div",
        { class: "env-row" },
        name,
        fabricast.el("span", { "aria-hidden": "true" }, "="),
        value,
        away,
        remarks,
      );
      const row = { element, name, value, remarks };
      away.addEventListener("click", () => {
        rows.splice(rows.indexOf(row), 1);
        element.remove();
        more.focus();
        told();
      });
      rows.push(row);
      list.append(element);
      return row;
    }

    more.addEventListener("click", () => add("").name.focus());
    const whole = () =>
      rows.filter((row) => row.name.value.trim() !== "" && row.value.value !== "");
    return {
      elements: [names, list, more],
      main: more,
      get: () => whole().map((row) => `${row.name.value.trim()}=${row.value.value.trim()}`),
      set: (value) => {
        const wanted = Array.isArray(value) ? value : [];
        const field = kinds.env.same(whole(), wanted);
        if (field) return;
        rows.length = 0;
        list.replaceChildren();
        for (const text of wanted) add(String(text));
      },
      on_remove: (react) => {
        told = react;
      },
      // Remarks: [{row, severity, text}], row counted among the rows that have a value.
      remark: (remarks) => {
        for (const row of rows) row.remarks.replaceChildren();
        const shown = whole();
        for (const { row, severity, text } of remarks) {
          shown[row]?.remarks.append(
            fabricast.el("li", { class: `remark-${severity}` }, `${severity}: ${text}`),
          );
        }
      },
    };
  };
  kinds.env.same = (rows, wanted) =>
    rows.length === wanted.length &&
    rows.every((row, at) => `${row.name.value.trim()}=${row.value.value.trim()}` === wanted[at]);

  // A field of a form: label, control, hint, error.
  function field(spec) {
    const id = new_id(spec.name);
    const made = kinds[spec.kind ?? "text"](id, spec);
    const hint = spec.hint
      ? fabricast.el("p", { id: `${id}-hint`, class: "hint" }, spec.hint)
      : null;
    const error = fabricast.el("p", { id: `${id}-error`, class: "error" });
    error.hidden = true;
    const label = fabricast.el("label", { for: id }, spec.label);
    const describe = () => {
      const ids = [];
      if (hint) ids.push(hint.id);
      if (!error.hidden) ids.push(error.id);
      if (ids.length > 0) made.main.setAttribute("aria-describedby", ids.join(" "));
      else made.main.removeAttribute("aria-describedby");
    };
    const box = fabricast.el("div", { class: `field field-${spec.kind ?? "text"}` });
    box.dataset.option = spec.option ?? spec.name;
    if (spec.kind === "env") {
      // Its label names a group of inputs.
      box.setAttribute("role", "group");
      box.setAttribute("aria-label", spec.label);
      box.append(fabricast.el("div", { class: "label", "aria-hidden": "true" }, spec.label));
    } else if (spec.kind === "check") {
      box.append(...made.elements, label);
    } else {
      box.append(label);
    }
    if (spec.kind !== "check") box.append(...made.elements);
    if (hint) box.append(hint);
    box.append(error);
    describe();
    return {
      ...made,
      box,
      spec,
      fail: (message, more) => {
        error.replaceChildren(message);
        if (more) error.append(fabricast.el("span", { class: "error-hint" }, ` ${more}`));
        error.hidden = false;
        if (spec.kind !== "env") made.main.setAttribute("aria-invalid", "true");
        describe();
        const shut = box.closest("details:not([open])");
        if (shut) shut.open = true;
      },
      clear: () => {
        if (error.hidden) return;
        error.hidden = true;
        error.replaceChildren();
        made.main.removeAttribute("aria-invalid");
        describe();
      },
    };
  }

  const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

  // groups: [{title, fields: [spec], shut}]; told(event, draft) after each change of a field.
  function form(groups, told) {
    const fields = new Map();
    const element = fabricast.el("form", { class: "ui-form", novalidate: "" });
    element.addEventListener("submit", (event) => event.preventDefault());
    for (const group of groups) {
      let box;
      if (group.shut) {
        box = fabricast.el("details", { class: "group" }, fabricast.el("summary", {}, group.title));
      } else {
        box = fabricast.el("fieldset", { class: "group" }, fabricast.el("legend", {}, group.title));
      }
      for (const spec of group.fields) {
        const made = field(spec);
        fields.set(spec.name, made);
        made.on_remove?.(() => told(null, false));
        box.append(made.box);
      }
      element.append(box);
    }
    element.addEventListener("input", (event) => told(event, true));
    element.addEventListener("change", (event) => told(event, false));

    const initial = (made) => made.spec.initial ?? (made.spec.kind === "check" ? false : "");

    // What is not as at first, for the address.
    function changed() {
      const found = {};
      for (const [name, made] of fields) {
        const value = made.get();
        const first = made.spec.kind === "env" ? [] : initial(made);
        const long = made.spec.kind === "area" && (made.spec.in_link ?? 4000) < value.length;
        if (!long && (made.spec.always || !same(value, first))) found[name] = value;
      }
      return found;
    }

    function set(values) {
      for (const [name, made] of fields) {
        const keeps = made.spec.kind === "area" && values[name] === undefined && made.spec.keep;
        if (!keeps) made.set(values[name] ?? (made.spec.kind === "env" ? [] : initial(made)));
      }
    }

    function clear() {
      for (const made of fields.values()) made.clear();
    }

    // The field that holds a file.
    function holder_of(name) {
      for (const made of fields.values()) {
        const file = made.spec.kind === "area" ? made.spec.file_name?.() : made.get();
        if ((made.spec.kind === "area" || made.spec.file) && file === name) return made.spec.name;
      }
      return "";
    }

    // Shows an error beside the field that it is about; false when there is none.
    function fail(error) {
      const option = error.option?.replace(/^-+/, "") ?? (error.file && holder_of(error.file));
      if (!option) return false;
      for (const made of fields.values()) {
        const names = [made.spec.option ?? made.spec.name, ...(made.spec.also ?? [])];
        if (names.includes(option)) {
          made.fail(error.message, error.hint);
          return true;
        }
      }
      return false;
    }

    // Fields that hold the name of a file, for the body; and the files that are not here.
    function file_names(values) {
      const known = (made, value) => made.spec.options.some((one) => one.value === value);
      const names = [];
      const missing = [];
      for (const [name, made] of fields) {
        if (made.spec.kind !== "choice" || !made.spec.file) continue;
        const value = values[name] ?? initial(made);
        if (value === "" || known(made, value)) continue;
        if (fabricast.files.has(value)) names.push(value);
        else if (looks_like_file(value)) missing.push([name, value]);
      }
      return { names, missing };
    }

    // The body of a call from `values` as in the address (all others as at first).
    function body(values) {
      const sent = {};
      for (const [name, made] of fields) {
        if (made.spec.local) continue;
        const value = values[name] ?? (made.spec.kind === "env" ? [] : initial(made));
        const option = made.spec.option ?? name;
        if (value === "" || value === false || (Array.isArray(value) && value.length === 0))
          continue;
        if (made.spec.list) sent[option] = String(value).trim().split(/\s+/);
        else if (made.spec.integer && /^\d+$/.test(value)) sent[option] = Number(value);
        else sent[option] = value;
      }
      const { names } = file_names(values);
      if (names.length > 0) sent.files = fabricast.files.texts(names);
      return sent;
    }

    // True when all the files are here; else says beside its field which one is not.
    function has_files(values) {
      const { missing } = file_names(values);
      for (const [name, value] of missing) {
        fields
          .get(name)
          .fail(
            `The file ${value} is not here.`,
            "A link holds names of files, not their contents: drop it again.",
          );
      }
      return missing.length === 0;
    }

    return { element, fields, changed, set, clear, fail, body, has_files };
  }

  // The fields that most views share.
  function machine_fields(catalogue, more = {}) {
    const topologies = catalogue.topologies.map((one) => ({
      value: one.name,
      label: one.title ? `${one.name}: ${one.title}` : one.name,
    }));
    const fabrics = [
      { value: "", label: "as the topology has it, else non-blocking rails" },
      ...catalogue.fabrics.map((one) => ({
        value: one.name,
        label: one.title ? `${one.name}: ${one.title}` : one.name,
      })),
    ];
    return {
      topology: {
        name: "topology",
        label: "Topology",
        file_label: "Open a topology file…",
        kind: "choice",
        file: "topology",
        options: topologies,
        initial: "dgx-h100",
        ...more.topology,
      },
      nodes: { name: "nodes", label: "Nodes", kind: "nodes", initial: "2", ...more.nodes },
      nics: {
        name: "nics",
        label: "NICs per node",
        numeric: true,
        integer: true,
        placeholder: "all",
        ...more.nics,
      },
      gpus: {
        name: "gpus-per-node",
        label: "GPUs per node",
        numeric: true,
        integer: true,
        placeholder: "all",
        ...more.gpus,
      },
      gpu: {
        name: "gpu",
        label: "GPU part",
        placeholder: "the topology’s",
        hint: "Where the topology leaves it open, as nvidia-smi topo -m does: H100_SXM5",
        ...more.gpu,
      },
      fabric: {
        name: "fabric",
        label: "Fabric",
        file_label: "Open a fabric file…",
        kind: "choice",
        file: "fabric",
        options: fabrics,
        initial: "",
        ...more.fabric,
      },
      sharp: { name: "sharp", label: "SHARP in the fabric", kind: "check", ...more.sharp },
      nccl: {
        name: "nccl",
        label: "NCCL release",
        always: true, // a link says the same when the default has moved on
        kind: "choice",
        options: catalogue.releases.map((one) => ({ value: one, label: one })),
        // An alpha is nobody's default.
        initial: catalogue.releases.find((one) => !/[a-z]/.test(one)) ?? catalogue.releases[0],
        ...more.nccl,
      },
      collective: {
        name: "collective",
        label: "Collective",
        kind: "choice",
        options: catalogue.collectives.map((one) => ({ value: one, label: one })),
        initial: "all_reduce",
        ...more.collective,
      },
      sizes: {
        name: "sizes",
        label: "Sizes",
        initial: "8B..8GiB",
        hint: "8B..8GiB doubles; 1MiB,64MiB are two sizes",
        ...more.sizes,
      },
      env: {
        name: "env",
        label: "Environment variables",
        kind: "env",
        also: ["env-file"],
        variables: catalogue.variables,
      },
    };
  }

  fabricast.form = form;
  fabricast.file_button = file_button;
  fabricast.machine_fields = machine_fields;
})();
