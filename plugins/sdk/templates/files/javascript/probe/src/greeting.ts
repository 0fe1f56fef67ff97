// Whether a server greets as it should.

import { TcpError } from './sdk/witlet.ts';
import { HandlerError, type Outcome, type ProbeType, address, failure, integer, probeType, success, text } from './sdk/witlet-probe.ts';

/** What the probe needs of a connection. */
export type Connection = { read(length: number): Uint8Array | undefined; close(): void };

/** Makes a connection, or throws a TcpError. */
export type Connect = (address: string, port: number, remaining: () => bigint) => Connection;

const EXPECT_BYTES_MAX = 1024;

const encoder = new TextEncoder();

/** The probe type. */
export const greets = (connect: Connect): ProbeType =>
  probeType({
    // What stands under `parameters:` of a probe. Names of ports are numbers already.
    parameters: { port: integer, expect: text },
    checkParameters({ port, expect }) {
      if (port < 1 || port > 65535) throw wrong('port', 'must be a whole number from 1 to 65535');
      const { length } = encoder.encode(expect);
      if (length < 1 || length > EXPECT_BYTES_MAX) throw wrong('expect', `must have 1 to ${EXPECT_BYTES_MAX} bytes`);
    },
    probe(target, { port, expect }) {
      // An error while the pod has none: nothing can be found out about the server.
      const host = address(target);
      const expected = encoder.encode(expect);
      try {
        const connection = connect(host, port, () => target.remainingMilliseconds());
        try {
          return judge(expected, greeting(connection, expected.length));
        } finally {
          connection.close();
        }
      } catch (error) {
        if (!(error instanceof TcpError)) throw error;
        return failure(`port ${port}: ${error.message}`);
      }
    },
  });

const wrong = (parameter: string, problem: string): HandlerError => new HandlerError('InvalidParameters', `${parameter}: ${problem}`);

/** The first bytes that the server sends, so many or as many as there are before it closes. */
function greeting(connection: Connection, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; ) {
    const part = connection.read(length - at);
    if (part === undefined) return bytes.subarray(0, at);
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

function judge(expected: Uint8Array, received: Uint8Array): Outcome {
  const same = expected.length === received.length && expected.every((byte, at) => byte === received[at]);
  const [shown, seen] = [expected, received].map((bytes) => JSON.stringify(new TextDecoder().decode(bytes)));
  return same ? success(`it says ${seen}`) : failure(`it says ${seen}, not ${shown}`);
}
