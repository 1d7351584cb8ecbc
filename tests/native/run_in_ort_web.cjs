// Runs .onnx files in ONNX Runtime Web (WebAssembly) and writes their answers. Arguments: a job file, a result file.
// A job is a list of {model, rows}; a row has for each input {type, dims, data}. The result has a list of answers of
// each row, {name: {dims, data}}.
const fs = require("fs");
const ort = require("onnxruntime-web");

const ARRAYS = { int8: Int8Array, uint8: Uint8Array, int32: Int32Array, float32: Float32Array };

async function main() {
  const [job, result] = process.argv.slice(2);
  ort.env.wasm.numThreads = 1;
  const found = [];
  for (const { model, rows } of JSON.parse(fs.readFileSync(job))) {
    const session = await ort.InferenceSession.create(new Uint8Array(fs.readFileSync(model)));
    const answers = [];
    for (const row of rows) {
      const feed = {};
      for (const [name, { type, dims, data }] of Object.entries(row)) {
        feed[name] = new ort.Tensor(type, ARRAYS[type].from(data), dims);
      }
      const outputs = await session.run(feed);
      const plain = {};
      for (const [name, tensor] of Object.entries(outputs)) {
        plain[name] = { dims: tensor.dims, data: Array.from(tensor.data) };
      }
      answers.push(plain);
    }
    found.push(answers);
    await session.release();
  }
  fs.writeFileSync(result, JSON.stringify(found));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
