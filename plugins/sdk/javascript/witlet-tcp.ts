// TCP connections over `wasi:sockets`, each step of which waits no longer than there is time. For plugins whose world imports them; others
// don't import this module.

import { subscribeDuration } from 'wasi:clocks/monotonic-clock@0.2.0';
import { type Pollable, poll } from 'wasi:io/poll@0.2.0';
import type { InputStream, OutputStream, StreamError } from 'wasi:io/streams@0.2.0';
import { instanceNetwork } from 'wasi:sockets/instance-network@0.2.0';
import type { ErrorCode, Network } from 'wasi:sockets/network@0.2.0';
import type { TcpSocket } from 'wasi:sockets/tcp@0.2.0';
import { createTcpSocket } from 'wasi:sockets/tcp-create-socket@0.2.0';

import { socketAddress } from './witlet-address.ts';
import { TcpError } from './witlet.ts';

/** Milliseconds that are left. */
type Remaining = () => bigint;

const NANOSECONDS_PER_MILLISECOND = 1_000_000n;
/** What `blocking-write-and-flush` takes at once. */
const WRITE_BYTES_MAX = 4096;

// ComponentizeJS leaves out the class of a resource without functions (its issue 221), which `network` is. Its bindings search
// the class among their own globals; a function of theirs leads there.
const globalsOfBindings = instanceNetwork.constructor('return globalThis')();
globalsOfBindings['import_network_0_2_0$Network'] ??= class Network {};

let network: Network | undefined;

/**
 * Connects. The connection must be closed.
 *
 * @throws {TcpError}
 */
export function connect(address: string, port: number, remaining: Remaining): Connection {
  const remote = socketAddress(address, port);
  if (remote === undefined) throw new TcpError(`${address} is no IP address`);
  const here = (network ??= instanceNetwork());
  const socket = said(() => createTcpSocket(remote.tag));
  try {
    said(() => socket.startConnect(here, remote));
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
  readonly #socket: TcpSocket;
  readonly #input: InputStream;
  readonly #output: OutputStream;
  readonly #remaining: Remaining;

  constructor(socket: TcpSocket, [input, output]: [InputStream, OutputStream], remaining: Remaining) {
    this.#socket = socket;
    this.#input = input;
    this.#output = output;
    this.#remaining = remaining;
  }

  /**
   * Sends all of it.
   *
   * @throws {TcpError}
   */
  write(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; at += WRITE_BYTES_MAX) {
      said(() => this.#output.blockingWriteAndFlush(bytes.subarray(at, at + WRITE_BYTES_MAX)));
    }
  }

  /**
   * What has arrived, at most so many bytes, or undefined once the other side has closed. Waits until something has.
   *
   * @throws {TcpError}
   */
  read(length: number): Uint8Array | undefined {
    for (;;) {
      const bytes = arrived(this.#input, length);
      if (bytes === undefined || bytes.length > 0) return bytes;
      wait(this.#input, this.#remaining);
    }
  }

  /** Gives everything back; the streams first, because they are the socket's. */
  close(): void {
    this.#input[Symbol.dispose]();
    this.#output[Symbol.dispose]();
    this.#socket[Symbol.dispose]();
  }
}

/** The connection's streams once it is made. */
function finished(socket: TcpSocket): [InputStream, OutputStream] | undefined {
  try {
    return socket.finishConnect();
  } catch (error) {
    const why = payload(error);
    if (why === 'would-block') return undefined;
    throw new TcpError(words(why));
  }
}

/** What has arrived; undefined once the other side has closed. */
function arrived(input: InputStream, length: number): Uint8Array | undefined {
  try {
    return input.read(BigInt(length));
  } catch (error) {
    const why = payload(error);
    if (typeof why !== 'string' && why.tag === 'closed') return undefined;
    throw new TcpError(words(why));
  }
}

/** Waits until something has happened. */
function wait(to: { subscribe(): Pollable }, remaining: Remaining): void {
  const event = to.subscribe();
  const end = subscribeDuration(remaining() * NANOSECONDS_PER_MILLISECOND);
  try {
    if (!poll([event, end]).includes(0)) throw new TcpError('no answer in time');
  } finally {
    event[Symbol.dispose]();
    end[Symbol.dispose]();
  }
}

/** Calls the host, and tells its error in words. */
function said<T>(call: () => T): T {
  try {
    return call();
  } catch (error) {
    throw new TcpError(words(payload(error)));
  }
}

/** The `err` of a function of the host, which the bindings throw in an error. What isn't one is a fault of the plugin's own. */
function payload(error: unknown): ErrorCode | StreamError {
  const why = (error as { payload?: ErrorCode | StreamError } | undefined)?.payload;
  if (why === undefined) throw error;
  return why;
}

/** An `error-code` or a `stream-error` in words. */
function words(why: ErrorCode | StreamError): string {
  if (typeof why === 'string') return why.replaceAll('-', ' ');
  if (why.tag === 'closed') return 'the connection was closed';
  try {
    return why.val.toDebugString();
  } finally {
    why.val[Symbol.dispose]();
  }
}
