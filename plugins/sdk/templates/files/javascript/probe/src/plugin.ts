// The probe type as the host sees it. What it finds out is in greeting.ts, which knows nothing of the host.

import { write } from 'witlet:host/log@0.1.0';
import type * as Prober from 'witlet:probe/prober@0.1.0';

import { parseParameters, probe } from './greeting.ts';
import { Fields } from './sdk/witlet.ts';
import { connect } from './sdk/witlet-tcp.ts';

export const prober: typeof Prober = {
  validate(config) {
    // There is nothing to configure.
    Fields.read(config, () => {});
  },

  checkParameters(parameters) {
    parseParameters(parameters);
  },

  probe(target, parameters) {
    const outcome = probe(target, parseParameters(parameters), connect);
    write('debug', `the outcome is ${outcome.tag}`, [['container', target.container()]]);
    return outcome;
  },
};
