// The module, with texts in place of connections.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import {
  Fields,
  Reader,
  Refusal,
  type Stream,
  TcpError,
  fingerprint,
  httpGet,
  httpWords,
  once,
  quantity,
  urlParts,
} from '../witlet.ts';

/** A connection whose server says these parts, whatever it is sent, and closes. */
function server(...parts: string[]): Stream & { sent: string } {
  const left = parts.map((part) => new TextEncoder().encode(part));
  return {
    sent: '',
    write(bytes) {
      this.sent += new TextDecoder().decode(bytes);
    },
    read(length) {
      const part = left.shift();
      if (part === undefined) return undefined;
      if (part.length > length) left.unshift(part.subarray(length));
      return part.subarray(0, length);
    },
  };
}

test('fields are taken by name and type', () => {
  const taken = Fields.read('{"a": "x", "b": 2, "c": true, "d": ["y"], "e": [1]}', (fields) => [
    fields.text('a'),
    fields.integer('b', { least: 1, most: 3 }),
    fields.boolean('c'),
    fields.texts('d'),
    fields.items('e'),
    fields.text('f', { fallback: '' }),
    fields.port('g', 80),
    fields.boolean('h', false),
    fields.texts('i', []),
  ]);
  assert.deepEqual(taken, ['x', 2, true, ['y'], [1], '', 80, false, []]);
  assert.equal(Fields.read('null', (fields) => fields.has('a')), false);
});

test('what is wrong is said by the name of the field', () => {
  const all = (fields: Fields) => [
    fields.text('label', { fallback: '', lengthMax: 5 }),
    fields.port('port', 80),
    fields.boolean('strict', false),
    fields.texts('names', []),
  ];
  for (const [text, message] of [
    ['{', 'this is no JSON'],
    ['[]', 'this is no JSON object'],
    ['1', 'this is no JSON object'],
    ['{"label": 1}', 'label: a text is needed'],
    ['{"label": ""}', 'label: a text is needed'],
    ['{"label": null}', 'label: a text is needed'],
    ['{"label": "longer"}', 'label: it has more than 5 characters'],
    ['{"port": 0}', 'port: a whole number from 1 to 65535 is needed'],
    ['{"port": 1.5}', 'port: a whole number from 1 to 65535 is needed'],
    ['{"port": "80"}', 'port: a whole number from 1 to 65535 is needed'],
    ['{"strict": 1}', 'strict: true or false is needed'],
    ['{"names": "x"}', 'names: a list is needed'],
    ['{"names": ["x", ""]}', 'names[1]: a text is needed'],
    ['{"lable": "x"}', 'lable: there is no such field, only label, port, strict, names'],
    ['{"__proto__": 1}', '__proto__: there is no such field, only label, port, strict, names'],
  ]) {
    assert.throws(() => Fields.read(text, all), { name: 'Refusal', message, payload: message }, text);
  }
  assert.throws(() => Fields.read('{}', (fields) => fields.text('label')), { message: 'label: a text is needed' });
  assert.throws(() => Fields.read('{}', (fields) => fields.text('toString')), { message: 'toString: a text is needed' });
  assert.throws(() => Fields.read('{"a": 1}', () => 0), { message: 'a: there is no such field, none' });
});

test('a text is parsed once until it changes', () => {
  const parsed: string[] = [];
  const parse = once((text) => {
    parsed.push(text);
    if (text === 'x') throw new Refusal('x');
    return text.length;
  });
  assert.deepEqual([parse('1'), parse('1'), parse('22'), parse('22')], [1, 1, 2, 2]);
  assert.deepEqual(parsed, ['1', '22']);
  assert.throws(() => parse('x'), Refusal);
  assert.throws(() => parse('x'), Refusal);
  assert.equal(parse('22'), 2);
});

test('quantities are exact and rounded away from zero', () => {
  for (const [text, scale, value] of [
    ['0', 1n, 0n],
    ['250m', 1000n, 250n],
    ['250m', 1n, 1n],
    ['-250m', 1n, -1n],
    ['0.1m', 1000n, 1n],
    ['1.5Gi', 1n, 3n << 29n],
    ['.5', 1000n, 500n],
    ['5.', 1n, 5n],
    ['-1k', 1n, -1000n],
    ['+2M', 1n, 2_000_000n],
    ['1e3', 1n, 1000n],
    ['1E-3', 1000n, 1n],
    ['1E', 1n, 10n ** 18n],
    ['1Ei', 1n, 1n << 60n],
    ['100n', 10n ** 9n, 100n],
    ['1u', 10n ** 6n, 1n],
    ['0.9Ki', 1n, 922n],
    ['9007199254740993', 1n, 9007199254740993n],
  ] as const) {
    assert.equal(quantity(text, scale), value, text);
  }
  for (const text of ['', 'm', '1 Gi', '1gi', '1K', '0x1', '1e', '1.2.3', '--1', '.', '1'.repeat(65), '1e99999', ' 1', '1\n']) {
    assert.throws(() => quantity(text), /is no quantity/, text);
  }
});

test('fingerprints follow from the texts alone', () => {
  // Of the empty list it is the hash's own beginning.
  assert.equal(fingerprint([]), 'cbf29ce484222325');
  // FNV-1a of `3:foo7:bär€`, made elsewhere.
  assert.equal(fingerprint(['foo', 'bär€']), 'a5f8e3227a445978');
  const lists = [[], [''], ['', ''], ['ab'], ['a', 'b'], ['b', 'a'], ['ä'], ['1:a']];
  assert.equal(new Set(lists.map(fingerprint)).size, lists.length);
});

