import assert from 'node:assert/strict';
import test from 'node:test';

import { isWithin, parseReference } from '../src/reference.ts';

test('a reference is read as container runtimes read it', () => {
  for (const [image, place] of [
    ['nginx', 'docker.io/library/nginx'],
    ['nginx:1.27', 'docker.io/library/nginx'],
    ['team/app', 'docker.io/team/app'],
    ['localhost/app:2', 'localhost/app'],
    ['localhost:5000/app', 'localhost:5000/app'],
    ['example.com/a/b:1', 'example.com/a/b'],
    ['Elsewhere/app', 'Elsewhere/app'],
    ['example.com:443/app:1@sha256:00', 'example.com:443/app'],
    ['a/b@sha256:00', 'docker.io/a/b'],
  ]) {
    assert.equal(parseReference(image).place, place, image);
  }
});

test('only a SHA-256 digest pins', () => {
  assert.equal(parseReference('nginx@sha256:00').pinned, true);
  for (const image of ['nginx', 'nginx:sha256', 'nginx@md5:00', 'nginx@']) {
    assert.equal(parseReference(image).pinned, false, image);
  }
});

test('places are matched in whole parts', () => {
  assert.ok(isWithin('docker.io/library/nginx', 'docker.io/library'));
  assert.ok(isWithin('docker.io/library', 'docker.io/library'));
  assert.ok(!isWithin('docker.io/library2/nginx', 'docker.io/library'));
  assert.ok(!isWithin('docker.io', 'docker.io/library'));
});
