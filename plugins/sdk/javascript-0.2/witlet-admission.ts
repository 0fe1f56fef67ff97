// Admission handlers for contract 0.2: `witlet:admission@0.2.0`.
//
//   export const pinned = policy({
//     admit(request) {
//       const unpinned = request.pod().images().filter((image) => image.digest() === undefined);
//       return rejectFirst('NotPinned', unpinned.map((image) => `${shown(image)} has no digest`));
//     },
//   });
//
// At run time it imports nothing of the host: what it needs it is handed
// over by the one module that is never in a unit test, `export const handler = exported(pinned, { config: get, Error })`.

import type * as Contract from 'witlet:admission/handler@0.2.0';
import type { Answer, Container, Image, Owner, Pod, Request, Setup, Volume } from 'witlet:admission/admission-types@0.2.0';

import { type Host, type Read, type Shape, inWords, invalid, isObject, object, parsed, remembered } from './values.ts';

export { HandlerError, boolean, dict, integer, invalid, list, object, optional, text } from './values.ts';
export type { Host, Read, Reader, Shape } from './values.ts';

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

  /** With something for those who check the decision later, under `<plugin>/<key>`. The last value of a key counts. */
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

/** The node lacks these resources; without any, the pod is admitted. The host preempts others for a critical pod. */
export function shortages(resources: Shortage[]): Verdict {
  return resources.length === 0 ? admit() : new Verdict({ tag: 'shortage', resources });
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
  return handler.load(parsed(config));
}

/** Says to the host what a handler is to be asked about. */
export function setUp(handler: Loaded, setup: Setup): void {
  for (const operation of handler.subscribes) setup.subscribe(operation);
  handler.validate(setup);
}

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

/** The owner that manages a pod. */
export function controller(pod: Pod): Owner | undefined {
  return pod.owners().find((owner) => owner.isController());
}
