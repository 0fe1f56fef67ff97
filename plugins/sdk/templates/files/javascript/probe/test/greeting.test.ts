import assert from 'node:assert/strict';
import test from 'node:test';

import { type Connect, parseParameters, probe } from '../src/greeting.ts';
import { TcpError } from '../src/sdk/witlet.ts';

const parameters = parseParameters('{"port": 25, "expect": "220 "}');
const target = { podIps: () => ['127.0.0.2'], remainingMilliseconds: () => 1000n };

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
    assert.deepEqual(probe(target, parameters, mail.connect), { tag: 'success', val: 'it says "220 "' });
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
    const val = `it says ${seen}, not "220 "`;
    assert.deepEqual(probe(target, parameters, mail.connect), { tag: 'failure', val });
    assert.equal(mail.seen.closed, 1);
  }
});

test('a server that cannot be reached is a failure that says why', () => {
  const refuse = () => {
    throw new TcpError('connection refused');
  };
  assert.deepEqual(probe(target, parameters, refuse), { tag: 'failure', val: 'port 25: connection refused' });
});

test('a pod without an address is an error', () => {
  const nowhere = { ...target, podIps: () => [] };
  assert.throws(() => probe(nowhere, parameters, server().connect), { payload: 'the pod has no IP address' });
});

test('wrong parameters are refused by the name of the field', () => {
  for (const port of ['0', '65536', '1.5', '"http"', 'null']) {
    assert.throws(() => parseParameters(`{"port": ${port}, "expect": "x"}`), /^Refusal: port: /, port);
  }
  for (const expect of ['""', '1', 'null', JSON.stringify('x'.repeat(1025))]) {
    assert.throws(() => parseParameters(`{"port": 1, "expect": ${expect}}`), /^Refusal: expect: /, expect);
  }
  assert.throws(() => parseParameters('{"port": 1, "expect": "x", "prot": 1}'), /^Refusal: prot: /);
});
