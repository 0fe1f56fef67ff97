// Whether a server greets as it should.

import type { Outcome, Target } from 'witlet:probe/types@0.1.0';

import { Fields, Refusal, TcpError } from './sdk/witlet.ts';

/** What stands under `parameters:` of a probe. Names of ports are numbers already. */
export type Parameters = { port: number; expect: Uint8Array };

/** What the probe needs of a connection. */
export type Connection = { read(length: number): Uint8Array | undefined; close(): void };

/** Makes a connection, or throws a TcpError. */
export type Connect = (address: string, port: number, remaining: () => bigint) => Connection;

const EXPECT_BYTES_MAX = 1024;

export function parseParameters(text: string): Parameters {
  return Fields.read(text, (fields) => {
    const [port, expect] = [fields.port(), new TextEncoder().encode(fields.text('expect'))];
    if (expect.length > EXPECT_BYTES_MAX) throw fields.refusal('expect', `it has more than ${EXPECT_BYTES_MAX} bytes`);
    return { port, expect };
  });
}

/** Probes once. */
export function probe(
  target: Pick<Target, 'podIps' | 'remainingMilliseconds'>,
  { port, expect }: Parameters,
  connect: Connect,
): Outcome {
  const [address] = target.podIps();
  // An error: without an address nothing can be found out about the server.
  if (address === undefined) throw new Refusal('the pod has no IP address');
  try {
    const connection = connect(address, port, () => target.remainingMilliseconds());
    try {
      return judge(expect, greeting(connection, expect.length));
    } finally {
      connection.close();
    }
  } catch (error) {
    if (!(error instanceof TcpError)) throw error;
    return { tag: 'failure', val: `port ${port}: ${error.message}` };
  }
}

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

export function judge(expected: Uint8Array, received: Uint8Array): Outcome {
  const same = expected.length === received.length && expected.every((byte, at) => byte === received[at]);
  const [shown, seen] = [expected, received].map((bytes) => JSON.stringify(new TextDecoder().decode(bytes)));
  return same ? { tag: 'success', val: `it says ${seen}` } : { tag: 'failure', val: `it says ${seen}, not ${shown}` };
}
