import assert from 'node:assert/strict';
import test from 'node:test';

import { ping, withoutLineEnd } from '../src/redis.js';

const encoder = new TextEncoder();

/**
 * A server that sends these parts, whatever it is asked, and closes.
 *
 * @param {(string | Uint8Array)[]} parts
 */
function server(...parts) {
  const queue = parts.map((part) => (typeof part === 'string' ? encoder.encode(part) : part));
  return {
    asked: '',
    /** @param {Uint8Array} bytes */
    write(bytes) {
      this.asked += new TextDecoder().decode(bytes);
    },
    /** @param {number} length */
    read(length) {
      const part = queue.shift();
      if (part !== undefined && part.length > length) queue.unshift(part.subarray(length));
      return part?.subarray(0, length);
    },
  };
}

test('PONG is a success, in how many parts it may come', () => {
  for (const parts of [['+PONG\r\n'], ['+PO', 'NG\r', '\n'], ['+PONG\r\nmore']]) {
    const redis = server(...parts);
    assert.deepEqual(ping(redis), { tag: 'success', val: 'PONG' });
    assert.equal(redis.asked, 'PING\r\n');
  }
});

test('another answer is a failure that tells it', () => {
  for (const [answer, val] of [
    ['-LOADING data\r\n', 'LOADING data'],
    ['-\r\n', ''],
    ['+OK\r\n', 'unexpected answer "+OK"'],
    ['\r\n', 'unexpected answer ""'],
    ['größe\r\n', 'unexpected answer "größe"'],
    [Uint8Array.of(0xff, 0x0d, 0x0a), 'unexpected answer "\ufffd"'],
  ]) {
    assert.deepEqual(ping(server(answer)), { tag: 'failure', val });
  }
});

test('a password is sent first, as it is', () => {
  const redis = server('+OK\r\n', '+PONG\r\n');
  assert.equal(ping(redis, encoder.encode('größe')).tag, 'success');
  assert.equal(redis.asked, '*2\r\n$4\r\nAUTH\r\n$7\r\ngröße\r\nPING\r\n');
});

test('a refused password is a failure, and nothing more is asked', () => {
  const redis = server('-WRONGPASS no\r\n');
  assert.deepEqual(ping(redis, encoder.encode('x')), { tag: 'failure', val: 'WRONGPASS no' });
  assert.ok(!redis.asked.includes('PING'));
});

test('an answer of up to 1024 bytes is read, and no longer one', () => {
  const longest = `-${'x'.repeat(1023)}`;
  assert.equal(ping(server(`${longest}\r\n`)).val, longest.slice(1));
  assert.throws(() => ping(server(`${longest}y\r\n`)), /longer than 1024 bytes/);
});

test('a server that closes before the end of the line is reported', () => {
  for (const parts of [[], ['+PONG'], ['+PONG\r']]) assert.throws(() => ping(server(...parts)), /closed/);
});

test('one line end of a secret is left out', () => {
  for (const [value, password] of [['x', 'x'], ['x\n', 'x'], ['x\r\n', 'x'], ['x\n\n', 'x\n'], ['\n', ''], ['', ''], ['x\r', 'x\r']]) {
    assert.equal(new TextDecoder().decode(withoutLineEnd(encoder.encode(value))), password, JSON.stringify(value));
  }
});
