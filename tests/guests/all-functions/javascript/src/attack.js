// What a plugin may do to its host: the attack that the configuration names (`answer: {attack: NAME}`). The engine lets a component neither
// exit nor sleep.

import { write } from 'witlet:host/log@0.1.0';

import { Refusal } from './sdk/witlet.js';

/** @typedef {import('witlet:admission/types@0.1.0').Verdict} Verdict */

// An answer far beyond what a host takes at once.
const HUGE = 8 << 20;

/**
 * Attacks; few of them return.
 *
 * @param {string} name
 * @returns {Verdict}
 */
export function attack(name) {
  switch (name) {
    case 'spin':
      for (;;);
    case 'grow':
      for (const kept = []; ; ) kept.push(new Uint8Array(1 << 20).fill(1));
    case 'recurse':
      return { tag: 'reject', val: { reason: 'Recursed', message: String(recurse(2 ** 30)) } };
    case 'crash':
      throw new Error("a crash of the plugin's own");
    case 'log-forever':
      for (;;) write('error', 'spam', [['language', 'javascript']]);
    case 'print-forever':
      for (;;) console.log('spam');
    case 'huge-answer':
      return { tag: 'reject', val: { reason: 'Huge', message: 'x'.repeat(HUGE) } };
    default:
      throw new Refusal(`unknown attack ${name}`);
  }
}

/**
 * @param {number} depth
 * @returns {number}
 */
function recurse(depth) {
  return depth === 0 ? 0 : recurse(depth - 1) + 1;
}
