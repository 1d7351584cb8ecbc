// Extended grapheme clusters (UAX 29) with the classes that `tokenizers` has. Leaves out pairs of regional indicators:
// they only matter for clusters of 8 bytes and more, which character_map.js treats character by character anyway.
import {
  ATTACHES, CONSONANT, CONTROL, EXTENDS, HANGUL_SHIFT, JOINS, LINKER, PICTURE, PREPENDS, graphemeOf,
} from "./characters.js";

const JOINER = 0x200d;
const [L, V, T, LV] = [1, 2, 3, 4];

// Where the cluster that starts here ends.
export function clusterEnd(text, start) {
  let at = start + 1;
  if (at === text.size) return at;
  let before = text.points[start];
  let last = graphemeOf(before);
  // A picture, what extends it, a joiner, a picture; a consonant, marks with a linker among them, a consonant.
  let picture = last & PICTURE ? 1 : 0;
  let consonant = last & CONSONANT ? 1 : 0;
  for (; at < text.size; at++) {
    const point = text.points[at];
    if (point < 128 && before < 128 && !(before === 13 && point === 10)) return at;
    const next = graphemeOf(point);
    if (!joins(before, last, point, next, picture, consonant)) return at;
    if (picture === 1 && point === JOINER) picture = 2;
    else if (picture !== 1 || !(next & EXTENDS)) picture = next & PICTURE ? 1 : 0;
    if (consonant > 0 && next & LINKER) consonant = 2;
    else if (consonant === 0 || !(next & JOINS)) consonant = next & CONSONANT ? 1 : 0;
    before = point;
    last = next;
  }
  return at;
}

function joins(before, last, point, next, picture, consonant) {
  if (before === 13 && point === 10) return true;
  if ((last | next) & CONTROL) return false;
  if (next & ATTACHES || last & PREPENDS) return true;
  if (picture === 2 && next & PICTURE) return true;
  if (consonant === 2 && next & CONSONANT) return true;
  const left = last >> HANGUL_SHIFT;
  const right = next >> HANGUL_SHIFT;
  if (left === 0 || right === 0) return false;
  if (left === L) return right !== T;
  if (left === V || left === LV) return right === V || right === T;
  return right === T;
}
