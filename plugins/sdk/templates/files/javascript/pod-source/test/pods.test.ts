import assert from 'node:assert/strict';
import test from 'node:test';

import { readPods, parseConfig } from '../src/pods.ts';

const web = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' } };
const db = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'db' } };

test('the pods of the configuration are reported once', () => {
  const first = readPods({ pods: [web, db] });
  assert.deepEqual(first.snapshot, { tag: 'pods', val: [JSON.stringify(web), JSON.stringify(db)] });
  const second = readPods({ pods: [web, db] }, first.cursor);
  assert.deepEqual(second, { snapshot: { tag: 'unchanged' }, cursor: first.cursor });
});

test('other pods are reported again', () => {
  const { cursor } = readPods({ pods: [web] });
  assert.equal(readPods({ pods: [db] }, cursor).snapshot.tag, 'pods');
});

test('no pods are reported as such', () => {
  const { cursor } = readPods({ pods: [web] });
  const none = readPods({ pods: [] }, cursor);
  assert.equal(none.snapshot.tag, 'empty');
  assert.equal(readPods({ pods: [] }, none.cursor).snapshot.tag, 'unchanged');
});

test('a wrong configuration is refused by the name of the field', () => {
  for (const text of ['null', '{}', '{"pods": {}}', '{"pods": null}']) {
    assert.throws(() => parseConfig(text), /^Refusal: pods: /, text);
  }
  for (const pod of ['null', '1', '[]', '{}', '{"kind": "Service"}']) {
    assert.throws(() => parseConfig(`{"pods": [{"kind": "Pod"}, ${pod}]}`), /^Refusal: pods\[1\]: /, pod);
  }
});
