// What pods take of the host: paths, namespaces, ports, kinds of volumes.

import { integer, invalid, list, optional, policy, rejectFirst, shown, text } from './sdk/witlet-admission.ts';

/** Volumes bring no paths of the host but these and what is below them. */
export const noHostPath = policy({
  config: { allow: optional(list(text), []) },
  subscribes: ['add'],
  admit(request, { allow }) {
    const isBelow = (path: string) => allow.some((folder) => `${path}/`.startsWith(folder.endsWith('/') ? folder : `${folder}/`));
    const objections = request.pod().volumes().flatMap((volume) => {
      const path = volume.hostPath();
      const isAllowed = path === undefined || (!path.includes('..') && isBelow(path));
      return isAllowed ? [] : [`${shown(volume)} brings ${path} of the host`];
    });
    return rejectFirst('HostPath', objections);
  },
});

/** Nothing is written through a path of the host. */
export const hostPathsReadOnly = policy({
  admit(request) {
    const pod = request.pod();
    const volumes = pod.volumes().filter((volume) => volume.kind() === 'hostPath');
    const ofHost = volumes.map((volume) => volume.name());
    const objections = pod.containers().flatMap((container) => {
      const writable = container.mounts().filter((mount) => !mount.readOnly() && ofHost.includes(mount.volume()));
      return writable.map((mount) => `${shown(container)} can write to ${mount.path()} of the host`);
    });
    return rejectFirst('HostPathWritable', objections);
  },
});

/** Pods share no namespace with the host. */
export const noHostNamespaces = policy({
  subscribes: ['add'],
  admit(request) {
    const pod = request.pod();
    const shared = { hostNetwork: pod.hostNetwork(), hostPID: pod.hostPid(), hostIPC: pod.hostIpc() };
    const fields = Object.entries(shared).filter(([, isShared]) => isShared);
    return rejectFirst('HostNamespace', fields.map(([field]) => `the pod has ${field}`));
  },
});

/** Pods take ports on the host from this range only. */
export const hostPortRange = policy({
  config: { min: integer, max: integer },
  subscribes: ['add'],
  validate({ min, max }) {
    if (min > max) throw invalid('min', 'is greater than max');
  },
  admit(request, { min, max }) {
    const numbers = request.pod().hostPorts().map((port) => port.number());
    const outside = numbers.filter((number) => number < min || number > max);
    return rejectFirst('HostPort', outside.map((number) => `port ${number} of the host isn't one of ${min} to ${max}`));
  },
});

/** Volumes are of these kinds, such as `configMap` or `emptyDir`. */
export const volumeKinds = policy({
  config: { allow: list(text) },
  subscribes: ['add'],
  admit(request, { allow }) {
    const others = request.pod().volumes().filter((volume) => !allow.includes(volume.kind()));
    return rejectFirst('VolumeKind', others.map((volume) => `${shown(volume)} is of the kind ${volume.kind()}`));
  },
});
