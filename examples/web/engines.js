// The two engines behind one interface. `loadEngine(key)` gives {name, open(bytes)}; a session has `inputs` and
// `outputs` ([{name, type, shape}], as the engine itself reports them), `run({name: {data, shape}})` and `close()`.
// Their files are taken from ./engines/, laid out as in node_modules. Nothing here touches the page.

export const ENGINES = Object.freeze({
  litert: Object.freeze({
    name: "LiteRT.js",
    suffix: ".tflite",
    // Of inputs and outputs. Inside of a file, any type will do.
    types: Object.freeze(["float32", "int32", "uint8"]),
  }),
  ort: Object.freeze({
    name: "ONNX Runtime Web",
    suffix: ".onnx",
    types: Object.freeze(["float32", "int32", "uint8", "int8"]),
  }),
});

const HOME = new URL("./engines/", import.meta.url);
const ARRAYS = Object.freeze({
  float32: Float32Array,
  int32: Int32Array,
  uint8: Uint8Array,
  int8: Int8Array,
  int64: BigInt64Array,
});
const OPENERS = { litert: startLiteRt, ort: startOrt };
const started = new Map();

// Which engine runs a file of this name: "litert", "ort" or null.
export function engineOf(file) {
  const found = Object.entries(ENGINES).find(([, engine]) => file.endsWith(engine.suffix));
  return found ? found[0] : null;
}

// Starts an engine once; a failure is forgotten, so that one can try again.
export async function loadEngine(key, { home = HOME } = {}) {
  const wanted = `${key} ${home}`;
  if (!started.has(wanted)) {
    const starting = OPENERS[key](new URL(home));
    started.set(wanted, starting);
    starting.catch(() => started.delete(wanted));
  }
  return started.get(wanted);
}

function missing(name, file, error) {
  const why = error instanceof Event ? "it did not load" : firstLine(error);
  return new Error(
    `${name} needs engines/${file} beside this page. Received: ${why}. Run export-mobile setup web and serve the ` +
      "folder with export-mobile demo, or copy the engines as docs/web.md says.",
  );
}

function firstLine(error) {
  const text = error instanceof Error ? error.message : String(error);
  return text.split("\n")[0].replace(/\.$/, "").slice(0, 200);
}

async function startLiteRt(home) {
  const place = "@litertjs/core/";
  let library;
  try {
    library = await import(new URL(`${place}dist/index.js`, home).href);
    await library.loadLiteRt(new URL(`${place}wasm/`, home).href);
  } catch (error) {
    throw missing(ENGINES.litert.name, `${place}dist and ${place}wasm`, error);
  }
  return { name: ENGINES.litert.name, open: (bytes) => openLiteRt(library, bytes) };
}

async function openLiteRt(library, bytes) {
  let model;
  try {
    model = await library.loadAndCompile(bytes, { accelerator: "wasm" });
  } catch (error) {
    throw new Error(`LiteRT.js does not take this file: ${firstLine(error)}.`);
  }
  const described = (details) =>
    details.map(({ name, dtype, shape }) => ({ name, type: dtype, shape: Array.from(shape) }));
  return {
    inputs: described(model.getInputDetails()),
    outputs: described(model.getOutputDetails()),
    async run(feed) {
      const given = {};
      let found = {};
      try {
        for (const [name, { data, shape }] of Object.entries(feed)) {
          given[name] = new library.Tensor(data, shape);
        }
        found = await model.run(given);
        const answers = {};
        for (const { name, shape } of model.getOutputDetails()) {
          answers[name] = { data: found[name].toTypedArray().slice(), shape: Array.from(shape) };
        }
        return answers;
      } finally {
        // Tensors live in the memory of the engine, which nobody else cleans up.
        for (const tensor of [...Object.values(given), ...Object.values(found)]) {
          tensor.delete();
        }
      }
    },
    close: () => model.delete(),
  };
}

// An .onnx file that gives back its input. ONNX Runtime Web fetches its WebAssembly with the first file that it opens:
// with this one, so that it is known to be there, and the time of a model is the time of that model.
const SMALLEST = "CAg6NwoQCgFhEgFiIghJZGVudGl0eRIBZ1oPCgFhEgoKCAgBEgQKAggBYg8KAWISCgoICAESBAoCCAFCBAoAEBE=";

async function startOrt(home) {
  const place = "onnxruntime-web/dist/";
  let library;
  try {
    library = await import(new URL(`${place}ort.wasm.min.mjs`, home).href);
    library.env.wasm.wasmPaths = new URL(place, home).href;
    // One thread: a sentence is too short for more to pay, and more need a page that is isolated from other origins.
    library.env.wasm.numThreads = 1;
    library.env.logLevel = "error";
    const first = await createOrt(library, Uint8Array.from(atob(SMALLEST), (letter) => letter.charCodeAt(0)));
    await first.release();
  } catch (error) {
    throw missing(ENGINES.ort.name, place, error);
  }
  return { name: ENGINES.ort.name, open: (bytes) => openOrt(library, bytes) };
}

function createOrt(library, bytes) {
  return library.InferenceSession.create(bytes, { executionProviders: ["wasm"] });
}

async function openOrt(library, bytes) {
  let session;
  try {
    session = await createOrt(library, bytes);
  } catch (error) {
    throw new Error(`ONNX Runtime Web does not take this file: ${firstLine(error)}.`);
  }
  const described = (details) =>
    details.map(({ name, type, shape }) => ({ name, type, shape: Array.from(shape ?? []) }));
  return {
    inputs: described(session.inputMetadata),
    outputs: described(session.outputMetadata),
    async run(feed) {
      const given = {};
      for (const [name, { data, shape }] of Object.entries(feed)) {
        given[name] = new library.Tensor(typeOf(data), data, shape);
      }
      const found = await session.run(given);
      const answers = {};
      for (const [name, tensor] of Object.entries(found)) {
        answers[name] = { data: tensor.data, shape: Array.from(tensor.dims) };
      }
      return answers;
    },
    close: () => session.release(),
  };
}

function typeOf(data) {
  return Object.keys(ARRAYS).find((type) => data instanceof ARRAYS[type]);
}
