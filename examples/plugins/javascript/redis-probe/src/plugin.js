// The probe type as the host sees it. What is said to the server is in redis.js, which knows nothing of the host.

import { get as configuration } from 'witlet:host/config@0.1.0';
import { write } from 'witlet:host/log@0.1.0';
import { get as secret } from 'witlet:host/secret@0.1.0';

import { ping, withoutLineEnd } from './redis.js';
import { Refusal, TcpError, once } from './sdk/witlet.js';
import { connect } from './sdk/witlet-tcp.js';
import { parseConfig, parseParameters } from './settings.js';

/** @typedef {typeof import('witlet:probe/prober@0.1.0')} Prober */
/** @typedef {import('witlet:probe/types@0.1.0').Outcome} Outcome */

const configured = once(parseConfig);

/** @type {{ validate: Prober['validate'], checkParameters: Prober['checkParameters'], probe: Prober['probe'] }} */
export const prober = {
  validate(config) {
    parseConfig(config);
  },

  checkParameters(parameters) {
    parseParameters(parameters);
  },

  probe(target, parameters) {
    const { port } = parseParameters(parameters);
    const { passwordSecret } = configured(configuration());
    const password = passwordSecret === undefined ? undefined : read(passwordSecret);
    const [address] = target.podIps();
    if (address === undefined) return { tag: 'failure', val: 'the pod has no address' };
    write('debug', 'PING', [['address', address], ['port', `${port}`]]);
    try {
      const connection = connect(address, port, () => target.remainingMilliseconds());
      try {
        return ping(connection, password);
      } finally {
        connection.close();
      }
    } catch (error) {
      if (!(error instanceof TcpError)) throw error;
      return { tag: 'failure', val: error.message };
    }
  },
};

/**
 * The newest value of a secret. That it isn't there says nothing about the server: it is an error.
 *
 * @param {string} name
 */
function read(name) {
  try {
    return withoutLineEnd(secret(name));
  } catch (error) {
    const { payload } = /** @type {{ payload?: import('witlet:host/secret@0.1.0').SecretError }} */ (error);
    if (payload === undefined) throw error;
    throw new Refusal(`secret ${name}: ${payload === 'not-found' ? "the node doesn't have it" : "it isn't granted"}`);
  }
}
