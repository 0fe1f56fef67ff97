// The pods that stand in the source's own configuration.

import type { PollResult } from 'witlet:pod-source/types@0.1.0';

import { Fields, fingerprint } from './sdk/witlet.ts';

/** What stands under `config:` in the plugin's entry: manifests of pods, none for a source without pods. */
export type Config = { pods: object[] };

export function parseConfig(text: string): Config {
  return Fields.read(text, (fields) => ({
    pods: fields.items('pods').map((pod, index) => {
      if (isPod(pod)) return pod;
      throw fields.refusal(`pods[${index}]`, 'this is no manifest of kind Pod');
    }),
  }));
}

function isPod(value: unknown): value is object {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'Pod';
}

/**
 * What the source has now. One that can't find out throws a Refusal whose payload is a `SourceError`, such as
 * `{ reason: 'Unavailable', message: '…' }`, and never says `empty`: for the host that is the end of all its pods.
 *
 * @param cursor What the last poll returned.
 */
export function readPods({ pods }: Config, cursor?: string): PollResult {
  const manifests = pods.map((pod) => JSON.stringify(pod));
  const now = fingerprint(manifests);
  if (now === cursor) return { snapshot: { tag: 'unchanged' }, cursor: now };
  if (manifests.length === 0) return { snapshot: { tag: 'empty' }, cursor: now };
  return { snapshot: { tag: 'pods', val: manifests }, cursor: now };
}
