// A growing list of tokens: id, place in the text, number of the word.
import { grown } from "./text.js";

export class Tokens {
  constructor() {
    this.ids = new Int32Array(64);
    this.starts = new Int32Array(64);
    this.ends = new Int32Array(64);
    this.words = new Int32Array(64);
    this.size = 0;
  }

  add(id, start, end, word) {
    if (this.size === this.ids.length) {
      for (const name of ["ids", "starts", "ends", "words"]) this[name] = grown(this[name], this.size * 2);
    }
    this.ids[this.size] = id;
    this.starts[this.size] = start;
    this.ends[this.size] = end;
    this.words[this.size++] = word;
  }
}
