// The handler as the host sees it. What it decides is in policy.js, which knows nothing of the host.

import { get } from 'witlet:host/config@0.1.0';
import { write } from 'witlet:host/log@0.1.0';

import { decide, parseConfig } from './policy.js';

/** @typedef {typeof import('witlet:admission/handler@0.1.0')} Handler */

/** @type {{ validate: Handler['validate'], admit: Handler['admit'] }} */
export const handler = {
  validate(config) {
    parseConfig(config);
  },

  admit(request) {
    const verdict = decide(request, parseConfig(get()));
    write('info', `the verdict is ${verdict.tag}`, []);
    return verdict;
  },
};
