// Runs the JavaScript tokenizer on files of requests, see tests/support/tokenizers_elsewhere.py.
// node tokenizer_on_node.mjs FOLDER_OF_TOKENIZER_JS TOKENIZER REQUESTS ANSWERS [TOKENIZER REQUESTS ANSWERS ...]
import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, ...files] = process.argv.slice(2);
const { Tokenizer } = await import(pathToFileURL(join(folder, "tokenizer.js")));

function answer(tokenizer, kind, maxLen, texts) {
  if (kind === 0) return tokenizer.encode(texts[0], { maxLen });
  if (kind === 1) return tokenizer.encode(texts[0], { pair: texts[1], maxLen });
  return kind === 2 ? tokenizer.encodeWords(texts, { maxLen }) : tokenizer.pieces(texts[0]);
}

function packed(found) {
  const { ids, mask, segments, texts, starts, ends, words, firstPieces = [] } = found;
  const rows = [ids, mask, segments, texts, starts, ends, words, firstPieces];
  const numbers = [ids.length, firstPieces.length, ...rows.flatMap((row) => Array.from(row))];
  const bytes = Buffer.alloc(4 * numbers.length);
  numbers.forEach((number, i) => bytes.writeInt32BE(number, 4 * i));
  return bytes;
}

function packedError(error) {
  const message = Buffer.from(error.message);
  const bytes = Buffer.alloc(8);
  bytes.writeInt32BE(-1, 0);
  bytes.writeInt32BE(message.length, 4);
  return Buffer.concat([bytes, message]);
}

function run(file, requests, answers) {
  const input = readFileSync(requests);
  const output = openSync(answers, "w");
  let tokenizer;
  try {
    tokenizer = Tokenizer.fromJson(readFileSync(file, "utf8"));
  } catch (error) {
    if (error.constructor !== Error) throw error; // an accident, not a message
    writeSync(output, packedError(error));
    closeSync(output);
    return;
  }
  let at = 0;
  const next = () => input.readInt32BE((at += 4) - 4);
  let waiting = [];
  while (at < input.length) {
    const [kind, maxLen, count] = [next(), next(), next()];
    const texts = [];
    for (let i = 0; i < count; i++) {
      const size = 2 * next();
      texts.push(Buffer.from(input.subarray(at, at + size)).swap16().toString("utf16le"));
      at += size;
    }
    try {
      waiting.push(packed(answer(tokenizer, kind, maxLen, texts)));
    } catch (error) {
      if (error.constructor !== Error) throw error;
      waiting.push(packedError(error));
    }
    if (waiting.length > 1000) {
      writeSync(output, Buffer.concat(waiting));
      waiting = [];
    }
  }
  writeSync(output, Buffer.concat(waiting));
  closeSync(output);
}

for (let i = 0; i < files.length; i += 3) run(files[i], files[i + 1], files[i + 2]);
