// Which pods the files of a folder are.

import { Fields, Refusal, fingerprint } from './sdk/witlet.js';

/** @typedef {import('witlet:pod-source/types@0.1.0').PollResult} PollResult */
/** @typedef {{ name: string, bytes: Uint8Array }} File */

/** The largest file that is read, in bytes. */
export const FILE_BYTES_MAX = 1 << 20;

/**
 * What stands under `config:` in the plugin's entry.
 *
 * @param {string} text
 * @returns {{ folder: string }}
 */
export function parseConfig(text) {
  return Fields.read(text, (fields) => {
    const folder = fields.text('folder');
    if (!folder.startsWith('/')) throw fields.refusal('folder', 'an absolute path is needed');
    return { folder };
  });
}

/**
 * Whether a file of this name is checked.
 *
 * @param {string} name
 */
export function isManifest(name) {
  return name.endsWith('.json') && !name.startsWith('.');
}

/**
 * What the source has now: a pod for each file.
 *
 * @param {File[]} files In any order.
 * @param {string} [cursor] What the last poll returned.
 * @returns {PollResult}
 * @throws {Refusal} with a `source-error`.
 */
export function scan(files, cursor) {
  const sorted = [...files].sort((one, other) => compare(one.name, other.name));
  const pods = sorted.map(({ name, bytes }) => ({ name, manifest: manifest(name, bytes) }));
  const now = fingerprint(pods.flatMap((pod) => [pod.name, pod.manifest]));
  if (now === cursor) return { snapshot: { tag: 'unchanged' }, cursor: now };
  if (pods.length === 0) return { snapshot: { tag: 'empty' }, cursor: now };
  return { snapshot: { tag: 'pods', val: pods.map((pod) => pod.manifest) }, cursor: now };
}

/**
 * What a poll answers that found out nothing, or nothing that could stand.
 *
 * @param {'Unavailable' | 'Invalid'} reason
 * @param {string} message
 */
export function sourceError(reason, message) {
  return new Refusal(message, { reason, message });
}

/**
 * A file's text, which is a JSON object of kind Pod. What is wrong with it beyond that is the host's to say.
 *
 * @param {string} name
 * @param {Uint8Array} bytes
 */
function manifest(name, bytes) {
  if (bytes.length > FILE_BYTES_MAX) throw sourceError('Invalid', `${name} has more than ${FILE_BYTES_MAX} bytes`);
  let text;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw sourceError('Invalid', `${name} isn't UTF-8`);
  }
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    throw sourceError('Invalid', `${name} is no JSON`);
  }
  if (value?.kind !== 'Pod') throw sourceError('Invalid', `${name} is no object of kind Pod`);
  return text;
}

/**
 * The order of the names' bytes, which is that of their code points.
 *
 * @param {string} one
 * @param {string} other
 */
function compare(one, other) {
  const [left, right] = [[...one], [...other]];
  for (let at = 0; at < Math.min(left.length, right.length); at++) {
    const order = Number(left[at].codePointAt(0)) - Number(right[at].codePointAt(0));
    if (order !== 0) return order;
  }
  return left.length - right.length;
}
