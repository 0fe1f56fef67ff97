// The handler as the host sees it. What it decides is in policy.ts, which knows nothing of the host.

import type * as Handler from 'witlet:admission/handler@0.1.0';
import { get } from 'witlet:host/config@0.1.0';
import { write } from 'witlet:host/log@0.1.0';

import { decide, parseConfig } from './policy.ts';
import { once } from './sdk/witlet.ts';

const configured = once(parseConfig);

export const handler: typeof Handler = {
  validate(config) {
    parseConfig(config);
  },

  admit(request) {
    const verdict = decide(request, configured(get()));
    write('info', `the verdict is ${verdict.tag}`, []);
    return verdict;
  },
};
