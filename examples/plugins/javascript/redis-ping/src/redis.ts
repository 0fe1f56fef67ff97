// Example of contract 0.2: a probe type. A Redis server answers PING, and how long that took is said.

import { Reader, TcpError } from './sdk/witlet.ts';
import { HandlerError, type ProbeType, address, failure, integer, invalid, optional, probeType, success, text } from './sdk/witlet-probe.ts';

/** What the probe needs of a connection. */
export type Connection = { write(bytes: Uint8Array): void; read(length: number): Uint8Array | undefined; close(): void };

/** What the one module that knows the host hands over. */
export type Outside = {
  connect(address: string, port: number, remaining: () => bigint): Connection;
  /** Throws a HandlerError if there is none. */
  secret(name: string): Uint8Array;
  /** Milliseconds of a clock that never goes back. */
  now(): number;
};

/** The longest answer, in bytes without its end. */
const LINE_BYTES_MAX = 1024;

const encoder = new TextEncoder();

/** The probe type `redis-ping`. */
export const redis = (outside: Outside): ProbeType =>
  probeType({
    config: { passwordSecret: optional<string | undefined>(text, undefined) },
    parameters: {
      host: optional<string | undefined>(text, undefined),
      port: optional(integer, 6379),
      slowAfterMilliseconds: optional<number | undefined>(integer, undefined),
    },
    validate({ passwordSecret }) {
      if (passwordSecret === '') throw invalid('passwordSecret', 'is empty');
    },
    checkParameters({ port }) {
      if (port < 1 || port > 65535) throw new HandlerError('InvalidParameters', 'port: must be 1 to 65535');
    },
    probe(target, { host, port, slowAfterMilliseconds: slow }, { passwordSecret }) {
      // A secret that isn't there is no fault of the server's: nothing was found out.
      const password = passwordSecret === undefined ? undefined : outside.secret(passwordSecret);
      const to = host || address(target);
      try {
        const connection = outside.connect(to, port, () => target.remainingMilliseconds());
        try {
          if (password !== undefined) ask(connection, auth(password), '+OK');
          const asked = outside.now();
          ask(connection, encoder.encode('PING\r\n'), '+PONG');
          const took = outside.now() - asked;
          const outcome = success('').latency(took);
          return slow !== undefined && took >= slow ? outcome.warn(`PING took ${slow} ms or more`) : outcome;
        } finally {
          connection.close();
        }
      } catch (error) {
        if (!(error instanceof TcpError)) throw error;
        return failure(error.message);
      }
    },
  });

/** AUTH with a password, of which a file's last line end isn't part. */
function auth(password: Uint8Array): Uint8Array {
  const end = password[password.length - 1] === 0x0a ? password.length - 1 : password.length;
  return new Uint8Array([...encoder.encode('AUTH '), ...password.subarray(0, end), ...encoder.encode('\r\n')]);
}

/** Throws a TcpError if the server answers something else. */
function ask(connection: Connection, command: Uint8Array, expected: string): void {
  connection.write(command);
  const line = new Reader(connection).line(LINE_BYTES_MAX);
  if (line !== expected) throw new TcpError(line.startsWith('-') ? line.slice(1) : `it answers ${JSON.stringify(line)}`);
}
