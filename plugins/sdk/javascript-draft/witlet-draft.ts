// Admission handlers for the draft of contract 0.2: `witlet:admission@0.2.0-draft.1`.
//
//   export const pinned = policy({
//     admit(request) {
//       const unpinned = request.pod().images().filter((image) => image.digest() === undefined);
//       return rejectFirst('NotPinned', unpinned.map((image) => `${shown(image)} has no digest`));
//     },
//   });
//
// A draft may change with any release, and so may this module. At run time it imports nothing: what it needs of the host it is handed
// over by the one module that is never in a unit test, `export const handler = exported(pinned, { config: get, Error })`.

import type * as Contract from 'witlet:admission/handler@0.2.0-draft.1';
import type { Answer, Container, Image, Owner, Pod, Request, Setup, Volume } from 'witlet:admission/types@0.2.0-draft.1';
import type { Error as ContractError } from 'witlet:host/errors@0.2.0-draft.1';

// ---- Verdicts ----

/** A resource that the node lacks: what the pod asks for, what the others have, what the node has. */
export type Shortage = { resource: string; requested: bigint; used: bigint; capacity: bigint };

export type Decision =
  | { tag: 'admit' }
  | { tag: 'reject'; reason: string; message: string }
  | { tag: 'defer'; reason: string; message: string; retryAfterMilliseconds: number }
  | { tag: 'shortage'; resources: Shortage[] };

/** What becomes of a pod, and what is said in addition. Made by the functions below. */
export class Verdict {
  readonly decision: Decision;
  readonly warnings: string[] = [];
  readonly annotations: [string, string][] = [];

  constructor(decision: Decision) {
    this.decision = decision;
  }

  /** With a sentence for the pod's owner, who finds it in an event of the pod. The host keeps 16. */
  warn(message: string): this {
    this.warnings.push(message);
    return this;
  }

  /** With something for those who look at the decision later, under `<plugin>/<key>`. The last value of a key counts. */
  annotate(key: string, value: string): this {
    this.annotations.push([key, value]);
    return this;
  }

  /** Says it to the host. */
  say(answer: Answer): void {
    const { decision } = this;
    if (decision.tag === 'admit') answer.admit();
    else if (decision.tag === 'reject') answer.reject(decision.reason, decision.message);
    else if (decision.tag === 'defer') answer.defer(decision.reason, decision.message, BigInt(decision.retryAfterMilliseconds));
    else for (const { resource, requested, used, capacity } of decision.resources) answer.shortage(resource, requested, used, capacity);
    for (const message of this.warnings) answer.warn(message);
    for (const [key, value] of this.annotations) answer.annotate(key, value);
  }
}

/** Nothing against the pod. */
export const admit = (): Verdict => new Verdict({ tag: 'admit' });

/** The pod may never run here: a new one's phase becomes Failed with this CamelCase reason and this sentence. */
export const reject = (reason: string, message: string): Verdict => new Verdict({ tag: 'reject', reason, message });

/** Rejects with the first of these objections; admits where there is none. */
export function rejectFirst(reason: string, objections: Iterable<string>): Verdict {
  for (const message of objections) return reject(reason, message);
  return admit();
}

/** Not now: the pod waits, and is asked about again after that time (within a second and an hour) or when the node changes. */
export function defer(reason: string, message: string, seconds: number): Verdict {
  return new Verdict({ tag: 'defer', reason, message, retryAfterMilliseconds: Math.round(seconds * 1000) });
}

/** The node lacks these resources; without any, the pod is admitted. The host makes room for a critical pod. */
export function shortages(resources: Shortage[]): Verdict {
  return resources.length === 0 ? admit() : new Verdict({ tag: 'shortage', resources });
}

// ---- Errors ----

/** There is no verdict, or the configuration is refused. Every other error that leaves a handler ends the instance (a trap). */
export class HandlerError extends Error {
  readonly code: string;
  readonly retryAfterMilliseconds?: number;
  readonly details: Record<string, string>;

  /**
   * @param code A CamelCase word for programs.
   * @param message A sentence for people.
   */
  constructor(code: string, message: string, more: { retryAfterMilliseconds?: number; details?: Record<string, string> } = {}) {
    super(message);
    this.name = 'HandlerError';
    this.code = code;
    this.retryAfterMilliseconds = more.retryAfterMilliseconds;
    this.details = more.details ?? {};
  }
}

