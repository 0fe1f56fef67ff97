// What the operator configures, and what a pod asks for.

import { Fields } from './sdk/witlet.js';

const PORT_DEFAULT = 6379;

/**
 * What stands under `config:` in the plugin's entry.
 *
 * @param {string} text
 * @returns {{ passwordSecret?: string }}
 */
export function parseConfig(text) {
  return Fields.read(text, (fields) => {
    const passwordSecret = fields.text('passwordSecret', { fallback: '' });
    return fields.has('passwordSecret') ? { passwordSecret } : {};
  });
}

/**
 * What stands under `parameters:` of a probe. Names of ports are numbers already.
 *
 * @param {string} text
 * @returns {{ port: number }}
 */
export function parseParameters(text) {
  return Fields.read(text, (fields) => ({ port: fields.port('port', PORT_DEFAULT) }));
}
