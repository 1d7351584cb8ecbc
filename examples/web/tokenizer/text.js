// Code points, each with its place in the text that they came from (UTF-16 indexes, end exclusive).

export class Text {
  constructor(room) {
    this.points = new Int32Array(room);
    this.starts = new Int32Array(room);
    this.ends = new Int32Array(room);
    this.size = 0;
    // Whether all points are known to be below 128.
    this.ascii = true;
  }

  // Half of a surrogate pair is not text: a question mark replaces it, as in the Python package.
  static of(source) {
    const length = source.length;
    const text = new Text(length);
    const { points, starts, ends } = text;
    let all = 0;
    let size = 0;
    for (let i = 0; i < length; ) {
      let point = source.charCodeAt(i);
      let end = i + 1;
      if (point >= 0xd800 && point < 0xe000) {
        const next = point < 0xdc00 && end < length ? source.charCodeAt(end) : 0;
        if (next >= 0xdc00 && next < 0xe000) {
          point = 0x10000 + ((point - 0xd800) << 10) + (next - 0xdc00);
          end++;
        } else {
          point = 0x3f;
        }
      }
      all |= point;
      points[size] = point;
      starts[size] = i;
      ends[size++] = end;
      i = end;
    }
    text.size = size;
    text.ascii = all < 128;
    return text;
  }

  add(point, start, end) {
    if (this.size === this.points.length) {
      const room = this.size + (this.size >> 1) + 16;
      this.points = grown(this.points, room);
      this.starts = grown(this.starts, room);
      this.ends = grown(this.ends, room);
    }
    if (point >= 128) this.ascii = false;
    this.points[this.size] = point;
    this.starts[this.size] = start;
    this.ends[this.size++] = end;
  }

  addFrom(other, index) {
    this.add(other.points[index], other.starts[index], other.ends[index]);
  }

  // Replaces everything by another text's content.
  take(other) {
    this.points = other.points;
    this.starts = other.starts;
    this.ends = other.ends;
    this.size = other.size;
    this.ascii = other.ascii;
  }

  slice(from, to) {
    const found = new Text(0);
    found.points = this.points.slice(from, to);
    found.starts = this.starts.slice(from, to);
    found.ends = this.ends.slice(from, to);
    found.size = to - from;
    found.ascii = this.ascii;
    return found;
  }

  matches(at, wanted) {
    if (at + wanted.length > this.size) return false;
    for (let i = 0; i < wanted.length; i++) if (this.points[at + i] !== wanted[i]) return false;
    return true;
  }
}

export function grown(array, room) {
  const found = new array.constructor(room);
  found.set(array);
  return found;
}

// Whether a text has no half of a surrogate pair.
export function isWhole(source) {
  for (let i = 0; i < source.length; i++) {
    const unit = source.charCodeAt(i);
    if (unit < 0xd800 || unit > 0xdfff) continue;
    const next = source.charCodeAt(++i);
    if (unit > 0xdbff || !(next >= 0xdc00 && next <= 0xdfff)) return false;
  }
  return true;
}

export function pointsOf(source) {
  const text = Text.of(source);
  return text.points.slice(0, text.size);
}
