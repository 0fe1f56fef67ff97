import assert from 'node:assert/strict';
import test from 'node:test';

import { look, parseConfig } from '../src/pods.ts';

const web = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' } };
const db = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'db' } };

test('the pods of the configuration are reported once', () => {
  const first = look({ pods: [web, db] });
  assert.deepEqual(first.snapshot, { tag: 'pods', val: [JSON.stringify(web), JSON.stringify(db)] });
  const second = look({ pods: [web, db] }, first.cursor);
  assert.deepEqual(second, { snapshot: { tag: 'unchanged' }, cursor: first.cursor });
});

test('other pods are reported again', () => {
  const { cursor } = look({ pods: [web] });
  assert.equal(look({ pods: [db] }, cursor).snapshot.tag, 'pods');
});

test('no pods are reported as such', () => {
  const { cursor } = look({ pods: [web] });
  const none = look({ pods: [] }, cursor);
  assert.equal(none.snapshot.tag, 'empty');
  assert.equal(look({ pods: [] }, none.cursor).snapshot.tag, 'unchanged');
});

test('a wrong configuration is refused by the name of the field', () => {
  for (const text of ['null', '{}', '{"pods": {}}', '{"pods": null}']) {
    assert.throws(() => parseConfig(text), /^Refusal: pods: /, text);
  }
  for (const pod of ['null', '1', '[]', '{}', '{"kind": "Service"}']) {
    assert.throws(() => parseConfig(`{"pods": [{"kind": "Pod"}, ${pod}]}`), /^Refusal: pods\[1\]: /, pod);
  }
});
