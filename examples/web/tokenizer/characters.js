// Properties of code points as the `tokenizers` package has them. Not those of \p{...}, normalize() or toLowerCase():
// their version of Unicode depends on the browser.
import { UNICODE_TABLES } from "./unicode_tables.js";

export const WHITESPACE = 1;
export const REMOVED = 2;
export const CHINESE = 4;
export const NONSPACING = 8;
export const COMBINING = 16;
export const PUNCTUATION = 32;
export const WORD = 64;
const LOWER = 128;
const CANONICAL = 256;
const COMPATIBLE = 512;
const ORDER_SHIFT = 10;
const GRAPHEME_SHIFT = 16;
// Bits of a grapheme class, see tools/tokenizer_properties.py.
export const ATTACHES = 1;
export const PREPENDS = 2;
export const CONTROL = 4;
export const EXTENDS = 8;
export const PICTURE = 16;
export const CONSONANT = 32;
export const LINKER = 64;
export const JOINS = 128;
export const HANGUL_SHIFT = 8;

const DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_";
const EMPTY = new Int32Array(256);
const PAGES = new Array(0x1100).fill(EMPTY);
const LOWERED = new Map();
const CANONICALS = new Map();
const COMPATIBLES = new Map();
// By the two code points that become one, as one number.
const COMPOSED = new Map();
const POINTS = 0x110000;

function readTables(text) {
  const values = new Uint8Array(128);
  for (let i = 0; i < DIGITS.length; i++) values[DIGITS.charCodeAt(i)] = i;
  let at = 0;

  function number() {
    let found = 0;
    for (let shift = 0; ; shift += 5) {
      const digit = values[text.charCodeAt(at++)];
      found |= (digit & 31) << shift;
      if (digit < 32) return found;
    }
  }

  function signed() {
    const found = number();
    return found & 1 ? -((found + 1) >> 1) : found >> 1;
  }

  function set(point, value) {
    if (PAGES[point >> 8] === EMPTY) PAGES[point >> 8] = new Int32Array(256);
    PAGES[point >> 8][point & 255] |= value;
  }

  // Runs of one bit, or of values at a shift.
  function runs(bit, shift) {
    let point = 0;
    for (let count = number(); count > 0; count--) {
      point += number();
      const end = point + number() + 1;
      const value = bit || number() << shift;
      for (; point < end; point++) set(point, value);
    }
  }

  function lower() {
    let point = 0;
    for (let count = number(); count > 0; count--) {
      point += number();
      const more = number();
      const step = number();
      const distance = signed();
      for (let i = 0; i <= more; i++) {
        LOWERED.set(point + i * step, [point + i * step + distance]);
        set(point + i * step, LOWER);
      }
      point += more * step;
    }
  }

  function parts(into, bit) {
    let point = 0;
    for (let count = number(); count > 0; count--) {
      point += number();
      const found = new Array(number());
      let last = point;
      for (let i = 0; i < found.length; i++) found[i] = last += signed();
      into.set(point, found);
      set(point, bit);
    }
  }

  function composed() {
    const found = [];
    let point = 0;
    for (let count = number(); count > 0; count--) {
      point += number();
      for (let more = number(); more >= 0; more--) found.push(point++);
    }
    // Short ones first: longer ones begin with them.
    found.sort((a, b) => CANONICALS.get(a).length - CANONICALS.get(b).length);
    for (const one of found) {
      const [first, ...others] = CANONICALS.get(one);
      const last = others.pop();
      COMPOSED.set(others.reduce((made, part) => COMPOSED.get(made * POINTS + part), first) * POINTS + last, one);
    }
  }

  for (let bit = WHITESPACE; bit <= WORD; bit <<= 1) runs(bit, 0);
  lower();
  parts(LOWERED, LOWER);
  parts(CANONICALS, CANONICAL);
  parts(COMPATIBLES, COMPATIBLE);
  composed();
  runs(0, ORDER_SHIFT);
  runs(0, GRAPHEME_SHIFT);
  if (at !== text.length) throw new Error("The Unicode tables must end here.");
}

readTables(UNICODE_TABLES);

// All properties of a code point, to be tested with the bits above.
export function propertiesOf(point) {
  return PAGES[point >> 8][point & 255];
}

export function is(point, property) {
  return (PAGES[point >> 8][point & 255] & property) !== 0;
}

// Where a mark stands among others after decomposition; 0 for what is no such mark.
export function orderOf(point) {
  return (propertiesOf(point) >> ORDER_SHIFT) & 63;
}

export function graphemeOf(point) {
  return propertiesOf(point) >>> GRAPHEME_SHIFT;
}

// The small letter, or null if there is no other.
export function lowerOf(point) {
  return is(point, LOWER) ? LOWERED.get(point) : null;
}

// The full decomposition, or null if there is none.
export function decomposed(point, compatible) {
  const properties = propertiesOf(point);
  if (compatible && properties & COMPATIBLE) return COMPATIBLES.get(point);
  if (properties & CANONICAL) {
    const parts = CANONICALS.get(point);
    return compatible ? parts.flatMap((part) => COMPATIBLES.get(part) ?? [part]) : parts;
  }
  const syllable = point - 0xac00;
  if (syllable < 0 || syllable >= 11172) return null;
  const last = syllable % 28;
  const found = [0x1100 + Math.floor(syllable / 588), 0x1161 + Math.floor((syllable % 588) / 28)];
  if (last) found.push(0x11a7 + last);
  return found;
}

// The one code point that two become, or -1.
export function composed(first, second) {
  const consonant = first - 0x1100;
  const vowel = second - 0x1161;
  if (consonant >= 0 && consonant < 19 && vowel >= 0 && vowel < 21) return 0xac00 + (consonant * 21 + vowel) * 28;
  const syllable = first - 0xac00;
  const last = second - 0x11a7;
  if (syllable >= 0 && syllable < 11172 && syllable % 28 === 0 && last > 0 && last < 28) return first + last;
  return COMPOSED.get(first * POINTS + second) ?? -1;
}
