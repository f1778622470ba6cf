// The dashboard: requests data from /admin/v1 and shows it. It is read-only.
//
// The data is untrusted: scripts, console lines, URLs and titles of pages. All of it becomes text nodes, and no URL becomes
// a link.

const TOKEN = "codemode.token";
const EVERY_MS = 2000;
const AGAIN_MS = 1000;

const byId = (id) => document.getElementById(id);
const main = byId("main");
const needsToken = document.documentElement.dataset.tokens === "yes";
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const visible = () =>
  document.visibilityState === "visible"
    ? Promise.resolve()
    : new Promise((done) => document.addEventListener("visibilitychange", () => done(visible()), { once: true }));

// Creates an element with attributes and children; strings become text nodes.
function h(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(key, "");
    else if (value !== undefined && value !== false) element.setAttribute(key, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== ""));
  return element;
}

// ---- Requests

class Refused extends Error {
  constructor(status, error) {
    super(error?.message ?? `the host answered ${status}`);
    this.status = status;
    this.hint = error?.hint;
    this.again = error?.retryable === true;
  }
}

async function ask(path, signal) {
  const token = sessionStorage.getItem(TOKEN);
  const headers = token ? { authorization: `Bearer ${token}` } : {};
  const options = { headers, signal, cache: "no-store", credentials: "omit", redirect: "error" };
  const answer = await fetch(`/admin/v1${path}`, options);
  const envelope = await answer.json().catch(() => null);
  if (!envelope?.ok) throw new Refused(answer.status, envelope?.error);
  return envelope.data;
}

const query = (fields) => {
  const given = Object.entries(fields).filter(([, value]) => value);
  return given.length ? `?${new URLSearchParams(given)}` : "";
};

// ---- Formatting

const time = (ms) =>
  ms === undefined || ms === null
    ? ""
    : h("time", { datetime: new Date(ms).toISOString() }, new Date(ms).toLocaleString("sv-SE"));

function span(ms) {
  if (ms === undefined || ms === null) return "";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const s = ms / 1000;
  if (s < 60) return `${s.toFixed(1)} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${Math.floor(s % 60)} s`;
  return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
}

const outcome = (word) =>
  word === undefined ? "" : h("span", { class: word.toLowerCase() === "ok" ? "good mark" : "bad mark" }, word);

const toExecution = (id, where) =>
  id ? h("a", { id: `${where}-${id}`, class: "mono", href: `#/execution/${encodeURIComponent(id)}` }, id) : "";

function table(caption, columns, rows) {
  if (rows.length === 0) return h("p", { class: "faint" }, `${caption}: none.`);
  const head = h("tr", { role: "row" }, columns.map((name) => h("th", { scope: "col", role: "columnheader" }, name)));
  const body = rows.map((cells) =>
    h("tr", { role: "row" }, cells.map((cell, at) => h("td", { role: "cell", "data-label": columns[at] }, cell))),
  );
  return h(
    "table",
    { role: "table" },
    h("caption", {}, caption),
    h("thead", { role: "rowgroup" }, head),
    h("tbody", { role: "rowgroup" }, body),
  );
}

const facts = (rows) =>
  h("dl", {}, rows.filter(([, value]) => value?.nodeType || value?.length).map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));

// A filter form; submitting it puts its fields into the query of the address.
function filters(place, fields, asked) {
  const inputs = fields.map(([name, label, kind]) => {
    const input = h("input", { type: kind, name, id: `filter-${name}`, autocomplete: "off" });
    if (kind === "checkbox") input.checked = asked[name] === "true";
    else input.value = asked[name] ?? "";
    return [name, input, h("label", {}, kind === "checkbox" ? [input, label] : [label, input])];
  });
  const form = h("form", { role: "search" }, inputs.map(([, , label]) => label), h("button", { type: "submit", id: "filter" }, "Show"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const said = inputs.map(([name, input]) => [name, input.type === "checkbox" ? String(input.checked || "") : input.value.trim()]);
    location.hash = `#/${place}${query(Object.fromEntries(said))}`;
  });
  return form;
}

