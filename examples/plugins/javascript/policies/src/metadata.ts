// Who pods belong to, and what they say of themselves.

import { admit, controller, dict, list, policy, reject, rejectFirst, shown, text } from './sdk/witlet-admission.ts';

/** Pods have these labels, with one of these values where any are given. */
export const requiredLabels = policy({
  config: { labels: dict(list(text)) },
  subscribes: ['add'],
  admit(request, { labels }) {
    for (const [key, values] of labels) {
      const value = request.pod().label(key);
      if (value === undefined) return reject('RequiredLabel', `the pod has no label ${key}`);
      const fits = values.length === 0 || values.includes(value);
      if (!fits) return reject('RequiredLabel', `the label ${key} is ${value}, not ${values.join(' or ')}`);
    }
    return admit();
  },
});

/** Pods have these annotations. */
export const requiredAnnotations = policy({
  config: { annotations: list(text) },
  subscribes: ['add'],
  admit(request, { annotations }) {
    const missing = annotations.filter((key) => request.pod().annotation(key) === undefined);
    return rejectFirst('RequiredAnnotation', missing.map((key) => `the pod has no annotation ${key}`));
  },
});

/** Pods are made by controllers of these kinds, such as `ReplicaSet`. */
export const ownerKinds = policy({
  config: { allow: list(text) },
  subscribes: ['add'],
  admit(request, { allow }) {
    const kind = controller(request.pod())?.kind();
    if (kind === undefined) return reject('NoOwner', 'the pod has no controller');
    return allow.includes(kind) ? admit().annotate('controller', kind) : reject('OwnerKind', `the pod is made by a ${kind}`);
  },
});

/** No pod gets a token of its service account by itself. */
export const noServiceAccountToken = policy({
  subscribes: ['add'],
  admit(request) {
    const pod = request.pod();
    const objections = [`a volume brings a token of the service account ${pod.serviceAccount()}`];
    return rejectFirst('ServiceAccountToken', pod.hasServiceAccountToken() ? objections : []);
  },
});

/** No pod runs as one of these service accounts, such as `default`. */
export const serviceAccounts = policy({
  config: { deny: list(text) },
  subscribes: ['add'],
  admit(request, { deny }) {
    const account = request.pod().serviceAccount();
    return rejectFirst('ServiceAccount', deny.includes(account) ? [`no pod runs as the service account ${account}`] : []);
  },
});

/** These priority classes are for pods of these namespaces; other classes are anyone's. */
export const priorityClasses = policy({
  config: { classes: dict(list(text)) },
  subscribes: ['add'],
  admit(request, { classes }) {
    const [priority, namespace] = [request.pod().priorityClass(), request.pod().namespace()];
    const isReserved = !(classes.get(priority) ?? [namespace]).includes(namespace);
    const objections = [`the priority class ${priority} isn't for the namespace ${namespace}`];
    return rejectFirst('PriorityClass', isReserved ? objections : []);
  },
});

/** Warns the pod's owner of variables that look like secrets, and have their values in the pod. */
export const envSecrets = policy({
  config: { words: list(text) },
  admit(request, { words }) {
    const verdict = admit();
    for (const container of request.pod().containers()) {
      for (const [index, name] of container.envNames().entries()) {
        const hasValue = container.pointer(`/env/${index}/value`) !== undefined;
        const isSecret = hasValue && words.some((word) => name.includes(word));
        if (isSecret) verdict.warn(`${shown(container)} has the value of ${name} in its spec`);
      }
    }
    return verdict;
  },
});
