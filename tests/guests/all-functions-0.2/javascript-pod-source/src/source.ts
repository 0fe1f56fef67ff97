// The role pod source, with feedback: the answer that the configuration names.

import { get as config } from 'witlet:host/config@0.2.0';
import { write } from 'witlet:host/log@0.2.0';
import type { Answer, News, Setup } from 'witlet:pod-source/source-types@0.2.0';

import { Refusal, ofHost, refuse } from './host.ts';
import { NONE, getters, json, settings } from './reported.ts';

export function validate(setup: Setup, text: string): void {
  setup.warn('of the configuration');
  refuse(text);
}

export function poll(cursor: string | undefined, answer: Answer): void {
  write('info', `cursor ${cursor ?? NONE}`, [['language', 'javascript']]);
  const { do: part, pods, cursor: next, nextPollMilliseconds } = settings(config());
  if (part === 'error') throw new Refusal();
  if (part === 'empty') answer.empty();
  else if (part === 'host') answer.pod(json(ofHost()));
  else if (part === 'pods') for (const pod of pods) answer.pod(json(pod));
  else answer.unchanged();
  if (next !== undefined) answer.cursor(next);
  if (nextPollMilliseconds !== undefined) answer.nextPollMilliseconds(BigInt(nextPollMilliseconds));
}

export function notify(news: News): void {
  for (let change = news.next(); change !== undefined; change = news.next()) {
    const reported = getters('change', change, 'kind namespace name uid phase reason message status');
    write('info', 'news.next', Object.entries(reported).map(([key, value]) => [key, value === null ? NONE : `${value}`]));
  }
}
