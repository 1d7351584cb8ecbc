// BERT's model: the longest piece that the vocabulary has, again and again; a word that does not work out is unknown.
import { Node, shown } from "./node.js";
import { isWhole, pointsOf } from "./text.js";
import { NONE, Trie } from "./trie.js";

export class WordPiece {
  constructor(node) {
    const vocab = node.get("vocab");
    const tokens = Object.entries(vocab.object());
    const seen = new Uint8Array(tokens.length);
    this.trie = new Trie();
    for (const [token, value] of tokens) {
      const id = Number.isInteger(value) ? value : new Node(`${vocab.name}.${token}`, value).number();
      if (id < 0 || id >= seen.length || seen[id]) {
        throw vocab.error(`must number its ${seen.length} tokens from 0 without gaps`, `${shown(token)} with number ${id}`);
      }
      if (!isWhole(token)) throw vocab.error("must have tokens of whole characters", `half of one, number ${id}`);
      seen[id] = 1;
      this.trie.put(pointsOf(token), id);
    }
    this.size = seen.length;
    const name = node.get("unk_token").text();
    this.unknown = this.id(name);
    if (this.unknown < 0) throw vocab.error(`must have the unknown token ${shown(name)}`, `${this.size} tokens without it`);
    this.longest = node.get("max_input_chars_per_word").number();
    this.inside = this.trie.find(pointsOf(node.get("continuing_subword_prefix").text()));
  }

  // Adds the pieces of points `from` to `to` of a text.
  tokenize(text, from, to, word, out) {
    const { trie } = this;
    const { values } = trie;
    const { points } = text;
    const before = out.size;
    let start = from;
    while (to - from <= this.longest && start < to) {
      let node = start === from ? 0 : this.inside;
      let id = NONE;
      let end = start;
      for (let at = start; at < to && node !== NONE; ) {
        node = trie.step(node, points[at++]);
        if (node !== NONE && values[node] !== NONE) {
          id = values[node];
          end = at;
        }
      }
      if (id === NONE) break;
      out.add(id, text.starts[start], text.ends[end - 1], word);
      start = end;
    }
    if (start === to) return;
    out.size = before;
    out.add(this.unknown, text.starts[from], text.ends[to - 1], word);
  }

  // The id of a token, or -1.
  id(token) {
    return this.trie.get(pointsOf(token));
  }
}
