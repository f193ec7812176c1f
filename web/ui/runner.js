"use strict";
// A view with a form, a run button, progress, cancel, and the answer as in a report.
globalThis.fabricast ??= {};
(() => {
  // plan: {view, study, groups, body?(fields, form), draw?(container, part, fields), label}
  function runner(page, plan) {
    const { el } = fabricast;
    const form = fabricast.form(plan.groups, (event, draft) => {
      plan.changed?.(event, form);
      page.write(question(), { draft });
      if (part !== null) stale.hidden = false;
    });
    const run_button = el("button", { type: "button", class: "primary" }, plan.label);
    const cancel = el("button", { type: "button" }, "Cancel");
    const progress = el("progress", {
      max: "1",
      value: "0",
      "aria-label": "Progress",
      class: "idle",
    });
    const said = el("span", { class: "busy" });
    const stale = el("p", { class: "stale" }, "The fields have changed since this answer.");
    const answer = el("div", { class: "result-body" });
    const before = el("div", {});
    const body_of = (fields) => (plan.body ? plan.body(fields, form) : form.body(fields));
    cancel.disabled = true;
    stale.hidden = true;

    let part = null;
    let abort = null;
    let asked_for = false;

    const element = el(
      "div",
      { class: "split" },
      form.element,
      el(
        "div",
        { class: "result" },
        el(
          "div",
          { class: "bar" },
          run_button,
          cancel,
          page.tools({ study: plan.study, body: () => body_of(form.changed()), part: () => part }),
          progress,
          said,
        ),
        before,
        stale,
        answer,
      ),
    );

    function question() {
      const asked = { v: plan.view, q: form.changed() };
      plan.tidy?.(asked.q);
      if (asked_for) asked.go = true;
      const lost = plan.lost?.(form) ?? [];
      if (lost.length > 0) asked.f = lost;
      return asked;
    }

    function idle(text) {
      cancel.disabled = true;
      progress.value = 0;
      progress.classList.add("idle");
      said.textContent = text;
    }

    async function run(started = performance.now()) {
      abort?.abort();
      form.clear();
      page.clear_banner();
      const fields = form.changed();
      if (!form.has_files(fields)) return;
      plan.keep_text?.(form);
      const mine = new AbortController();
      abort = mine;
      cancel.disabled = false;
      progress.value = 0;
      progress.classList.remove("idle");
      said.textContent = "Simulating…";
      page.say("Simulating");
      try {
        const found = await fabricast.api.ask(plan.study, body_of(fields), {
          signal: mine.signal,
          seen: {
            progress: ({ done, seconds_left }) => {
              if (mine.signal.aborted) return;
              progress.value = done ?? 0;
              said.textContent =
                seconds_left > 0
                  ? `${Math.round(100 * done)} %, ${Math.ceil(seconds_left)} s left`
                  : `${Math.round(100 * done)} %`;
            },
            part: (some) => {
              if (!mine.signal.aborted) draw(some, fields);
            },
          },
        });
        if (mine.signal.aborted) return;
        part = found;
        draw(part, fields);
        page.drawn(started);
        idle("");
        page.say("The answer is there.");
      } catch (error) {
        if (mine !== abort) return;
        if (error.name === "AbortError") {
          idle("Cancelled.");
          page.say("Cancelled");
        } else {
          idle("");
          page.fail(form, error);
        }
      }
    }

    function draw(some, fields) {
      for (const figure of answer.querySelectorAll("figure")) figure.dispose?.();
      answer.replaceChildren();
      stale.hidden = true;
      if (plan.draw) plan.draw(answer, some, fields);
      else fabricast.draw_part(answer, some);
    }

    run_button.addEventListener("click", (event) => {
      asked_for = true;
      page.write(question());
      run(event.timeStamp);
    });
    cancel.addEventListener("click", () => {
      abort?.abort();
      run_button.focus();
    });

    function show(asked) {
      form.set(asked.q);
      plan.shown?.(form, asked);
      asked_for = asked.go === true;
      const lost = (asked.f ?? []).filter((name) => !fabricast.files.has(name));
      if (lost.length > 0) {
        page.banner(
          `The link needs ${lost.join(", ")}, which is not here.`,
          "A link holds names of files, not their contents: drop it again.",
        );
      } else if (asked_for) {
        return run();
      }
      return undefined;
    }

    function stop() {
      abort?.abort();
    }

    return { element, before, form, question, show, stop, run, rerun: () => {} };
  }

  fabricast.runner = runner;
})();
