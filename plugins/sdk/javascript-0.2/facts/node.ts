// A node of a manifest.

import type { Condition, HostPort, Node, Taint } from 'witlet:admission/admission-types@0.2.0';

import { type Amounts, add, amounts } from './amounts.ts';
import type { PodFacts } from './pods.ts';
import { Held, get, items, names, pairs, pointer, text } from './values.ts';

class TaintFacts extends Held implements Taint {
  readonly #spec: unknown;

  constructor(spec: unknown) {
    super();
    this.#spec = spec;
  }

  key = (): string => text(get(this.#spec, 'key'));
  value = (): string => text(get(this.#spec, 'value'));
  effect = (): string => text(get(this.#spec, 'effect'));
}

class ConditionFacts extends Held implements Condition {
  readonly #spec: unknown;

  constructor(spec: unknown) {
    super();
    this.#spec = spec;
  }

  kind = (): string => text(get(this.#spec, 'type'));
  status = (): string => text(get(this.#spec, 'status'));
  reason = (): string => text(get(this.#spec, 'reason'));
  message = (): string => text(get(this.#spec, 'message'));
}

type Known = { facts?: Record<string, string>; devices?: unknown; used?: Record<string, bigint>; pods?: PodFacts[] };

/** The node of a manifest, with facts about the machine, devices and what is in use, and the pods that are on it. */
export class NodeFacts extends Held implements Node {
  readonly #manifest: unknown;
  readonly #of: Known;

  constructor(manifest: unknown = {}, of: Known = {}) {
    super();
    this.#manifest = manifest;
    this.#of = of;
  }

  #amounts = (field: 'capacity' | 'allocatable'): Amounts => amounts(get(this.#manifest, 'status', field));

  #requested(): Amounts {
    const pods = this.#of.pods ?? [];
    const total: Amounts = new Map([['pods', BigInt(pods.length)]]);
    for (const pod of pods) add(total, pod.amounts('requests'));
    return total;
  }

  name = (): string => text(get(this.#manifest, 'metadata', 'name'));
  label = (key: string): string | undefined => new Map(this.labels()).get(key);
  labels = (): [string, string][] => pairs(get(this.#manifest, 'metadata', 'labels'));
  taints = (): Taint[] => items(get(this.#manifest, 'spec', 'taints')).map((spec) => new TaintFacts(spec));
  condition = (kind: string): Condition | undefined => this.conditions().find((condition) => condition.kind() === kind);
  conditions = (): Condition[] => items(get(this.#manifest, 'status', 'conditions')).map((spec) => new ConditionFacts(spec));
  resources = (): string[] => names(this.#amounts('capacity'), this.#amounts('allocatable'), this.#requested());
  capacity = (resource: string): bigint | undefined => this.#amounts('capacity').get(resource);
  allocatable = (resource: string): bigint | undefined => this.#amounts('allocatable').get(resource);
  requested = (resource: string): bigint => this.#requested().get(resource) ?? 0n;
  used = (resource: string): bigint | undefined => this.#of.used?.[resource];
  usedHostPorts = (): HostPort[] => (this.#of.pods ?? []).flatMap((pod) => pod.hostPorts());
  fact = (key: string): string | undefined => new Map(this.facts()).get(key);
  facts = (): [string, string][] => pairs(this.#of.facts ?? {});
  devices = (): string => JSON.stringify(this.#of.devices ?? []);
  json = (): string => JSON.stringify(this.#manifest);
  pointer = (path: string): string | undefined => pointer(this.#manifest, path);

  available(resource: string): bigint | undefined {
    const allocatable = this.allocatable(resource);
    return allocatable === undefined ? undefined : allocatable - this.requested(resource);
  }
}
