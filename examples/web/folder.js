// Reads what an export folder says about itself: projection.json or model.json, labels, sizes. Loads no model file and
// touches no page. Every error is one line that says what was expected and what was received.

import { ENGINES, engineOf } from "./engines.js";

export const TASKS = Object.freeze({
  classification: "labels",
  regression: "score",
  "token-classification": "tags",
});
const BYTES = { file: "projection.json", format: "export-mobile-projection/1" };
const TOKENS = { file: "model.json", format: "export-mobile-tokens/1" };
const SIGNATURE = "serving_default";
const EXPORT_AGAIN = "Export again with export-mobile.";

// The folder at an address: {url, name, kind, task, labels, multiLabel, maxLength, anyLength, takesPairs, files,
// description}. `kind` is "bytes" (text as UTF-8 bytes) or "tokens"; `files` are [{name, engine, sizeBytes, refused, inputs, outputs}],
// where `refused` is "" or the reason why a browser cannot run that file.
export async function openFolder(address) {
  const url = new URL(String(address).replace(/\/*$/, "/"), globalThis.location?.href ?? import.meta.url);
  const sizes = await readSizes(url);
  const kind = await kindOf(url, sizes);
  const description = await readJson(url, kind.file);
  if (description.format !== kind.format) {
    throw wrong(kind.file, `the format ${kind.format}`, quoted(description.format));
  }
  return kind === BYTES ? bytesFolder(url, sizes, description) : tokensFolder(url, sizes, description);
}

export async function readBytes(url, name) {
  let answer;
  try {
    answer = await fetch(new URL(encodeURIComponent(name), url));
  } catch (error) {
    throw new Error(`${name} could not be read: ${error.message}.`);
  }
  if (!answer.ok) {
    throw new Error(`${name} could not be read. Received: ${answer.status} ${answer.statusText}`.trim() + ".");
  }
  return new Uint8Array(await answer.arrayBuffer());
}

export async function readText(url, name) {
  const bytes = await readBytes(url, name);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw wrong(name, "UTF-8", "other bytes");
  }
}

export async function readJson(url, name) {
  const text = await readText(url, name);
  let document;
  try {
    document = JSON.parse(text);
  } catch (error) {
    throw wrong(name, "JSON", error.message.split("\n")[0]);
  }
  if (!isObject(document)) {
    throw wrong(name, "a JSON object", "another kind of JSON");
  }
  return document;
}

export function wrong(name, expected, received) {
  return new Error(`${name} must hold ${expected}. Received: ${received}. ${EXPORT_AGAIN}`);
}

async function readSizes(url) {
  // Only there for sizes and to know which description to ask for, so that a folder without it works, too.
  try {
    const { files } = await readJson(url, "manifest.json");
    return isObject(files) ? files : {};
  } catch {
    return {};
  }
}

async function kindOf(url, sizes) {
  const named = [BYTES, TOKENS].find(({ file }) => Object.hasOwn(sizes, file));
  if (named) {
    return named;
  }
  for (const kind of [BYTES, TOKENS]) {
    const answer = await fetch(new URL(kind.file, url)).catch(() => null);
    if (answer?.ok) {
      return kind;
    }
  }
  throw new Error(
    `${url.pathname} must be a folder that export-mobile wrote, with projection.json or model.json. Received: neither.`,
  );
}

async function bytesFolder(url, sizes, description) {
  const name = typeof description.labels === "string" ? description.labels : "labels.txt";
  const labels = (await readText(url, name)).replace(/\r?\n$/, "").split(/\r?\n/);
  if (labels.length === 1 && labels[0] === "") {
    throw wrong(name, "a label in each line", "an empty file");
  }
  const maxLength = whole(BYTES.file, "config.max_bytes", description.config?.max_bytes, { least: 0 });
  return {
    ...shared(url, BYTES.file, description),
    kind: "bytes",
    task: "classification",
    labels,
    labelsFrom: name,
    maxLength,
    anyLength: true,
    takesPairs: false,
    files: listed(BYTES.file, description, sizes, notBytes),
  };
}

function tokensFolder(url, sizes, description) {
  const { task, labels } = description;
  if (typeof task !== "string") {
    throw wrong(TOKENS.file, "a task", quoted(task));
  }
  if (!Array.isArray(labels) || !labels.every((label) => typeof label === "string")) {
    throw wrong(TOKENS.file, "a list of labels", quoted(labels));
  }
  if (!labels.length && ["labels", "tags"].includes(TASKS[task])) {
    throw wrong(TOKENS.file, "labels", "none");
  }
  return {
    ...shared(url, TOKENS.file, description),
    kind: "tokens",
    task,
    labels,
    labelsFrom: TOKENS.file,
    maxLength: whole(TOKENS.file, "length.max", description.length?.max, { least: 1 }),
    anyLength: description.length?.any === true,
    takesPairs: description.pairs !== false, // null: the export had no data that tells
    hasTokenizer: isObject(description.tokenizer),
    files: listed(TOKENS.file, description, sizes, () => ""),
  };
}

function shared(url, file, description) {
  return {
    url,
    name: decodeURIComponent(url.pathname.split("/").at(-2) || "model"),
    multiLabel: description.multi_label === true,
    describedBy: file,
    description,
  };
}

function listed(source, description, sizes, refusal) {
  if (!isObject(description.files) || !Object.keys(description.files).length) {
    throw wrong(source, "the model files of the export", quoted(description.files));
  }
  const found = [];
  for (const [name, entry] of Object.entries(description.files)) {
    const engine = engineOf(name);
    if (engine !== null) {
      const [inputs, outputs] = borders(source, name, entry);
      const refused = refusal(inputs) || forMediaPipe(outputs) || otherTypes(engine, [...inputs, ...outputs]);
      const size = sizes[name]?.size_bytes;
      found.push({ name, engine, inputs, outputs, refused, sizeBytes: Number.isInteger(size) ? size : null });
    }
  }
  return found;
}

// The file that --mediapipe adds answers no logits.
function forMediaPipe(outputs) {
  return outputs.length === 1 && outputs[0].name === "probabilities" ? "answers no logits: it is for MediaPipe" : "";
}

// Inputs and outputs of the default signature, in one form: [{name, type, shape, scale, zeroPoint}].
function borders(source, name, entry) {
  const signature = isObject(entry?.[SIGNATURE]) ? entry[SIGNATURE] : entry;
  const sides = ["input", "output"].map((side) => signature?.[`${side}s`] ?? [signature?.[side]]);
  return sides.map((side) => {
    if (!Array.isArray(side) || !side.every((one) => isObject(one) && typeof one.name === "string")) {
      throw wrong(source, `inputs and outputs of ${name}`, "none");
    }
    return side.map((one) => ({
      name: one.name,
      type: one.dtype === "float" ? "float32" : String(one.dtype),
      shape: Array.isArray(one.shape) ? one.shape : [],
      scale: typeof one.scale === "number" ? one.scale : null,
      zeroPoint: typeof one.zero_point === "number" ? one.zero_point : 0,
    }));
  });
}

function notBytes(inputs) {
  const [{ name, type }] = inputs;
  if (inputs.length === 1 && name === "text" && type === "uint8") {
    return "";
  }
  return type === "string"
    ? "needs the projection op, which a browser does not have; the bytes-in file does the same"
    : `takes ${name}, which this page does not compute; the bytes-in file takes text`;
}

function otherTypes(engine, entries) {
  const { name, types } = ENGINES[engine];
  const other = entries.find(({ type }) => !types.includes(type));
  return other
    ? `${name} takes ${types.join(", ")} for inputs and outputs, not ${other.type} (${other.name}); ` +
        "export with --io float32"
    : "";
}

function whole(source, name, value, { least }) {
  if (!Number.isInteger(value) || value < least) {
    throw wrong(source, `a whole number for ${name}`, quoted(value));
  }
  return value;
}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function quoted(value) {
  return value === undefined ? "nothing" : JSON.stringify(value).slice(0, 80);
}
