// Texts by code points, each with a number. Nodes are numbers from 0, the root; edges lie in one hash table.
import { grown } from "./text.js";

export const NONE = -1;

export class Trie {
  constructor() {
    this.values = new Int32Array(1024).fill(NONE);
    this.nodes = 1;
    this.edges = 0;
    this.makeRoom(2048);
  }

  // Open addressing: an edge is the node that it leaves (one more, so that 0 is an empty place), the code point and the
  // node that it leads to.
  makeRoom(room) {
    this.mask = room - 1;
    this.from = new Int32Array(room);
    this.by = new Int32Array(room);
    this.to = new Int32Array(room);
  }

  place(node, point) {
    let mixed = Math.imul(node, 0x9e3779b1) ^ Math.imul(point, 0x85ebca6b);
    mixed ^= mixed >>> 15;
    return mixed & this.mask;
  }

  // The node after this one, or NONE.
  step(node, point) {
    const { from, by, mask } = this;
    for (let at = this.place(node, point); ; at = (at + 1) & mask) {
      const found = from[at];
      if (found === node + 1 && by[at] === point) return this.to[at];
      if (found === 0) return NONE;
    }
  }

  put(points, value) {
    let node = 0;
    for (const point of points) {
      let next = this.step(node, point);
      if (next === NONE) {
        next = this.nodes++;
        this.addEdge(node, point, next);
      }
      node = next;
    }
    if (this.nodes > this.values.length) {
      const old = this.values.length;
      this.values = grown(this.values, Math.max(this.nodes, old * 2));
      this.values.fill(NONE, old);
    }
    this.values[node] = value;
  }

  // The number of exactly this text, or NONE.
  get(points, start = 0, end = points.length) {
    let node = 0;
    for (let i = start; i < end; i++) {
      node = this.step(node, points[i]);
      if (node === NONE) return NONE;
    }
    return this.values[node];
  }

  // The node of a text that need not be a whole one, or NONE.
  find(points) {
    let node = 0;
    for (let i = 0; i < points.length && node !== NONE; i++) node = this.step(node, points[i]);
    return node;
  }

  addEdge(node, point, next) {
    if (++this.edges * 2 > this.from.length) {
      const { from, by, to } = this;
      this.makeRoom(from.length * 2);
      for (let i = 0; i < from.length; i++) if (from[i] !== 0) this.insert(from[i] - 1, by[i], to[i]);
    }
    this.insert(node, point, next);
  }

  insert(node, point, next) {
    let at = this.place(node, point);
    while (this.from[at] !== 0) at = (at + 1) & this.mask;
    this.from[at] = node + 1;
    this.by[at] = point;
    this.to[at] = next;
  }
}
