// The JavaScript side of benchmarks/tokenizers_elsewhere.py: as TokenizerSpeed.java.
// node tokenizer_speed.mjs FOLDER_OF_TOKENIZER_JS
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const { Tokenizer } = await import(pathToFileURL(join(process.argv[2], "tokenizer.js")));
const tokenizers = new Map();
const files = new Map();
for await (const line of createInterface({ input: process.stdin })) {
  const [file, texts, passes] = line.split(" ");
  if (!tokenizers.has(file)) tokenizers.set(file, Tokenizer.fromJson(readFileSync(file, "utf8")));
  if (!files.has(texts)) files.set(texts, JSON.parse(readFileSync(texts, "utf8")));
  const tokenizer = tokenizers.get(file);
  let tokens = 0;
  // Of the whole process: compiling and collecting garbage count.
  const start = process.cpuUsage();
  for (let pass = Number(passes); pass > 0; pass--) {
    for (const text of files.get(texts)) tokens += tokenizer.pieces(text).ids.length;
  }
  const { user, system } = process.cpuUsage(start);
  console.log(`${(user + system) / 1e6} ${tokens}`);
}
