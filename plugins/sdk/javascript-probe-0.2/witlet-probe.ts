// Probe types for contract 0.2: `witlet:probe@0.2.0`.
//
//   export const greets = probeType({
//     parameters: { port: integer },
//     probe: (target, { port }) => (isThere(target, port) ? success('') : failure('it does not greet')),
//   });
//
// At run time it imports nothing of the host: what it needs it is handed
// over by the one module that is never in a unit test, `export const prober = exported(greets, { config: get, Error })`.

import type * as Contract from 'witlet:probe/prober@0.2.0';
import type { Answer, Check, Setup, Target } from 'witlet:probe/probe-types@0.2.0';

import { HandlerError, type Host, type Read, type Shape, inWords, object, parsed, remembered } from './values.ts';

export { HandlerError, boolean, dict, integer, invalid, list, object, optional, text } from './values.ts';
export type { Host, Read, Reader, Shape } from './values.ts';

// ---- Outcomes ----

/** What a probe found, and what is said in addition. Made by the functions below. */
export class Outcome {
  readonly found: 'success' | 'failure' | 'unknown';
  readonly message: string;
  readonly warnings: string[] = [];
  readonly annotations: [string, string][] = [];
  nanoseconds?: bigint;

  constructor(found: 'success' | 'failure' | 'unknown', message: string) {
    this.found = found;
    this.message = message;
  }

  /** With a sentence for the pod's owner. The host keeps 16. */
  warn(message: string): this {
    this.warnings.push(message);
    return this;
  }

  /** With something for those who check the call later. The last value of a key counts. */
  annotate(key: string, value: string): this {
    this.annotations.push([key, value]);
    return this;
  }

  /** With how long the probed thing took to answer. */
  latency(milliseconds: number): this {
    this.nanoseconds = BigInt(Math.round(milliseconds * 1e6));
    return this;
  }

  /** Says it to the host. */
  say(answer: Answer): void {
    answer[this.found](this.message);
    for (const message of this.warnings) answer.warn(message);
    for (const [key, value] of this.annotations) answer.annotate(key, value);
    if (this.nanoseconds !== undefined) answer.latency(this.nanoseconds);
  }
}

/** It passes. The message may be empty. */
export const success = (message: string): Outcome => new Outcome('success', message);

/** It fails, and why. */
export const failure = (message: string): Outcome => new Outcome('failure', message);

/** Nothing was found out, and why: the probe is tried again, and then its result stays what it was. */
export const unknown = (message: string): Outcome => new Outcome('unknown', message);

// ---- Probe types ----

/** A probe type that has its configuration. */
export type LoadedType = {
  validate(setup: Setup): void;
  checkParameters(check: Check, parameters: unknown): void;
  probe(target: Target, parameters: unknown): Outcome;
};

/** A probe type that makes itself of what stands under `config:`. Throws a HandlerError that names the field. */
export type ProbeType = { load(config: unknown): LoadedType };

/** What an author says of a probe type with these fields of its configuration and its parameters. */
export type Definition<C extends Shape, P extends Shape> = {
  /** The fields of `config:`; without, none. */
  config?: C;
  /** The fields of a probe's `parameters`; without, none. */
  parameters?: P;
  /** Whether it can work with its configuration. */
  validate?(config: Read<C>, setup: Setup): void;
  /** Whether a probe with these parameters makes sense. */
  checkParameters?(parameters: Read<P>, check: Check): void;
  /** Probes once. A HandlerError is thrown where the probe itself is wrong. */
  probe(target: Target, parameters: Read<P>, config: Read<C>): Outcome;
};

/** A probe type. */
export function probeType<C extends Shape, P extends Shape>(it: Definition<C, P>): ProbeType {
  const parameters = (value: unknown): Read<P> => {
    try {
      return object(it.parameters ?? ({} as P)).read(value ?? {}, '');
    } catch (error) {
      if (!(error instanceof HandlerError)) throw error;
      throw new HandlerError('InvalidParameters', error.message);
    }
  };
  return {
    load(value) {
      const config = object(it.config ?? ({} as C)).read(value ?? {}, '');
      return {
        validate: (setup) => it.validate?.(config, setup),
        checkParameters(check, value) {
          const read = parameters(value);
          it.checkParameters?.(read, check);
        },
        probe: (target, value) => it.probe(target, parameters(value), config),
      };
    },
  };
}

/** What a component exports as `prober`. What the host lends is given back when the call ends. */
export function exported(type: ProbeType, host: Host): typeof Contract {
  let kept: LoadedType | undefined;
  // An instance has one configuration all its life.
  const loaded = () => (kept ??= type.load(parsed(host.config())));
  return {
    validate(setup, config) {
      inWords(host, () => type.load(parsed(config)).validate(setup));
    },
    checkParameters(check, parameters) {
      inWords(host, () => loaded().checkParameters(check, parsed(parameters)));
    },
    probe(target, parameters, answer) {
      const lent: Disposable[] = [];
      try {
        inWords(host, () => loaded().probe(remembered(target, lent), parsed(parameters)).say(answer));
      } finally {
        for (const thing of lent.reverse()) thing[Symbol.dispose]();
      }
    },
  };
}

/** The pod's primary address. Throws a HandlerError while it has none. */
export function address(target: Target): string {
  const [first] = target.pod().addresses();
  if (first === undefined) throw new HandlerError('NoAddress', 'the pod has no address (yet)');
  return first;
}
