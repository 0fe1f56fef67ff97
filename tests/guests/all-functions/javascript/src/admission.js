// The role of admission.

import { write } from 'witlet:host/log@0.1.0';

import { attack } from './attack.js';
import { bytesOf, pointers, tell, valueOf } from './json.js';
import { Refusal } from './sdk/witlet.js';

/** @typedef {import('witlet:admission/types@0.1.0').Node} Node */
/** @typedef {import('witlet:admission/types@0.1.0').Pod} Pod */
/** @typedef {import('witlet:admission/types@0.1.0').Request} Request */
/** @typedef {import('witlet:admission/types@0.1.0').Verdict} Verdict */

/**
 * A line of each level, and then the verdict that the configuration asks for, or all that the request has.
 *
 * @param {Request} request
 * @param {any} config
 * @returns {Verdict}
 */
export function admit(request, config) {
  for (const level of /** @type {const} */ (['trace', 'debug', 'info', 'warn', 'error'])) {
    write(level, `logged at ${level}`, [['language', 'javascript']]);
  }
  const answer = config?.answer;
  if (answer === 'admit') return { tag: 'admit' };
  if (answer?.error !== undefined) throw new Refusal(answer.error);
  if (answer?.attack !== undefined) return attack(answer.attack);
  if (answer?.defer) {
    const { reason, message, retryAfterMilliseconds } = answer.defer;
    return { tag: 'defer', val: { reason, message, retryAfterMilliseconds: BigInt(retryAfterMilliseconds ?? 0) } };
  }
  if (answer?.shortage) return { tag: 'shortage', val: answer.shortage.map(shortage) };
  return { tag: 'reject', val: { reason: 'Reported', message: tell(facts(request, config)) } };
}

/** @param {{ resource: string, requested: number, used: number, capacity: number }} given */
function shortage({ resource, requested, used, capacity }) {
  return { resource, requested: BigInt(requested), used: BigInt(used), capacity: BigInt(capacity) };
}

/**
 * @param {Request} request
 * @param {any} config
 */
function facts(request, config) {
  return {
    operation: request.operation(),
    now: request.now(),
    pod: using(request.pod(), (it) => pod(it, config)),
    node: using(request.node(), (it) => node(it, config)),
    'other-pods': request.otherPods().map((other) => using(other, (it) => pod(it, config))),
    config,
  };
}

/**
 * @param {Pod} pod
 * @param {any} config
 */
function pod(pod, config) {
  return {
    identity: pod.identity(),
    source: pod.source(),
    labels: pod.labels(),
    annotations: pod.annotations(),
    priority: pod.priority(),
    containers: pod.containers(),
    requests: pod.requests(),
    'host-ports': pod.hostPorts(),
    qos: pod.qos(),
    'json-bytes': bytesOf(pod.json()),
    pointer: pointers(config, (path) => pod.pointer(path)),
  };
}

/**
 * @param {Node} node
 * @param {any} config
 */
function node(node, config) {
  return {
    name: node.name(),
    labels: node.labels(),
    taints: node.taints(),
    capacity: node.capacity(),
    allocatable: node.allocatable(),
    requested: node.requested(),
    'used-host-ports': node.usedHostPorts(),
    conditions: node.conditions(),
    facts: node.facts(),
    devices: valueOf(node.devices()),
    'json-bytes': bytesOf(node.json()),
    pointer: pointers(config, (path) => node.pointer(path)),
  };
}

/**
 * @template {Disposable} R
 * @template T
 * @param {R} resource
 * @param {(resource: R) => T} use
 */
function using(resource, use) {
  try {
    return use(resource);
  } finally {
    resource[Symbol.dispose]();
  }
}
