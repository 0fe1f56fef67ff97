// The probe type as the host sees it. What it finds out is in greeting.js, which knows nothing of the host.

import { write } from 'witlet:host/log@0.1.0';

import { parseParameters, probe } from './greeting.js';
import { parseObject } from './refusal.js';
import { connect } from './tcp.js';

/** @typedef {typeof import('witlet:probe/prober@0.1.0')} Prober */

/** @type {{ validate: Prober['validate'], checkParameters: Prober['checkParameters'], probe: Prober['probe'] }} */
export const prober = {
  validate(config) {
    // There is nothing to configure.
    parseObject(config, []);
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
