// What plugins of contract 0.2 have in common, whatever their role: errors, and configuration by readers. At run time it imports nothing.
//
//

import type { Error as ContractError } from 'witlet:host/errors@0.2.0';

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

/** Whether a value of JSON is an object. */
export const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

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

// ---- Exports ----

/** A value of JSON. Throws a HandlerError. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new HandlerError('InvalidConfiguration', 'this is no JSON');
  }
}

/** What a component is handed over of the host: `get` of `witlet:host/config` and `Error` of `witlet:host/errors`. */
export type Host = { config(): string; Error: new (code: string, message: string) => ContractError };

/** Makes the host's error of a HandlerError. */
export function inWords(host: Host, call: () => void): void {
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

/** A resource that remembers what its getters hand out, because the garbage collector may never come to it. */
export function remembered<T extends object>(thing: T, lent: Disposable[]): T {
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
