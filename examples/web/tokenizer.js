// Texts into the ids that a token model takes, from the tokenizer.json of an export folder.
//
//   const tokenizer = Tokenizer.fromJson(await (await fetch("tokenizer.json")).text());
//   tokenizer.encode("play some music", { maxLen: 64 });
//   tokenizer.encode("a question", { pair: "a passage", maxLen: 128 });
//   tokenizer.encodeWords(["Anna", "lives"], { maxLen: 64 }); // for taggers
//   tokenizer.pieces("no special tokens, not cut");
//
// Each returns {ids, mask, segments, texts, starts, ends, words}, Int32Arrays with one entry per token, without padding.
// `texts` says which text a token is of: 0 the first, 1 the second, -1 for special tokens that no text holds. `segments`
// are what the model takes, and may be 0 for both texts. `starts` and `ends` are indexes for slice() of the token's text,
// or of its word for encodeWords; -1 for special tokens. `words` is the number of the token's word, or -1. encodeWords
// adds `firstPieces`, the position of each word's first token, -1 if it has none.
//
// WordPiece and Unigram (SentencePiece), equal to the `tokenizers` package of Python: ids, segments, cuts, places and
// word numbers. Whatever else a tokenizer.json may hold is an Error of one line when it is loaded. Settings for cutting
// and padding in the file are ignored: length is an argument here. Half of a surrogate pair is read as a question mark.
import { AddedTokens } from "./tokenizer/added_tokens.js";
import { Node, shown } from "./tokenizer/node.js";
import { readNormalizers } from "./tokenizer/normalizers.js";
import { Splits, readSplitters } from "./tokenizer/splits.js";
import { Template } from "./tokenizer/template.js";
import { Text } from "./tokenizer/text.js";
import { Tokens } from "./tokenizer/tokens.js";
import { Unigram } from "./tokenizer/unigram.js";
import { WordPiece } from "./tokenizer/wordpiece.js";

const DEPTH = 100;

export class Tokenizer {
  // From the text of tokenizer.json, or from what JSON.parse made of it.
  static fromJson(textOrObject) {
    return new Tokenizer(new Node("tokenizer.json", typeof textOrObject === "string" ? parse(textOrObject) : textOrObject));
  }

  // Use fromJson().
  constructor(root) {
    const node = root.get("model");
    const type = node.get("type").text();
    if (type === "WordPiece") this.model = new WordPiece(node);
    else if (type === "Unigram") this.model = new Unigram(node);
    else throw node.error("must be WordPiece or Unigram", shown(type));
    checkDepth(root.get("normalizer"));
    checkDepth(root.get("pre_tokenizer"));
    this.normalizers = readNormalizers(root.get("normalizer"));
    this.splitters = readSplitters(root.get("pre_tokenizer"));
    this.added = new AddedTokens(root.get("added_tokens"), this.model, this.normalizers);
    this.template = new Template(root.get("post_processor"), this.added.total);
  }

  // How many ids there are: the rows that the model's embedding must have.
  get vocabularySize() {
    return this.added.total;
  }

  // The id of a token such as "[SEP]", or -1.
  id(token) {
    return this.added.ids.get(token) ?? this.model.id(token);
  }

  // One text, or two with `pair`, with special tokens, at most `maxLen` in all; the longer one is cut first.
  encode(text, { pair, maxLen } = {}) {
    const isPair = pair !== undefined && pair !== null;
    const room = this.room(maxLen, isPair);
    const first = new Tokens();
    // Of two texts not only the tokens that fit: the one with more of them gets the odd place.
    this.addTokens(text, -1, isPair ? Infinity : maxLen, first);
    if (!isPair) return this.template.apply(first, Math.min(first.size, room), null, 0, -1);
    const second = new Tokens();
    this.addTokens(pair, -1, Infinity, second);
    let shorter = Math.min(first.size, second.size);
    let longer = Math.max(first.size, second.size);
    if (shorter + longer > room) {
      longer = shorter > room ? shorter : Math.max(shorter, room - shorter);
      if (shorter + longer > room) {
        shorter = Math.floor(room / 2);
        longer = shorter + (room % 2);
      }
    }
    const swapped = first.size > second.size;
    return this.template.apply(first, swapped ? longer : shorter, second, swapped ? shorter : longer, -1);
  }

