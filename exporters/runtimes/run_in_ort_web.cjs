// Runs .onnx files in ONNX Runtime Web (WebAssembly) and writes their answers. Arguments: a job file, a result file, a
// file of times. A job is a list of {model, rows}; a row has for each input {dims, data}, of the type that `types` of the
// file names. The result has for each file {answers}, a list of {name: {dims, data}}, or {error}; times are {load, rows}
// of each file, in milliseconds of the clock and of the processor. A line on stdout tells which file is begun.
const fs = require("fs");
const ort = require("onnxruntime-web");

const ARRAYS = { int8: Int8Array, uint8: Uint8Array, int32: Int32Array, float32: Float32Array };

function clocks() {
  const { user, system } = process.cpuUsage();
  return [performance.now(), (user + system) / 1000];
}

function since(start) {
  return clocks().map((value, index) => value - start[index]);
}

async function answersOf({ model, rows, types }, time) {
  const data = new Uint8Array(fs.readFileSync(model));
  const began = clocks();
  const session = await ort.InferenceSession.create(data);
  time.load = since(began);
  const answers = [];
  for (const row of rows) {
    const feed = {};
    for (const [name, { dims, data }] of Object.entries(row)) {
      feed[name] = new ort.Tensor(types[name], ARRAYS[types[name]].from(data), dims);
    }
    const start = clocks();
    const outputs = await session.run(feed);
    time.rows.push(since(start));
    const plain = {};
    for (const [name, tensor] of Object.entries(outputs)) {
      // An int64 is a BigInt, which JSON does not take.
      plain[name] = { dims: tensor.dims, data: Array.from(tensor.data, Number) };
    }
    answers.push(plain);
  }
  await session.release();
  return answers;
}

async function main() {
  const [job, result, timed] = process.argv.slice(2);
  ort.env.wasm.numThreads = 1;
  ort.env.logLevel = "fatal";
  const found = [];
  const times = [];
  for (const [number, file] of JSON.parse(fs.readFileSync(job)).entries()) {
    console.log(`file ${number}`);
    const time = { load: [], rows: [] };
    try {
      found.push({ answers: await answersOf(file, time) });
    } catch (error) {
      found.push({ error: String((error && error.message) || error) });
    }
    times.push(time);
  }
  fs.writeFileSync(result, JSON.stringify(found));
  fs.writeFileSync(timed, JSON.stringify(times));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
