// The source as the host sees it. What it has is in pods.ts, which knows nothing of the host.

import { get } from 'witlet:host/config@0.1.0';
import { write } from 'witlet:host/log@0.1.0';
import type * as Source from 'witlet:pod-source/source@0.1.0';

import { readPods, parseConfig } from './pods.ts';

export const source: typeof Source = {
  validate(config) {
    parseConfig(config);
  },

  poll(cursor) {
    const result = readPods(parseConfig(get()), cursor);
    write('debug', `the pods are ${result.snapshot.tag}`, []);
    return result;
  },
};
