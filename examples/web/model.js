// A model of an export folder, without a page: open a folder, open one of its files, classify texts.
//
//   import { openFolder, openModel } from "./model.js";
//   const folder = await openFolder("models/prado-snips-int8");
//   const model = await openModel(folder, "bytes_int8.tflite");
//   const { labels } = await model.classify("play some jazz");   // [{label, probability}], the most probable first
//
// Errors are one line each.

import { largest, numbers, ranked, sigmoid, softmax } from "./answers.js";
import { ENGINES, loadEngine } from "./engines.js";
import { openFolder, readBytes, readText, TASKS } from "./folder.js";

export { openFolder };

const LOGITS = "logits";
const PROBABILITIES = "probabilities";

// `start` of the result says what it took, in milliseconds: the engine, reading the file, loading it.
export async function openModel(folder, name) {
  const file = folder.files.find((one) => one.name === name);
  if (!file) {
    throw new Error(`Expected a model file of ${folder.name}. Received: ${name}.`);
  }
  if (file.refused) {
    throw new Error(`${name} ${file.refused}.`);
  }
  const began = performance.now();
  const engine = await loadEngine(file.engine);
  const ready = performance.now();
  const bytes = await readBytes(folder.url, name);
  const fetched = performance.now();
  const session = await engine.open(bytes);
  const loaded = performance.now();
  try {
    checkSignature(folder, file, session);
    const tokenizer = folder.kind === "tokens" ? await openTokenizer(folder) : null;
    const times = {
      engine: ready - began,
      read: fetched - ready,
      load: loaded - fetched,
      tokenizer: performance.now() - loaded,
    };
    return new Model({ folder, file, session, tokenizer, times, sizeBytes: bytes.length });
  } catch (error) {
    session.close();
    throw error;
  }
}

class Model {
  #session;
  #tokenizer;
  #last = Promise.resolve(); // engines run one text at a time
  #closed = false;

  constructor({ folder, file, session, tokenizer, times, sizeBytes }) {
    this.#session = session;
    this.#tokenizer = tokenizer;
    this.folder = folder;
    this.file = file;
    this.engine = ENGINES[file.engine];
    this.times = times;
    this.sizeBytes = sizeBytes;
  }

  // Of a text, or of two: {labels: [{label, probability}]}, or {score} of a regression; milliseconds and what was cut.
  async classify(text, pair = undefined) {
    const began = performance.now();
    const encoded = this.encode(text, pair);
    const outputs = await this.run(encoded.feed);
    const found = this.#read(outputs);
    return { ...found, cut: encoded.cut, milliseconds: performance.now() - began };
  }

