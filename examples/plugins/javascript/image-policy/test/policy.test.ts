import assert from 'node:assert/strict';
import test from 'node:test';

import { decide, parseConfig } from '../src/policy.ts';

const config = parseConfig('{"allow": ["docker.io/library", "registry.example.com"]}');
const good = { name: 'app', image: 'nginx' };

function rejection(reason: string, message: string) {
  return { tag: 'reject', val: { reason, message } };
}

test('images from allowed places are admitted', () => {
  assert.deepEqual(decide([good, { name: 'b', image: 'registry.example.com/x:1' }], config), { tag: 'admit' });
});

test('the first wrong container is reported', () => {
  const verdict = decide([good, { name: 'b', image: 'b.example.com/b' }, { name: 'c', image: 'c.example.com/c' }], config);
  assert.deepEqual(verdict, rejection('ImageNotAllowed', 'container "b": b.example.com/b isn\'t allowed'));
});

test('a container without an image is rejected', () => {
  const verdict = decide([{ name: 'app', image: '' }], config);
  assert.deepEqual(verdict, rejection('ImageNotAllowed', 'container "app": no image is named'));
});

test('a digest is needed where the configuration says so', () => {
  const strict = { ...config, requireDigest: true };
  const message = 'container "app": docker.io/library/nginx isn\'t pinned by a digest';
  assert.deepEqual(decide([good], strict), rejection('ImageNotPinned', message));
  assert.deepEqual(decide([{ name: 'app', image: `nginx@sha256:${'0'.repeat(64)}` }], strict), { tag: 'admit' });
});

test('a wrong configuration is refused by the name of the field', () => {
  const cases: [string, RegExp][] = [
    ['null', /^allow: a list/],
    ['{"allow": "docker.io"}', /^allow: a list/],
    ['{"allow": []}', /^allow: at least one/],
    ['{"allow": ["a", ""]}', /^allow\[1\]: /],
    ['{"allow": ["a/"]}', /^allow\[0\]: /],
    ['{"allow": ["/"]}', /^allow\[0\]: /],
    ['{"allow": [1]}', /^allow\[0\]: /],
    ['{"allow": ["a"], "requireDigest": "yes"}', /^requireDigest: /],
    ['{"allow": ["a"], "requireDigests": true}', /^requireDigests: /],
  ];
  for (const [text, words] of cases) {
    assert.throws(() => parseConfig(text), { payload: words }, text);
  }
});
