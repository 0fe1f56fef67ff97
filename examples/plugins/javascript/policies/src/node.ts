// How a pod fits to the node and to the pods that are on it.

import { admit, controller, defer, integer, policy, rejectFirst, shortages, text } from './sdk/witlet-admission.ts';

/** A pod that names a zone, by this label, runs in that zone. */
export const nodeZone = policy({
  config: { label: text },
  subscribes: ['add'],
  admit(request, { label }) {
    const here = request.node().label('topology.kubernetes.io/zone') ?? '';
    const zone = request.pod().label(label);
    const objections = [`the pod is for zone ${zone}, the node is in ${JSON.stringify(here)}`];
    return rejectFirst('OtherZone', [undefined, here].includes(zone) ? [] : objections);
  },
});

/** At most so many pods of a controller are on the node; more wait. */
export const spreadReplicas = policy({
  config: { most: integer },
  subscribes: ['add'],
  admit(request, { most }) {
    const owner = controller(request.pod())?.uid();
    if (owner === undefined) return admit();
    const others = request.otherPods().filter((pod) => controller(pod)?.uid() === owner).length;
    if (others < most) return admit();
    return defer('TooManyReplicas', `${others} pods of the same controller are on the node`, 60);
  },
});

/** So many hundredths of a resource stay free. */
export const headroom = policy({
  config: { resource: text, percent: integer },
  subscribes: ['add', 'resize'],
  admit(request, { resource, percent }) {
    const node = request.node();
    const [used, requested] = [node.requested(resource), request.pod().request(resource) ?? 0n];
    const allocatable = node.allocatable(resource) ?? 0n;
    const capacity = allocatable - (allocatable / 100n) * BigInt(Math.max(0, Math.min(100, percent)));
    const lacks = requested > 0n && used + requested > capacity;
    return shortages(lacks ? [{ resource, requested, used, capacity }] : []);
  },
});

/** Pods that ask for nothing wait while the node is under this pressure, such as `PIDPressure`. */
export const underPressure = policy({
  config: { condition: text },
  subscribes: ['add'],
  admit(request, { condition }) {
    const isUnderPressure = request.node().condition(condition)?.status() === 'True';
    const waits = isUnderPressure && request.pod().qos() === 'BestEffort';
    return waits ? defer('UnderPressure', `the node has ${condition}`, 30) : admit();
  },
});
