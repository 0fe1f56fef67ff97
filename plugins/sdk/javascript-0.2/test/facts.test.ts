// What the facts say of manifests: what the host says, by `manifests.json`, to which the host and the SDKs of all languages are held.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import type { Container, Image, Pod } from 'witlet:admission/admission-types@0.2.0';

import { NodeFacts, PodFacts, RequestFacts } from '../facts.ts';

/** From the project's folder, where tests run. */
const MANIFESTS = 'src/sdk/test/manifests.json';

function ofImage(image: Image): unknown[] {
  const parts = [image.registry(), image.repository(), image.tag(), image.digest()];
  return [image.reference(), image.place(), image.name(), ...parts];
}

function ofContainer(it: Container): unknown {
  return {
    name: [it.name(), it.kind(), it.place(), it.pullPolicy()],
    amounts: it.resources().map((name) => [name, it.request(name), it.limit(name)]),
    flags: [it.privileged(), it.runAsNonRoot(), it.allowPrivilegeEscalation(), it.readOnlyRootFilesystem()],
    users: [it.runAsUser(), it.runAsGroup()],
    profiles: [it.seccompProfile(), it.apparmorProfile()],
    capabilities: [it.addedCapabilities(), it.droppedCapabilities()],
    env: it.envNames(),
    ports: it.ports().map((port) => [port.name(), port.number(), port.protocol(), port.hostPort()]),
    mounts: it.mounts().map((mount) => [mount.volume(), mount.path(), mount.subPath(), mount.readOnly(), mount.isDevice()]),
  };
}

function ofPod(pod: Pod): unknown {
  return {
    account: [pod.serviceAccount(), String(pod.hasServiceAccountToken())],
    qos: pod.qos(),
    amounts: pod.resources().map((name) => [name, pod.request(name), pod.limit(name)]),
    images: pod.images().map(ofImage),
    volumes: pod.volumes().map((volume) => [volume.name(), volume.kind(), volume.hostPath()]),
    hostPorts: pod.hostPorts().map((port) => [port.address(), port.protocol(), port.number()]),
    containers: pod.containers().map(ofContainer),
  };
}

/** As JSON has it: whole numbers are numbers, and nothing is null. */
const plain = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (_, it: unknown) => (typeof it === 'bigint' ? Number(it) : (it ?? null))));

test('manifests are read as the host reads pods', () => {
  const cases: { name: string; manifest: unknown; seen: unknown }[] = JSON.parse(readFileSync(MANIFESTS, 'utf8'));
  for (const { name, manifest, seen } of cases) assert.deepEqual(plain(ofPod(new PodFacts(manifest))), seen, name);
});

test('a pod says what its manifest says', () => {
  const owners = [{ kind: 'Job', name: 'j' }, { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'u', controller: true }];
  const metadata = { namespace: 'shop', name: 'web', uid: 'u1', labels: { b: '2', a: '' }, ownerReferences: owners };
  const spec = { hostPID: true, priority: 7, priorityClassName: 'high', runtimeClassName: 'kata' };
  const pod = new PodFacts({ metadata, spec }, 'api', 'kata-qemu');
  assert.deepEqual([pod.namespace(), pod.name(), pod.uid(), pod.source()], ['shop', 'web', 'u1', 'api']);
  assert.deepEqual([pod.labels(), pod.label('a'), pod.label('c'), pod.annotations()], [[['a', ''], ['b', '2']], '', undefined, []]);
  const found = pod.owners().map((owner) => [owner.apiVersion(), owner.kind(), owner.name(), owner.uid(), owner.isController()]);
  assert.deepEqual(found, [['', 'Job', 'j', '', false], ['apps/v1', 'ReplicaSet', 'web', 'u', true]]);
  assert.deepEqual([pod.priority(), pod.priorityClass(), pod.runtimeClass()], [7, 'high', 'kata']);
  const handlers = [pod, new PodFacts({ spec }), new PodFacts()].map((of) => of.runtimeHandler());
  assert.deepEqual(handlers, ['kata-qemu', undefined, '']);
  assert.deepEqual([pod.hostNetwork(), pod.hostPid(), pod.hostIpc(), pod.hostUsers()], [false, true, false, true]);
  const pointers = ['/metadata/labels/b', '/metadata/none', '/spec/priority/0', 'spec'].map(pod.pointer);
  assert.deepEqual(pointers, ['"2"', undefined, undefined, undefined]);
});

test('a node is seen with the pods that are on it', () => {
  const ports = [{ containerPort: 53, hostPort: 53, hostIP: '10.0.0.1', protocol: 'UDP' }, { containerPort: 80 }];
  const other = new PodFacts({ spec: { containers: [{ name: 'c', resources: { requests: { cpu: '1' } }, ports }] } });
  const conditions = [{ type: 'Ready', status: 'True', reason: 'Up' }];
  const manifest = {
    metadata: { name: 'n1', labels: { disk: 'fast' } },
    spec: { taints: [{ key: 'a', effect: 'NoSchedule' }] },
    status: { capacity: { cpu: '4' }, allocatable: { cpu: '3' }, conditions },
  };
  const node = new RequestFacts(undefined, { node: manifest, facts: { os: 'linux' }, used: { memory: 7n }, otherPods: [other] }).node();
  assert.deepEqual([node.name(), node.label('disk'), node.fact('os'), node.fact('arch')], ['n1', 'fast', 'linux', undefined]);
  assert.deepEqual([node.capacity('cpu'), node.requested('cpu'), node.available('cpu')], [4000n, 1000n, 2000n]);
  assert.deepEqual([node.used('memory'), node.used('cpu')], [7n, undefined]);
  assert.deepEqual([node.requested('pods'), node.available('none'), node.resources()], [1n, undefined, ['cpu', 'pods']]);
  assert.deepEqual(node.usedHostPorts().map((port) => [port.address(), port.number()]), [['10.0.0.1', 53]]);
  assert.deepEqual(node.taints().map((taint) => [taint.key(), taint.value(), taint.effect()]), [['a', '', 'NoSchedule']]);
  const ready = node.condition('Ready');
  assert.deepEqual([ready?.status(), ready?.reason(), ready?.message()], ['True', 'Up', '']);
  assert.deepEqual([node.devices(), new NodeFacts().name()], ['[]', '']);
});
