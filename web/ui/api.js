"use strict";
// Calls of the local server's API, and its answers.
globalThis.fabricast ??= {};
(() => {
  const root = "/api/v1/";
  const kept = new Map(); // whole answers of bench, newest last
  const kept_most = 48;
  let token = "";

  class ApiError extends Error {
    constructor(message, more = {}) {
      super(message);
      this.status = more.status ?? 0;
      this.option = more.option ?? null;
      this.file = more.file ?? null;
      this.hint = more.hint ?? null;
    }
  }

  // The token comes in the address, and must not stay there: addresses get shared.
  function take_token() {
    const query = new URLSearchParams(location.search);
    const given = query.get("token");
    if (given !== null) {
      keep_token(given);
      query.delete("token");
      const rest = query.toString();
      history.replaceState(
        history.state,
        "",
        location.pathname + (rest === "" ? "" : `?${rest}`) + location.hash,
      );
    } else {
      try {
        token = sessionStorage.getItem("fabricast-token") ?? "";
      } catch {
        token = "";
      }
    }
  }

  function keep_token(text) {
    token = text;
    try {
      sessionStorage.setItem("fabricast-token", text);
    } catch {
      // It still holds for this page.
    }
  }

  // A bookmark opens a tab that knows no token: another tab of the same server may tell it.
  let channel = null;
  function share_token() {
    if (typeof BroadcastChannel === "undefined") return;
    channel = new BroadcastChannel("fabricast-token");
    channel.addEventListener("message", (event) => {
      if (event.data?.wanted === true && token !== "") channel.postMessage({ token });
    });
  }

  function ask_other_tabs() {
    if (channel === null) return Promise.resolve(false);
    return new Promise((resolve) => {
      const old = token;
      const done = (event) => {
        const given = event?.data?.token;
        if (event !== undefined && typeof given !== "string") return;
        channel.removeEventListener("message", done);
        if (typeof given === "string" && given !== old) {
          keep_token(given);
          resolve(true);
        } else {
          resolve(false);
        }
      };
      channel.addEventListener("message", done);
      channel.postMessage({ wanted: true });
      setTimeout(done, 300);
    });
  }

  const by_status = {
    401: "The server does not know this page: open the address that `fabricast ui` printed.",
    403: "The server refuses this address: open the one that `fabricast ui` printed.",
    413: "The file is too large for the server.",
    503: "The server is about to stop.",
  };

  async function failure(response) {
    let error = null;
    try {
      error = (await response.json()).error;
    } catch {
      error = null;
    }
    const own = by_status[response.status];
    let message = error?.message ?? own ?? `The server answered ${response.status}.`;
    // What to do about a token the page knows best.
    if (response.status === 401) message = own;
    return new ApiError(message, {
      status: response.status,
      option: error?.option,
      file: error?.file,
      hint: error?.hint ?? (message === own ? null : own),
    });
  }

  async function call(path, options, again = true) {
    let response;
    try {
      response = await fetch(root + path, {
        ...options,
        headers: { ...options.headers, "X-Fabricast-Token": token },
        credentials: "omit",
        cache: "no-store",
      });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new ApiError("The server does not answer.", {
        hint: "is `fabricast ui` still running?",
      });
    }
    if (response.status === 401 && again && (await ask_other_tabs())) {
      return call(path, options, false);
    }
    if (!response.ok) throw await failure(response);
    return response;
  }

  // Server-sent events as [event, data], from the stream of an answer.
  async function* events(response) {
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    try {
      while (true) {
        const { value, done } = await reader.read();
        if (done) return;
        rest = (rest + value).replace(/\r\n/g, "\n");
        let end = rest.indexOf("\n\n");
        while (end >= 0) {
          let name = "message";
          const data = [];
          for (const line of rest.slice(0, end).split("\n")) {
            if (line.startsWith("event:")) name = line.slice(6).trim();
            if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
          }
          rest = rest.slice(end + 2);
          if (data.length > 0) yield [name, JSON.parse(data.join("\n"))];
          end = rest.indexOf("\n\n");
        }
      }
    } finally {
      reader.cancel().catch(() => {});
    }
  }

  // Asks a study. `seen.part` gets partial reports, `seen.progress` {done, seconds_left}.
  async function ask(study, body, { signal, seen = {}, keep = false } = {}) {
    const text = JSON.stringify(body);
    const key = `${study} ${text}`;
    if (keep && kept.has(key)) {
      const part = kept.get(key);
      kept.delete(key);
      kept.set(key, part);
      return part;
    }
    const response = await call(study, {
      method: "POST",
      body: text,
      signal,
      headers: { "Content-Type": "application/json", Accept: "text/event-stream" },
    });
    let part = null;
    if ((response.headers.get("Content-Type") ?? "").startsWith("text/event-stream")) {
      for await (const [name, data] of events(response)) {
        if (signal?.aborted) throw new DOMException("cancelled", "AbortError");
        if (name === "progress") seen.progress?.(data);
        if (name === "part") seen.part?.(data);
        if (name === "error") {
          const error = data.error ?? data;
          throw new ApiError(error.message, { status: 422, ...error });
        }
        if (name === "report") {
          part = data;
          break;
        }
      }
      if (part === null) throw new ApiError("The answer ended early.");
    } else {
      part = await response.json();
    }
    if (keep) {
      kept.set(key, part);
      if (kept.size > kept_most) kept.delete(kept.keys().next().value);
    }
    return part;
  }

  async function catalogue() {
    return (await call("catalogue", { method: "GET", headers: {} })).json();
  }

  async function import_file(name, text) {
    const response = await call("import", {
      method: "POST",
      body: text,
      headers: { "Content-Type": "text/plain", "X-File-Name": encodeURIComponent(name) },
    });
    return response.json();
  }

  // A body as the command that answers the same, for a shell.
  function quoted(word) {
    return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replace(/'/g, "'\\''")}'`;
  }

  function command_line(study, body) {
    const words = ["fabricast", study];
    if (body.input !== undefined) words.push(quoted(body.input));
    for (const [name, value] of Object.entries(body)) {
      if (name === "files" || name === "input") continue;
      for (const one of Array.isArray(value) ? value : [value]) {
        if (one === false) continue;
        words.push(`--${name}`);
        if (one !== true) words.push(quoted(String(one)));
      }
    }
    return words.join(" ");
  }

  fabricast.api = {
    ApiError,
    ask,
    catalogue,
    command_line,
    import_file,
    keep_token,
    share_token,
    take_token,
  };
})();