  // A row that is already split into words; places are within each word.
  encodeWords(words, { maxLen } = {}) {
    const room = this.room(maxLen, false);
    const tokens = new Tokens();
    words.forEach((word, number) => this.addTokens(word, number, maxLen, tokens));
    return this.template.apply(tokens, Math.min(tokens.size, room), null, 0, words.length);
  }

  // All tokens of a text, without special ones.
  pieces(text) {
    const tokens = new Tokens();
    this.addTokens(text, -1, Infinity, tokens);
    const size = tokens.size;
    return {
      ids: tokens.ids.slice(0, size),
      mask: new Int32Array(size).fill(1),
      segments: new Int32Array(size),
      texts: new Int32Array(size),
      starts: tokens.starts.slice(0, size),
      ends: tokens.ends.slice(0, size),
      words: tokens.words.slice(0, size),
    };
  }

  room(maxLen, isPair) {
    const specials = this.template.specials(isPair);
    if (!Number.isInteger(maxLen) || maxLen <= specials) {
      throw new Error(
        `The sequence length must be at least ${specials + 1}: ${specials} special tokens and one of the text. ` +
          `Received: ${maxLen}.`,
      );
    }
    return maxLen - specials;
  }

  // `word` is the number for all tokens, or -1 to count words; stops after the word that reaches `enough` tokens.
  addTokens(source, word, enough, out) {
    if (typeof source !== "string") throw new Error(`A text must be a string. Received: ${typeof source}.`);
    const { added } = this;
    const run = new Run(this, word, enough, out);
    const text = Text.of(source);
    if (!added.anyRaw) {
      run.normalize(text);
      return;
    }
    added.find(text, false, (id, from, to) => {
      if (id >= 0) run.added(id, text, from, to);
      else run.normalize(from === 0 && to === text.size ? text : text.slice(from, to));
    });
  }
}

// The state of one text on its way.
class Run {
  constructor(tokenizer, fixed, enough, out) {
    this.tokenizer = tokenizer;
    this.fixed = fixed;
    this.enough = enough;
    this.out = out;
    this.before = out.size;
    this.word = 0;
    this.done = false;
  }

  nextWord() {
    return this.fixed >= 0 ? this.fixed : this.word++;
  }

  added(id, text, from, to) {
    if (!this.done && from < to) this.out.add(id, text.starts[from], text.ends[to - 1], this.nextWord());
  }

  normalize(text) {
    if (this.done) return;
    const { added, normalizers } = this.tokenizer;
    for (const step of normalizers) step(text);
    if (!added.anyNormalized) {
      this.split(text);
      return;
    }
    added.find(text, true, (id, from, to) => {
      if (id >= 0) this.added(id, text, from, to);
      else this.split(from === 0 && to === text.size ? text : text.slice(from, to));
    });
  }

  split(text) {
    if (this.done) return;
    const { model, splitters } = this.tokenizer;
    let splits = new Splits(text);
    splits.add(0, text.size);
    for (const splitter of splitters) splits = splitter(splits);
    const { bounds, size } = splits;
    for (let i = 0; i < size && !this.done; i += 2) {
      model.tokenize(splits.text, bounds[i], bounds[i + 1], this.nextWord(), this.out);
      this.done = this.out.size - this.before >= this.enough;
    }
  }
}

function parse(text) {
  try {
    return JSON.parse(text.startsWith("\ufeff") ? text.slice(1) : text);
  } catch (error) {
    throw new Error(`tokenizer.json must be JSON. Received: ${error.message.split("\n")[0]}.`);
  }
}

// So that no file can exhaust the stack.
function checkDepth(node) {
  let level = [node.value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > DEPTH) throw node.error(`must have at most ${DEPTH} levels`, "more");
    level = level.filter((value) => value !== null && typeof value === "object").flatMap((value) => Object.values(value));
  }
}
