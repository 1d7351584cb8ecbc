// SentencePiece's compiled character map: a double array over UTF-8 bytes, whose values are places in a list of texts.
//
// As in `tokenizers`, a grapheme cluster below 6 bytes is replaced as a whole by what its shortest known prefix maps to;
// the characters of a longer or unknown one are looked up one by one.
import { clusterEnd } from "./graphemes.js";
import { shown } from "./node.js";
import { Text, pointsOf } from "./text.js";

const WHOLE = 6;
const BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

export class CharacterMap {
  constructor(node) {
    this.node = node;
    const data = bytesOf(node);
    if (data.length < 4) throw this.damaged("its size in 4 bytes", `${data.length} bytes`);
    const view = new DataView(data.buffer);
    const size = view.getUint32(0, true);
    if (size < 1024 || size % 4 !== 0 || size > data.length - 4) {
      throw this.damaged("an array of whole units inside of itself", `${size} of ${data.length - 4} bytes`);
    }
    this.units = new Int32Array(size / 4);
    for (let i = 0; i < this.units.length; i++) this.units[i] = view.getInt32(4 + 4 * i, true);
    this.texts = data.subarray(4 + size);
    this.known = new Map();
    try {
      new TextDecoder("utf-8", { fatal: true }).decode(this.texts);
    } catch {
      throw this.damaged("texts of UTF-8", "other bytes");
    }
    this.check();
    this.simple = new Int32Array(128);
    for (let point = 0; point < 128; point++) {
      const one = new Text(1);
      one.add(point, 0, 1);
      const found = this.find(one, 0, 1);
      // A carriage return may be half of a cluster.
      this.simple[point] = found === null ? point : found.length === 1 && point !== 13 ? found[0] : -1;
    }
  }

  // Follows every way through the array once, so that a damaged one is found here and not in a text.
  check() {
    const { units } = this;
    const seen = new Uint8Array(units.length);
    const stack = [0];
    seen[0] = 1;
    while (stack.length > 0) {
      const at = stack.pop();
      const base = at ^ offsetOf(units[at]);
      if (at !== 0 && (units[at] >>> 8) & 1) this.checkValue(base);
      for (let label = 1; label < 256; label++) {
        const next = base ^ label;
        if (next < 0 || next >= units.length) throw this.damaged(`no unit beyond ${units.length}`, `unit ${next}`);
        if ((units[next] & 0x800000ff) !== label || seen[next]) continue;
        seen[next] = 1;
        stack.push(next);
      }
    }
  }

  checkValue(at) {
    if (at < 0 || at >= this.units.length) throw this.damaged(`no unit beyond ${this.units.length}`, `unit ${at}`);
    const value = this.units[at] & 0x7fffffff;
    const size = this.texts.length;
    if (value > size || (value < size && (this.texts[value] & 0xc0) === 0x80)) {
      throw this.damaged(`texts in its ${size} bytes`, `one at byte ${value}`);
    }
  }

  damaged(expected, received) {
    return this.node.error(`must be a character map with ${expected}`, received);
  }

  apply(text) {
    if (text.ascii && this.applySimple(text)) return;
    const out = new Text(text.size + 16);
    // What `tokenizers` calls changes: 0 replaces a character, 1 is a new one, -n is followed by n that are gone.
    const changes = [];
    let modified = false;
    let end;
    for (let start = 0; start < text.size; start = end) {
      end = clusterEnd(text, start);
      const whole = byteLength(text, start, end) < WHOLE ? this.find(text, start, end) : null;
      const step = whole === null ? 1 : end - start;
      for (let at = start; at < end; at += step) {
        const next = whole === null && end - start > 1 ? this.find(text, at, at + 1) : whole;
        if (next === null) {
          changes.push(0);
          out.add(text.points[at], 0, 0);
          continue;
        }
        modified = true;
        for (let i = 0; i < next.length; i++) {
          changes.push(i < step ? 0 : 1);
          out.add(next[i], 0, 0);
        }
        if (next.length < step && out.size > 0) changes[out.size - 1] += next.length - step;
      }
    }
    if (!modified) return;
    let old = 0;
    for (let i = 0; i < out.size; i++) {
      if (changes[i] > 0) {
        out.starts[i] = old < 1 ? 0 : text.starts[old - 1];
        out.ends[i] = old < 1 ? 0 : text.ends[old - 1];
      } else {
        out.starts[i] = text.starts[old];
        out.ends[i] = text.ends[old];
        old += 1 - changes[i];
      }
    }
    text.take(out);
  }

  // For ASCII that maps to single characters; false, and nothing changed, if the text has anything else.
  applySimple(text) {
    const { simple } = this;
    const { points } = text;
    for (let i = 0; i < text.size; i++) if (simple[points[i]] < 0) return false;
    for (let i = 0; i < text.size; i++) {
      const point = simple[points[i]];
      points[i] = point;
      if (point >= 128) text.ascii = false;
    }
    return true;
  }

  // What the shortest known prefix of these characters maps to, or null.
  find(text, start, end) {
    const { units } = this;
    let at = offsetOf(units[0]);
    for (let i = start; i < end; i++) {
      const point = text.points[i];
      const bytes = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
      for (let k = bytes - 1; k >= 0; k--) {
        const high = bytes === 1 ? point : ((0xf00 >> bytes) & 255) | (point >> (6 * k));
        const label = k < bytes - 1 ? 0x80 | ((point >> (6 * k)) & 63) : high;
        if (label === 0) return null;
        at ^= label;
        const unit = units[at];
        if ((unit & 0x800000ff) !== label) return null;
        at ^= offsetOf(unit);
        if ((unit >>> 8) & 1) return this.textAt(units[at] & 0x7fffffff);
      }
    }
    return null;
  }

  textAt(start) {
    let found = this.known.get(start);
    if (found === undefined) {
      let end = start;
      while (end < this.texts.length && this.texts[end] !== 0) end++;
      // Not a byte order mark to be dropped, but a character like others.
      found = pointsOf(new TextDecoder("utf-8", { ignoreBOM: true }).decode(this.texts.subarray(start, end)));
      this.known.set(start, found);
    }
    return found;
  }
}

function offsetOf(unit) {
  return (unit >>> 10) << ((unit & 512) >>> 6);
}

function byteLength(text, start, end) {
  let found = 0;
  for (let i = start; i < end; i++) {
    const point = text.points[i];
    found += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
  }
  return found;
}

// Base 64, strictly: atob() skips spaces.
function bytesOf(node) {
  const text = node.text();
  const length = text.length;
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  if (length % 4 !== 0) throw node.error("must be in base 64", `${length} characters`);
  const found = new Uint8Array((length / 4) * 3 - padding);
  const digits = new Int8Array(128).fill(-1);
  for (let i = 0; i < 64; i++) digits[BASE64.charCodeAt(i)] = i;
  let bits = 0;
  let to = 0;
  for (let i = 0; i < length; i++) {
    const unit = text.charCodeAt(i);
    const digit = i >= length - padding ? 0 : unit < 128 ? digits[unit] : -1;
    if (digit < 0) throw node.error("must be in base 64", `the character ${shown(text[i])}`);
    bits = (bits << 6) | digit;
    if (i % 4 < 3) continue;
    for (let shift = 16; shift >= 0; shift -= 8) if (to < found.length) found[to++] = bits >> shift;
    bits = 0;
  }
  return found;
}
