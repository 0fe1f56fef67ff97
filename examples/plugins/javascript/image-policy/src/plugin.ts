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
    // A resize leaves the images as they were admitted.
    if (request.operation() === 'resize') return { tag: 'admit' };
    const pod = request.pod();
    try {
      const verdict = decide(pod.containers(), configured(get()));
      if (verdict.tag === 'reject') write('info', verdict.val.message, [['pod', pod.identity().name]]);
      return verdict;
    } finally {
      // What the host has lent is given back at once: the garbage collector may never come to it.
      pod[Symbol.dispose]();
    }
  },
};
