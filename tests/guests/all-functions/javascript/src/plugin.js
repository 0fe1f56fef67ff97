// A component that calls every function of the contracts and tells what it got: the host's golden vectors
// (`host/conformance/vectors/host`) say what that must be. Keys are the contracts' names.

import { get } from 'witlet:host/config@0.1.0';

import { admit } from './admission.js';
import { parse, refuse } from './json.js';
import { probe } from './probe.js';
import { poll, statuses } from './source.js';

const config = () => parse(get());

/** @typedef {typeof import('witlet:admission/handler@0.1.0')} Handler */
/** @type {{ validate: Handler['validate'], admit: Handler['admit'] }} */
export const handler = { validate: refuse, admit: (request) => admit(request, config()) };

/** @typedef {typeof import('witlet:probe/prober@0.1.0')} Prober */
/** @type {{ validate: Prober['validate'], checkParameters: Prober['checkParameters'], probe: Prober['probe'] }} */
export const prober = {
  validate: refuse,
  checkParameters: refuse,
  probe: (target, parameters) => probe(target, parse(parameters)),
};

/** @typedef {typeof import('witlet:pod-source/source@0.1.0')} Source */
/** @type {{ validate: Source['validate'], poll: Source['poll'] }} */
export const source = { validate: refuse, poll: (cursor) => poll(cursor, config()) };

/** @typedef {typeof import('witlet:pod-source/feedback@0.1.0')} Feedback */
/** @type {{ statuses: Feedback['statuses'] }} */
export const feedback = { statuses: (changed) => statuses(changed, config()) };
