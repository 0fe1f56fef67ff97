import assert from 'node:assert/strict';
import test from 'node:test';

import { socketAddress } from '../src/sdk/witlet-address.ts';

test('an IPv4 address is four numbers', () => {
  assert.deepEqual(socketAddress('127.0.0.1', 25), { tag: 'ipv4', val: { port: 25, address: [127, 0, 0, 1] } });
});

test('an IPv6 address is eight groups, of which some may be left out', () => {
  const cases: [string, number[]][] = [
    ['::', [0, 0, 0, 0, 0, 0, 0, 0]],
    ['::1', [0, 0, 0, 0, 0, 0, 0, 1]],
    ['fe80::', [0xfe80, 0, 0, 0, 0, 0, 0, 0]],
    ['2001:db8::a:1', [0x2001, 0xdb8, 0, 0, 0, 0, 0xa, 1]],
    ['1:2:3:4:5:6:7:8', [1, 2, 3, 4, 5, 6, 7, 8]],
  ];
  for (const [text, address] of cases) {
    const val = { port: 25, flowInfo: 0, address, scopeId: 0 };
    assert.deepEqual(socketAddress(text, 25), { tag: 'ipv6', val }, text);
  }
});

test('what is no address is none', () => {
  for (const text of [
    '', 'localhost', '1.2.3', '1.2.3.4.5', '1.2.3.256', '1.2.3.', '1.2.3.-4', '1:2:3', '1::2::3', ':::', '1:2:3:4:5:6:7:8:9',
    '1:2:3:4::5:6:7:8', 'g::', '12345::', '%eth0',
  ]) {
    assert.equal(socketAddress(text, 25), undefined, text);
  }
});
