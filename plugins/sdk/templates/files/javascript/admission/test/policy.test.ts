import assert from 'node:assert/strict';
import test from 'node:test';

import type { Operation, Pod } from 'witlet:admission/types@0.1.0';

import { decide, parseConfig } from '../src/policy.ts';

const config = parseConfig('{"label": "team"}');

/** A question about a pod with the label `team`, or without it, as far as the policy checks it. */
function request(team?: string, operation: Operation = 'add') {
  const given = { disposed: 0 };
  const pointer = (path: string) =>
    path !== '/metadata/labels/team' || team === undefined ? undefined : JSON.stringify(team);
  const pod = { pointer, [Symbol.dispose]: () => void given.disposed++ } as Partial<Pod> as Pod;
  return { given, operation: () => operation, pod: () => pod };
}

test('a pod with the label is admitted', () => {
  assert.deepEqual(decide(request('shop'), config), { tag: 'admit' });
});

test('a pod without the label is rejected in words that name it', () => {
  const message = 'the pod has no label team';
  const verdict = { tag: 'reject', val: { reason: 'LabelMissing', message } };
  assert.deepEqual(decide(request(), config), verdict);
});

test('an empty label is none', () => {
  assert.equal(decide(request(''), config).tag, 'reject');
});

test('the characters that a JSON pointer escapes are escaped', () => {
  const paths: string[] = [];
  const asked = request();
  asked.pod().pointer = (path) => void paths.push(path);
  decide(asked, { label: 'example.com/a~b' });
  assert.deepEqual(paths, ['/metadata/labels/example.com~1a~0b']);
});

test('a resize is not checked', () => {
  assert.deepEqual(decide(request(undefined, 'resize'), config), { tag: 'admit' });
});

test('the pod is given back whatever the verdict is', () => {
  for (const team of [undefined, 'shop']) {
    const asked = request(team);
    decide(asked, config);
    assert.equal(asked.given.disposed, 1);
  }
});

test('a wrong configuration is refused by the name of the field', () => {
  for (const text of ['null', '{}', '{"label": ""}', '{"label": 1}']) {
    assert.throws(() => parseConfig(text), /^Refusal: label/, text);
  }
  assert.throws(() => parseConfig('{"label": "team", "lable": "team"}'), { payload: /^lable: / });
  assert.throws(() => parseConfig(JSON.stringify({ label: 'x'.repeat(318) })), /^Refusal: label/);
  assert.throws(() => parseConfig('[]'), /no JSON object/);
  assert.throws(() => parseConfig('{'), /no JSON/);
});
