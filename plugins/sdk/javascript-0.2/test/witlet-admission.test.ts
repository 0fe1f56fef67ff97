// The SDK, with recording stand-ins of what the host hands over.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Answer, Image, Request } from 'witlet:admission/admission-types@0.2.0';

import { PodFacts, RequestFacts, SetupFacts, load } from '../facts.ts';
import {
  HandlerError,
  admit,
  at,
  boolean,
  controller,
  defer,
  dict,
  exported,
  integer,
  invalid,
  isWithin,
  list,
  loaded,
  oneOf,
  optional,
  policy,
  reject,
  rejectFirst,
  shortages,
  shown,
  text,
} from '../witlet-admission.ts';

const owned = policy({
  config: { label: text, strict: optional(boolean, false), teams: optional(dict(list(text)), new Map()) },
  subscribes: ['add'],
  validate({ label }, setup) {
    if (label === '') throw invalid('label', 'name one');
    if (!label.includes('/')) setup.warn("a label without a prefix is everyone's");
  },
  admit(request, { label }) {
    const owner = request.pod().label(label);
    if (owner === 'unknown') {
      throw new HandlerError('NoTable', "the table can't be read", { retryAfterMilliseconds: 30_000, details: { rows: '7' } });
    }
    return owner === undefined ? reject('NoOwner', `the pod has no label ${label}`) : admit().annotate('owner', owner);
  },
});
const open = policy({ admit: () => admit() });

/** Keeps what is said. */
class FakeAnswer implements Answer {
  readonly said: unknown[][] = [];

  admit = () => void this.said.push(['admit']);
  reject = (...given: [string, string]) => void this.said.push(['reject', ...given]);
  defer = (...given: [string, string, bigint]) => void this.said.push(['defer', ...given]);
  shortage = (...given: [string, bigint, bigint, bigint]) => void this.said.push(['shortage', ...given]);
  warn = (message: string) => void this.said.push(['warn', message]);
  annotate = (...given: [string, string]) => void this.said.push(['annotate', ...given]);
  [Symbol.dispose](): void {}
}

class FakeError {
  readonly said: Record<string, unknown>;

  constructor(code: string, message: string) {
    this.said = { code, message };
  }

  code = () => String(this.said.code);
  message = () => String(this.said.message);
  retryAfterMilliseconds = () => undefined;
  setRetryAfterMilliseconds = (milliseconds: bigint) => void (this.said.retry = milliseconds);
  detail = () => undefined;
  setDetail = (key: string, value: string) => void (this.said[key] = value);
  [Symbol.dispose](): void {}
}

const labelled = (team: string) => new RequestFacts(new PodFacts({ metadata: { labels: { team } } }));

test('each verdict is said by its own call', () => {
  for (const [verdict, said] of [
    [admit(), [['admit']]],
    [admit().warn('w').annotate('k', 'v'), [['admit'], ['warn', 'w'], ['annotate', 'k', 'v']]],
    [reject('R', 'm'), [['reject', 'R', 'm']]],
    [rejectFirst('R', ['a', 'b']), [['reject', 'R', 'a']]],
    [rejectFirst('R', []), [['admit']]],
    [defer('R', 'm', 1.5), [['defer', 'R', 'm', 1500n]]],
    [shortages([{ resource: 'cpu', requested: 1n, used: 2n, capacity: 3n }]), [['shortage', 'cpu', 1n, 2n, 3n]]],
    [shortages([]), [['admit']]],
  ] as const) {
    const answer = new FakeAnswer();
    verdict.say(answer);
    assert.deepEqual(answer.said, said);
  }
});

test('fields are read by their types', () => {
  const { setup } = load(owned, { label: 'team', strict: true, teams: { shop: ['a'] } });
  assert.deepEqual([setup.subscribed, setup.warnings], [['add'], ["a label without a prefix is everyone's"]]);
  assert.deepEqual(load(open, null).setup.subscribed, ['add', 'update', 'ephemeral']);
});

test('what is wrong is refused by name', () => {
  for (const [config, words] of [
    ['{', /no JSON/],
    ['[]', /^the configuration: must be an object/],
    ['{}', /^label: is missing/],
    ['{"label": 1}', /^label: must be a text/],
    ['{"label": ""}', /^label: name one/],
    ['{"label": "a", "strict": 1}', /^strict: must be true or false/],
    ['{"label": "a", "lable": 1}', /^lable: unknown field, expected label or strict or teams/],
    ['{"label": "a", "toString": 1}', /^toString: unknown field/],
    ['{"label": "a", "teams": []}', /^teams: must be an object/],
    ['{"label": "a", "teams": {"x": "y"}}', /^teams\.x: must be a list/],
    ['{"label": "a", "teams": {"x": ["y", 1]}}', /^teams\.x\[1\]: must be a text/],
  ] as const) {
    assert.throws(() => loaded(owned, config).validate(new SetupFacts()), { code: 'InvalidConfiguration', message: words }, config);
  }
  assert.throws(() => integer.read(1.5, 'count'), { message: 'count: must be a whole number' });
});

