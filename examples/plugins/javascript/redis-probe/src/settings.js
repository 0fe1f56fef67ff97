// What the operator configures, and what a pod asks for.

import { Refusal, parseObject } from './refusal.js';

const PORT_DEFAULT = 6379;
const PORT_MAX = 65535;

/**
 * What stands under `config:` in the plugin's entry.
 *
 * @param {string} text
 * @returns {{ passwordSecret?: string }}
 */
export function parseConfig(text) {
  const { passwordSecret } = parseObject(text, ['passwordSecret']);
  if (passwordSecret === undefined) return {};
  if (typeof passwordSecret !== 'string' || passwordSecret === '') {
    throw new Refusal('passwordSecret: the name of a secret is needed');
  }
  return { passwordSecret };
}

/**
 * What stands under `parameters:` of a probe. Names of ports are numbers already.
 *
 * @param {string} text
 * @returns {{ port: number }}
 */
export function parseParameters(text) {
  const { port = PORT_DEFAULT } = parseObject(text, ['port']);
  if (typeof port !== 'number' || !Number.isInteger(port) || port < 1 || port > PORT_MAX) {
    throw new Refusal(`port: a whole number from 1 to ${PORT_MAX} is needed`);
  }
  return { port };
}
