// What is said to a Redis server, and what its answers mean.

import { Reader } from './sdk/witlet.js';

/** @typedef {import('witlet:probe/types@0.1.0').Outcome} Outcome */
/** What the probe needs of a connection.
 * @typedef {{ write(bytes: Uint8Array): void, read(length: number): Uint8Array | undefined }} Connection */

/** The longest answer, in bytes without its end. */
const LINE_BYTES_MAX = 1024;
const LINE_END = '\r\n';

const encoder = new TextEncoder();

/**
 * Whether the server answers PING, after AUTH if there is a password.
 *
 * @param {Connection} connection
 * @param {Uint8Array} [password]
 * @returns {Outcome}
 * @throws {import('./sdk/witlet.js').TcpError}
 */
export function ping(connection, password) {
  const reader = new Reader(connection);
  if (password !== undefined) {
    connection.write(auth(password));
    const answer = reader.line(LINE_BYTES_MAX);
    if (answer !== '+OK') return refusal(answer);
  }
  connection.write(encoder.encode(`PING${LINE_END}`));
  const answer = reader.line(LINE_BYTES_MAX);
  return answer === '+PONG' ? { tag: 'success', val: 'PONG' } : refusal(answer);
}

/**
 * A secret's value without the line end that a file may end with.
 *
 * @param {Uint8Array} value
 */
export function withoutLineEnd(value) {
  let length = value.length;
  if (value[length - 1] === 0x0a) length -= value[length - 2] === 0x0d ? 2 : 1;
  return value.subarray(0, length);
}

/**
 * AUTH with the password as an array of strings, so that it may have any bytes.
 *
 * @param {Uint8Array} password
 */
function auth(password) {
  const head = encoder.encode(`*2${LINE_END}$4${LINE_END}AUTH${LINE_END}$${password.length}${LINE_END}`);
  const tail = encoder.encode(LINE_END);
  const all = new Uint8Array(head.length + password.length + tail.length);
  all.set(head);
  all.set(password, head.length);
  all.set(tail, head.length + password.length);
  return all;
}

/**
 * @param {string} answer
 * @returns {Outcome}
 */
function refusal(answer) {
  return { tag: 'failure', val: answer.startsWith('-') ? answer.slice(1) : `unexpected answer "${answer}"` };
}