test('one handler of many is picked by its name', () => {
  assert.deepEqual(load(oneOf({ owned, open }), { policy: 'open' }).setup.subscribed, ['add', 'update', 'ephemeral']);
  for (const config of [{ policy: 'toString' }, {}, null, []]) {
    assert.throws(() => load(oneOf({ owned, open }), config), { message: /is none of owned, open$/ });
  }
});

test('a handler is loaded and asked', () => {
  const handler = exported(owned, { config: () => '{"label": "team"}', Error: FakeError });
  const [setup, answer] = [new SetupFacts(), new FakeAnswer()];
  handler.validate(setup, '{"label": "team"}');
  assert.deepEqual(setup.subscribed, ['add']);
  handler.admit(labelled('shop'), answer);
  assert.deepEqual(answer.said, [['admit'], ['annotate', 'owner', 'shop']]);
});

test("an error is the contract's, and a mistake stays one", () => {
  const handler = exported(owned, { config: () => '{"label": "team"}', Error: FakeError });
  const payload = (call: () => void) => {
    try {
      call();
    } catch (error) {
      return (error as { payload: FakeError }).payload.said;
    }
    return undefined;
  };
  const refused = payload(() => handler.validate(new SetupFacts(), '{}'));
  assert.deepEqual(refused, { code: 'InvalidConfiguration', message: 'label: is missing' });
  const failed = payload(() => handler.admit(labelled('unknown'), new FakeAnswer()));
  assert.deepEqual(failed, { code: 'NoTable', message: "the table can't be read", retry: 30_000n, rows: '7' });
  const mistaken = exported(policy({ admit: () => { throw new TypeError('a mistake'); } }), { config: () => '{}', Error: FakeError });
  assert.throws(() => mistaken.admit(labelled('shop'), new FakeAnswer()), TypeError);
});

test('what the host lends is given back once, the last first', () => {
  const given: string[] = [];
  class Thing {
    readonly #name: string;

    constructor(name: string) {
      this.#name = name;
    }

    pod = () => new Thing(`${this.#name}.pod`);
    images = () => [new Thing(`${this.#name}.a`), new Thing(`${this.#name}.b`)];
    name = () => this.#name;
    [Symbol.dispose](): void {
      given.push(this.#name);
    }
  }
  const names: string[] = [];
  const handler = exported(
    policy({
      admit(request) {
        const images: Image[] = request.pod().images();
        names.push(...images.map((image) => image.name()));
        images[0][Symbol.dispose]();
        return admit();
      },
    }),
    { config: () => 'null', Error: FakeError },
  );
  handler.admit(new Thing('it') as unknown as Request, new FakeAnswer());
  assert.deepEqual([names, given], [['it.pod.a', 'it.pod.b'], ['it.pod.b', 'it.pod.a', 'it.pod']]);
});

test('things are named in messages', () => {
  const pod = new PodFacts({
    metadata: { ownerReferences: [{ kind: 'A', name: 'a' }, { kind: 'B', name: 'b', controller: true }] },
    spec: {
      initContainers: [{ name: 'setup' }, { name: 'proxy', restartPolicy: 'Always' }],
      containers: [{ name: 'app', image: 'nginx', command: ['a', 'b'] }],
      ephemeralContainers: [{ name: 'de"bug' }],
      volumes: [{ name: 'data' }],
    },
  });
  const containers = ['init container "setup"', 'sidecar "proxy"', 'container "app"', 'ephemeral container "de\\"bug"'];
  assert.deepEqual(pod.containers().map(shown), containers);
  const image = pod.images()[2];
  assert.equal(shown(image), 'image "docker.io/library/nginx:latest" (spec.containers[0].image)');
  assert.equal(shown(pod.volumes()[0]), 'volume "data"');
  const places = ['docker.io', 'docker.io/library', 'docker.io/library/nginx', 'docker.io/lib', 'docker'];
  assert.deepEqual(places.map((place) => isWithin(image, place)), [true, true, true, false, false]);
  assert.deepEqual([at(pod.containers()[2], '/command'), at(pod, '/spec/none')], [['a', 'b'], undefined]);
  assert.deepEqual([controller(pod)?.name(), controller(new PodFacts())], ['b', undefined]);
});