const earlier = (place, asked, before) =>
  before ? h("p", {}, h("a", { id: "earlier", href: `#/${place}${query({ ...asked, before })}` }, "Earlier")) : "";

// ---- Views: each loads its data and returns sections: [title, data, function that builds the content]

const views = {
  async sessions() {
    const { sessions } = await ask("/sessions");
    const row = (session) => [
      h("span", { class: "mono" }, session.key ?? session.id),
      session.mode,
      session.state,
      session.lease ? toExecution(session.lease.holder?.execution, "held") : "nobody",
      span(session.age_ms),
      session.lease ? "" : span(session.expires_in_ms),
      session.memory_kib ? `${Math.round(session.memory_kib / 1024)} MiB` : "",
      session.urls.map((url) => h("div", { class: "mono" }, url)),
    ];
    const columns = ["Key or session", "Mode", "State", "Held by", "Age", "Ends in", "Memory", "Pages"];
    return [["Sessions", sessions, () => table("Browsers of this state folder, and who holds them", columns, sessions.map(row))]];
  },

  async executions(asked) {
    const { executions, before } = await ask(`/executions${query({ ...asked, limit: 50 })}`);
    const row = (it) => [
      toExecution(it.id, "listed"),
      it.state === "running" ? h("span", { class: "mark" }, "running") : outcome(it.outcome) || it.state,
      time(it.started_ms),
      it.ended_ms ? span(it.ended_ms - it.started_ms) : "",
      it.caller ?? "",
      it.key ?? "",
      it.mode ?? "",
      it.calls ?? "",
    ];
    const columns = ["Execution", "Outcome", "Began", "Took", "Caller", "Key", "Mode", "Calls"];
    const fields = [["key", "Key", "text"], ["running", "Only those that run here", "checkbox"]];
    return [
      ["Executions", asked, () => filters("executions", fields, asked)],
      ["", { executions, before }, () => [
        table("The last that began first", columns, executions.map(row)),
        earlier("executions", asked, before),
      ]],
    ];
  },

  async execution(_, id) {
    const path = `/executions/${encodeURIComponent(id)}`;
    const [shown, traced] = await Promise.all([ask(path), ask(`${path}/trace`)]);
    const { execution: it, rows, files } = shown;
    const trace = traced.trace;
    const running = it.state === "running";
    const about = () => facts([
      ["Outcome", running ? h("span", { class: "mark" }, "running") : outcome(it.outcome) || it.state],
      ["Caller", it.caller ?? ""],
      ["Key", it.key ?? ""],
      ["Mode", it.mode ?? ""],
      ["Session", it.session ?? ""],
      ["Began", time(it.started_ms)],
      ["Took", span(trace?.took_ms ?? (it.ended_ms ? it.ended_ms - it.started_ms : undefined))],
      ["Processor", span(trace?.cpu_ms)],
      ["Calls", String(it.calls ?? (trace ? trace.calls.length + trace.calls_dropped : ""))],
      ["Files", files.map((file) => h("div", {}, `${file.name} (${file.bytes} bytes)`))],
    ]);
    const why = traced.kept
      ? "This host has no script, calls and console of it: it ran elsewhere, or ended too long ago."
      : "This host keeps no scripts, calls and console lines (no_insight).";
    const sections = [[`Execution ${id}`, { it, files, took: trace?.took_ms }, about]];
    if (running && traced.kept) sections.push(["Page", id, () => page(id)]);
    if (!trace) return [...sections, ["Trace", why, () => h("p", { class: "faint" }, why)], audited(rows)];
    const cut = trace.code_bytes > new TextEncoder().encode(trace.code).length;
    return [
      ...sections,
      ["Code", trace.code, () => [
        h("pre", { id: "code", tabindex: "0", "aria-label": "Code" }, trace.code),
        cut ? h("p", { class: "faint" }, `The first part of ${trace.code_bytes} bytes.`) : "",
      ]],
      ["Console", [trace.logs, trace.logs_dropped_bytes], () => [
        trace.logs_dropped_bytes ? h("p", { class: "faint" }, `${trace.logs_dropped_bytes} bytes are not kept.`) : "",
        trace.logs.length
          ? h("ol", { id: "console", class: "logs mono", tabindex: "0", "aria-label": "Console" }, trace.logs.map((line) =>
            h("li", { class: ["warn", "error"].includes(line.level) ? "bad" : undefined }, h("span", { class: "faint" }, `${span(line.at_ms)} ${line.level} `), line.text)))
          : h("p", { class: "faint" }, "Nothing was written."),
      ]],
      ["Calls", [trace.calls, trace.calls_dropped], () => table(
        trace.calls_dropped ? `The last calls; ${trace.calls_dropped} before these` : "In the order in which the script made them",
        ["Call", "At", "Took", "Outcome"],
        trace.calls.map((call) => [
          h("span", { class: "mono" }, call.method),
          span(call.at_ms),
          call.took_us === undefined ? "" : span(call.took_us / 1000),
          call.outcome === undefined ? (running ? "runs" : "cancelled") : outcome(call.outcome),
        ]),
      )],
      audited(rows),
    ];
  },

  async audit(asked) {
    const { rows, before } = await ask(`/audit${query({ ...asked, limit: 100 })}`);
    const fields = [["key", "Key", "text"], ["execution", "Execution", "text"], ["session", "Session", "text"]];
    const told = h("p", { role: "status", id: "verdict" });
    const check = h("button", { type: "button", id: "verify" }, "Check the chain");
    check.addEventListener("click", async () => {
      try {
        const verdict = await ask("/audit/verify");
        told.textContent = `${verdict.rows} rows are as they were written; the last is ${verdict.last}:${verdict.hash}`;
      } catch (error) {
        told.textContent = error.message;
      }
    });
    return [
      ["Audit", asked, () => [filters("audit", fields, asked), check, told]],
      ["", rows, () => [table("The last first", AUDIT, [...rows].reverse().map(auditRow)), earlier("audit", asked, before)]],
    ];
  },
};

