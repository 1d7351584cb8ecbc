// The steps that a text goes through before it is split, each as the `tokenizers` package does it.
import * as characters from "./characters.js";
import { CharacterMap } from "./character_map.js";
import { shown } from "./node.js";
import { Text, pointsOf } from "./text.js";

// Regular expressions that published tokenizers have, by hand: what \s means differs between languages.
const PATTERNS = new Map([
  [" {2,}", spaces],
  ["\\s{2,}|[\\n\\r\\t]", whiteSpaces],
]);

// The steps of `normalizer` in tokenizer.json: functions that change a text in place.
export function readNormalizers(node) {
  const steps = [];
  if (!node.isNull()) addSteps(steps, node);
  return steps;
}

function addSteps(steps, node) {
  const type = node.get("type").text();
  switch (type) {
    case "Sequence": {
      const inner = node.get("normalizers");
      for (let i = 0; i < inner.array().length; i++) addSteps(steps, inner.item(i));
      return;
    }
    case "BertNormalizer":
      steps.push(bert(node));
      return;
    case "NFD":
    case "NFKD":
      steps.push((text) => decompose(text, type === "NFKD"));
      return;
    case "NFC":
    case "NFKC":
      steps.push((text) => compose(text, type === "NFKC"));
      return;
    case "StripAccents":
      steps.push((text) => remove(text, characters.COMBINING));
      return;
    case "Lowercase":
      steps.push(lower);
      return;
    case "Strip": {
      const left = node.get("strip_left").flag();
      const right = node.get("strip_right").flag();
      steps.push((text) => strip(text, left, right));
      return;
    }
    case "Replace":
      steps.push(replace(node));
      return;
    case "Precompiled": {
      const map = new CharacterMap(node.get("precompiled_charsmap"));
      steps.push((text) => map.apply(text));
      return;
    }
    default:
      throw node.error(
        "must be BertNormalizer, NFD, NFKD, NFC, NFKC, StripAccents, Lowercase, Strip, Replace, Precompiled or a Sequence " +
          "of them",
        shown(type),
      );
  }
}

function bert(node) {
  const cleans = node.get("clean_text").flag();
  const chinese = node.get("handle_chinese_chars").flag();
  const lowers = node.get("lowercase").flag();
  const strips = node.get("strip_accents").flag(lowers);
  return (text) => {
    if (text.ascii) {
      simple(text, cleans, lowers);
      return;
    }
    if (cleans) clean(text);
    if (chinese) spaceChinese(text);
    if (strips) {
      decompose(text, false);
      remove(text, characters.NONSPACING);
    }
    if (lowers) lower(text);
  };
}

// BertNormalizer for a text of ASCII, which has neither accents nor Chinese: one pass.
function simple(text, cleans, lowers) {
  const { points, starts, ends } = text;
  let size = 0;
  for (let i = 0; i < text.size; i++) {
    let point = points[i];
    if (point <= 32 || point === 127) {
      if (cleans) {
        if (characters.is(point, characters.REMOVED)) continue;
        point = 32;
      }
    } else if (lowers && point >= 65 && point <= 90) {
      point += 32;
    }
    points[size] = point;
    starts[size] = starts[i];
    ends[size++] = ends[i];
  }
  text.size = size;
}

function clean(text) {
  remove(text, characters.REMOVED);
  for (let i = 0; i < text.size; i++) {
    if (characters.is(text.points[i], characters.WHITESPACE)) text.points[i] = 32;
  }
}

function spaceChinese(text) {
  let first = 0;
  while (first < text.size && !characters.is(text.points[first], characters.CHINESE)) first++;
  if (first === text.size) return;
  const out = new Text(text.size + 16);
  for (let i = 0; i < text.size; i++) {
    if (characters.is(text.points[i], characters.CHINESE)) {
      out.add(32, text.starts[i], text.ends[i]);
      out.addFrom(text, i);
      out.add(32, text.starts[i], text.ends[i]);
    } else {
      out.addFrom(text, i);
    }
  }
  text.take(out);
}

function remove(text, property) {
  const { points, starts, ends } = text;
  let size = 0;
  for (let i = 0; i < text.size; i++) {
    if (characters.is(points[i], property)) continue;
    points[size] = points[i];
    starts[size] = starts[i];
    ends[size++] = ends[i];
  }
  text.size = size;
}

function decompose(text, compatible) {
  let first = 0;
  while (first < text.size && isStable(text.points[first], compatible)) first++;
  if (first === text.size) return;
  const { out, more } = decomposition(text, compatible);
  place(text, out, more);
}

// Below U+0300 all is composed already, and no mark stands there that could join a letter.
function compose(text, compatible) {
  const plain = compatible ? 0x80 : 0x300;
  let first = 0;
  while (first < text.size && text.points[first] < plain) first++;
  if (first === text.size) return;
  const { out, more } = decomposition(text, compatible);
  let size = 0;
  let start = -1; // of what marks may join
  let order = 0; // of the mark before, if it joined nothing
  for (let i = 0; i < out.size; i++) {
    const point = out.points[i];
    const own = characters.orderOf(point);
    const joined = start >= 0 && (order === 0 || order < own) ? characters.composed(out.points[start], point) : -1;
    if (joined >= 0) {
      out.points[start] = joined;
      more[start] += more[i] - 1;
      continue;
    }
    if (own === 0) start = size;
    order = own;
    out.points[size] = point;
    more[size++] = more[i];
  }
  out.size = size;
  place(text, out, more);
}

