// Pods without the label that the configuration names are refused.

import type { Request, Verdict } from 'witlet:admission/types@0.1.0';

import { Fields } from './sdk/witlet.ts';

/** What stands under `config:` in the plugin's entry. */
export type Config = { label: string };

/** The longest key of a label that Kubernetes has: a DNS subdomain, a slash and a name. */
const LABEL_LENGTH_MAX = 253 + 1 + 63;

export function parseConfig(text: string): Config {
  return Fields.read(text, (fields) => ({ label: fields.text('label', { lengthMax: LABEL_LENGTH_MAX }) }));
}

/** The verdict on a pod: a function of the request and the configuration, and of nothing else. */
export function decide(request: Pick<Request, 'operation' | 'pod'>, { label }: Config): Verdict {
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

function reject(message: string): Verdict {
  return { tag: 'reject', val: { reason: 'LabelMissing', message } };
}