/** The error of a field of the configuration that makes no sense to the handler. */
export const invalid = (field: string, problem: string): HandlerError => new HandlerError('InvalidConfiguration', `${field}: ${problem}`);

// ---- Configuration ----

/** Reads a value of JSON; the place is for the error. */
export type Reader<T> = { read(value: unknown, place: string): T };

function simple<T>(expected: string, fits: (value: unknown) => boolean): Reader<T> {
  return {
    read(value, place) {
      if (!fits(value)) throw invalid(place, value === undefined ? 'is missing' : `must be ${expected}`);
      return value as T;
    },
  };
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

/** A text. */
export const text = simple<string>('a text', (value) => typeof value === 'string');
/** A whole number that JavaScript can hold. */
export const integer = simple<number>('a whole number', Number.isSafeInteger);
/** True or false. */
export const boolean = simple<boolean>('true or false', (value) => typeof value === 'boolean');

/** A list. */
export function list<T>(item: Reader<T>): Reader<T[]> {
  const any = simple<unknown[]>('a list', Array.isArray);
  return { read: (value, place) => any.read(value, place).map((each, index) => item.read(each, `${place}[${index}]`)) };
}

/** An object whose keys are the operator's. */
export function dict<T>(item: Reader<T>): Reader<Map<string, T>> {
  const any = simple<Record<string, unknown>>('an object', isObject);
  return {
    read(value, place) {
      const entries = Object.entries(any.read(value, place));
      return new Map(entries.map(([key, each]) => [key, item.read(each, `${place}.${key}`)]));
    },
  };
}

/** What may be left out. */
export function optional<T>(item: Reader<T>, fallback: T): Reader<T> {
  return { read: (value, place) => (value === undefined ? fallback : item.read(value, place)) };
}

/** The fields of an object: how each is read. */
// With `unknown` in its place, the compiler would find no more of a list than that.
export type Shape = Record<string, Reader<any>>;
/** The object that was read. */
export type Read<S extends Shape> = { [K in keyof S]: S[K] extends Reader<infer T> ? T : never };

/** An object with these fields and no others. */
export function object<S extends Shape>(shape: S): Reader<Read<S>> {
  return {
    read(value, place) {
      if (!isObject(value)) throw invalid(place || 'the configuration', 'must be an object');
      const at = (name: string) => (place ? `${place}.${name}` : name);
      const unknown = Object.keys(value).find((name) => !Object.hasOwn(shape, name));
      const expected = Object.keys(shape).join(' or ') || 'none';
      if (unknown !== undefined) throw invalid(at(unknown), `unknown field, expected ${expected}`);
      const own = (name: string) => (Object.hasOwn(value, name) ? value[name] : undefined);
      const fields = Object.entries(shape).map(([name, reader]) => [name, reader.read(own(name), at(name))]);
      return Object.fromEntries(fields) as Read<S>;
    },
  };
}

// ---- Handlers ----

/** A handler that has its configuration. */
export type Loaded = { subscribes: string[]; validate(setup: Setup): void; admit(request: Request): Verdict };

/** A handler that makes itself of what stands under `config:`. Throws a HandlerError that names the field. */
export type Handler = { load(config: unknown): Loaded };

/** What an author says of a handler with these fields of its configuration. */
export type Policy<S extends Shape> = {
  /** The fields of `config:`; without, none. */
  config?: S;
  /** What it is asked about; without, all that brings containers or images: `add`, `update` and `ephemeral`. */
  subscribes?: string[];
  /** Whether it can work with its configuration. */
  validate?(config: Read<S>, setup: Setup): void;
  /** The verdict: a function of the request and the configuration. */
  admit(request: Request, config: Read<S>): Verdict;
};

/** A handler. */
export function policy<S extends Shape>(it: Policy<S>): Handler {
  return {
    load(value) {
      const config = object(it.config ?? ({} as S)).read(value ?? {}, '');
      return {
        subscribes: it.subscribes ?? ['add', 'update', 'ephemeral'],
        validate: (setup) => it.validate?.(config, setup),
        admit: (request) => it.admit(request, config),
      };
    },
  };
}

/** A handler of many, of which the field `policy` of the configuration picks one by its name. */
export function oneOf(handlers: Record<string, Handler>): Handler {
  return {
    load(value) {
      const { policy: name, ...config } = isObject(value) ? value : {};
      if (typeof name !== 'string' || !Object.hasOwn(handlers, name)) {
        throw invalid('policy', `${JSON.stringify(name)} is none of ${Object.keys(handlers).join(', ')}`);
      }
      return handlers[name].load(config);
    },
  };
}

/** Makes a handler of the text of its configuration. */
export function loaded(handler: Handler, config: string): Loaded {
  let value: unknown;
  try {
    value = JSON.parse(config);
  } catch {
    throw new HandlerError('InvalidConfiguration', 'this is no JSON');
  }
  return handler.load(value);
}

/** Says to the host what a handler is to be asked about. */
export function setUp(handler: Loaded, setup: Setup): void {
  for (const operation of handler.subscribes) setup.subscribe(operation);
  handler.validate(setup);
}

/** What a component is handed over of the host: `get` of `witlet:host/config` and `Error` of `witlet:host/errors`. */
export type Host = { config(): string; Error: new (code: string, message: string) => ContractError };

/** What a component exports as `handler`. What the host lends is given back when the call ends. */
export function exported(handler: Handler, host: Host): typeof Contract {
  let kept: Loaded | undefined;
  return {
    validate(setup, config) {
      inWords(host, () => setUp(loaded(handler, config), setup));
    },
    admit(request, answer) {
      const lent: Disposable[] = [];
      try {
        inWords(host, () => {
          // An instance has one configuration all its life.
          kept ??= loaded(handler, host.config());
          kept.admit(remembered(request, lent)).say(answer);
        });
      } finally {
        for (const thing of lent.reverse()) thing[Symbol.dispose]();
      }
    },
  };
}

function inWords(host: Host, call: () => void): void {
  try {
    call();
  } catch (error) {
    if (!(error instanceof HandlerError)) throw error;
    const payload = new host.Error(error.code, error.message);
    if (error.retryAfterMilliseconds !== undefined) payload.setRetryAfterMilliseconds(BigInt(error.retryAfterMilliseconds));
    for (const [key, value] of Object.entries(error.details)) payload.setDetail(key, value);
    // The bindings look for a property of this name.
    throw Object.assign(new Error(error.message), { payload });
  }
}

/** A resource that remembers what its getters hand out, for the garbage collector may never come to it. */
function remembered<T extends object>(thing: T, lent: Disposable[]): T {
  const kept = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(kept);
    if (typeof value !== 'object' || value === null || !(Symbol.dispose in value)) return value;
    lent.push(value as Disposable);
    return remembered(value, lent);
  };
  return new Proxy(thing, {
    get(target, name) {
      // Given back at the end, once.
      if (name === Symbol.dispose) return () => {};
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (...given: unknown[]) => kept(value.apply(target, given)) : value;
    },
  });
}

