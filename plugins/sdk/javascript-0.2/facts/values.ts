// JSON of manifests: what is missing, or of another type, is nothing.

/** Facts are no handles: there is nothing to give back. */
export class Held implements Disposable {
  [Symbol.dispose](): void {}
}

export function get(value: unknown, ...path: (string | number)[]): unknown {
  for (const part of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as Record<string | number, unknown>)[part];
  }
  return value ?? undefined;
}

export const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/** A text that isn't empty. */
export const word = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);

export const flag = (value: unknown): boolean => value === true;

export const number = (value: unknown): number | undefined => (Number.isSafeInteger(value) ? (value as number) : undefined);

export const big = (value: unknown): bigint | undefined => (Number.isSafeInteger(value) ? BigInt(value as number) : undefined);

export const items = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

export const entries = (value: unknown): [string, unknown][] =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value) : [];

/** Texts by key, sorted. */
export function pairs(value: unknown): [string, string][] {
  const texts = entries(value).filter((pair): pair is [string, string] => typeof pair[1] === 'string');
  return texts.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
}

/** The names of these together, sorted, each once. */
export const names = (...of: Map<string, bigint>[]): string[] => [...new Set(of.flatMap((map) => [...map.keys()]))].sort();

/** The JSON text at a pointer. */
export function pointer(value: unknown, path: string): string | undefined {
  if (path !== '' && !path.startsWith('/')) return undefined;
  for (const part of path.split('/').slice(1)) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
    if (Array.isArray(value) && !/^(0|[1-9][0-9]*)$/.test(key)) return undefined;
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<string, unknown>)[key];
  }
  return JSON.stringify(value ?? null);
}
