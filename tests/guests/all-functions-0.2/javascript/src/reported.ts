// What the host hands over, as JSON. A key is the function that was called: `pod.name` of the role's types, `node/name` of an interface.

/** What is reported of something. */
export type Reported = Record<string, unknown>;

/** A key that nothing has. */
export const NONE = 'none';

/** What functions without arguments return, under their names in the contract. */
export function getters(name: string, thing: object, functions: string): Reported {
  const methods = thing as Record<string, () => unknown>;
  const camel = (text: string): string => text.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase());
  return Object.fromEntries(functions.split(' ').map((name_) => [`${name}.${name_}`, methods[camel(name_)]() ?? null]));
}

/** What a getter returns for each of these, or null. */
export function each<A, T>(asked: A[], getter: (asked: A) => T | undefined): (T | null)[] {
  return asked.map((it) => getter(it) ?? null);
}

/** What comes of a call, or its error's code. */
export function given<T>(call: () => T): T | string | null {
  try {
    return call() ?? null;
  } catch (error) {
    const { payload } = error as { payload?: { code(): string } };
    if (payload === undefined) throw error;
    return payload.code();
  }
}

/** JSON text. Whole numbers of 64 bits, which JavaScript has apart from numbers, become numbers. */
export function json(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? Number(part) : part));
}

/** A configuration's or parameters' fields. */
export function settings(text: string): Record<string, any> {
  return (JSON.parse(text) as Record<string, any> | null) ?? {};
}

/** Bytes that are a text. */
export const decoded = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
