// TCP connections over `wasi:sockets`, each step of which waits no longer than the probe has time.

import { subscribeDuration } from 'wasi:clocks/monotonic-clock@0.2.0';
import { poll } from 'wasi:io/poll@0.2.0';
import { instanceNetwork } from 'wasi:sockets/instance-network@0.2.0';
import { createTcpSocket } from 'wasi:sockets/tcp-create-socket@0.2.0';

import { socketAddress } from './address.js';
import { TcpError } from './tcp-error.js';

/** @typedef {import('wasi:io/poll@0.2.0').Pollable} Pollable */
/** @typedef {import('wasi:io/streams@0.2.0').InputStream} InputStream */
/** @typedef {import('wasi:io/streams@0.2.0').OutputStream} OutputStream */
/** @typedef {import('wasi:sockets/tcp@0.2.0').TcpSocket} TcpSocket */
/** Milliseconds that are left. @typedef {() => bigint} Remaining */

const NANOSECONDS_PER_MILLISECOND = 1_000_000n;
/** What `blocking-write-and-flush` takes at once. */
const WRITE_BYTES_MAX = 4096;

// ComponentizeJS leaves out the class of a resource without functions (its issue 221), which `network` is. Its bindings look
// for the class among their own globals; a function of theirs leads there.
const globalsOfBindings = instanceNetwork.constructor('return globalThis')();
globalsOfBindings['import_network_0_2_0$Network'] ??= class Network {};

/** @type {import('wasi:sockets/network@0.2.0').Network | undefined} */
let network;

/**
 * Connects. The connection must be closed.
 *
 * @param {string} address
 * @param {number} port
 * @param {Remaining} remaining
 * @returns {Connection}
 * @throws {TcpError}
 */
export function connect(address, port, remaining) {
  const remote = socketAddress(address, port);
  if (remote === undefined) throw new TcpError(`${address} is no IP address`);
  network ??= instanceNetwork();
  const socket = said(() => createTcpSocket(remote.tag));
  try {
    said(() => socket.startConnect(/** @type {NonNullable<typeof network>} */ (network), remote));
    for (;;) {
      const streams = finished(socket);
      if (streams) return new Connection(socket, streams, remaining);
      wait(socket, remaining);
    }
  } catch (error) {
    socket[Symbol.dispose]();
    throw error;
  }
}

/** A connection. What it holds are resources of the host: they are given back by `close`. */
export class Connection {
  #socket;
  #input;
  #output;
  #remaining;

  /**
   * @param {TcpSocket} socket
   * @param {[InputStream, OutputStream]} streams
   * @param {Remaining} remaining
   */
  constructor(socket, [input, output], remaining) {
    this.#socket = socket;
    this.#input = input;
    this.#output = output;
    this.#remaining = remaining;
  }

  /**
   * Sends all of it.
   *
   * @param {Uint8Array} bytes
   * @throws {TcpError}
   */
  write(bytes) {
    for (let at = 0; at < bytes.length; at += WRITE_BYTES_MAX) {
      said(() => this.#output.blockingWriteAndFlush(bytes.subarray(at, at + WRITE_BYTES_MAX)));
    }
  }

  /**
   * What has arrived, at most so many bytes, or undefined once the other side has closed. Waits until something has.
   *
   * @param {number} length
   * @returns {Uint8Array | undefined}
   * @throws {TcpError}
   */
  read(length) {
    for (;;) {
      const bytes = arrived(this.#input, length);
      if (bytes === undefined || bytes.length > 0) return bytes;
      wait(this.#input, this.#remaining);
    }
  }

  /** Gives everything back; the streams first, for they are the socket's. */
  close() {
    this.#input[Symbol.dispose]();
    this.#output[Symbol.dispose]();
    this.#socket[Symbol.dispose]();
  }
}

/**
 * The connection's streams once it is made.
 *
 * @param {TcpSocket} socket
 */
function finished(socket) {
  try {
    return socket.finishConnect();
  } catch (error) {
    if (payload(error) === 'would-block') return undefined;
    throw new TcpError(words(payload(error)));
  }
}

/**
 * @param {InputStream} input
 * @param {number} length
 */
function arrived(input, length) {
  try {
    return input.read(BigInt(length));
  } catch (error) {
    const why = payload(error);
    if (why?.tag === 'closed') return undefined;
    throw new TcpError(words(why));
  }
}

/**
 * Waits until something has happened.
 *
 * @param {{ subscribe(): Pollable }} to
 * @param {Remaining} remaining
 */
function wait(to, remaining) {
  const event = to.subscribe();
  const end = subscribeDuration(remaining() * NANOSECONDS_PER_MILLISECOND);
  try {
    if (!poll([event, end]).includes(0)) throw new TcpError('no answer in time');
  } finally {
    event[Symbol.dispose]();
    end[Symbol.dispose]();
  }
}

/**
 * Calls the host, and tells its error in words.
 *
 * @template T
 * @param {() => T} call
 * @returns {T}
 */
function said(call) {
  try {
    return call();
  } catch (error) {
    throw new TcpError(words(payload(error)));
  }
}

/**
 * The `err` of a function of the host, which the bindings throw in an error. What isn't one is a fault of the plugin's own.
 *
 * @param {any} error
 */
function payload(error) {
  if (error?.payload === undefined) throw error;
  return error.payload;
}

/**
 * An `error-code` or a `stream-error` in words.
 *
 * @param {any} why
 * @returns {string}
 */
function words(why) {
  if (typeof why === 'string') return why.replaceAll('-', ' ');
  if (why.tag === 'closed') return 'the connection was closed';
  try {
    return why.val.toDebugString();
  } finally {
    why.val[Symbol.dispose]();
  }
}
