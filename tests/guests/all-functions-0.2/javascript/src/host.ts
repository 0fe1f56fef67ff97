// What plugins of all roles have: the package host.

import { get as config } from 'witlet:host/config@0.2.0';
import * as data from 'witlet:host/data@0.2.0';
import { Error as HostError } from 'witlet:host/errors@0.2.0';
import { has } from 'witlet:host/features@0.2.0';
import { enabled } from 'witlet:host/log@0.2.0';
import * as metrics from 'witlet:host/metrics@0.2.0';
import * as node from 'witlet:host/node@0.2.0';
import { get as secret } from 'witlet:host/secret@0.2.0';

import { NONE, type Reported, decoded, each, getters, given, settings } from './reported.ts';

/** An error of the plugin's own. */
export function ownError(): HostError {
  const error = new HostError('NoTable', "the table can't be read");
  error.setRetryAfterMilliseconds(7000n);
  error.setDetail('rows', '7');
  return error;
}

/** What is thrown for the bindings to return an error. */
export class Refusal extends globalThis.Error {
  readonly payload = ownError();
}

/** Refuses what wants to be refused. */
export function refuse(text: string): void {
  if (settings(text).do === 'refuse') throw new Refusal();
}

export function ofError(error: HostError): Reported {
  return {
    ...getters('errors/error', error, 'code message retry-after-milliseconds'),
    'errors/error.detail': each(['rows', NONE], (key) => error.detail(key)),
  };
}

export function ofHost(): Reported {
  metrics.add('asked', [['how', 'once']], 2n);
  metrics.observe('answered', [], 0.5);
  return {
    'config/get': config() !== 'null',
    'log/enabled': enabled('error'),
    'metrics/add': true,
    'metrics/observe': true,
    'node/name': node.name() ?? null,
    'node/label': each(['disk', NONE], node.label),
    'node/labels': node.labels(),
    'node/zone': node.zone() ?? null,
    'node/addresses': node.addresses(),
    'node/allocatable': each(['cpu', NONE], node.allocatable),
    'features/has': ['shadow', 'teleport'].map((name) => has(name)),
    'secret/get': ['given', 'other'].map((name) => given(() => decoded(secret(name)))),
  };
}

export function ofData(): Reported {
  return { 'data/names': data.names(), 'data/open': ['list', NONE].map((name) => given(() => ofSnapshot(data.open(name)))) };
}

function ofSnapshot(snapshot: data.Snapshot): Reported {
  const size = snapshot.size();
  const parts: [bigint, bigint][] = [[0n, size], [1n, 3n], [size, 1n]];
  const read = parts.map(([offset, length]) => decoded(snapshot.read(offset, length)));
  return { 'data/snapshot.digest': snapshot.digest(), 'data/snapshot.size': size, 'data/snapshot.read': read };
}