const AUDIT = ["Row", "When", "What", "Key", "Session", "Execution", "Details"];
const auditRow = (row) => [
  String(row.id),
  time(row.at_ms),
  row.kind,
  row.key ?? "",
  row.session ?? "",
  toExecution(row.execution, `row-${row.id}`),
  h("span", { class: "mono" }, row.detail ?? ""),
];
const audited = (rows) => ["Audit", rows, () => table("What the audit has of it", AUDIT, rows.map(auditRow))];

// ---- The live picture of a running execution's page

function page(id) {
  const button = h("button", { type: "button", id: "watch", "aria-pressed": "false" }, "Watch the page");
  const picture = h("img", { id: "picture", alt: "The page that the script uses, as it is now", hidden: true });
  const about = h("p", { id: "about-page", role: "status" });
  let watching;
  button.addEventListener("click", () => {
    watching?.abort();
    watching = watching ? undefined : new AbortController();
    button.setAttribute("aria-pressed", String(!!watching));
    if (watching) watch(id, picture, about, button, watching.signal);
    else about.textContent = "";
  });
  return h("div", { class: "view" }, button, about, picture);
}

async function watch(id, picture, about, button, signal) {
  let after = 0;
  about.textContent = "Waiting for a picture.";
  const goesOn = () => !signal.aborted && button.isConnected;
  while (goesOn()) {
    await visible();
    let view;
    try {
      view = await ask(`/executions/${encodeURIComponent(id)}/view?after=${after}`, signal);
    } catch (error) {
      if (!goesOn()) return;
      about.textContent = error.message;
      if (error instanceof Refused && !error.again) return;
      await pause(AGAIN_MS);
      continue;
    }
    if (!goesOn()) return;
    if (view.jpeg) {
      picture.src = `data:image/jpeg;base64,${view.jpeg}`;
      picture.dataset.number = view.picture;
      picture.hidden = false;
    }
    after = view.picture;
    const words = [view.title, view.url, view.dialog && `The page shows a dialog: ${view.dialog}`];
    about.textContent = words.filter(Boolean).join(" · ") || "The execution has no page yet.";
    if (!view.running) {
      about.textContent = "The execution has ended.";
      return;
    }
  }
}

