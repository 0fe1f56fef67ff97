import assert from 'node:assert/strict';
import test from 'node:test';

import { each, getters, given, json, settings } from '../src/reported.ts';

test('getters are called by their names in the contract', () => {
  const thing = { name: () => 'web', hostPort: () => undefined };
  assert.deepEqual(getters('port', thing, 'name host-port'), { 'port.name': 'web', 'port.host-port': null });
});

test('what is missing is null, and numbers of 64 bits are numbers', () => {
  assert.equal(json(each(['cpu', 'none'], (name) => (name === 'cpu' ? 4n : undefined))), '[4,null]');
});

test('an error of the host is reported by its code, another one goes on', () => {
  const fails = (): never => {
    throw Object.assign(new Error(), { payload: { code: () => 'NotFound' } });
  };
  assert.equal(given(fails), 'NotFound');
  assert.throws(() => given(() => assert.fail('of its own')), /of its own/);
});

test('no settings are none', () => {
  assert.deepEqual(settings('null'), {});
});
