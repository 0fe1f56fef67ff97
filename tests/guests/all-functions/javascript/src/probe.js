// The role of probes.

import { get as secret } from 'witlet:host/secret@0.1.0';
import { run } from 'witlet:probe/exec@0.1.0';

import { bytesOf, pointers, tell } from './json.js';
import { Refusal } from './sdk/witlet.js';

/** @typedef {import('witlet:probe/types@0.1.0').Outcome} Outcome */
/** @typedef {import('witlet:probe/types@0.1.0').Target} Target */

/**
 * The outcome that the parameters ask for, with all that the target has as its detail.
 *
 * @param {Target} target
 * @param {any} parameters
 * @returns {Outcome}
 */
export function probe(target, parameters) {
  const val = tell(facts(target, parameters));
  const answer = parameters?.answer;
  if (answer?.error !== undefined) throw new Refusal(answer.error);
  return { tag: answer === 'warning' || answer === 'failure' ? answer : 'success', val };
}

/**
 * @param {Target} target
 * @param {any} parameters
 */
function facts(target, parameters) {
  return {
    pod: target.pod(),
    'pod-json-bytes': bytesOf(target.podJson()),
    'pod-pointer': pointers(parameters, (path) => target.podPointer(path)),
    container: target.container(),
    'container-id': target.containerId(),
    restarts: target.restarts(),
    'pod-ips': target.podIps(),
    'host-ips': target.hostIps(),
    'named-ports': target.namedPorts(),
    kind: target.kind(),
    'remaining-milliseconds': target.remainingMilliseconds() > 0n,
    secret: typeof parameters?.secret === 'string' ? secretOf(parameters.secret) : null,
    exec: Array.isArray(parameters?.command) ? exec(target, parameters.command) : null,
  };
}

/**
 * The secret's text, or the contract's name for why there is none.
 *
 * @param {string} name
 * @returns {string}
 */
function secretOf(name) {
  return result(
    () => new TextDecoder().decode(secret(name)),
    (/** @type {import('witlet:host/secret@0.1.0').SecretError} */ why) => why,
  );
}

/**
 * @param {Target} target
 * @param {string[]} command
 * @returns {object}
 */
function exec(target, command) {
  return result(
    /** @returns {object} */
    () => {
      const { exitCode, output } = run(target, command);
      return { 'exit-code': exitCode, output: new TextDecoder().decode(output) };
    },
    (/** @type {import('witlet:probe/exec@0.1.0').ExecError} */ why) =>
      why.tag === 'timed-out' ? { 'timed-out': true } : { failed: why.val },
  );
}

/**
 * What a function of the host returns, or what is made of its error.
 *
 * @template E, T
 * @param {() => T} call
 * @param {(error: E) => T} otherwise
 * @returns {T}
 */
function result(call, otherwise) {
  try {
    return call();
  } catch (error) {
    const { payload } = /** @type {{ payload?: E }} */ (error);
    if (payload === undefined) throw error;
    return otherwise(payload);
  }
}
