// Connections that the host opens for a probe type: with TLS, from the beginning or later on, and to the loopback interface of the probed
// pod. The entry's grant `network` says what is reached, `tlsAuthorities` and `tlsClientCertificate` by whom and as whom. For probe types
// whose `wit/world.wit` has `import witlet:probe/connections@0.2.0;`; others don't import this module.

import type { Error as HostError } from 'witlet:host/errors@0.2.0';
import { type Connection as HostConnection, open, openLoopback } from 'witlet:probe/connections@0.2.0';
import type { Target } from 'witlet:probe/probe-types@0.2.0';

import { TcpError } from './witlet.ts';

const READ_BYTES_MAX = 64 << 10;

/**
 * Connects to an address or a name. With `serverName`, the name or address that its certificate must have, TLS begins at once. The connection
 * must be closed; it is of one probe, whose time bounds each of its steps.
 *
 * @throws {TcpError} Its `code` is the contract's word for why, such as `Refused` or `CertificateInvalid`.
 */
export function connect(target: Target, host: string, port: number, { serverName }: { serverName?: string } = {}): Connection {
  const connection = new Connection(said(() => open(target, host, port)));
  try {
    if (serverName !== undefined) connection.startTls(serverName);
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

/**
 * Connects to a port of the loopback interface of the probed pod. Needs the network grant `pod-loopback`.
 *
 * @throws {TcpError}
 */
export const connectLoopback = (target: Target, port: number): Connection => new Connection(said(() => openLoopback(target, port)));

/** A connection, for `Reader` and `httpGet`, too. Each function throws a TcpError. */
export class Connection {
  readonly #connection: HostConnection;

  constructor(connection: HostConnection) {
    this.#connection = connection;
  }

  /** Makes TLS of it, with a server that must be of this name or address. What was read before and is left came in the clear. */
  startTls(serverName: string): void {
    said(() => this.#connection.startTls(serverName));
  }

  /** Sends all of it. */
  write(bytes: Uint8Array): void {
    said(() => this.#connection.write(bytes));
  }

  /** Waits for what comes next, at most so many bytes; undefined once the other side has closed. */
  read(length: number): Uint8Array | undefined {
    const bytes = said(() => this.#connection.read(BigInt(Math.min(length, READ_BYTES_MAX))));
    return bytes.length > 0 ? bytes : undefined;
  }

  /** The certificates that the server showed, its own first, in DER; none without TLS. */
  certificates(): Uint8Array[] {
    return this.#connection.peerCertificates();
  }

  /** Gives it back to the host. */
  close(): void {
    this.#connection[Symbol.dispose]();
  }
}

/** Calls the host, and tells its error in words. What isn't one is a fault of the plugin's own. */
function said<T>(call: () => T): T {
  try {
    return call();
  } catch (error) {
    const why = (error as { payload?: HostError } | undefined)?.payload;
    if (why === undefined) throw error;
    try {
      throw new TcpError(why.message(), why.code());
    } finally {
      why[Symbol.dispose]();
    }
  }
}
