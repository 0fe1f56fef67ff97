// The source as the host sees it. What it has is in pods.js, which knows nothing of the host.

import { get } from 'witlet:host/config@0.1.0';
import { write } from 'witlet:host/log@0.1.0';

import { look, parseConfig } from './pods.js';

/** @typedef {typeof import('witlet:pod-source/source@0.1.0')} Source */

/** @type {{ validate: Source['validate'], poll: Source['poll'] }} */
export const source = {
  validate(config) {
    parseConfig(config);
  },

  poll(cursor) {
    const result = look(parseConfig(get()), cursor);
    write('debug', `the pods are ${result.snapshot.tag}`, []);
    return result;
  },
};
