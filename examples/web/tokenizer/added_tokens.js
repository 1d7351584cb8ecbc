// Tokens that are found in a text before it is split, such as [SEP]: the leftmost first, of several the longest.
import { WHITESPACE, WORD, is } from "./characters.js";
import { shown } from "./node.js";
import { Text } from "./text.js";
import { NONE, Trie } from "./trie.js";

export class AddedTokens {
  constructor(node, model, normalizers) {
    this.raw = new Trie();
    this.normalized = new Trie();
    this.anyRaw = false;
    this.anyNormalized = false;
    this.tokens = [];
    this.ids = new Map();
    let next = model.size;
    const count = node.isNull() ? 0 : node.array().length;
    for (let i = 0; i < count; i++) {
      const token = node.item(i);
      const content = token.get("content").text();
      const id = token.get("id").number();
      if (this.ids.has(content) || content === "") throw token.error("must be a new text", shown(content));
      const known = model.id(content);
      const due = known >= 0 ? known : next++;
      if (id !== due) throw token.error(`must have the id ${due} for ${shown(content)}`, String(id));
      this.ids.set(content, id);
      this.tokens.push({
        id,
        single: token.get("single_word").flag(),
        left: token.get("lstrip").flag(),
        right: token.get("rstrip").flag(),
      });
      const isNormalized = token.get("normalized").flag();
      const text = Text.of(content);
      if (isNormalized) for (const step of normalizers) step(text);
      const trie = isNormalized ? this.normalized : this.raw;
      const points = text.points.slice(0, text.size);
      if (text.size === 0 || trie.get(points) !== NONE) {
        throw token.error("must differ from other added tokens after normalization", shown(content));
      }
      trie.put(points, i);
      if (isNormalized) this.anyNormalized = true;
      else this.anyRaw = true;
    }
    // How many ids there are with those of the model.
    this.total = next;
  }

  // Calls `part(id, from, to)` for the parts of a text in order; the id is -1 between added tokens.
  find(text, isNormalized, part) {
    const trie = isNormalized ? this.normalized : this.raw;
    const { points } = text;
    const size = text.size;
    let done = 0;
    for (let at = 0; at < size; ) {
      let node = trie.step(0, points[at]);
      let match = NONE;
      let end = at;
      for (let i = at + 1; node !== NONE; i++) {
        if (trie.values[node] !== NONE) {
          match = trie.values[node];
          end = i;
        }
        node = i < size ? trie.step(node, points[i]) : NONE;
      }
      if (match === NONE) {
        at++;
        continue;
      }
      const token = this.tokens[match];
      let start = at;
      let stop = end;
      at = end;
      if (token.single && (isWord(text, start - 1) || isWord(text, end))) continue;
      if (token.left) {
        while (start > 0 && is(points[start - 1], WHITESPACE)) start--;
        start = Math.max(start, done);
      }
      if (token.right) while (stop < size && is(points[stop], WHITESPACE)) stop++;
      if (done < start) part(-1, done, start);
      part(token.id, start, stop);
      done = stop;
    }
    if (done !== size) part(-1, done, size);
  }
}

function isWord(text, at) {
  return at >= 0 && at < text.size && is(text.points[at], WORD);
}
