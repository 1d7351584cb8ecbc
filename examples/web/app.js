// The page: chooses a model, shows answers while one types, times and the self-test. All text goes in by textContent.

import { ENGINES } from "./engines.js";
import { openFolder, TASKS } from "./folder.js";
import { openModel } from "./model.js";
import { selfTest } from "./selftest.js";

const SHOWN = 5; // labels
const SLOW = 40; // milliseconds: a slower model waits until nobody types
const PAUSE = 150;
const LIKELY = 0.5; // of several labels per text, those that apply
const LONGEST = 100; // characters of a text that failed, so that it can be recognized

const at = (id) => document.getElementById(id);
const folders = new Map();
const times = [];
let model = null;
let turn = 0; // of loading: a choice made later wins
let busy = false;
let waiting = false;
let timer = 0;

function element(name, text = "", className = "") {
  const made = document.createElement(name);
  made.textContent = text;
  made.className = className;
  return made;
}

function say(id, text, kind = "") {
  at(id).textContent = text;
  at(id).className = `line ${kind}`.trim();
}

function milliseconds(value) {
  return value < 10 ? `${value.toFixed(1)} ms` : value < 1000 ? `${value.toFixed(0)} ms` : `${(value / 1000).toFixed(2)} s`;
}

function bytes(value) {
  return value === null ? "size unknown" : value < 1e6 ? `${(value / 1e3).toFixed(0)} KB` : `${(value / 1e6).toFixed(1)} MB`;
}

async function start() {
  const answer = await fetch("models.json").catch(() => null);
  const names = answer?.ok ? await answer.json().catch(() => null) : null;
  if (!Array.isArray(names) || !names.length || !names.every((name) => typeof name === "string")) {
    throw new Error(
      'Expected models.json beside this page: a list of export folders, such as ["models/prado"]. Received: ' +
        `${answer?.ok ? "something else" : "no such file"}.`,
    );
  }
  for (const name of names) {
    const option = element("option", name.replace(/\/+$/, "").split("/").at(-1));
    option.value = name;
    at("folder").append(option);
  }
  at("folder").disabled = false;
  await chooseFolder();
}

async function chooseFolder() {
  const name = at("folder").value;
  const mine = ++turn;
  drop();
  say("state", "Loading…");
  at("files").replaceChildren();
  if (!folders.has(name)) {
    const opening = openFolder(new URL(name, document.baseURI));
    folders.set(name, opening);
    opening.catch(() => folders.delete(name));
  }
  const folder = await folders.get(name);
  if (mine === turn) {
    await showFolder(folder);
  }
}

async function showFolder(folder) {
  const shape = TASKS[folder.task];
  at("pair-field").hidden = !folder.takesPairs || shape === "tags";
  at("text-label").textContent = shape === "tags" ? "Text, words between spaces" : "Text";
  at("answers").hidden = shape === "tags";
  at("tags").hidden = shape !== "tags";
  // As many rows as there will be, so that the page has its height at once.
  const rows = Math.min(SHOWN, Math.max(1, folder.labels.length));
  at("answers").replaceChildren(...Array.from({ length: rows }, () => row("–", 0, "")));
  const files = [...folder.files].sort((one, other) => Boolean(one.refused) - Boolean(other.refused));
  const shown = files.filter((file) => !file.refused || !files.some((other) => !other.refused && other.engine === file.engine));
  at("files").replaceChildren(...shown.map(fileChoice));
  const first = at("files").querySelector("input:enabled");
  if (first === null) {
    throw new Error(`${folder.name} has no file that a browser runs: the reasons are beside the files.`);
  }
  first.checked = true;
  await chooseFile();
}

function fileChoice(file) {
  const label = element("label", "", "file");
  const input = document.createElement("input");
  input.type = "radio";
  input.name = "file";
  input.value = file.name;
  input.disabled = Boolean(file.refused);
  const about = document.createElement("div");
  about.append(element("strong", ENGINES[file.engine].name), element("span", `${file.name}, ${bytes(file.sizeBytes)}`));
  if (file.refused) {
    about.append(element("span", `Not offered: ${file.refused}.`));
  }
  label.append(input, about);
  return label;
}

function drop() {
  clearTimeout(timer);
  timer = 0;
  model?.close();
  model = null;
  times.length = 0;
  delete document.body.dataset.ready;
  at("test").disabled = true;
  at("failures").replaceChildren();
  for (const id of ["size", "load", "first", "last", "median"]) {
    at(id).textContent = "–";
  }
  say("problem", "");
  say("verdict", "The texts of examples.json, compared with the answers of the export.");
}

async function chooseFile() {
  const choice = at("files").querySelector("input:checked");
  const folder = await folders.get(at("folder").value);
  const mine = ++turn;
  drop();
  say("state", `Loading ${choice.value}…`);
  const opened = await openModel(folder, choice.value);
  if (mine !== turn) {
    opened.close();
    return;
  }
  model = opened;
  at("size").textContent = bytes(model.sizeBytes);
  at("load").textContent = milliseconds(model.times.read + model.times.load + model.times.tokenizer);
  const started = model.times.engine < 1 ? "" : `; it started in ${milliseconds(model.times.engine)}`; // else it ran
  say("state", `${model.engine.name} is ready${started}.`);
  at("test").disabled = false;
  document.body.dataset.ready = model.file.name;
  await answer();
}

function row(name, probability, number) {
  const item = document.createElement("li");
  const bar = element("span", "", "bar"); // the number beside it says the same
  bar.style.width = `${100 * probability}%`;
  item.append(bar, element("span", name, "name"), element("span", number, "number"));
  return item;
}

