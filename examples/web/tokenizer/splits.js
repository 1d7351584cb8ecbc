// A text with the words that it is split into, and the ways of splitting.
import { PUNCTUATION, WHITESPACE, propertiesOf } from "./characters.js";
import { shown } from "./node.js";
import { Text, grown, pointsOf } from "./text.js";

// `bounds`: places of the words' first and after their last point, in turn.
export class Splits {
  constructor(text) {
    this.text = text;
    this.bounds = new Int32Array(32);
    this.size = 0;
  }

  add(from, to) {
    if (from === to) return;
    if (this.size + 2 > this.bounds.length) this.bounds = grown(this.bounds, this.size * 2);
    this.bounds[this.size++] = from;
    this.bounds[this.size++] = to;
  }
}

// The splitters of `pre_tokenizer` in tokenizer.json: functions from Splits to Splits.
export function readSplitters(node) {
  const found = [];
  if (!node.isNull()) addSplitters(found, node);
  return found;
}

function addSplitters(found, node) {
  const type = node.get("type").text();
  switch (type) {
    case "Sequence": {
      const inner = node.get("pretokenizers");
      for (let i = 0; i < inner.array().length; i++) addSplitters(found, inner.item(i));
      return;
    }
    case "BertPreTokenizer":
      found.push((splits) => byProperty(splits, PUNCTUATION));
      return;
    case "WhitespaceSplit":
      found.push((splits) => byProperty(splits, 0));
      return;
    case "Metaspace":
      found.push(metaspace(node));
      return;
    default:
      throw node.error("must be BertPreTokenizer, WhitespaceSplit, Metaspace or a Sequence of them", shown(type));
  }
}

// At white space, which is dropped, and around signs of this property.
function byProperty(splits, alone) {
  const out = new Splits(splits.text);
  const { points } = splits.text;
  const wanted = WHITESPACE | alone;
  for (let i = 0; i < splits.size; i += 2) {
    let start = splits.bounds[i];
    const to = splits.bounds[i + 1];
    for (let at = start; at < to; at++) {
      const properties = propertiesOf(points[at]);
      if ((properties & wanted) === 0) continue;
      out.add(start, at);
      if ((properties & WHITESPACE) === 0) out.add(at, at + 1);
      start = at + 1;
    }
    out.add(start, to);
  }
  return out;
}

function metaspace(node) {
  const sign = pointsOf(node.get("replacement").text());
  if (sign.length !== 1) throw node.get("replacement").wrong("one character");
  const scheme = node.get("prepend_scheme");
  const name = scheme.isNull() ? "always" : scheme.text();
  if (!node.get("add_prefix_space").flag(true) && name !== "never") {
    throw scheme.error('must be "never" where add_prefix_space is false', shown(name));
  }
  if (!["always", "first", "never"].includes(name)) throw scheme.wrong("always, first or never");
  const split = node.get("split").flag(true);
  return (splits) => withSign(splits, sign[0], name, split);
}

// Spaces become the sign, each word starts with it, and it starts a new word.
function withSign(splits, sign, scheme, split) {
  const source = splits.text;
  const out = new Splits(new Text(source.size + (splits.size >> 1)));
  for (let i = 0; i < splits.size; i += 2) {
    const from = splits.bounds[i];
    const first = source.points[from];
    let start = out.text.size;
    const wanted = scheme === "always" || (scheme === "first" && source.starts[from] === 0);
    if (wanted && first !== sign && first !== 32) out.text.add(sign, source.starts[from], source.ends[from]);
    for (let at = from; at < splits.bounds[i + 1]; at++) {
      const point = source.points[at] === 32 ? sign : source.points[at];
      if (split && point === sign) {
        out.add(start, out.text.size);
        start = out.text.size;
      }
      out.text.add(point, source.starts[at], source.ends[at]);
    }
    out.add(start, out.text.size);
  }
  return out;
}
