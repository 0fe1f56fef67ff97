// The probe type, with answers in place of the host's.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { https } from '../src/asking.ts';
import { failure, success } from '../src/sdk/witlet-probe.ts';
import { type Response, TcpError } from '../src/sdk/witlet.ts';

const probe = (request: () => Response) =>
  https({ request, ping: () => '+PONG' })
    .load(null)
    .probe(undefined as never, { url: 'https://a/' });

test('an answer is judged by its status', () => {
  const body = new TextEncoder().encode('fine');
  assert.deepEqual(
    probe(() => ({ status: 200, headers: new Map([['x-node', 'edge']]), body })),
    success('200 edge fine'),
  );
  assert.deepEqual(
    probe(() => ({ status: 503, headers: new Map(), body })),
    failure('503 - fine'),
  );
});

test('no answer is a failure in words', () => {
  const refused = () => {
    throw new TcpError('a: connection refused', 'connection-refused');
  };
  assert.deepEqual(probe(refused), failure('connection-refused: a: connection refused'));
});
