import assert from 'node:assert/strict';
import test from 'node:test';

import { FILE_BYTES_MAX, type File, folder, scan } from '../src/pods.ts';
import { exported, exportedFeedback, unchanged } from '../src/sdk/witlet-source.ts';

const POD = '{"kind": "Pod", "metadata": {"name": "web"}}';
const file = (name: string, text: string): File => ({ name, bytes: new TextEncoder().encode(text) });

/** A source over these files, the lines that it warns, and what it exports. */
function source(files: File[]) {
  const warned: string[] = [];
  const pods = folder({ readFolder: () => files, warn: (line) => warned.push(line) });
  class HostError {
    readonly words: string;
    constructor(code: string, message: string) {
      this.words = `${code}: ${message}`;
    }
  }
  const host = { config: () => '{"folder": "/pods"}', Error: HostError as never };
  return { warned, source: exported(pods, host), feedback: exportedFeedback(pods, host) };
}

test('files are pods until they change', () => {
  const first = scan([file('web.json', POD), file('a.json', '{"kind": "Pod"}')]);
  assert.deepEqual([first.snapshot, first.manifests], ['pods', ['{"kind": "Pod"}', POD]]);
  assert.equal(scan([file('a.json', '{"kind": "Pod"}'), file('web.json', POD)], first.cursor).snapshot, 'unchanged');
  const nothing = scan([], first.cursor);
  assert.deepEqual([nothing.snapshot, scan([], nothing.cursor).snapshot], ['empty', 'unchanged']);
});

test('a file that is no pod is an error that names it', () => {
  for (const text of ['{"kind": "Po', '[]', 'null', '{"kind": "Service"}', ' '.repeat(FILE_BYTES_MAX + 1)]) {
    assert.throws(() => scan([file('bad.json', text)]), { code: 'Invalid', message: /^bad\.json: / });
  }
  assert.throws(() => scan([{ name: 'bad.json', bytes: new Uint8Array([0xff]) }]), /bad\.json: it isn't UTF-8/);
});

test('an answer is said by calls', () => {
  const said: unknown[] = [];
  const answer = new Proxy({}, { get: (_, name) => (...given: unknown[]) => said.push([name, ...given]) });
  source([file('web.json', POD)]).source.poll(undefined, answer as never);
  assert.deepEqual(said.slice(0, 1), [['pod', POD]]);
  said.length = 0;
  unchanged().at('7').after(2.5).say(answer as never);
  assert.deepEqual(said, [['unchanged'], ['cursor', '7'], ['nextPollMilliseconds', 2500n]]);
});

test('what is wrong with the configuration is refused by name', () => {
  const { source: exports } = source([]);
  exports.validate({} as never, '{"folder": "/pods"}');
  for (const [config, words] of [
    ['{}', 'InvalidConfiguration: folder: is missing'],
    ['{"folder": "pods"}', 'InvalidConfiguration: folder: must be an absolute path'],
    ['{"folder": "/pods", "recursive": true}', 'InvalidConfiguration: recursive: unknown field, expected folder'],
  ]) {
    assert.throws(() => exports.validate({} as never, config), (error: { payload: { words: string } }) => error.payload.words === words);
  }
});

test("pods that aren't run are logged", () => {
  const { warned, feedback } = source([]);
  const names = ['kind', 'namespace', 'name', 'uid', 'phase', 'reason', 'message', 'status'];
  let given = 0;
  const change = (texts: Record<string, string>) => ({
    ...Object.fromEntries(names.map((name) => [name, () => texts[name] ?? ''])),
    [Symbol.dispose]: () => given++,
  });
  const leftOut = change({ kind: 'left-out', namespace: 'default', name: 'web', reason: 'PodForbidden', message: 'no' });
  const news = [leftOut, change({ kind: 'status', phase: 'Running' })];
  feedback.notify({ next: () => news.shift() } as never);
  assert.deepEqual(warned, ["pod default/web isn't run: PodForbidden: no"]);
  assert.equal(given, 2);
});
