// The source, polled with configurations.

import assert from 'node:assert/strict';
import test from 'node:test';

import { ownPods } from '../src/pods.ts';
import { type Poll, pods, unchanged } from '../src/sdk/witlet-source.ts';

const web = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' } };
const db = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'db' } };

const poll = (config: unknown, cursor?: string): Poll => ownPods(() => {}).load(config).poll(cursor);

test('the pods of the configuration are reported once', () => {
  const first = poll({ pods: [web, db] });
  const cursor = first.cursor ?? '';
  assert.deepEqual(first, pods([JSON.stringify(web), JSON.stringify(db)]).at(cursor));
  assert.deepEqual(poll({ pods: [web, db] }, cursor), unchanged().at(cursor));
});

test('other pods are reported again', () => {
  const { cursor } = poll({ pods: [web] });
  assert.equal(poll({ pods: [db] }, cursor).snapshot, 'pods');
});

test('no pods are reported as such', () => {
  const { cursor } = poll({ pods: [web] });
  const none = poll({ pods: [] }, cursor);
  assert.equal(none.snapshot, 'empty');
  assert.equal(poll({ pods: [] }, none.cursor).snapshot, 'unchanged');
});

test('a wrong configuration is refused by the name of the field', () => {
  for (const config of [null, {}, { pods: {} }, { pods: null }]) {
    assert.throws(() => poll(config), { code: 'InvalidConfiguration', message: /^pods: / });
  }
  for (const pod of [null, 1, [], {}, { kind: 'Service' }]) {
    assert.throws(() => poll({ pods: [web, pod] }), { code: 'InvalidConfiguration', message: /^pods\[1\]: / });
  }
});
