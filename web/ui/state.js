"use strict";
// The question in the address, and the files that were dropped on this page.
globalThis.fabricast ??= {};
(() => {
  // Question: {v: view, q: fields that are not as at first, a: q of the pinned setup,
  // at: size looked at, go: true when an answer was asked for, f: names of files that it needs}.
  const views = ["explore", "cutover", "plan", "judge", "check"];

  function read() {
    const text = location.hash.slice(1);
    if (views.includes(text)) return { v: text, q: {} };
    try {
      const question = JSON.parse(decodeURIComponent(text));
      if (typeof question === "object" && question !== null && views.includes(question.v)) {
        const fields = question.q;
        question.q = typeof fields === "object" && fields !== null ? fields : {};
        return question;
      }
    } catch {
      // An address that was cut or mistyped asks nothing.
    }
    return { v: "explore", q: {} };
  }

  function hash_of(question) {
    return `#${encodeURIComponent(JSON.stringify(question))}`;
  }

  let drafting = false; // the newest entry of the history is of a change that still goes on
  let written = location.hash;
  let waiting = null; // what a change that goes on will write
  let timer = 0;
  const draft_wait_ms = 250; // browsers refuse pages that rewrite the address all the time

  function put(hash, how) {
    clearTimeout(timer);
    timer = 0;
    waiting = null;
    if (hash === location.hash) return;
    try {
      history[how](null, "", hash);
    } catch {
      // Too many in too short a time: the next one has it all.
    }
    written = location.hash;
  }

  // A change makes one entry of the history, however many steps a slider took.
  function write(question, { draft = false, replace = false } = {}) {
    const hash = hash_of(question);
    if (replace) {
      put(hash, "replaceState");
    } else if (drafting && draft) {
      waiting = hash;
      timer ||= setTimeout(() => put(waiting, "replaceState"), draft_wait_ms);
    } else {
      put(hash, drafting ? "replaceState" : "pushState");
      drafting = draft;
    }
  }

  function on_change(react) {
    const look = () => {
      if (location.hash === written) return;
      clearTimeout(timer);
      timer = 0;
      written = location.hash;
      drafting = false;
      react(read());
    };
    addEventListener("popstate", look);
    addEventListener("hashchange", look);
  }

  // Files are kept in the tab, so that a reload still has them; links have their names only.
  const files = new Map();
  const reactions = [];

  function store() {
    try {
      sessionStorage.setItem("fabricast-files", JSON.stringify([...files]));
    } catch {
      // Too large: they hold until the page is left.
    }
  }

  function restore() {
    try {
      const stored = JSON.parse(sessionStorage.getItem("fabricast-files") ?? "[]");
      for (const [name, file] of stored) files.set(name, file);
    } catch {
      // Nothing was kept.
    }
  }

  function add(name, file) {
    files.set(name, file);
    store();
    for (const react of reactions) react(name);
  }

  // The files that a body names, for the server.
  function texts(names) {
    const found = {};
    for (const name of names) if (files.has(name)) found[name] = files.get(name).text;
    return found;
  }

  fabricast.state = { read, write, on_change, views };
  fabricast.files = {
    add,
    restore,
    texts,
    has: (name) => files.has(name),
    get: (name) => files.get(name),
    of: (role) => [...files].filter(([, file]) => file.role === role).map(([name]) => name),
    on_add: (react) => reactions.push(react),
  };
})();
