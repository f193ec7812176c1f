"use strict";
// The page: tabs, banner, files, footer.
globalThis.fabricast ??= {};
(() => {
  const bytes_of_fields = 64 * 1024; // of a question, beside its files
  let catalogue = null;
  let shown = ""; // name of the view
  const open = new Map(); // views that were made
  const last = new Map(); // the question that each had

  fabricast.answer_ms = [];
  fabricast.last_answer_ms = null;
  fabricast.last_following_ms = null;

  const by_id = (id) => document.getElementById(id);

  // Measures up to the frame that shows what was drawn.
  function when_painted(started, tell) {
    requestAnimationFrame(() => {
      const channel = new MessageChannel();
      channel.port1.onmessage = () => tell(performance.now() - started);
      channel.port2.postMessage(null);
    });
  }

  // What views may ask of the page.
  const page = {
    write: (question, how) => {
      last.set(question.v, question);
      if (question.v === shown) fabricast.state.write(question, how);
    },
    say: (text) => {
      clearTimeout(page.saying);
      // Only what stands still for a while is read out.
      page.saying = setTimeout(() => {
        by_id("live").textContent = text;
      }, 700);
    },
    banner: (text, hint) => {
      const box = by_id("banner");
      box.replaceChildren(text);
      if (hint) box.append(fabricast.el("span", { class: "error-hint" }, ` ${hint}`));
      box.hidden = false;
    },
    clear_banner: () => {
      by_id("banner").hidden = true;
    },
    fail: (form, error) => {
      if (error.status === 401) ask_token(error);
      else if (!form.fail(error)) page.banner(error.message, error.hint);
    },
    // A curve follows a change when its first rows are drawn.
    followed: (started) =>
      when_painted(started, (took) => {
        fabricast.last_following_ms = took;
      }),
    drawn: (started) =>
      when_painted(started, (took) => {
        fabricast.answer_ms.push(took);
        if (fabricast.answer_ms.length > 1000) fabricast.answer_ms.shift();
        fabricast.last_answer_ms = took;
        by_id("speed").textContent = `last answer ${fabricast.format.number(took)} ms`;
      }),
    tools: ({ study, body, part }) => {
      const { el } = fabricast;
      const save = el("button", { type: "button" }, "Save as JSON");
      save.addEventListener("click", () => {
        const now = part();
        if (!now) {
          page.banner("There is no answer to save yet.");
          return;
        }
        const blob = new Blob([`${JSON.stringify(now.report, null, 2)}\n`], {
          type: "application/json",
        });
        const url = URL.createObjectURL(blob);
        const link = el("a", { href: url, download: `fabricast-${study}.json` });
        document.body.append(link);
        link.click();
        link.remove();
        setTimeout(() => URL.revokeObjectURL(url), 10000);
      });
      const copy = fabricast.copy_button("Copy as command line", () => {
        const asked = body();
        return fabricast.api.command_line(study, asked);
      });
      return el("span", { class: "tools" }, save, copy);
    },
  };

  // A page without the token can be given it by hand: bookmarks are older than the server.
  function ask_token(error) {
    const { el } = fabricast;
    page.banner(error.message);
    const input = el("input", { type: "text", id: "token-input", autocomplete: "off" });
    const use = el("button", { type: "submit" }, "Use it");
    const form = el(
      "form",
      { class: "token-form" },
      el("label", { for: "token-input" }, "Or paste that address here: "),
      input,
      use,
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const text = input.value.trim();
      fabricast.api.keep_token(/[?&]token=([^&#]+)/.exec(text)?.[1] ?? text);
      page.clear_banner();
      begin();
    });
    by_id("banner").append(form);
  }

  // Files. Roles: topology, fabric, log, layout, rules.
  const role_patterns = [
    [/^\s*kind:\s*rules\b/m, "rules"],
    [/^\s*kind:\s*step\b/m, "layout"],
    [/^\s*kind:\s*fabric\b/m, "fabric"],
    [/^\s*kind:\s*(node|cluster)\b/m, "topology"],
    [/busbw/, "log"],
    [/<system[\s>]/, "topology"],
    [/^(switchguids|vendid|Switch|Ca)\b/m, "fabric"],
    [/\bGPU0\b.*\bGPU1\b/, "topology"],
  ];
  const role_of_view = {
    explore: "topology",
    cutover: "topology",
    plan: "layout",
    judge: "log",
    check: "rules",
  };
  const view_of_role = { log: "judge", layout: "plan", rules: "check" };

  function role_of(found, text) {
    if (found?.topology) return "topology";
    if (/ibnetdiscover|fabric/i.test(found?.kind ?? "")) return "fabric";
    if (/nccl-tests/.test(found?.kind ?? "")) return "log";
    for (const [pattern, role] of role_patterns) if (pattern.test(text)) return role;
    return role_of_view[shown];
  }

  fabricast.take_file = async (file, target = {}) => {
    page.clear_banner();
    // A question holds the file as a text of JSON, beside its fields.
    const most = catalogue.question_bytes - bytes_of_fields;
    const text = file.size > most ? null : await file.text();
    if (text === null || new Blob([JSON.stringify(text)]).size > most) {
      page.banner(
        `${file.name} is too large for a question, which has ${fabricast.format.bytes(catalogue.question_bytes)}.`,
        "the command line takes larger files",
      );
      return;
    }
    let found = null;
    try {
      found = await fabricast.api.import_file(file.name, text);
    } catch (error) {
      if (error.status === 401 || error.status === 413 || error.status === 403) {
        page.banner(`${file.name}: ${error.message}`, error.hint);
        return;
      }
    }
    const role = target.role ?? role_of(found, text);
    // With an ending it is no preset's name.
    let name = file.name.replace(/[^\w.+-]/g, "_").replace(/^[.-]+/, "");
    if (!/\.\w+$/.test(name)) name += ".txt";
    // The server may have turned it into a form that options take.
    fabricast.files.add(name, { text: found?.text ?? text, role, kind: found?.kind ?? "" });
    const facts = (found?.facts ?? []).slice(0, 3).map(([what, value]) => `${what} ${value}`);
    page.say(`${name}: ${[found?.kind, ...facts].filter((one) => one).join(", ")}`);
    use_file(name, role);
    tell_file(name, found, role);
  };

  function tell_file(name, found, role) {
    const { el } = fabricast;
    const box = by_id("file-facts");
    box.replaceChildren(
      el("summary", {}, `${name}: ${found?.kind || role}`),
      ...(found?.facts?.length
        ? [
            el(
              "dl",
              { class: "facts" },
              ...found.facts.flatMap(([what, value]) => [el("dt", {}, what), el("dd", {}, value)]),
            ),
          ]
        : []),
    );
    box.hidden = false;
  }

  function use_file(name, role) {
    const to =
      view_of_role[role] ??
      (["explore", "cutover", "judge", "check"].includes(shown) ? shown : "explore");
    if (to !== shown) go(to);
    const view = open.get(to);
    if (role === "topology" || role === "fabric") {
      const field = view.form.fields.get(role);
      field.set(name);
      field.main.dispatchEvent(new Event("input", { bubbles: true }));
      field.main.dispatchEvent(new Event("change", { bubbles: true }));
      const box = field.box.closest("details:not([open])");
      if (box) box.open = true;
    } else {
      view.take?.(name);
    }
  }

  function accept_drops() {
    let depth = 0;
    const mark = (on) => document.body.classList.toggle("dropping", on);
    const has_files = (event) => event.dataTransfer?.types?.includes("Files");
    addEventListener("dragenter", (event) => {
      if (!has_files(event)) return;
      event.preventDefault();
      mark(++depth > 0);
    });
    addEventListener("dragleave", (event) => {
      if (has_files(event)) mark(--depth > 0);
    });
    addEventListener("dragover", (event) => {
      if (has_files(event)) event.preventDefault();
    });
    addEventListener("drop", async (event) => {
      if (!has_files(event)) return;
      event.preventDefault();
      depth = 0;
      mark(false);
      const role = event.target.closest?.("[data-option]")?.dataset.option;
      const target = role === "topology" || role === "fabric" ? { role } : {};
      for (const file of [...event.dataTransfer.files]) await fabricast.take_file(file, target);
    });
  }

  // Tabs.
  function make_tabs() {
    const { el } = fabricast;
    const tabs = by_id("tabs");
    for (const name of fabricast.state.views) {
      const { title } = fabricast.views[name];
      const tab = el(
        "button",
        {
          type: "button",
          role: "tab",
          id: `tab-${name}`,
          "aria-controls": `view-${name}`,
          "aria-selected": "false",
          tabindex: "-1",
        },
        title,
      );
      tab.addEventListener("click", () => go(name));
      tabs.append(tab);
      const panel = el("section", {
        role: "tabpanel",
        id: `view-${name}`,
        "aria-labelledby": `tab-${name}`,
      });
      panel.hidden = true;
      by_id("views").append(panel);
    }
    tabs.addEventListener("keydown", (event) => {
      const names = fabricast.state.views;
      const at = names.indexOf(shown);
      const to = {
        ArrowRight: (at + 1) % names.length,
        ArrowLeft: (at + names.length - 1) % names.length,
        Home: 0,
        End: names.length - 1,
      }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      go(names[to]);
      by_id(`tab-${names[to]}`).focus();
    });
  }

  function select(name) {
    if (shown !== name && shown !== "") open.get(shown)?.stop();
    shown = name;
    for (const other of fabricast.state.views) {
      const on = other === name;
      by_id(`tab-${other}`).setAttribute("aria-selected", String(on));
      by_id(`tab-${other}`).tabIndex = on ? 0 : -1;
      by_id(`view-${other}`).hidden = !on;
    }
    if (!open.has(name)) {
      const view = fabricast.views[name].create(catalogue, page);
      open.set(name, view);
      by_id(`view-${name}`).append(view.element);
    }
    document.title = `Fabricast: ${fabricast.views[name].title}`;
    page.clear_banner();
    return open.get(name);
  }

  // A tab shows the question that it had.
  function go(name) {
    if (name === shown) return;
    const fresh = !open.has(name);
    const view = select(name);
    const question = last.get(name) ?? { v: name, q: {} };
    last.set(name, question);
    fabricast.state.write(question);
    if (fresh) view.show(question);
    else view.rerun();
  }

  function show(question) {
    const view = select(question.v);
    last.set(question.v, question);
    return view.show(question);
  }

  async function begin() {
    try {
      catalogue = await fabricast.api.catalogue();
    } catch (error) {
      if (error.status === 401) ask_token(error);
      else page.banner(error.message, error.hint);
      return;
    }
    by_id("versions").textContent = `Fabricast ${catalogue.program}, data ${catalogue.data}`;
    if (by_id("tabs").children.length === 0) {
      make_tabs();
      accept_drops();
      fabricast.state.on_change(show);
    }
    const question = fabricast.state.read();
    if (location.hash === "") fabricast.state.write(question, { replace: true });
    show(question);
  }

  function start() {
    fabricast.api.take_token();
    fabricast.api.share_token();
    fabricast.files.restore();
    const facts = fabricast.el("details", { id: "file-facts", class: "file-facts" });
    facts.hidden = true;
    by_id("views").before(facts);
    begin();
  }

  if (document.readyState === "loading") addEventListener("DOMContentLoaded", start);
  else setTimeout(start, 0);
})();
