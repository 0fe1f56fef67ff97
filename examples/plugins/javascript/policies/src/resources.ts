// What pods ask for and are limited to: numbers, `cpu` in milli-CPU and everything else in base units.

import { admit, dict, integer, list, policy, rejectFirst, shown, text } from './sdk/witlet-admission.ts';

/** Containers are limited in these resources; ephemeral containers have no resources. */
export const limitsRequired = policy({
  config: { resources: list(text) },
  subscribes: ['add', 'resize'],
  admit(request, { resources }) {
    const objections = request.pod().containers().filter((it) => it.kind() !== 'ephemeral').flatMap((container) => {
      const missing = resources.filter((resource) => container.limit(resource) === undefined);
      return missing.map((resource) => `${shown(container)} has no limit of ${resource}`);
    });
    return rejectFirst('NoLimit', objections);
  },
});

/** A container's limit is at most so many times its request. */
export const limitRatio = policy({
  config: { resource: text, most: integer },
  subscribes: ['add', 'resize'],
  admit(request, { resource, most }) {
    const objections = request.pod().containers().flatMap((container) => {
      const limit = container.limit(resource);
      const requested = container.request(resource) ?? limit;
      const isExcess = limit !== undefined && requested !== undefined && limit > requested * BigInt(most);
      return isExcess ? [`${shown(container)} is limited to ${limit} of ${resource} and requests ${requested}`] : [];
    });
    return rejectFirst('LimitRatio', objections);
  },
});

/** A pod requests at most so much of each of these resources. */
export const podSize = policy({
  config: { most: dict(integer) },
  subscribes: ['add', 'resize'],
  admit(request, { most }) {
    const pod = request.pod();
    const amounts = [...most].map(([resource, most]) => ({ resource, most, requested: pod.request(resource) ?? 0n }));
    const excess = amounts.filter((it) => it.requested > it.most);
    return rejectFirst('PodTooLarge', excess.map((it) => `the pod requests ${it.requested} of ${it.resource}, more than ${it.most}`));
  },
});

/** Pods of these priority classes are of the class Guaranteed. */
export const guaranteedQos = policy({
  config: { priorityClasses: list(text) },
  subscribes: ['add', 'resize'],
  admit(request, { priorityClasses }) {
    const [priority, qos] = [request.pod().priorityClass(), request.pod().qos()];
    const isMeant = priorityClasses.includes(priority) && qos !== 'Guaranteed';
    return rejectFirst('NotGuaranteed', isMeant ? [`a pod of the priority class ${priority} is ${qos}, not Guaranteed`] : []);
  },
});

/** A running pod grows at most to so many times what it has. */
export const resizeAtMost = policy({
  config: { most: integer },
  subscribes: ['resize'],
  admit(request, { most }) {
    const [pod, old] = [request.pod(), request.oldPod()];
    if (old === undefined) return admit();
    const objections = pod.resources().flatMap((resource) => {
      const [now, before] = [pod.request(resource), old.request(resource)];
      const isExcess = now !== undefined && before !== undefined && now > before * BigInt(most);
      return isExcess ? [`${now} of ${resource} are more than ${most} times ${before}`] : [];
    });
    return rejectFirst('ResizeTooLarge', objections);
  },
});