test('lines and bytes are read in turn', () => {
  const reader = new Reader(server('+PO', 'NG\r', '\nrest', ' of it'));
  assert.equal(reader.line(), '+PONG');
  assert.equal(new TextDecoder().decode(reader.bytes(4)), 'rest');
  assert.equal(new TextDecoder().decode(reader.bytes(100)), ' of it');
  assert.throws(() => reader.line(), new TcpError('the server closed the connection'));
  assert.equal(new Reader(server(`${'x'.repeat(1024)}\r\n`)).line(), 'x'.repeat(1024));
  for (const long of ['x'.repeat(1025), `${'x'.repeat(1025)}\r\n`]) {
    assert.throws(() => new Reader(server(long)).line(), /longer than 1024 bytes/);
  }
});

test('bodies of HTTP are read in each form and cut', () => {
  const chunked = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';
  for (const [parts, status, body] of [
    [['HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokmore'], 200, 'ok'],
    [['HTTP/1.0 503 No\r\n\r\n', 'busy'], 503, 'busy'],
    [[`HTTP/1.1 200 OK\r\n\r\n${'x'.repeat(100)}`], 200, 'x'.repeat(16)],
    [[`HTTP/1.1 200\r\ncontent-length: 100\r\n\r\n${'x'.repeat(100)}`], 200, 'x'.repeat(16)],
    [[`${chunked}2;a=b\r\nok\r\n3\r\nay!\r\n0\r\n\r\n`], 200, 'okay!'],
    [[`${chunked}ff\r\n${'x'.repeat(255)}`], 200, 'x'.repeat(16)],
    [['HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\nContent-Length: 9\r\n\r\n'], 204, ''],
  ] as const) {
    const stream = server(...parts);
    const answer = httpGet(stream, 'example.com', '/ready', { headers: { Accept: 'text/plain' }, bodyBytesMax: 16 });
    assert.deepEqual([answer.status, new TextDecoder().decode(answer.body)], [status, body]);
    const lines = ['GET /ready HTTP/1.1', 'Host: example.com', 'User-Agent: witlet', 'Accept: text/plain', 'Connection: close'];
    assert.equal(stream.sent, `${lines.join('\r\n')}\r\n\r\n`);
  }
});

test('what is no answer of HTTP is said', () => {
  const head = 'HTTP/1.1 200 OK\r\n';
  for (const [text, words] of [
    ['220 mail\r\n', /doesn't speak HTTP: "220 mail"/],
    ['HTTP/1.1 2000 OK\r\n', /doesn't speak HTTP/],
    [`${head}no header\r\n\r\n`, /no header: "no header"/],
    [`${head}${'a: b\r\n'.repeat(101)}\r\n`, /more than 100 headers/],
    [`${head}Content-Length: -1\r\n\r\n`, /no length: "-1"/],
    [`${head}Content-Length: 5\r\n\r\nok`, /closed the connection/],
    [`${head}Transfer-Encoding: chunked\r\n\r\nxyz\r\n`, /no length: "xyz"/],
    [`${head}Transfer-Encoding: chunked\r\n\r\n2\r\nokay\r\n`, /another length/],
    ['', /closed the connection/],
  ] as const) {
    assert.throws(() => httpGet(server(text), 'example.com'), (error) => error instanceof TcpError && words.test(error.message), text);
  }
  assert.throws(() => httpGet(server(), 'example.com', '/ HTTP/1.1\r\nX: y'), /control characters/);
});

test('an URL has its parts', () => {
  for (const [url, scheme, authority, path] of [
    ['https://example.com', 'https', 'example.com', '/'],
    ['http://10.0.0.7:8080/a/b?c=d#e', 'http', '10.0.0.7:8080', '/a/b?c=d'],
    ['HTTPS://[fd00::7]:8443?x', 'https', '[fd00::7]:8443', '/?x'],
  ]) {
    assert.deepEqual(urlParts(url), { scheme, authority, path });
  }
  for (const url of ['', 'example.com', 'ftp://a/', 'https://', 'https:///a', 'https://me@a/', 'https://a:b/', 'https://a b/', 'https://[::1/']) {
    assert.throws(() => urlParts(url), (error) => error instanceof TcpError && /is no URL of http or https/.test(error.message), url);
  }
});

test('what the host says is said in words', () => {
  for (const [tag, val, words] of [
    ['connection-refused', undefined, 'a:443: connection refused'],
    ['TLS-certificate-error', undefined, 'a:443: TLS certificate error'],
    ['HTTP-request-denied', undefined, "asking a:443 isn't granted to the plugin"],
    ['internal-error', 'tls: it speaks none', 'a:443: tls: it speaks none'],
    ['internal-error', undefined, 'a:443: internal error'],
    ['HTTP-response-body-size', 7n, 'a:443: HTTP response body size (7)'],
    ['DNS-error', { rcode: 'NXDOMAIN', infoCode: undefined }, 'a:443: DNS error (NXDOMAIN)'],
  ] as const) {
    assert.equal(httpWords({ tag, val }, 'a:443'), words);
  }
});
