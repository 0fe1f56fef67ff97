// The source, with answers in place of the host's.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { https } from '../src/polling.ts';
import { HandlerError, pods, unchanged } from '../src/sdk/witlet-source.ts';
import { type Response, TcpError, fingerprint } from '../src/sdk/witlet.ts';

const poll = (cursor: string | undefined, ask: () => Response) => https(ask).load({ url: 'https://a/' }).poll(cursor);
const answer = (status: number) => () => ({ status, headers: new Map(), body: new TextEncoder().encode('{}') });

test('what the server answers is the set', () => {
  const now = fingerprint(['{}']);
  assert.deepEqual(poll(undefined, answer(200)), pods(['{}']).at(now));
  assert.deepEqual(poll(now, answer(200)), unchanged().at(now));
});

test('without an answer nothing is known', () => {
  const none = () => {
    throw new TcpError('no answer in time');
  };
  for (const ask of [none, answer(404)]) assert.throws(() => poll(undefined, ask), HandlerError);
});