function typed() {
  clearTimeout(timer);
  timer = 0;
  at("result").setAttribute("aria-busy", "true");
  const usual = times.length ? times.at(-1) : 0;
  if (usual > SLOW) {
    timer = setTimeout(() => {
      timer = 0;
      guarded(answer)();
    }, PAUSE);
  } else {
    guarded(answer)();
  }
}

// Nothing is computed and nothing waits: what is shown is the answer to what is typed.
function settle() {
  if (!busy && !timer) {
    at("result").setAttribute("aria-busy", "false");
  }
}

// The answer to what is typed now. While one is computed, later keys ask for one more, not for one each.
async function answer() {
  if (model === null || busy) {
    waiting = busy;
    settle();
    return;
  }
  busy = true;
  try {
    do {
      waiting = false;
      await show(model);
    } while (waiting && model !== null);
  } finally {
    busy = false;
    settle();
  }
}

async function show(asked) {
  const text = at("text").value;
  const pair = at("pair-field").hidden ? undefined : at("pair").value || undefined;
  if (TASKS[asked.folder.task] === undefined) {
    say("problem", `This page shows labels, scores and tags. Received: a model for ${asked.folder.task}; its self-test runs.`);
    return;
  }
  if (text === "" && !pair) {
    blank(asked);
    return;
  }
  const tagging = TASKS[asked.folder.task] === "tags";
  let found;
  try {
    found = await (tagging ? asked.tag(text) : asked.classify(text, pair));
  } catch (error) {
    if (asked === model) {
      blank(asked);
      say("problem", error.message, "error");
    }
    return;
  }
  if (asked !== model) {
    return;
  }
  say("problem", found.cut ? `Too long: the model reads the beginning (${limit(asked)}).` : "");
  if (tagging) {
    showTags(found.words);
  } else {
    showLabels(asked, found);
  }
  showTimes(found.milliseconds);
}

function limit({ folder }) {
  return `${folder.maxLength} ${folder.kind === "bytes" ? "bytes" : "tokens"}`;
}

function blank(asked) {
  say("problem", "");
  const rows = Math.min(SHOWN, Math.max(1, asked.folder.labels.length));
  at("answers").replaceChildren(...Array.from({ length: rows }, () => row("–", 0, "")));
  at("tags").replaceChildren();
  at("summary").textContent = "";
}

function showLabels(asked, { labels, score }) {
  if (labels === undefined) {
    at("answers").replaceChildren(row("score", 0, score.toFixed(3)));
    at("summary").textContent = `Score ${score.toFixed(3)}`;
    return;
  }
  const chosen = (entry, place) => (asked.folder.multiLabel ? entry.probability >= LIKELY : place === 0);
  const rows = labels.slice(0, SHOWN).map((entry, place) => {
    const item = row(entry.label, entry.probability, `${(100 * entry.probability).toFixed(1)} %`);
    item.classList.toggle("chosen", chosen(entry, place));
    return item;
  });
  at("answers").replaceChildren(...rows);
  const best = labels.filter(chosen).map(({ label, probability }) => `${label}, ${Math.round(100 * probability)} percent`);
  at("summary").textContent = best.join("; ") || "No label applies";
}

function showTags(words) {
  at("tags").replaceChildren(
    ...words.map(({ word, label }) => {
      const item = element("li", word);
      item.append(element("small", label ?? "did not fit"));
      return item;
    }),
  );
  at("summary").textContent = words.map(({ word, label }) => `${word}: ${label ?? "did not fit"}`).join(", ");
}

function showTimes(latest) {
  times.push(latest);
  at("first").textContent = milliseconds(times[0]);
  // Without the first one, for which the browser compiles.
  const sorted = (times.length > 1 ? times.slice(1) : times).sort((one, other) => one - other);
  const middle = (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2;
  at("last").textContent = milliseconds(latest);
  at("median").textContent = milliseconds(middle);
}

async function test() {
  const asked = model;
  at("test").disabled = true;
  at("failures").replaceChildren();
  try {
    const found = await selfTest(asked, (done, count) => asked === model && say("verdict", `${done} of ${count} texts…`));
    if (asked !== model) {
      return; // another one was chosen meanwhile
    }
    const line = `largest difference ${found.worst.toPrecision(2)}, allowed ${found.tolerance.toPrecision(2)}`;
    if (found.passed) {
      say("verdict", `Passed: ${found.count} texts, ${line}.`, "good");
    } else {
      say("verdict", `Failed: ${found.failures.length} of ${found.count} texts, ${line}.`, "error");
      at("failures").append(
        ...found.failures.map(({ text, why }) => element("li", `“${shortened(text)}”: ${why}`)),
      );
    }
  } catch (error) {
    if (asked === model) {
      say("verdict", error.message, "error");
    }
  } finally {
    at("test").disabled = model === null;
  }
}

function shortened(text) {
  const letters = Array.from(text);
  return letters.length > LONGEST ? `${letters.slice(0, LONGEST).join("")}…` : text;
}

// Whatever goes wrong is one line on the page.
function guarded(action) {
  return () =>
    action().catch((error) => {
      say("state", String(error?.message ?? error).split("\n")[0], "error");
    });
}

at("folder").addEventListener("change", guarded(chooseFolder));
at("files").addEventListener("change", guarded(chooseFile));
at("text").addEventListener("input", typed);
at("pair").addEventListener("input", typed);
at("test").addEventListener("click", guarded(test));
guarded(start)();