// ---- Rendering

let shownPlace;
let generation = 0;
let waiting;

// The route in the address: the view, the id in the path, and the query.
function place() {
  const [path, asked = ""] = location.hash.replace(/^#\//, "").split("?");
  const [name, rest = ""] = path.split("/");
  let id = "";
  try {
    id = decodeURIComponent(rest);
  } catch {
    // Not decodable: treated as no id.
  }
  const known = Object.hasOwn(views, name) ? name : "sessions";
  return { name: known, id, asked: Object.fromEntries(new URLSearchParams(asked)), text: location.hash };
}

// Renders the sections, replacing only those whose data has changed; keeps the focus and the scroll positions.
function draw(sections, isOther) {
  const focused = document.activeElement?.id;
  const scrolled = ["code", "console"].map((id) => [id, isOther ? 0 : byId(id)?.scrollTop]);
  const there = isOther ? [] : [...main.children];
  const drawn = sections.map(([title, made, build], at) => {
    const text = JSON.stringify(made);
    const old = there[at];
    if (old && old.madeOf === text && old.title_ === title) return old;
    const section = h("section", {}, title ? h("h2", {}, title) : "", build());
    section.madeOf = text;
    section.title_ = title;
    return section;
  });
  if (drawn.length !== main.children.length || drawn.some((section, at) => main.children[at] !== section)) {
    for (const [at, section] of drawn.entries()) {
      const old = main.children[at];
      if (!old) main.append(section);
      else if (old !== section) old.replaceWith(section);
    }
    while (main.children.length > drawn.length) main.lastChild.remove();
    if (focused && document.activeElement?.id !== focused) byId(focused)?.focus({ preventScroll: true });
    for (const [id, top] of scrolled) if (top) byId(id)?.scrollTo({ top });
  }
}

async function show() {
  clearTimeout(waiting);
  const mine = ++generation;
  const hasToken = !!sessionStorage.getItem(TOKEN);
  byId("forget").hidden = !hasToken;
  if (needsToken && !hasToken) return logIn("");
  const where = place();
  try {
    const sections = await views[where.name](where.asked, where.id);
    if (mine !== generation) return;
    byId("login").hidden = true;
    byId("views").hidden = false;
    for (const link of byId("views").children) {
      const isHere = link.id === `to-${where.name}` || (where.name === "execution" && link.id === "to-executions");
      if (isHere) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    draw(sections, shownPlace !== where.text);
    shownPlace = where.text;
    main.dataset.shown = where.text || "#/sessions";
    status("");
  } catch (error) {
    if (mine !== generation) return;
    // Also reached when tokens were configured after the page was loaded.
    if (error instanceof Refused && (error.status === 401 || (error.status === 403 && hasToken))) {
      sessionStorage.removeItem(TOKEN);
      return logIn(`${error.message}. ${error.hint ?? ""}`);
    }
    if (shownPlace !== where.text) main.replaceChildren();
    status(error instanceof Refused ? `${error.message}. ${error.hint ?? ""}` : "The host does not answer.");
  }
  if (byId("refresh").checked) waiting = setTimeout(() => visible().then(() => mine === generation && show()), EVERY_MS);
}

function status(text) {
  const element = byId("status");
  if (element.textContent !== text) element.textContent = text;
}

function logIn(refusal) {
  shownPlace = undefined;
  delete main.dataset.shown;
  main.replaceChildren();
  byId("views").hidden = true;
  byId("forget").hidden = true;
  byId("login").hidden = false;
  byId("refusal").textContent = refusal;
  status("");
  byId("token").focus();
}

byId("login").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem(TOKEN, byId("token").value.trim());
  byId("token").value = "";
  show();
});
byId("forget").addEventListener("click", () => {
  sessionStorage.removeItem(TOKEN);
  generation += 1;
  logIn("");
});
byId("refresh").addEventListener("change", show);
addEventListener("hashchange", show);
show();
