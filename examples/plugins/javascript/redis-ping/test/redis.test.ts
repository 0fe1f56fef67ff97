// The probe type, asked about fakes of what the host hands over.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Check, Setup, Target } from 'witlet:probe/probe-types@0.2.0';

import { type Outside, redis } from '../src/redis.ts';
import { TcpError } from '../src/sdk/witlet.ts';
import { HandlerError, type LoadedType } from '../src/sdk/witlet-probe.ts';

const encoder = new TextEncoder();

/** A server that answers each line so, and what it received. */
function outside(answers: Record<string, string>): { received: string[]; outside: Outside } {
  const received: string[] = [];
  let come = '';
  return {
    received,
    outside: {
      connect: (address, port) => {
        received.push(`${address}:${port}`);
        return {
          write(bytes) {
            const line = new TextDecoder().decode(bytes).trimEnd();
            received.push(line);
            come += answers[line] ?? '';
          },
          read() {
            const part = encoder.encode(come);
            come = '';
            return part.length === 0 ? undefined : part;
          },
          close() {},
        };
      },
      secret(name) {
        if (name !== 'redis-password') throw new HandlerError('NotFound', name);
        return encoder.encode('s3cret\n');
      },
      now: () => 7,
    },
  };
}

function target(...addresses: string[]): Target {
  return { pod: () => ({ addresses: () => addresses }), remainingMilliseconds: () => 5000n } as unknown as Target;
}

const loaded = (answers: Record<string, string>, config: unknown = null): [LoadedType, string[]] => {
  const fake = outside(answers);
  return [redis(fake.outside).load(config), fake.received];
};

test('the answer decides', () => {
  const cases: [string, string, string][] = [
    ['+PONG\r\n', 'success', ''],
    ['-LOADING Redis is loading\r\n', 'failure', 'LOADING Redis is loading'],
    ['+OK\r\n', 'failure', 'it answers "+OK"'],
  ];
  for (const [answer, found, message] of cases) {
    const [type, received] = loaded({ PING: answer });
    const outcome = type.probe(target('10.0.0.7'), null);
    assert.deepEqual([outcome.found, outcome.message], [found, message]);
    assert.deepEqual(received, ['10.0.0.7:6379', 'PING']);
  }
});

test('how long it took is said, and warned of where it was slow', () => {
  const [type] = loaded({ PING: '+PONG\r\n' });
  const outcome = type.probe(target('10.0.0.7'), { slowAfterMilliseconds: 0 });
  assert.deepEqual([outcome.nanoseconds, outcome.warnings], [0n, ['PING took 0 ms or more']]);
});

test('a password is sent first, without its line end', () => {
  const [type, received] = loaded({ 'AUTH s3cret': '+OK\r\n', PING: '+PONG\r\n' }, { passwordSecret: 'redis-password' });
  assert.equal(type.probe(target('10.0.0.7'), { port: 1 }).found, 'success');
  assert.deepEqual(received, ['10.0.0.7:1', 'AUTH s3cret', 'PING']);
});

test('what is wrong with the probe is an error with a code', () => {
  const [other] = loaded({}, { passwordSecret: 'other' });
  assert.throws(() => other.probe(target('10.0.0.7'), null), { code: 'NotFound' });
  const [type] = loaded({});
  assert.throws(() => type.probe(target(), null), { code: 'NoAddress' });
  assert.throws(() => type.checkParameters({} as Check, { port: 0 }), { code: 'InvalidParameters', message: /port/ });
  assert.throws(() => type.checkParameters({} as Check, { prot: 1 }), { code: 'InvalidParameters', message: /prot: unknown field/ });
  assert.throws(() => loaded({}, { passwordSecret: '' })[0].validate({} as Setup), { code: 'InvalidConfiguration' });
});

test('a server that is not there is a failure', () => {
  const refused = redis({ ...outside({}).outside, connect: () => { throw new TcpError('refused'); } });
  assert.deepEqual(refused.load(null).probe(target('10.0.0.7'), null).message, 'refused');
});
