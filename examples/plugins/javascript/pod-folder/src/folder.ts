// Files of granted folders, over `wasi:filesystem`.

import { getDirectories } from 'wasi:filesystem/preopens@0.2.0';
import type { Descriptor, ErrorCode } from 'wasi:filesystem/types@0.2.0';

import { FILE_BYTES_MAX, type File, isManifest } from './pods.ts';
import { HandlerError } from './sdk/witlet-source.ts';

/** How much of a file is read at once. */
const READ_BYTES_MAX = 64 << 10;

/** The manifests of a folder, without those in folders of it. Throws a HandlerError when the folder or one of them can't be read. */
export function readFolder(path: string): File[] {
  return using(open(path), (folder) => names(folder, path).map((name) => ({ name, bytes: readFile(folder, name) })));
}

function open(path: string): Descriptor {
  const granted = getDirectories();
  try {
    // Folders may be granted in each other: the longest path is the one that is meant.
    const [found] = granted
      .map(([folder, at]) => ({ folder, below: below(path, at) }))
      .filter(({ below }) => below !== undefined)
      .sort((one, other) => Number(one.below?.length) - Number(other.below?.length));
    if (found === undefined) throw new HandlerError('Unavailable', `no folder is granted that has ${path}`);
    return asked(path, () => found.folder.openAt({ symlinkFollow: true }, found.below || '.', { directory: true }, { read: true }));
  } finally {
    for (const [folder] of granted) folder[Symbol.dispose]();
  }
}

/** What of a path is below a folder; undefined if it isn't in there. */
function below(path: string, folder: string): string | undefined {
  const [whole, start] = [path, folder].map((text) => text.split('/').filter((part) => part !== ''));
  return start.every((part, at) => part === whole[at]) ? whole.slice(start.length).join('/') : undefined;
}

function names(folder: Descriptor, path: string): string[] {
  return using(asked(path, () => folder.readDirectory()), (entries) => {
    const found: string[] = [];
    for (;;) {
      const entry = asked(path, () => entries.readDirectoryEntry());
      if (entry === undefined) return found;
      if (entry.type === 'regular-file' && isManifest(entry.name)) found.push(entry.name);
    }
  });
}

/** A file's bytes; of one that is too large a little more than is allowed. */
function readFile(folder: Descriptor, name: string): Uint8Array {
  return using(asked(name, () => folder.openAt({}, name, {}, { read: true })), (file) => {
    const parts: Uint8Array[] = [];
    let length = 0;
    for (let ended = false; !ended && length <= FILE_BYTES_MAX; ) {
      const [part, end] = asked(name, () => file.read(BigInt(READ_BYTES_MAX), BigInt(length)));
      parts.push(part);
      length += part.length;
      ended = end;
    }
    const bytes = new Uint8Array(length);
    let at = 0;
    for (const part of parts) {
      bytes.set(part, at);
      at += part.length;
    }
    return bytes;
  });
}

/** Calls the host, and tells its error in words that name what it was about. */
function asked<T>(what: string, call: () => T): T {
  try {
    return call();
  } catch (error) {
    const { payload } = error as { payload?: ErrorCode };
    // What has no payload is a fault of the plugin's own.
    if (payload === undefined) throw error;
    throw new HandlerError('Unavailable', `${what} can't be read: ${payload.replaceAll('-', ' ')}`);
  }
}

/** Uses something that the host has lent, and gives it back: the garbage collector may never come to it. */
function using<R extends Disposable, T>(resource: R, use: (resource: R) => T): T {
  try {
    return use(resource);
  } finally {
    resource[Symbol.dispose]();
  }
}
