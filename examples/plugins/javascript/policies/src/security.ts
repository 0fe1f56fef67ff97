// What containers may do: what counts of a container's security context and its pod's, for all kinds of containers.

import { integer, list, optional, policy, rejectFirst, shown, text } from './sdk/witlet-admission.ts';

/** No container is privileged. */
export const noPrivileged = policy({
  admit(request) {
    const privileged = request.pod().containers().filter((container) => container.privileged());
    return rejectFirst('Privileged', privileged.map((container) => `${shown(container)} is privileged`));
  },
});

/** Containers add no capabilities but these, and drop those. */
export const capabilities = policy({
  config: { allow: optional(list(text), []), drop: optional(list(text), []) },
  admit(request, { allow, drop }) {
    const objections = request.pod().containers().flatMap((container) => {
      const [added, dropped] = [container.addedCapabilities(), container.droppedCapabilities()];
      const excess = added.filter((name) => !allow.includes(name)).map((name) => `adds the capability ${name}`);
      const kept = drop.filter((name) => !dropped.includes(name)).map((name) => `doesn't drop the capability ${name}`);
      return [...excess, ...kept].map((problem) => `${shown(container)} ${problem}`);
    });
    return rejectFirst('Capabilities', objections);
  },
});

/** No container may start as root. */
export const runAsNonRoot = policy({
  admit(request) {
    const root = request.pod().containers().filter((container) => !container.runAsNonRoot());
    return rejectFirst('RunAsRoot', root.map((container) => `${shown(container)} may start as root`));
  },
});

/** No process gets more rights than its parent. */
export const noPrivilegeEscalation = policy({
  admit(request) {
    const rising = request.pod().containers().filter((container) => container.allowPrivilegeEscalation());
    return rejectFirst('PrivilegeEscalation', rising.map((container) => `${shown(container)} allows privilege escalation`));
  },
});

/** Containers can't write to their own file systems. */
export const readOnlyRoot = policy({
  admit(request) {
    const writable = request.pod().containers().filter((container) => !container.readOnlyRootFilesystem());
    return rejectFirst('WritableRoot', writable.map((container) => `${shown(container)} can write to its root file system`));
  },
});

/** Every container states a seccomp profile that filters. */
export const seccompRequired = policy({
  admit(request) {
    const unfiltered = request.pod().containers().filter((container) => [undefined, 'Unconfined'].includes(container.seccompProfile()));
    return rejectFirst('NoSeccomp', unfiltered.map((container) => `${shown(container)} has no seccomp profile`));
  },
});

/** Containers state no AppArmor profile but these, such as `RuntimeDefault` or `Localhost/web`. */
export const appArmorProfiles = policy({
  config: { allow: list(text) },
  admit(request, { allow }) {
    const objections = request.pod().containers().flatMap((container) => {
      const profile = container.apparmorProfile();
      return profile === undefined || allow.includes(profile) ? [] : [`${shown(container)} has the AppArmor profile ${profile}`];
    });
    return rejectFirst('AppArmorProfile', objections);
  },
});

/** Containers state a user from this number on. */
export const userIds = policy({
  config: { min: integer },
  admit(request, { min }) {
    const others = request.pod().containers().filter((container) => (container.runAsUser() ?? -1n) < min);
    return rejectFirst('UserId', others.map((container) => `${shown(container)} doesn't run as a user from ${min} on`));
  },
});

/** Pods have a user namespace of their own. */
export const userNamespaces = policy({
  subscribes: ['add'],
  admit(request) {
    return rejectFirst('HostUsers', request.pod().hostUsers() ? ["the pod's users are the host's: hostUsers isn't false"] : []);
  },
});

/** Those who look for a fault in a pod of this label get no powers of the node. */
export const debugContainers = policy({
  config: { label: text, value: text },
  admit(request, { label, value }) {
    const pod = request.pod();
    const debug = pod.containers().filter((it) => pod.label(label) === value && it.kind() === 'ephemeral');
    const mighty = debug.filter((it) => it.privileged() || it.addedCapabilities().length > 0);
    return rejectFirst('MightyDebugger', mighty.map((it) => `${shown(it)} has powers of the node`));
  },
});
