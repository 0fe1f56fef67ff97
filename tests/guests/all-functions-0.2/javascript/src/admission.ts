// The role admission: what a request has, a part at a time, or the answer that the configuration names.

import type { Answer, Container, HostPort, Image, Node, Pod, Request, ResolvedImage, Setup, Volume } from 'witlet:admission/admission-types@0.2.0';
import { get as config } from 'witlet:host/config@0.2.0';
import { write } from 'witlet:host/log@0.2.0';

import { attack } from './attack.ts';
import { Refusal, ofData, ofError, ofHost, ownError, refuse } from './host.ts';
import { remembered } from './sdk/values.ts';
import { NONE, type Reported, each, getters, json, settings } from './reported.ts';

export function validate(setup: Setup, text: string): void {
  for (const operation of ['add', 'resize', 'update', 'image-resolved']) setup.subscribe(operation);
  setup.warn(json({ 'setup.knows': ['add', 'fly'].map((operation) => setup.knows(operation)) }));
  refuse(text);
}

export function admit(lent: Request, answer: Answer): void {
  for (const level of ['trace', 'debug', 'info', 'warn', 'error'] as const) {
    write(level, `logged at ${level}`, [['language', 'javascript']]);
  }
  const { do: part, attack: name } = settings(config());
  if (part === 'admit') answer.admit();
  else if (part === 'attack') attack(name, answer);
  else if (part === 'defer') answer.defer('NotNow', 'not now', 5000n);
  else if (part === 'error') throw new Refusal();
  else if (part === 'shortage') {
    answer.shortage('cpu', 500n, 800n, 1000n);
    answer.shortage('memory', 5n, 8n, 10n);
  } else {
    const kept: Disposable[] = [];
    answer.reject('Reported', json(reported(part, remembered(lent, kept), answer)));
    for (const thing of kept.reverse()) thing[Symbol.dispose]();
  }
}

function reported(part: unknown, request: Request, answer: Answer): unknown {
  const [pod, image] = [request.pod(), request.image()];
  switch (part) {
    case 'request':
      return ofRequest(request);
    case 'pod':
      return ofPod(pod);
    case 'containers':
      return pod.containers().map(ofContainer);
    case 'security':
      return pod.containers().map(ofSecurity);
    case 'images':
      return pod.images().map(ofImage);
    case 'resolved-image':
      return image && ofResolvedImage(image);
    case 'volumes':
      return pod.volumes().map(ofVolume);
    case 'node':
      return ofNode(request.node());
    case 'host':
      return ofHost();
    case 'data':
      return ofData();
    case 'own-error':
      return ofError(ownError());
    case 'remark':
      answer.warn('it is old');
      answer.annotate('image', 'first');
      return { 'answer.warn': true, 'answer.annotate': true };
    default:
      return 'there is no such part';
  }
}

function ofRequest(request: Request): Reported {
  return {
    'request.operation': request.operation(),
    'request.now': request.now(),
    'request.pod': request.pod().name(),
    'request.old-pod': request.oldPod()?.name() ?? null,
    'request.image': request.image()?.id() ?? null,
    'request.node': request.node().name(),
    'request.other-pods': request.otherPods().map((pod) => pod.name()),
  };
}

function ofPod(pod: Pod): Reported {
  const plain =
    'namespace name uid source labels annotations service-account has-service-account-token priority priority-class' +
    ' runtime-class runtime-handler qos host-network host-pid host-ipc host-users resources';
  return {
    ...getters('pod', pod, plain),
    'pod.label': each(['a', NONE], (key) => pod.label(key)),
    'pod.annotation': each(['note', NONE], (key) => pod.annotation(key)),
    'pod.owners': pod.owners().map((owner) => getters('owner', owner, 'api-version kind name uid is-controller')),
    'pod.containers': pod.containers().map((container) => container.name()),
    'pod.images': pod.images().map((image) => image.place()),
    'pod.volumes': pod.volumes().map((volume) => volume.name()),
    'pod.request': each(['cpu', NONE], (resource) => pod.request(resource)),
    'pod.limit': each(['memory', NONE], (resource) => pod.limit(resource)),
    'pod.host-ports': ofHostPorts(pod.hostPorts()),
    'pod.json': pod.json().includes('"containers"'),
    'pod.pointer': each(['/metadata/name', '/none'], (path) => pod.pointer(path)),
  };
}

function ofHostPorts(ports: HostPort[]): Reported[] {
  return ports.map((port) => getters('host-port', port, 'address protocol number'));
}

function ofContainer(container: Container): Reported {
  return {
    ...getters('container', container, 'name kind place pull-policy resources env-names'),
    'container.image': container.image().place(),
    'container.request': each(['cpu', NONE], (resource) => container.request(resource)),
    'container.limit': each(['memory', NONE], (resource) => container.limit(resource)),
    'container.ports': container.ports().map((port) => getters('container-port', port, 'name number protocol host-port')),
    'container.mounts': container.mounts().map((mount) => getters('mount', mount, 'volume path sub-path read-only is-device')),
    'container.pointer': each(['/name', '/none'], (path) => container.pointer(path)),
  };
}

function ofSecurity(container: Container): Reported {
  const functions =
    'privileged run-as-non-root run-as-user run-as-group allow-privilege-escalation read-only-root-filesystem' +
    ' seccomp-profile apparmor-profile added-capabilities dropped-capabilities';
  return getters('container', container, functions);
}

function ofImage(image: Image): Reported {
  return getters('image', image, 'reference place name registry repository tag digest');
}

function ofResolvedImage(image: ResolvedImage): Reported {
  return { ...getters('resolved-image', image, 'id digest size credentials'), 'resolved-image.container': image.container().place() };
}

function ofVolume(volume: Volume): Reported {
  return {
    ...getters('volume', volume, 'name kind host-path'),
    'volume.image': volume.image()?.place() ?? null,
    'volume.pointer': each(['/name', '/none'], (path) => volume.pointer(path)),
  };
}

function ofNode(node: Node): Reported {
  return {
    ...getters('node', node, 'name labels resources facts devices'),
    'node.label': each(['disk', NONE], (key) => node.label(key)),
    'node.taints': node.taints().map((taint) => getters('taint', taint, 'key value effect')),
    'node.condition': each(['Ready', NONE], (kind) => node.condition(kind)?.kind()),
    'node.conditions': node.conditions().map((it) => getters('condition', it, 'kind status reason message')),
    'node.capacity': each(['cpu', NONE], (resource) => node.capacity(resource)),
    'node.allocatable': each(['cpu', NONE], (resource) => node.allocatable(resource)),
    'node.requested': each(['cpu', NONE], (resource) => node.requested(resource)),
    'node.available': each(['cpu', NONE], (resource) => node.available(resource)),
    'node.used': each(['memory', NONE], (resource) => node.used(resource)),
    'node.used-host-ports': ofHostPorts(node.usedHostPorts()),
    'node.fact': each(['cgroup.version', NONE], (key) => node.fact(key)),
    'node.json': node.json().includes('"labels"'),
    'node.pointer': each(['/metadata/name', '/none'], (path) => node.pointer(path)),
  };
}
