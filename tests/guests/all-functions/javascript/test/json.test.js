import assert from 'node:assert/strict';
import test from 'node:test';

import { bytesOf, parse, pointers, refuse, tell, valueOf } from '../src/json.js';

test('whole numbers of 64 bits keep all their digits', () => {
  const reported = tell({ least: -(2n ** 63n), most: 2n ** 63n - 1n, text: '1', more: [1n, 1] });
  assert.equal(reported, '{"least":-9223372036854775808,"most":9223372036854775807,"text":"1","more":[1,1]}');
});

test('large whole numbers are read with all their digits, and nothing else is touched', () => {
  const text = '{"a":9007199254740993,"b":[-9223372036854775808,1,1.5],"c":"9007199254740993","d\\"1234567890123456":0.1234567890123456}';
  const value = parse(text);
  assert.equal(value.a, 9007199254740993n);
  assert.deepEqual(value.b, [-(2n ** 63n), 1, 1.5]);
  assert.equal(tell(value), text);
});

test('what is no JSON stays text', () => {
  assert.deepEqual(['[1]', '{', ''].map(valueOf), [[1], '{', '']);
});

test('a length is counted in bytes', () => {
  assert.equal(bytesOf('aä€\u{1f980}'), 10);
});

test('each pointer is looked up once', () => {
  assert.deepEqual(pointers({ pointers: ['/a', '/b'] }, (path) => (path === '/a' ? '1' : undefined)), { '/a': '1', '/b': null });
  assert.deepEqual(pointers(null, assert.fail), {});
});

test('only what says so is refused', () => {
  for (const text of ['null', '{}', '[]', '{"refuse": 1}']) refuse(text);
  assert.throws(() => refuse('{"refuse": "no"}'), { payload: 'no' });
});
