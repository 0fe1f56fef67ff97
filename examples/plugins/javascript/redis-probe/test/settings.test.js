import assert from 'node:assert/strict';
import test from 'node:test';

import { parseConfig, parseParameters } from '../src/settings.js';

test('nothing is needed', () => {
  for (const text of ['null', '{}']) {
    assert.deepEqual(parseConfig(text), {});
    assert.deepEqual(parseParameters(text), { port: 6379 });
  }
});

test('a secret and a port may be named', () => {
  assert.deepEqual(parseConfig('{"passwordSecret": "redis"}'), { passwordSecret: 'redis' });
  assert.deepEqual(parseParameters('{"port": 65535}'), { port: 65535 });
});

test('what is wrong is refused by the name of the field', () => {
  for (const value of ['""', '1', 'null']) {
    assert.throws(() => parseConfig(`{"passwordSecret": ${value}}`), { payload: /^passwordSecret: / }, value);
  }
  for (const value of ['0', '65536', '1.5', '"6379"', 'null']) {
    assert.throws(() => parseParameters(`{"port": ${value}}`), { payload: /^port: / }, value);
  }
  assert.throws(() => parseConfig('{"password": "x"}'), { payload: /^password: / });
  assert.throws(() => parseParameters('{"prot": 1}'), { payload: /^prot: / });
});
