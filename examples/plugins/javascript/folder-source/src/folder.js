// Files of granted folders, over `wasi:filesystem`.

import { getDirectories } from 'wasi:filesystem/preopens@0.2.0';

import { FILE_BYTES_MAX, isManifest, sourceError } from './pods.js';

/** @typedef {import('wasi:filesystem/types@0.2.0').Descriptor} Descriptor */

/** How much of a file is read at once. */
const READ_BYTES_MAX = 64 << 10;

/**
 * The manifests of a folder, without those in folders of it.
 *
 * @param {string} path
 * @returns {import('./pods.js').File[]}
 * @throws {import('./sdk/witlet.js').Refusal} when the folder or one of them can't be read.
 */
export function readFolder(path) {
  return using(open(path), (folder) => names(folder, path).map((name) => ({ name, bytes: readFile(folder, name) })));
}

/** @param {string} path */
function open(path) {
  const granted = getDirectories();
  try {
    // Folders may be granted in each other: the longest path is the one that is meant.
    const [found] = granted
      .map(([folder, at]) => ({ folder, below: below(path, at) }))
      .filter(({ below }) => below !== undefined)
      .sort((one, other) => Number(one.below?.length) - Number(other.below?.length));
    if (found === undefined) throw sourceError('Unavailable', `no folder is granted that has ${path}`);
    return asked(path, () => found.folder.openAt({ symlinkFollow: true }, found.below || '.', { directory: true }, { read: true }));
  } finally {
    for (const [folder] of granted) folder[Symbol.dispose]();
  }
}

/**
 * What of a path is below a folder; undefined if it isn't in there.
 *
 * @param {string} path
 * @param {string} folder
 */
function below(path, folder) {
  const [whole, start] = [path, folder].map((text) => text.split('/').filter((part) => part !== ''));
  return start.every((part, at) => part === whole[at]) ? whole.slice(start.length).join('/') : undefined;
}

/**
 * @param {Descriptor} folder
 * @param {string} path
 */
function names(folder, path) {
  return using(asked(path, () => folder.readDirectory()), (entries) => {
    const found = [];
    for (;;) {
      const entry = asked(path, () => entries.readDirectoryEntry());
      if (entry === undefined) return found;
      if (entry.type === 'regular-file' && isManifest(entry.name)) found.push(entry.name);
    }
  });
}

/**
 * A file's bytes; of one that is too large a little more than is allowed.
 *
 * @param {Descriptor} folder
 * @param {string} name
 */
function readFile(folder, name) {
  return using(asked(name, () => folder.openAt({}, name, {}, { read: true })), (file) => {
    const parts = [];
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

/**
 * Calls the host, and tells its error in words that name what it was about.
 *
 * @template T
 * @param {string} what
 * @param {() => T} call
 * @returns {T}
 */
function asked(what, call) {
  try {
    return call();
  } catch (error) {
    const { payload } = /** @type {{ payload?: import('wasi:filesystem/types@0.2.0').ErrorCode }} */ (error);
    // What has no payload is a fault of the plugin's own.
    if (payload === undefined) throw error;
    throw sourceError('Unavailable', `${what} can't be read: ${payload.replaceAll('-', ' ')}`);
  }
}

/**
 * Uses something that the host has lent, and gives it back: the garbage collector may never come to it.
 *
 * @template {Disposable} R
 * @template T
 * @param {R} resource
 * @param {(resource: R) => T} use
 * @returns {T}
 */
function using(resource, use) {
  try {
    return use(resource);
  } finally {
    resource[Symbol.dispose]();
  }
}