  // Of words, or of a text that is split at spaces: {words: [{word, label, probability}]}; label null where a word did
  // not fit.
  async tag(given) {
    const began = performance.now();
    const words = Array.isArray(given) ? given : given.split(/\s+/u).filter(Boolean);
    const encoded = this.encodeWords(words);
    const { data, shape } = await this.run(encoded.feed).then((outputs) => outputs[LOGITS]);
    const width = shape.at(-1);
    const logits = numbers({ data }, this.#output(LOGITS));
    const tags = words.map((word, index) => {
      const place = encoded.firstPieces[index];
      if (place < 0) {
        return { word, label: null, probability: 0 };
      }
      const probabilities = softmax(logits.slice(place * width, (place + 1) * width));
      const best = largest(probabilities);
      return { word, label: this.folder.labels[best], probability: probabilities[best] };
    });
    return { words: tags, cut: encoded.cut, milliseconds: performance.now() - began };
  }

  // What the file gets for a text: {feed, inputs, cut}; `inputs` as in examples.json, without padding.
  encode(text, pair = undefined) {
    checkText(text);
    if (pair !== undefined) {
      checkText(pair);
    }
    if (this.folder.kind === "bytes") {
      return this.#encodeBytes(text);
    }
    return this.#tokenFeed((maxLen) => this.#needTokenizer().encode(text, { pair, maxLen }));
  }

  encodeWords(words) {
    words.forEach(checkText);
    return this.#tokenFeed((maxLen) => this.#needTokenizer().encodeWords(words, { maxLen }));
  }

  // From ids, mask and segments without padding, as examples.json has them.
  feedOf(inputs) {
    const length = this.#lengthOf(this.#session.inputs[0], inputs.mask.length);
    const feed = {};
    for (const { name } of this.#session.inputs) {
      const data = new Int32Array(length);
      data.set(inputs[name].slice(0, length));
      feed[name] = { data, shape: [1, length] };
    }
    return feed;
  }

  // Outputs by name: {data, shape}.
  async run(feed) {
    const mine = this.#last.then(() => {
      if (this.#closed) {
        throw new Error("the model was closed");
      }
      return this.#session.run(feed);
    });
    this.#last = mine.catch(() => {});
    try {
      return await mine;
    } catch (error) {
      throw new Error(`${this.file.name} failed in ${this.engine.name}: ${String(error.message).split("\n")[0]}.`);
    }
  }

  // Outputs as numbers by name: {values, shape}.
  numbersOf(outputs) {
    const found = {};
    for (const [name, output] of Object.entries(outputs)) {
      found[name] = { values: numbers(output, this.#output(name)), shape: output.shape };
    }
    return found;
  }

  // Once the text that runs is done.
  close() {
    if (!this.#closed) {
      this.#closed = true;
      this.#last.then(() => this.#session.close());
    }
  }

  #read(outputs) {
    const { labels, multiLabel, task } = this.folder;
    if (outputs[LOGITS] === undefined) {
      return { labels: ranked(labels, numbers(outputs[PROBABILITIES], this.#output(PROBABILITIES))) };
    }
    const logits = numbers(outputs[LOGITS], this.#output(LOGITS));
    if (TASKS[task] === "score") {
      return { score: logits[0] };
    }
    return { labels: ranked(labels, multiLabel ? sigmoid(logits) : softmax(logits)) };
  }

  #output(name) {
    return this.file.outputs.find((one) => one.name === name) ?? { scale: null, zeroPoint: 0 };
  }

  #encodeBytes(text) {
    const [input] = this.#session.inputs;
    const bytes = new TextEncoder().encode(text);
    const room = fixed(input.shape[1]) ?? this.folder.maxLength;
    const kept = bytes.subarray(0, room || bytes.length);
    // A fixed input has zeros behind the text; else the text is as long as it is, and an empty one is one zero.
    const data = new Uint8Array(fixed(input.shape[1]) ?? Math.max(1, kept.length));
    data.set(kept);
    const feed = { [input.name]: { data, shape: [1, data.length] } };
    return { feed, inputs: {}, cut: kept.length < bytes.length };
  }

  #tokenFeed(encode) {
    const limit = this.folder.maxLength;
    const { ids, mask, segments, firstPieces } = encode(limit);
    const inputs = { ids: Array.from(ids), mask: Array.from(mask), segments: Array.from(segments) };
    // A row that is full was cut if one with more room is longer.
    const cut = ids.length >= limit && encode(limit + 1).ids.length > limit;
    return { feed: this.feedOf(inputs), inputs, cut, firstPieces };
  }

  #lengthOf(input, tokens) {
    return fixed(input.shape[1]) ?? (this.folder.anyLength ? Math.max(1, tokens) : this.folder.maxLength);
  }

  #needTokenizer() {
    if (this.#tokenizer === null) {
      throw new Error(`${this.folder.name} has random weights and no tokenizer: it takes no text.`);
    }
    return this.#tokenizer;
  }
}

async function openTokenizer(folder) {
  if (!folder.hasTokenizer) {
    return null;
  }
  const { Tokenizer } = await import("./tokenizer.js");
  return Tokenizer.fromJson(await readText(folder.url, "tokenizer.json"));
}

// A number that an engine reports for a dimension; null where any length will do.
function fixed(dimension) {
  return typeof dimension === "number" && dimension > 0 ? dimension : null;
}

function checkText(text) {
  if (typeof text !== "string") {
    throw new Error(`Expected a text. Received: ${typeof text}.`);
  }
  const place = text.search(/\p{Surrogate}/u); // in Unicode mode only those without their other half match
  if (place >= 0) {
    throw new Error(
      `Expected whole characters. Received: half of a surrogate pair at place ${place + 1}. Type that character again.`,
    );
  }
}

// The file must be what the folder says it is, as the engine itself sees it.
function checkSignature(folder, file, session) {
  const received = (entries) =>
    entries.map(({ name, type, shape }) => `${name} ${type} [${shape.join(", ")}]`).join("; ") || "none";
  const wanted = folder.kind === "bytes" ? { text: "uint8" } : { ids: "int32", mask: "int32", segments: "int32" };
  const fits = session.inputs.every(({ name, type, shape }) => wanted[name] === type && shape.length === 2);
  if (!session.inputs.length || !fits) {
    const names = folder.kind === "bytes" ? "text as uint8 [1, bytes]" : "ids, mask and segments as int32 [1, length]";
    throw new Error(`${file.name} must take ${names}. Received: ${received(session.inputs)}.`);
  }
  if (TASKS[folder.task] === undefined) {
    return; // other answers can be tested, and are not shown
  }
  const answer = session.outputs.find(({ name }) => name === LOGITS || name === PROBABILITIES);
  const width = fixed(answer?.shape.at(-1));
  if (!answer) {
    throw new Error(`${file.name} must answer with logits. Received: ${received(session.outputs)}.`);
  }
  if (width !== null && TASKS[folder.task] !== "score" && width !== folder.labels.length) {
    throw new Error(
      `${folder.labelsFrom} must have ${width} labels, one for each number of ${file.name}. ` +
        `Received: ${folder.labels.length}.`,
    );
  }
}
