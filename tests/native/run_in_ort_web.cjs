// Runs .onnx files in ONNX Runtime Web (WebAssembly) and writes their answers. Arguments: a job file, a result file, a
// file of times. A job is a list of {model, rows}; a row has for each input {type, dims, data}. The result has a list of
// answers of each row, {name: {dims, data}}; times are {load, rows} of each model, in milliseconds of the clock and of
// the processor.
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

async function main() {
  const [job, result, timed] = process.argv.slice(2);
  ort.env.wasm.numThreads = 1;
  const found = [];
  const times = [];
  for (const { model, rows } of JSON.parse(fs.readFileSync(job))) {
    const data = new Uint8Array(fs.readFileSync(model));
    const began = clocks();
    const session = await ort.InferenceSession.create(data);
    const time = { load: since(began), rows: [] };
    const answers = [];
    for (const row of rows) {
      const feed = {};
      for (const [name, { type, dims, data }] of Object.entries(row)) {
        feed[name] = new ort.Tensor(type, ARRAYS[type].from(data), dims);
      }
      const start = clocks();
      const outputs = await session.run(feed);
      time.rows.push(since(start));
      const plain = {};
      for (const [name, tensor] of Object.entries(outputs)) {
        plain[name] = { dims: tensor.dims, data: Array.from(tensor.data) };
      }
      answers.push(plain);
    }
    found.push(answers);
    times.push(time);
    await session.release();
  }
  fs.writeFileSync(result, JSON.stringify(found));
  fs.writeFileSync(timed, JSON.stringify(times));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
