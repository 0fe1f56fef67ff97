// The pods that stand in the source's own configuration.

import { fingerprint } from './fingerprint.js';
import { Refusal, parseObject } from './refusal.js';

/** @typedef {import('witlet:pod-source/types@0.1.0').PollResult} PollResult */
/** What stands under `config:` in the plugin's entry: manifests of pods, none for a source without pods.
 * @typedef {{ pods: object[] }} Config */

/**
 * @param {string} text
 * @returns {Config}
 */
export function parseConfig(text) {
  const { pods } = parseObject(text, ['pods']);
  if (!Array.isArray(pods)) throw new Refusal('pods: a list of manifests is needed');
  pods.forEach((pod, index) => {
    if (pod?.kind !== 'Pod') throw new Refusal(`pods[${index}]: this is no manifest of kind Pod`);
  });
  return { pods };
}

/**
 * What the source has now. One that can't find out throws a Refusal whose payload is a `source-error`, such as
 * `{ reason: 'Unavailable', message: '…' }`, and never says `empty`: for the host that is the end of all its pods.
 *
 * @param {Config} config
 * @param {string} [cursor] What the last poll returned.
 * @returns {PollResult}
 */
export function look({ pods }, cursor) {
  const manifests = pods.map((pod) => JSON.stringify(pod));
  const now = fingerprint(manifests);
  if (now === cursor) return { snapshot: { tag: 'unchanged' }, cursor: now };
  if (manifests.length === 0) return { snapshot: { tag: 'empty' }, cursor: now };
  return { snapshot: { tag: 'pods', val: manifests }, cursor: now };
}
