// The page. Texts of a request become text nodes and nothing else; the policy of the page forbids anything more.
"use strict";

/** How long a request has to lie there before a yes counts: nobody presses what was somewhere else a moment ago. */
const REST_MS = 800;
/** How long the end has to be on the screen: what only rushes by was not read. */
const LOOK_MS = 400;
/** Without a word for so long, nobody is there. */
const SILENT_MS = 25_000;
const AGAIN_MS = 2_000;
const MAX_PAST = 50;
const TOKEN_KEY = "pinfold-token";

const YES = {
  yes: "Yes, this once",
  session: "Yes, and more until the session ends …",
  always: "Always allow: write a rule …",
};
const KEEPS = "Yes, and do not ask about this again in this session";
const ALL_OF_PROCESS = "No, and no to all else that this process tries";
/** What is typed before a rule for good is written. */
const ALWAYS = "always";
const WHOSE = ["your own settings for this project", "your own settings for every project"];
const FILES = ["local", "user"];

const $ = (id) => document.getElementById(id);

/** What waits, by number, in the order in which it came. */
const items = new Map();
/** The request that is shown. */
let open = null;
let token = sessionStorage.getItem(TOKEN_KEY);
let isConnected = false;
let isListening = false;
/** By how much the clock there is ahead of the one here. */
let ahead = 0;

// ---- elements

/** An element; strings among its children become text. */
function make(name, properties, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
}

/** A line of runs: a text, or the look of one and it. */
function text(runs) {
  return runs.map((run) => (typeof run === "string" ? run : make("span", { className: run[0] }, run[1])));
}

function block({ label, sign, kind, tone, lines }) {
  const row = (runs) => make("div", { className: "line" },
    make("span", { className: "sign" }, sign), make("div", { className: "said" }, ...text(runs)));
  return make("div", { className: `block ${kind} ${tone}` },
    make("div", { className: "label" }, label), make("div", {}, ...lines.map(row)));
}

/** A text of others on one line, in a block of its own. */
function inline(label, runs, tone = "plain") {
  return block({ label, sign: " ", kind: "inline", tone, lines: [runs] });
}

function button(words, className, pressed) {
  const made = make("button", { type: "button", className }, words);
  // Nobody but a person presses.
  made.addEventListener("click", (event) => { if (event.isTrusted) pressed(); });
  return made;
}

/** The end of something that has to be read. `isSeen` becomes true once it was on the screen for a moment. */
function endOf(changed) {
  const end = { element: make("div", { className: "end" }), isSeen: false };
  let timer = 0;
  const look = new IntersectionObserver((entries) => {
    clearTimeout(timer);
    if (entries.at(-1).intersectionRatio < 0.5) return;
    timer = setTimeout(() => {
      if (document.visibilityState !== "visible") return;
      end.isSeen = true;
      look.disconnect();
      changed();
    }, LOOK_MS);
  }, { threshold: 0.5 });
  end.look = () => { if (!end.isSeen) { look.unobserve(end.element); look.observe(end.element); } };
  end.stop = () => { clearTimeout(timer); look.disconnect(); };
  end.look();
  return end;
}

// ---- one request

function show(item) {
  open?.stop();
  const current = { item, end: endOf(refresh), grant: null, isRested: false, isBusy: false, late: null, over: null, word: "" };
  let timer = 0;
  current.rest = () => {
    current.isRested = false;
    clearTimeout(timer);
    timer = setTimeout(() => { current.isRested = true; refresh(); }, REST_MS);
  };
  current.stop = () => { clearTimeout(timer); current.end.stop(); current.grant?.stop(); };
  open = current;
  $("request").classList.remove("over");
  $("title").textContent = item.title;
  const blocks = item.blocks.map(block);
  $("body").replaceChildren(...blocks.slice(0, item.what), current.end.element, ...blocks.slice(item.what));
  showAnswers();
  refresh();
  window.scrollTo(0, 0);
  const rests = item.atRest === "no" ? $("answers").querySelector(".no") : $("title");
  rests.focus({ preventScroll: true });
}

