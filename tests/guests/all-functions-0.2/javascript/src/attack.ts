// What a plugin may do to its host: the attack that the configuration names (`{do: attack, attack: NAME}`). The engine lets a component
// neither exit nor sleep.

import type { Answer } from 'witlet:admission/admission-types@0.2.0';
import { write } from 'witlet:host/log@0.2.0';

/** An answer far beyond what a host takes at once. */
const HUGE = 8 << 20;

/** Attacks; few of them return. */
export function attack(name: unknown, answer: Answer): void {
  switch (name) {
    case 'spin':
      for (;;);
    case 'grow':
      for (const kept: Uint8Array[] = []; ; ) kept.push(new Uint8Array(1 << 20).fill(1));
    case 'recurse':
      return answer.reject('Recursed', String(recurse(2 ** 30)));
    case 'crash':
      throw new Error("a crash of the plugin's own");
    case 'log-forever':
      for (;;) write('error', 'spam', [['language', 'javascript']]);
    case 'print-forever':
      for (;;) console.log('spam');
    case 'huge-answer':
      return answer.reject('Huge', 'x'.repeat(HUGE));
    default:
      return answer.reject('Unknown', String(name));
  }
}

function recurse(depth: number): number {
  return depth === 0 ? 0 : recurse(depth - 1) + 1;
}