// ---- What policies ask of pods ----

/** For messages: `init container "setup"`, `image "docker.io/library/nginx:latest" (spec.containers[0].image)`, `volume "data"`. */
export function shown(thing: Container | Image | Volume): string {
  const name = JSON.stringify(thing.name());
  if ('reference' in thing) return `image ${name} (${thing.place()})`;
  if ('hostPath' in thing) return `volume ${name}`;
  const kind = thing.kind();
  return `${kind === 'app' ? 'container' : kind === 'sidecar' ? kind : `${kind} container`} ${name}`;
}

/** The value at a JSON pointer from there on; undefined where nothing is. */
export function at(thing: { pointer(path: string): string | undefined }, path: string): unknown {
  const found = thing.pointer(path);
  return found === undefined ? undefined : JSON.parse(found);
}

/** Whether an image is in this registry, or below this path of one: `docker.io`, `docker.io/library`. In whole parts. */
export function isWithin(image: Image, place: string): boolean {
  const [registry, repository] = [image.registry(), image.repository()];
  return registry !== undefined && repository !== undefined && `${registry}/${repository}/`.startsWith(`${place}/`);
}

/** The owner that looks after a pod. */
export function controller(pod: Pod): Owner | undefined {
  return pod.owners().find((owner) => owner.isController());
}
