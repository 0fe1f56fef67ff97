// What pods and containers count for, and the class of service.

import { entries, get, items, text } from './values.ts';
import { Refusal, quantity } from '../witlet.ts';

export type Amounts = Map<string, bigint>;

const AMOUNT_MAX = (1n << 63n) - 1n;

export const amounts = (value: unknown): Amounts => new Map(entries(value).map(([name, of]) => [name, amount(name, of)]));

/** `cpu` in thousandths, all else in base units. What is no quantity is 0, as it is for the host. */
function amount(name: string, value: unknown): bigint {
  if (typeof value !== 'string' && typeof value !== 'number') return 0n;
  try {
    const found = quantity(String(value), name === 'cpu' ? 1000n : 1n);
    return found > AMOUNT_MAX ? AMOUNT_MAX : found < -AMOUNT_MAX ? -AMOUNT_MAX - 1n : found;
  } catch (error) {
    if (error instanceof Refusal) return 0n;
    throw error;
  }
}

export function add(total: Amounts, more: Amounts): void {
  for (const [name, amount] of more) {
    const sum = (total.get(name) ?? 0n) + amount;
    total.set(name, sum > AMOUNT_MAX ? AMOUNT_MAX : sum);
  }
}

function raise(total: Amounts, other: Amounts): void {
  for (const [name, amount] of other) {
    const most = total.get(name);
    if (most === undefined || amount > most) total.set(name, amount);
  }
}

export const isSidecar = (container: unknown): boolean => get(container, 'restartPolicy') === 'Always';

/**
 * By the scheduler's rules: the greater of what containers and sidecars have together and what each init container has while it runs;
 * what the pod as a whole states goes before that, overhead comes on top.
 */
export function ofPod(spec: unknown, part: 'requests' | 'limits'): Amounts {
  const [total, sidecars, starting]: Amounts[] = [new Map(), new Map(), new Map()];
  const of = (container: unknown) => amounts(get(container, 'resources', part));
  for (const container of items(get(spec, 'containers'))) add(total, of(container));
  for (const container of items(get(spec, 'initContainers'))) {
    let needed = of(container);
    if (isSidecar(container)) {
      add(total, needed);
      add(sidecars, needed);
      needed = new Map(sidecars);
    } else {
      add(needed, sidecars);
    }
    raise(starting, needed);
  }
  raise(total, starting);
  for (const [name, amount] of amounts(get(spec, 'resources', part))) {
    if (name === 'cpu' || name === 'memory' || name.startsWith('hugepages-')) total.set(name, amount);
  }
  // Only what is limited is limited to more.
  const isCounted = ([name]: [string, bigint]) => part !== 'limits' || (total.get(name) ?? 0n) !== 0n;
  add(total, new Map([...amounts(get(spec, 'overhead'))].filter(isCounted)));
  return total;
}

/** What the status says, or else by CPU and memory of all containers, or of the pod where it states any. */
export function qos(manifest: unknown): string {
  const settled = text(get(manifest, 'status', 'qosClass'));
  if (['Guaranteed', 'Burstable', 'BestEffort'].includes(settled)) return settled;
  const spec = get(manifest, 'spec');
  const ofThePod = get(spec, 'resources');
  const isStated = amounts(get(ofThePod, 'requests')).size + amounts(get(ofThePod, 'limits')).size > 0;
  const containers = ['containers', 'initContainers'].flatMap((list) => items(get(spec, list)));
  const counted = isStated ? [ofThePod] : containers.map((container) => get(container, 'resources'));
  const of = (resources: unknown, part: string): Amounts =>
    new Map([...amounts(get(resources, part))].filter(([name, amount]) => ['cpu', 'memory'].includes(name) && amount > 0n));
  const [requests, limits]: Amounts[] = [new Map(), new Map()];
  let allLimited = true;
  for (const resources of counted) {
    const limited = of(resources, 'limits');
    allLimited &&= limited.size === 2;
    add(requests, of(resources, 'requests'));
    add(limits, limited);
  }
  if (requests.size + limits.size === 0) return 'BestEffort';
  const areSame = requests.size === limits.size && [...requests].every(([name, amount]) => limits.get(name) === amount);
  return allLimited && areSame ? 'Guaranteed' : 'Burstable';
}
