// The pods that stand in the source's own configuration.

import { type PodSource, type Reader, invalid, list, podSource, pods, unchanged } from './sdk/witlet-source.ts';
import { fingerprint } from './sdk/witlet.ts';

/** A manifest of kind Pod. */
const pod: Reader<object> = {
  read(value, place) {
    if (typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'Pod') return value;
    throw invalid(place, 'this is no manifest of kind Pod');
  },
};

/**
 * The source. One that can't find out what it has throws a HandlerError, such as `new HandlerError('Unavailable', '…')`, and never says
 * that there are no pods: for the host that is the end of all of them. `log` takes a line for the node's log.
 */
export const ownPods = (log: (line: string) => void): PodSource =>
  podSource({
    // What stands under `config:` in the plugin's entry: manifests of pods, none for a source without pods.
    config: { pods: list(pod) },
    poll(cursor, config) {
      const manifests = config.pods.map((pod) => JSON.stringify(pod));
      // What the host hands to the next poll.
      const now = fingerprint(manifests);
      const answer = now === cursor ? unchanged() : pods(manifests);
      log(`the pods are ${answer.snapshot}`);
      return answer.at(now);
    },
  });
