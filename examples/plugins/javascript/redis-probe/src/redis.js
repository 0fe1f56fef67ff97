// What is said to a Redis server, and what its answers mean.

import { TcpError } from './tcp-error.js';

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
 * @throws {TcpError}
 */
export function ping(connection, password) {
  if (password !== undefined) {
    connection.write(auth(password));
    const answer = readLine(connection);
    if (answer !== '+OK') return refusal(answer);
  }
  connection.write(encoder.encode(`PING${LINE_END}`));
  const answer = readLine(connection);
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
 * The first line of an answer, without its end. What follows it is ignored.
 *
 * @param {Connection} connection
 */
function readLine(connection) {
  // Room for the longest line and its end; bytes are taken for characters until the end is found.
  let line = '';
  for (;;) {
    const part = connection.read(LINE_BYTES_MAX + LINE_END.length - line.length);
    if (part === undefined) throw new TcpError('the connection was closed before a whole answer');
    line += String.fromCharCode(...part);
    const end = line.indexOf(LINE_END);
    if (end >= 0) return text(line.slice(0, end));
    if (line.length >= LINE_BYTES_MAX + LINE_END.length) {
      throw new TcpError(`the answer is longer than ${LINE_BYTES_MAX} bytes`);
    }
  }
}

/** @param {string} bytes A character for each byte. */
function text(bytes) {
  return new TextDecoder().decode(Uint8Array.from(bytes, (byte) => byte.charCodeAt(0)));
}

/**
 * @param {string} answer
 * @returns {Outcome}
 */
function refusal(answer) {
  return { tag: 'failure', val: answer.startsWith('-') ? answer.slice(1) : `unexpected answer "${answer}"` };
}