function showAnswers() {
  const { item } = open;
  open.grant?.stop();
  open.grant = null;
  const plain = item.isFinal ? confirmYes : () => say({ choice: "yes" });
  const yes = { yes: plain, session: grantSession, always: grantAlways };
  const isOfProcess = item.answers.includes("process");
  const made = item.answers.flatMap((answer) => {
    if (answer === "no") {
      const no = button("No", "no", () => say({ choice: "no" }));
      // What a process is told is an error number: there is nobody to read a message.
      return isOfProcess ? [no] : [no, button("No, with a message …", "no", showMessage)];
    }
    if (answer === "process") return [button(ALL_OF_PROCESS, "no", () => say({ choice: "no", process: true }))];
    const words = answer === "yes" && item.keeps ? KEEPS : YES[answer];
    return [button(item.isFinal ? `${words} …` : words, "yes", () => { if (canSayYes()) yes[answer](); })];
  });
  $("answers").replaceChildren(...made);
  $("answers").hidden = false;
  $("panel").hidden = true;
  $("panel").replaceChildren();
  open.rest();
}

/** Something in place of the answers. */
function showPanel(children, focus) {
  $("answers").hidden = true;
  $("panel").replaceChildren(...children);
  $("panel").hidden = false;
  open.rest();
  refresh();
  focus.focus({ preventScroll: true });
}

function back() {
  return button("Back", "back", () => { showAnswers(); refresh(); $("title").focus({ preventScroll: true }); });
}

function showMessage() {
  const field = make("textarea", { id: "message", rows: 3, maxLength: 2000 });
  const send = button("No, and tell the agent this", "no", () => {
    const message = field.value.trim();
    say(message ? { choice: "no", message } : { choice: "no" });
  });
  const label = make("label", { htmlFor: "message" }, "No, and tell the agent:");
  showPanel([label, field, make("div", { className: "buttons" }, send, back())], field);
}

/** A yes that cannot be undone, or that is asked for each time, takes a second step. */
function confirmYes() {
  const heading = make("h2", { tabIndex: -1 }, "Sure?");
  const words = make("p", {}, "This may not be possible to undo, or it needs approval each time.");
  const confirm = button("Yes, do it", "yes", () => { if (canSayYes()) say({ choice: "yes" }); });
  showPanel([heading, words, make("div", { className: "buttons" }, back(), confirm)], heading);
}

/** The scopes of a grant, to be chosen from; each with what it lets through. */
function choices(name, scopes, usual, first = 0) {
  return scopes.slice(first).map(({ says, also, stillAsks }, index) => {
    const number = first + index;
    const near = (words, calls) => (calls.length === 0 ? [] :
      [make("p", { className: "near" }, words), ...calls.map((call) => inline("", call))]);
    const input = make("input", { type: "radio", name, value: String(number), checked: number === usual });
    return make("label", { className: "choice" }, input,
      make("div", {}, inline("", says, "strong"), ...near("also allows", also), ...near("still asks", stillAsks)));
  });
}

function group(title, ...children) {
  return make("fieldset", {}, make("legend", {}, title), ...children);
}

const chosen = (name) => Number($("panel").querySelector(`input[name="${name}"]:checked`)?.value ?? 0);

function grant(title, parts, words, answer) {
  open.grant = endOf(refresh);
  const heading = make("h2", { tabIndex: -1 }, title);
  const confirm = button(words, "yes", () => { if (canGrant()) say(answer()); });
  const buttons = make("div", { className: "buttons" }, confirm, back());
  showPanel([heading, ...parts, open.grant.element, buttons], heading);
  heading.scrollIntoView({ block: "start" });
}

function grantSession() {
  const parts = [group("allows", ...choices("scope", open.item.session, open.item.first, open.item.first)), make("p", {}, "until the session ends")];
  grant("Yes, in this session", parts, "Yes, and this until the session ends",
    () => ({ choice: "session", scope: chosen("scope") }));
}

function grantAlways() {
  const { always, files } = open.item;
  const parts = always.map(({ part, usual, scopes }, number) =>
    group("rule", inline("for", part), ...choices(`part-${number}`, scopes, usual)));
  const file = files.slice(0, FILES.length).map((path, number) => make("label", { className: "choice" },
    make("input", { type: "radio", name: "file", value: String(number), checked: number === 0 }),
    make("div", {}, inline("", path), make("p", { className: "near" }, WHOSE[number]))));
  const words = always.length === 1 ? "Yes, and write this rule" : `Yes, and write these ${always.length} rules`;
  const field = make("input", { id: "typed", type: "text", autocomplete: "off", autocapitalize: "none", spellcheck: false });
  field.addEventListener("input", refresh);
  const typed = [make("label", { htmlFor: "typed" }, `To write it, type the word ${ALWAYS}:`), field];
  grant("Always allow", [...parts, group("into", ...file), ...typed], words, () => ({
    choice: "always",
    scopes: always.map((_, number) => chosen(`part-${number}`)),
    file: FILES[chosen("file")],
  }));
}

