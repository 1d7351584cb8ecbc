// Where the special tokens stand around one text or two: `post_processor` in tokenizer.json.
import { shown } from "./node.js";

const FIRST = -1;
const SECOND = -2;

export class Template {
  // `single` and `pair`: lists of an id (or FIRST, SECOND for a text) and a segment.
  constructor(node, vocabulary) {
    if (node.isNull()) throw node.wrong("TemplateProcessing or BertProcessing");
    const type = node.get("type").text();
    if (type === "BertProcessing") {
      const cls = special(node.get("cls"), vocabulary);
      const sep = special(node.get("sep"), vocabulary);
      this.single = [[cls, 0], [FIRST, 0], [sep, 0]];
      this.pair = [...this.single, [SECOND, 1], [sep, 1]];
      return;
    }
    if (type !== "TemplateProcessing") throw node.error("must be TemplateProcessing or BertProcessing", shown(type));
    const specials = node.get("special_tokens");
    this.single = readPieces(node.get("single"), specials, vocabulary);
    this.pair = readPieces(node.get("pair"), specials, vocabulary);
    if (count(this.single, FIRST) !== 1 || count(this.single, SECOND) !== 0) {
      throw node.get("single").wrong("a template with A once");
    }
    if (count(this.pair, FIRST) !== 1 || count(this.pair, SECOND) !== 1) {
      throw node.get("pair").wrong("a template with A and B once");
    }
  }

  // How many special tokens there are.
  specials(isPair) {
    return isPair ? this.pair.length - 2 : this.single.length - 1;
  }

  // The first `firstSize` and `secondSize` tokens of each text among the special ones; `second` null for one text.
  apply(first, firstSize, second, secondSize, wordCount) {
    const pieces = second === null ? this.single : this.pair;
    const length = this.specials(second !== null) + firstSize + secondSize;
    const found = {
      ids: new Int32Array(length),
      mask: new Int32Array(length).fill(1),
      segments: new Int32Array(length),
      texts: new Int32Array(length).fill(-1),
      starts: new Int32Array(length).fill(-1),
      ends: new Int32Array(length).fill(-1),
      words: new Int32Array(length).fill(-1),
    };
    let at = 0;
    for (const [id, segment] of pieces) {
      const tokens = id === FIRST ? first : id === SECOND ? second : null;
      const size = id === FIRST ? firstSize : id === SECOND ? secondSize : 1;
      found.segments.fill(segment, at, at + size);
      if (tokens === null) found.ids[at] = id;
      else {
        found.texts.fill(id === FIRST ? 0 : 1, at, at + size);
        for (const name of ["ids", "starts", "ends", "words"]) found[name].set(tokens[name].subarray(0, size), at);
      }
      at += size;
    }
    if (wordCount >= 0) {
      found.firstPieces = new Int32Array(wordCount).fill(-1);
      for (let i = length - 1; i >= 0; i--) if (found.words[i] >= 0) found.firstPieces[found.words[i]] = i;
    }
    return found;
  }
}

function special(node, vocabulary) {
  if (node.array().length !== 2) throw node.wrong("a token and its id");
  return checked(node.item(1), vocabulary);
}

function checked(node, vocabulary) {
  const id = node.number();
  if (id >= vocabulary) throw node.error(`must be an id below ${vocabulary}`, String(id));
  return id;
}

function readPieces(node, specials, vocabulary) {
  const found = [];
  for (let i = 0; i < node.array().length; i++) {
    const item = node.item(i);
    const sequence = item.get("Sequence");
    if (!sequence.isNull()) {
      const which = sequence.get("id").text();
      if (which !== "A" && which !== "B") throw sequence.get("id").wrong("A or B");
      found.push([which === "A" ? FIRST : SECOND, sequence.get("type_id").number()]);
      continue;
    }
    const token = item.get("SpecialToken");
    const ids = specials.get(token.get("id").text()).get("ids");
    for (let j = 0; j < ids.array().length; j++) {
      found.push([checked(ids.item(j), vocabulary), token.get("type_id").number()]);
    }
  }
  return found;
}

function count(pieces, wanted) {
  return pieces.filter(([id]) => id === wanted).length;
}
