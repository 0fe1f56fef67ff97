import assert from 'node:assert/strict';
import test from 'node:test';

import { FILE_BYTES_MAX, isManifest, scan, parseConfig } from '../src/pods.js';

/**
 * @param {string} name
 * @param {string | Uint8Array} [contents]
 */
function file(name, contents = `{"kind": "Pod", "metadata": {"name": "${name}"}}`) {
  return { name, bytes: typeof contents === 'string' ? new TextEncoder().encode(contents) : contents };
}

test('each file is a pod, in the order of the names’ bytes', () => {
  const names = ['b.json', 'B.json', '\u{1f980}.json', '\uffee.json', 'ä.json', 'b-2.json'];
  const { snapshot } = scan(names.map((name) => file(name)));
  assert.equal(snapshot.tag, 'pods');
  const order = snapshot.val.map((manifest) => JSON.parse(manifest).metadata.name);
  assert.deepEqual(order, [...names].sort((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other))));
});

test('the same files in another order are unchanged', () => {
  const { cursor } = scan([file('a.json'), file('b.json')]);
  assert.deepEqual(scan([file('b.json'), file('a.json')], cursor), { snapshot: { tag: 'unchanged' }, cursor });
});

test('another name, other contents and another number of files are changes', () => {
  const { cursor } = scan([file('a.json', '{"kind": "Pod"}')]);
  for (const files of [[file('b.json', '{"kind": "Pod"}')], [file('a.json', '{"kind":"Pod"}')], [file('a.json'), file('b.json')]]) {
    assert.equal(scan(files, cursor).snapshot.tag, 'pods');
  }
});

test('no files are empty, and then unchanged', () => {
  const { snapshot, cursor } = scan([], scan([file('a.json')]).cursor);
  assert.equal(snapshot.tag, 'empty');
  assert.equal(scan([], cursor).snapshot.tag, 'unchanged');
});

test('a file that is no pod is an error that names it', () => {
  for (const contents of [
    '', '{', 'null', '1', '[]', '{}', '{"kind": "Service"}', '{"kind": ["Pod"]}', '[{"kind": "Pod"}]',
    Uint8Array.of(0x22, 0xff, 0x22), new Uint8Array(FILE_BYTES_MAX + 1),
  ]) {
    assert.throws(
      () => scan([file('a.json'), file('bad.json', contents)]),
      (/** @type {any} */ { payload }) => payload.reason === 'Invalid' && payload.message.startsWith('bad.json '),
    );
  }
});

test('manifests are files that end in .json and are not hidden', () => {
  assert.deepEqual(['a.json', '.a.json', 'a.yaml', 'a.json~', '.json', 'a.JSON', 'x.y.json'].filter(isManifest), ['a.json', 'x.y.json']);
});

test('a wrong configuration is refused by the name of the field', () => {
  assert.deepEqual(parseConfig('{"folder": "/pods"}'), { folder: '/pods' });
  for (const text of ['null', '{}', '{"folder": "pods"}', '{"folder": ""}', '{"folder": 1}']) {
    assert.throws(() => parseConfig(text), { payload: /^folder: / }, text);
  }
  assert.throws(() => parseConfig('{"folder": "/pods", "recursive": true}'), { payload: /^recursive: / });
});