// The parts of all characters, with the marks after each letter in order, and for each part 0, or 1 for a further part of
// a character.
function decomposition(text, compatible) {
  const out = new Text(text.size + 16);
  const more = [];
  for (let i = 0; i < text.size; i++) {
    const parts = text.points[i] < 128 ? null : characters.decomposed(text.points[i], compatible);
    const count = parts === null ? 1 : parts.length;
    for (let j = 0; j < count; j++) {
      more.push(j > 0 ? 1 : 0);
      out.add(parts === null ? text.points[i] : parts[j], 0, 0);
    }
  }
  sortMarks(out, more);
  return { out, more };
}

// Puts `out` in place of a text. As in `tokenizers`, places do not move with the marks: each character takes the next
// place of the old text and passes over as many as it joins, `-more`; a further part, 1, has the place given last.
function place(text, out, more) {
  let old = 0;
  for (let i = 0; i < out.size; i++) {
    const at = more[i] > 0 ? old - 1 : old;
    out.starts[i] = text.starts[at];
    out.ends[i] = text.ends[at];
    old += 1 - more[i];
  }
  text.take(out);
}

function isStable(point, compatible) {
  return point < 128 || (characters.orderOf(point) === 0 && characters.decomposed(point, compatible) === null);
}

// Stable, and by counting: a long run of marks must not take long.
function sortMarks(out, more) {
  const { points } = out;
  for (let start = 0; start < out.size; start++) {
    if (characters.orderOf(points[start]) === 0) continue;
    let end = start + 1;
    let sorted = true;
    while (end < out.size && characters.orderOf(points[end]) !== 0) {
      sorted &&= characters.orderOf(points[end - 1]) <= characters.orderOf(points[end]);
      end++;
    }
    if (!sorted) {
      const marks = points.slice(start, end);
      const further = more.slice(start, end);
      let to = start;
      for (let order = 1; order < 64 && to < end; order++) {
        for (let i = 0; i < marks.length; i++) {
          if (characters.orderOf(marks[i]) !== order) continue;
          points[to] = marks[i];
          more[to++] = further[i];
        }
      }
    }
    start = end - 1;
  }
}

function lower(text) {
  const { points } = text;
  for (let i = 0; i < text.size; i++) {
    const point = points[i];
    if (point < 128) {
      if (point >= 65 && point <= 90) points[i] = point + 32;
      continue;
    }
    const small = characters.lowerOf(point);
    if (small === null) continue;
    if (small.length > 1) {
      lowerLonger(text, i);
      return;
    }
    points[i] = small[0];
  }
}

function lowerLonger(text, from) {
  const out = new Text(text.size + 16);
  for (let i = 0; i < text.size; i++) {
    const small = i < from ? null : characters.lowerOf(text.points[i]);
    if (small === null) out.addFrom(text, i);
    else for (const point of small) out.add(point, text.starts[i], text.ends[i]);
  }
  text.take(out);
}

function strip(text, left, right) {
  let start = 0;
  let end = text.size;
  while (left && start < end && characters.is(text.points[start], characters.WHITESPACE)) start++;
  while (right && end > start && characters.is(text.points[end - 1], characters.WHITESPACE)) end--;
  if (start > 0 || end < text.size) text.take(text.slice(start, end));
}

// A text, or two spaces and more, which is the only pattern that published tokenizers of this kind have.
function replace(node) {
  const pattern = node.get("pattern");
  const content = pointsOf(node.get("content").text());
  if (!pattern.get("Regex").isNull()) {
    const regex = pattern.get("Regex").text();
    const matched = PATTERNS.get(regex);
    if (matched === undefined) {
      throw pattern.error(`must be a text or one of the patterns ${[...PATTERNS.keys()].join(" and ")}`, shown(regex));
    }
    return (text) => replaceAll(text, matched, content);
  }
  const wanted = pointsOf(pattern.get("String").text());
  if (wanted.length === 0) throw pattern.error("must not be empty", '""');
  return (text) => replaceAll(text, (at) => (text.matches(at, wanted) ? at + wanted.length : at), content);
}

// `matched` gives the end of the match that begins at a point, or the point itself.
function replaceAll(text, matched, content) {
  let first = 0;
  while (first < text.size && matched(first, text) === first) first++;
  if (first >= text.size) return;
  const out = new Text(text.size);
  for (let i = 0; i < text.size; ) {
    const end = i < first ? i : matched(i, text);
    if (end === i) {
      out.addFrom(text, i++);
      continue;
    }
    i = end;
    for (const point of content) out.add(point, text.starts[i - 1], text.ends[i - 1]);
  }
  text.take(out);
}

function spaces(at, { points, size }) {
  let end = at;
  while (end < size && points[end] === 32) end++;
  return end - at < 2 ? at : end;
}

function whiteSpaces(at, { points, size }) {
  let end = at;
  while (end < size && characters.is(points[end], characters.WHITESPACE)) end++;
  if (end - at >= 2) return end;
  return [9, 10, 13].includes(points[at]) ? at + 1 : at;
}
