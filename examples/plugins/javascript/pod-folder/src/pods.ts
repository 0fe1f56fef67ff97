// Which pods the files of a folder are.

import { type Change, HandlerError, type PodSource, type Poll, invalid, isRefused, podSource, pods, text, unchanged } from './sdk/witlet-source.ts';
import { fingerprint } from './sdk/witlet.ts';

export type File = { name: string; bytes: Uint8Array };

/** The largest file that is read, in bytes. */
export const FILE_BYTES_MAX = 1 << 20;

/** What the source needs of the host. */
export type Needs = { readFolder(path: string): File[]; warn(line: string): void };

/** The source. */
export function folder(host: Needs): PodSource {
  return podSource({
    config: { folder: text },
    validate({ folder }) {
      if (!folder.startsWith('/')) throw invalid('folder', 'must be an absolute path');
    },
    poll: (cursor, { folder }) => scan(host.readFolder(folder), cursor),
    notify(news) {
      for (const pod of news.filter(isRefused)) host.warn(shown(pod));
    },
  });
}

const shown = ({ namespace, name, reason, message }: Change): string => `pod ${namespace}/${name} isn't run: ${reason}: ${message}`;

/** Whether a file of this name is checked. */
export const isManifest = (name: string): boolean => name.endsWith('.json') && !name.startsWith('.');

/** What the source has now: a pod for each file, which come in any order. Throws a HandlerError. */
export function scan(files: File[], cursor?: string): Poll {
  const sorted = [...files].sort((one, other) => compare(one.name, other.name));
  const manifests = sorted.map(({ name, bytes }) => manifest(name, bytes));
  const now = fingerprint(sorted.flatMap(({ name }, at) => [name, manifests[at]]));
  return (now === cursor ? unchanged() : pods(manifests)).at(now);
}

/** A file's text, which is a JSON object of kind Pod. What is wrong with it beyond that is the host's to say. */
function manifest(name: string, bytes: Uint8Array): string {
  const refused = (problem: string) => new HandlerError('Invalid', `${name}: ${problem}`);
  if (bytes.length > FILE_BYTES_MAX) throw refused(`must have at most ${FILE_BYTES_MAX} bytes`);
  let manifest: string;
  let value: { kind?: unknown } | null;
  try {
    manifest = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw refused("it isn't UTF-8");
  }
  try {
    value = JSON.parse(manifest);
  } catch {
    throw refused('it is no JSON');
  }
  if (value?.kind !== 'Pod') throw refused('it is no object of kind Pod');
  return manifest;
}

/** The order of the names' bytes, which is that of their code points. */
function compare(one: string, other: string): number {
  const [left, right] = [[...one], [...other]];
  for (let at = 0; at < Math.min(left.length, right.length); at++) {
    const order = Number(left[at].codePointAt(0)) - Number(right[at].codePointAt(0));
    if (order !== 0) return order;
  }
  return left.length - right.length;
}
