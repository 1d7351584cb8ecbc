// A place in a JSON document that knows its name, so that a wrong type is an error that says where.

// 1e0, 1e1, ...; a power that is computed could differ in its last bit.
const POWERS = Array.from({ length: 309 }, (_, exponent) => Number(`1e${exponent}`));
const MOST = (1n << 64n) - 1n;

export function shown(text) {
  return JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}...` : text);
}

export class Node {
  constructor(name, value) {
    this.name = name;
    this.value = value === undefined ? null : value;
  }

  isNull() {
    return this.value === null;
  }

  object() {
    if (this.value !== null && typeof this.value === "object" && !Array.isArray(this.value)) return this.value;
    throw this.wrong("an object");
  }

  array() {
    if (Array.isArray(this.value)) return this.value;
    throw this.wrong("an array");
  }

  // A member; null where it is absent.
  get(key) {
    const members = this.object();
    return new Node(`${this.name}.${key}`, Object.hasOwn(members, key) ? members[key] : null);
  }

  item(index) {
    return new Node(`${this.name}[${index}]`, this.array()[index]);
  }

  text() {
    if (typeof this.value === "string") return this.value;
    throw this.wrong("text");
  }

  flag(absent) {
    if (this.value === null && absent !== undefined) return absent;
    if (typeof this.value === "boolean") return this.value;
    throw this.wrong("true or false");
  }

  // A whole number from 0.
  number() {
    if (Number.isInteger(this.value) && this.value >= 0 && this.value <= 999999999) return this.value;
    throw this.wrong("a whole number from 0 to 999999999");
  }

  // A score, as the serde_json library inside `tokenizers` reads it: its last bit may differ from that of the nearest
  // double, and where two ways through a text cost the same, that bit decides.
  score() {
    if (typeof this.value !== "number" || !Number.isFinite(this.value)) throw this.wrong("a number that a double can hold");
    const [, sign, whole, fraction = "", written = "0"] = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(this.value));
    // Few digits and a small power: dividing is exact, as it is for any reader.
    if (whole.length + fraction.length <= 15) return this.value;
    let digits = 0n;
    let exponent = Number(written);
    let full = false;
    for (const [part, inFraction] of [[whole, false], [fraction, true]]) {
      for (const digit of part) {
        const next = digits * 10n + BigInt(digit);
        full = full || next > MOST;
        if (!full) digits = next;
        if (full !== inFraction) exponent += full ? 1 : -1;
      }
    }
    let found = Number(digits);
    for (; exponent < -308 && found !== 0; exponent += 308) found /= 1e308;
    if (found !== 0) found = exponent >= 0 ? found * POWERS[exponent] : found / POWERS[-exponent];
    return sign ? -found : found;
  }

  wrong(expected) {
    return this.error(`must be ${expected}`, this.received());
  }

  error(claim, received) {
    return new Error(`${this.name} ${claim}. Received: ${received}.`);
  }

  received() {
    if (this.value === null) return "nothing";
    if (Array.isArray(this.value)) return "an array";
    if (typeof this.value === "object") return "an object";
    return typeof this.value === "string" ? `the text ${shown(this.value)}` : String(this.value);
  }
}
