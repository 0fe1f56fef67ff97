// What is reported and what is asked for, as JSON.

import { Refusal } from './sdk/witlet.js';

/**
 * JSON text. Whole numbers of 64 bits, which JavaScript has apart from numbers, become numbers with all their digits.
 *
 * @param {unknown} value
 */
export function tell(value) {
  /** @type {bigint[]} */
  const whole = [];
  const text = JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? `\0${whole.push(part) - 1}` : part));
  // A text that begins with a zero byte is one of these, because no other text has that byte.
  return text.replaceAll(/"\\u0000(\d+)"/g, (_, at) => `${whole[at]}`);
}

/**
 * A JSON text's value, in which whole numbers that JavaScript's numbers can't hold are of type bigint.
 *
 * @param {string} text
 */
export function parse(text) {
  const marked = text.replaceAll(/"(?:[^"\\]|\\.)*"|(?<![.\d])-?\d{16,}(?![.\deE])/g, (token) =>
    token.startsWith('"') ? token : `"\\u0000${token}"`,
  );
  return JSON.parse(marked, (_, part) => (typeof part === 'string' && part.startsWith('\0') ? BigInt(part.slice(1)) : part));
}

/**
 * A JSON text as a value; what is none stays text.
 *
 * @param {string} text
 */
export function valueOf(text) {
  try {
    return parse(text);
  } catch {
    return text;
  }
}

/**
 * Length in bytes of UTF-8.
 *
 * @param {string} text
 */
export function bytesOf(text) {
  return new TextEncoder().encode(text).length;
}

/**
 * What there is at each of `pointers`: texts by path, or null.
 *
 * @param {any} given
 * @param {(path: string) => string | undefined} lookup
 */
export function pointers(given, lookup) {
  /** @type {string[]} */
  const paths = given?.pointers ?? [];
  return Object.fromEntries(paths.map((path) => [path, lookup(path) ?? null]));
}

/**
 * `{"refuse": words}` is refused in these words, everything else taken.
 *
 * @param {string} text
 */
export function refuse(text) {
  const words = parse(text)?.refuse;
  if (typeof words === 'string') throw new Refusal(words);
}
