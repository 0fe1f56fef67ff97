// The role of pod sources, and what they receive about their pods.

import { write } from 'witlet:host/log@0.1.0';

import { tell, valueOf } from './json.js';
import { Refusal } from './sdk/witlet.js';

/** @typedef {import('witlet:pod-source/types@0.1.0').PodStatus} PodStatus */
/** @typedef {import('witlet:pod-source/types@0.1.0').PollResult} PollResult */
/** @typedef {import('witlet:pod-source/types@0.1.0').Snapshot} Snapshot */

/**
 * The answer that the configuration asks for.
 *
 * @param {string | undefined} cursor
 * @param {any} config
 * @returns {PollResult}
 */
export function poll(cursor, config) {
  write('info', `cursor ${cursor ?? 'none'}`, [['language', 'javascript']]);
  const { error } = config?.poll ?? {};
  if (error) {
    const { reason, message, retryAfterMilliseconds } = error;
    throw new Refusal(message, { reason, message, retryAfterMilliseconds: whole(retryAfterMilliseconds) });
  }
  return {
    snapshot: snapshot(config?.poll),
    cursor: config?.cursor ?? undefined,
    nextPollMilliseconds: whole(config?.nextPollMilliseconds),
  };
}

/**
 * Returns what it received, as an error, if the configuration says so.
 *
 * @param {PodStatus[]} changed
 * @param {any} config
 */
export function statuses(changed, config) {
  if (config?.tellStatuses !== true) return;
  const reported = changed.map(({ status, ...pod }) => ({ ...pod, status: status === undefined ? null : valueOf(status) }));
  throw new Refusal(tell(reported));
}

/**
 * @param {any} desired
 * @returns {Snapshot}
 */
function snapshot(desired) {
  if (Array.isArray(desired?.pods)) {
    return { tag: 'pods', val: desired.pods.map((/** @type {unknown} */ pod) => (typeof pod === 'string' ? pod : tell(pod))) };
  }
  return { tag: desired?.empty === true ? 'empty' : 'unchanged' };
}

/** @param {number | null | undefined} given */
function whole(given) {
  return given === undefined || given === null ? undefined : BigInt(given);
}
