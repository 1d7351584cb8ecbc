// Runs a model on the examples.json of its folder: inputs must be equal, outputs within the tolerance of the file.

import { readJson, wrong } from "./folder.js";

const NAME = "examples.json";
const FORMAT = "export-mobile-examples/1";
const INPUTS = ["ids", "mask", "segments"];

// {passed, count, worst, tolerance, failures: [{text, why}]}. `progress(done, count)` is called on the way.
export async function selfTest(model, progress = () => {}) {
  const document = await readJson(model.folder.url, NAME);
  if (document.format !== FORMAT || !Array.isArray(document.examples) || !document.examples.length) {
    throw wrong(NAME, `examples in the format ${FORMAT}`, String(document.format).slice(0, 80));
  }
  const tolerance = document.files?.[model.file.name]?.tolerance;
  if (typeof tolerance !== "number") {
    throw wrong(NAME, `a tolerance for ${model.file.name}`, "none");
  }
  const failures = [];
  let worst = 0;
  for (const [index, example] of document.examples.entries()) {
    const found = await tried(model, example);
    worst = Math.max(worst, found.difference);
    const why = found.why || (found.difference <= tolerance ? "" : `outputs are off by ${shown(found.difference)}`);
    if (why) {
      failures.push({ text: named(example, index), why });
    }
    progress(index + 1, document.examples.length);
  }
  return { passed: !failures.length, count: document.examples.length, worst, tolerance, failures };
}

function named(example, index) {
  const text = example.text ?? example.words?.join(" ");
  return text === undefined ? `example ${index + 1}` : text || `the empty text (example ${index + 1})`;
}

function shown(difference) {
  return Number.isFinite(difference) ? difference.toPrecision(3) : "more than any number";
}

async function tried(model, example) {
  const failed = (why) => ({ difference: 0, why });
  const expected = example.outputs?.[model.file.name];
  if (typeof expected !== "object" || expected === null) {
    return failed(`${NAME} has no answer of ${model.file.name}`);
  }
  try {
    const feed = inputsOf(model, example);
    const outputs = model.numbersOf(await model.run(feed));
    const differences = Object.entries(expected).map(([name, value]) => {
      if (outputs[name] === undefined) {
        throw new Error(`the file has no output ${name}`);
      }
      const [batch, ...shape] = outputs[name].shape;
      return farthest(value, outputs[name].values.slice(0, outputs[name].values.length / batch), shape);
    });
    return { difference: Math.max(0, ...differences), why: "" };
  } catch (error) {
    return failed(error.message);
  }
}

function inputsOf(model, example) {
  if (model.folder.kind === "bytes") {
    return model.encode(example.text).feed;
  }
  const given = example.inputs;
  if (example.text === undefined && example.words === undefined) {
    return model.feedOf(given); // random weights have no tokenizer, so their examples have no texts
  }
  const own = example.words ? model.encodeWords(example.words) : model.encode(example.text, example.text_pair);
  for (const name of INPUTS.filter((one) => given[one] !== undefined)) {
    const found = own.inputs[name];
    if (found.length !== given[name].length) {
      throw new Error(`expected ${given[name].length} ${name}, received ${found.length}`);
    }
    const place = found.findIndex((value, index) => value !== given[name][index]);
    if (place >= 0) {
      throw new Error(`${name} differ at token ${place + 1}: expected ${given[name][place]}, received ${found[place]}`);
    }
  }
  return own.feed;
}

// The largest difference over the corner of the output that was written down. `null` stands for what is not finite.
function farthest(expected, values, shape, start = 0) {
  if (!Array.isArray(expected)) {
    const found = values[start];
    if (expected === null) {
      return Number.isFinite(found) ? Infinity : 0;
    }
    return Number.isFinite(found) ? Math.abs(found - expected) : Infinity;
  }
  const [length, ...rest] = shape;
  if (expected.length > length) {
    return Infinity;
  }
  const step = rest.reduce((product, size) => product * size, 1);
  return Math.max(0, ...expected.map((item, index) => farthest(item, values, rest, start + index * step)));
}