/** Whether a yes counts: all that would be done was on the screen, it lay still, and somebody is there to hear it. */
function canSayYes() {
  return open !== null && open.end.isSeen && open.isRested && isConnected && !open.isBusy && open.over === null;
}

/** Whether what is offered beyond the call can be given: it was read, and the word for a rule was typed. */
function canGrant() {
  const field = $("panel").querySelector("#typed");
  const isTyped = field === null || field.value.trim().toLowerCase() === ALWAYS;
  return canSayYes() && isTyped && (open.grant === null || open.grant.isSeen);
}

/** Answers, and shows the next request where that counts. */
async function say(answer) {
  const current = open;
  if (current.isBusy || current.over !== null) return;
  current.isBusy = true;
  current.word = "";
  refresh();
  const { name, id, digest, number } = current.item;
  const reply = await post("answer", { name, id, digest, answer });
  current.isBusy = false;
  if (reply.status === 401) return unpaired();
  if (reply.ok) {
    items.delete(number);
    past(`you said ${said(answer)}`, current.item.brief);
    if (open === current) showNext();
    return;
  }
  current.word = reply.words;
  if (current.late !== null) end(current, current.late);
  refresh();
}

function said({ choice, message, process }) {
  if (process) return "no, and no to all of that process";
  const words = { yes: "yes", session: "yes for the session", always: "always", no: "no" };
  return message === undefined ? words[choice] : "no, with a message";
}

function showNext() {
  open?.stop();
  open = null;
  const next = items.values().next().value;
  if (next !== undefined) show(next);
  refresh();
}

/** Something is over. What is being answered here waits for whether that answer counts. */
function over(number, words) {
  const item = items.get(number);
  if (item === undefined) return;
  items.delete(number);
  const isShown = open?.item.number === number;
  if (isShown && open.isBusy) {
    open.late = words;
  } else if (isShown) {
    end(open, words);
  } else {
    past(words, item.brief);
  }
  refresh();
}

/** It is over without an answer from here. It stays, so that nothing else lies where it was. */
function end(current, words) {
  past(words, current.item.brief);
  if (open !== current) return;
  current.over = words;
  current.stop();
  const hadFocus = $("request").contains(document.activeElement);
  const close = button("Close", "close", showNext);
  $("panel").hidden = true;
  $("panel").replaceChildren();
  $("answers").hidden = false;
  $("answers").replaceChildren(close);
  if (hadFocus) close.focus({ preventScroll: true });
  $("request").classList.add("over");
}

// ---- all of them

function refresh() {
  const isPaired = token !== null;
  $("pair").hidden = isPaired;
  $("request").hidden = open === null || !isPaired;
  $("idle").hidden = open !== null || !isPaired;
  if (open !== null) {
    for (const yes of $("request").querySelectorAll("button.yes")) {
      yes.disabled = !canGrant();
    }
    setText("word", word());
  }
  showOthers([...items.values()].filter((item) => item !== open?.item));
  const waits = items.size === 1 ? "1 request waits" : `${items.size} requests wait`;
  setText("state", !isPaired ? "not paired" : isConnected ? waits : "not connected: what is shown may be over");
  $("state").classList.toggle("lost", isPaired && !isConnected);
  document.title = items.size === 0 ? "pinfold" : `(${items.size}) pinfold`;
  tick();
}

/** The list of the others. It is made anew only when it changes: somebody may be about to press. */
function showOthers(others) {
  $("queue").hidden = others.length === 0;
  const numbers = others.map((item) => item.number).join();
  if ($("waiting").dataset.numbers === numbers) return;
  $("waiting").dataset.numbers = numbers;
  $("waiting").replaceChildren(...others.map((item) => {
    const made = button("", "", () => show(item));
    made.append(...text(item.tool), " · ", ...text(item.brief));
    return make("li", {}, made);
  }));
}

/** What is told again is not said again. */
function setText(id, words) {
  if ($(id).textContent !== words) $(id).textContent = words;
}

function word() {
  if (open.over !== null) return `Over: ${open.over}`;
  if (open.word !== "") return open.word;
  const isUnread = !open.end.isSeen || (open.grant !== null && !open.grant.isSeen);
  const hasYes = open.item.answers.includes("yes");
  // Not before there was time to look: mostly all of it is on the screen at once.
  return isUnread && hasYes && open.isRested ? "Read to the end first: a yes counts once the end has been on the screen." : "";
}

