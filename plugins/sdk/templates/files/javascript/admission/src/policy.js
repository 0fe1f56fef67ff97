// Pods without the label that the configuration names are refused.

import { Refusal, parseObject } from './refusal.js';

/** @typedef {import('witlet:admission/types@0.1.0').Request} Request */
/** @typedef {import('witlet:admission/types@0.1.0').Verdict} Verdict */

/** What stands under `config:` in the plugin's entry.
 * @typedef {{ label: string }} Config */

/** The longest key of a label that Kubernetes has: a DNS subdomain, a slash and a name. */
const LABEL_LENGTH_MAX = 253 + 1 + 63;

/**
 * @param {string} text
 * @returns {Config}
 */
export function parseConfig(text) {
  const { label } = parseObject(text, ['label']);
  if (typeof label !== 'string' || label === '') throw new Refusal('label: the key of a label is needed');
  if (label.length > LABEL_LENGTH_MAX) throw new Refusal('label: no key of a label is that long');
  return { label };
}

/**
 * The verdict on a pod: a function of the request and the configuration, and of nothing else.
 *
 * @param {Pick<Request, 'operation' | 'pod'>} request
 * @param {Config} config
 * @returns {Verdict}
 */
export function decide(request, { label }) {
  // A running pod that asks for other resources was judged when it was added.
  if (request.operation() === 'resize') return { tag: 'admit' };
  const pod = request.pod();
  try {
    // A JSON pointer (RFC 6901): of all labels only this one crosses into the plugin, as JSON text.
    const value = pod.pointer(`/metadata/labels/${label.replaceAll('~', '~0').replaceAll('/', '~1')}`);
    if (value === undefined) return reject(`the pod has no label ${label}`);
    return value === '""' ? reject(`the pod's label ${label} is empty`) : { tag: 'admit' };
  } finally {
    // What the host has lent is given back at once: the garbage collector may never come to it.
    pod[Symbol.dispose]();
  }
}

/**
 * @param {string} message
 * @returns {Verdict}
 */
function reject(message) {
  return { tag: 'reject', val: { reason: 'LabelMissing', message } };
}
