// The probe type, with plain objects in the place of the host and of servers.

import assert from 'node:assert/strict';
import test from 'node:test';

import type { Check, Target } from 'witlet:probe/probe-types@0.2.0';

import { type Connect, greets } from '../src/greeting.ts';
import { TcpError } from '../src/sdk/witlet.ts';
import { type Outcome, failure, success } from '../src/sdk/witlet-probe.ts';

const parameters = { port: 25, expect: '220 ' };

function target(...addresses: string[]): Target {
  return { pod: () => ({ addresses: () => addresses }), remainingMilliseconds: () => 1000n } as unknown as Target;
}

const probe = (connect: Connect, ...addresses: string[]): Outcome => greets(connect).load(null).probe(target(...addresses), parameters);

/** A server that sends these parts and closes. */
function server(...parts: string[]) {
  const seen = { to: '', closed: 0 };
  const connect: Connect = (address, port) => {
    seen.to = `${address}:${port}`;
    const read = (length: number) => {
      const part = parts.shift();
      if (part === undefined) return undefined;
      if (part.length > length) parts.unshift(part.slice(length));
      return new TextEncoder().encode(part.slice(0, length));
    };
    return { read, close: () => void seen.closed++ };
  };
  return { seen, connect };
}

test('the greeting that is expected is a success, in how many parts it may come', () => {
  for (const parts of [['220 mail\r\n'], ['2', '2', '0', ' '], ['22', '0 mail']]) {
    const mail = server(...parts);
    assert.deepEqual(probe(mail.connect, '127.0.0.2'), success('it says "220 "'));
    assert.deepEqual(mail.seen, { to: '127.0.0.2:25', closed: 1 });
  }
});

test('another greeting, half of it and none are failures', () => {
  const cases: [string[], string][] = [
    [['554 no\r\n'], '"554 "'],
    [['22'], '"22"'],
    [[], '""'],
  ];
  for (const [parts, seen] of cases) {
    const mail = server(...parts);
    assert.deepEqual(probe(mail.connect, '127.0.0.2'), failure(`it says ${seen}, not "220 "`));
    assert.equal(mail.seen.closed, 1);
  }
});

test('a server that cannot be reached is a failure that says why', () => {
  const refuse = () => {
    throw new TcpError('connection refused');
  };
  assert.deepEqual(probe(refuse, '127.0.0.2'), failure('port 25: connection refused'));
});

test('a pod without an address is an error', () => {
  assert.throws(() => probe(server().connect), { code: 'NoAddress' });
});

test('wrong parameters are refused by the name of the field', () => {
  const type = greets(server().connect).load(null);
  const refused = (more: object, message: RegExp) =>
    assert.throws(() => type.checkParameters({} as Check, { ...parameters, ...more }), { code: 'InvalidParameters', message });
  for (const port of [0, 65536, 1.5, 'http', null]) refused({ port }, /^port: /);
  for (const expect of ['', 1, null, 'x'.repeat(1025)]) refused({ expect }, /^expect: /);
  refused({ prot: 1 }, /^prot: unknown field/);
  type.checkParameters({} as Check, parameters);
});

test('a configuration is refused', () => {
  assert.throws(() => greets(server().connect).load({ port: 25 }), { code: 'InvalidConfiguration', message: /^port: / });
});
