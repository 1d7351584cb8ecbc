// SentencePiece's model: the pieces with the highest sum of scores. Unknown characters in a row are one token.
import { shown } from "./node.js";
import { isWhole, pointsOf } from "./text.js";
import { NONE, Trie } from "./trie.js";

const PENALTY = 10;

export class Unigram {
  constructor(node) {
    if (node.get("byte_fallback").flag(false)) {
      throw node.get("byte_fallback").error("must be false: bytes as tokens are not supported", "true");
    }
    const vocab = node.get("vocab");
    this.size = vocab.array().length;
    this.scores = new Float64Array(this.size);
    this.trie = new Trie();
    let lowest = Infinity;
    for (let id = 0; id < this.size; id++) {
      const pair = vocab.item(id);
      if (pair.array().length !== 2) throw pair.wrong("a piece and its score");
      this.scores[id] = pair.item(1).score();
      lowest = Math.min(lowest, this.scores[id]);
      const token = pair.item(0).text();
      if (!isWhole(token)) throw pair.error("must be a piece of whole characters", "half of one");
      const piece = pointsOf(token);
      if (this.trie.get(piece) !== NONE) throw pair.error("must be another piece than those before", shown(token));
      this.trie.put(piece, id);
    }
    this.unknownScore = lowest - PENALTY;
    this.unknown = node.get("unk_id").number();
    if (this.unknown >= this.size) {
      throw node.get("unk_id").error(`must be a number below ${this.size}`, String(this.unknown));
    }
    this.makeRoom(256);
  }

  // Kept between words: nothing here waits, so that no two words can be under way at once.
  makeRoom(room) {
    this.best = new Float64Array(room);
    this.begins = new Int32Array(room);
    this.ids = new Int32Array(room);
  }

  // Adds the pieces of points `from` to `to` of a text.
  tokenize(text, from, to, word, out) {
    const length = to - from;
    if (length >= this.best.length) this.makeRoom(length * 2);
    const { trie, scores, best, begins, ids } = this;
    const { values } = trie;
    const { points } = text;
    begins.fill(-1, 0, length + 1);
    best[0] = 0;
    for (let start = 0; start < length; start++) {
      const here = best[start];
      let single = false;
      let node = 0;
      for (let end = start; end < length; ) {
        node = trie.step(node, points[from + end++]);
        if (node === NONE) break;
        const id = values[node];
        if (id === NONE) continue;
        const score = scores[id] + here;
        if (begins[end] < 0 || score > best[end]) {
          best[end] = score;
          begins[end] = start;
          ids[end] = id;
        }
        if (end === start + 1) single = true;
      }
      if (single) continue;
      const score = this.unknownScore + here;
      const end = start + 1;
      if (begins[end] < 0 || score > best[end]) {
        best[end] = score;
        begins[end] = start;
        ids[end] = this.unknown;
      }
    }
    this.addPieces(text, from, length, word, out);
  }

  addPieces(text, from, length, word, out) {
    const { begins, ids, unknown } = this;
    const ends = [];
    for (let end = length; end > 0; ) {
      ends.push(end);
      const fused = ids[end] === unknown;
      end = begins[end];
      while (fused && end > 0 && ids[end] === unknown) end = begins[end];
    }
    let start = 0;
    for (let i = ends.length - 1; i >= 0; i--) {
      const end = ends[i];
      let id = ids[end];
      if (id === unknown) {
        // Unknown characters together may be a piece that costs more than they do.
        id = this.trie.get(text.points, from + start, from + end);
        if (id === NONE) id = unknown;
      }
      out.add(id, text.starts[from + start], text.ends[from + end - 1], word);
      start = end;
    }
  }

  // The id of a token, or -1.
  id(token) {
    return this.trie.get(pointsOf(token));
  }
}