/** What became of something; what it was stands behind a gutter, like all texts of others. */
function past(words, brief) {
  const about = brief === undefined ? [] : [inline("", brief)];
  $("past").hidden = false;
  $("log").prepend(make("li", {}, words, ...about));
  while ($("log").children.length > MAX_PAST) $("log").lastChild.remove();
}

/** The time that is left, as clocks show it. */
function tick() {
  if (open === null) return;
  const seconds = Math.max(0, Math.floor((open.item.deadline - Date.now() - ahead) / 1000));
  const two = (number) => String(number).padStart(2, "0");
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const left = hours > 0 ? `${hours} h ${two(minutes)}` : `${minutes}:${two(seconds % 60)}`;
  $("left").textContent = open.over === null ? `${left} left` : "";
}

// ---- what is said and heard

async function post(path, what) {
  try {
    const headers = { "content-type": "application/json" };
    if (token !== null) headers["x-pinfold-token"] = token;
    const reply = await fetch(path, { method: "POST", headers, body: JSON.stringify(what), redirect: "error" });
    const body = await reply.json();
    return { ok: reply.ok, status: reply.status, words: body.error ?? "that went wrong", body };
  } catch {
    return { ok: false, status: 0, words: "nobody can be reached: is `pinfold approvals --web` still there?" };
  }
}

async function pair(event) {
  event.preventDefault();
  const reply = await post("pair", { code: $("code").value });
  $("pair-word").textContent = reply.ok ? "" : reply.words;
  if (!reply.ok) return;
  token = reply.body.token;
  sessionStorage.setItem(TOKEN_KEY, token);
  $("code").value = "";
  refresh();
  listen();
}

function unpaired() {
  token = null;
  sessionStorage.removeItem(TOKEN_KEY);
  items.clear();
  open?.stop();
  open = null;
  isConnected = false;
  refresh();
  $("code").focus();
}

/** Listens for as long as this browser is paired. Not an EventSource: that sends no header. */
async function listen() {
  if (isListening) return;
  isListening = true;
  while (token !== null) {
    const stop = new AbortController();
    let silence = 0;
    const heard = () => { clearTimeout(silence); silence = setTimeout(() => stop.abort(), SILENT_MS); };
    try {
      heard();
      const headers = { "x-pinfold-token": token };
      const reply = await fetch("events", { headers, signal: stop.signal, redirect: "error", cache: "no-store" });
      if (reply.status === 401) { unpaired(); break; }
      if (reply.ok) await read(reply.body, heard);
    } catch {
      // It is tried again.
    }
    clearTimeout(silence);
    isConnected = false;
    refresh();
    await new Promise((done) => setTimeout(done, AGAIN_MS));
  }
  isListening = false;
}

async function read(body, heard) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let pieces = [];
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    heard();
    // An event ends with an empty line. One may come in many pieces.
    pieces.push(value);
    if (!value.endsWith("\n")) continue;
    const events = pieces.join("").split("\n\n");
    pieces = [events.pop()];
    events.forEach(take);
  }
}

function take(event) {
  const found = /^event: (\w+)\ndata: ([^]*)$/.exec(event);
  if (found === null) return;
  const what = JSON.parse(found[2]);
  switch (found[1]) {
    case "hello": return hello(what);
    case "asked": return asked(what);
    case "over": return over(what.number, what.words);
    case "note": return past(what.text);
  }
}

function hello({ now, waits }) {
  ahead = now - Date.now();
  isConnected = true;
  const there = new Set(waits);
  for (const number of [...items.keys()]) {
    if (!there.has(number)) over(number, "it ended while this page was not connected");
  }
  refresh();
}

function asked(item) {
  // After a pause everything is told again.
  if (items.has(item.number)) return;
  items.set(item.number, item);
  if (open === null) show(item);
  refresh();
}

document.addEventListener("visibilitychange", () => {
  if (document.visibilityState !== "visible" || open === null) return;
  open.rest();
  open.end.look();
  open.grant?.look();
  refresh();
});
$("pair").addEventListener("submit", pair);
$("panel").addEventListener("submit", (event) => event.preventDefault());
setInterval(tick, 1000);
refresh();
if (token === null) $("code").focus(); else listen();
