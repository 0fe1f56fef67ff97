// The role probe: what a target has, a command and connections, or the outcome that the parameters name.

import { open, openLoopback } from 'witlet:probe/connections@0.2.0';
import { run } from 'witlet:probe/exec@0.2.0';
import type { Answer, Check, Container, Pod, Setup, Target } from 'witlet:probe/probe-types@0.2.0';

import { Refusal, ofHost, refuse } from './host.ts';
import { NONE, type Reported, decoded, each, getters, given, json, settings } from './reported.ts';

export function validate(setup: Setup, text: string): void {
  setup.warn('of the configuration');
  refuse(text);
}

export function checkParameters(check: Check, text: string): void {
  check.warn('of the parameters');
  refuse(text);
}

export function probe(target: Target, text: string, answer: Answer): void {
  const parameters = settings(text);
  const part: unknown = parameters.do;
  if (part === 'failure') answer.failure('it failed');
  else if (part === 'unknown') answer.unknown('nothing was found out');
  else if (part === 'error') throw new Refusal();
  else if (part === 'remark') {
    answer.warn('it is old');
    answer.latency(1_500_000n);
    answer.annotate('version', '7');
    answer.success(json({ 'answer.latency': true, 'answer.annotate': true }));
  } else answer.success(json(reported(part, target, parameters)));
}

function reported(part: unknown, target: Target, parameters: Record<string, any>): unknown {
  switch (part) {
    case 'target':
      return ofTarget(target);
    case 'host':
      return ofHost();
    case 'exec':
      return { 'exec/run': given(() => executed(target, parameters.command)) };
    case 'talk':
      return { 'connections/open': given(() => talked(target, parameters.host, parameters.port)) };
    case 'loopback':
      return { 'connections/open-loopback': given(() => openLoopback(target, parameters.port) && true) };
    default:
      return 'there is no such part';
  }
}

function ofTarget(target: Target): Reported {
  return {
    ...getters('target', target, 'kind timeout-milliseconds'),
    'target.remaining-milliseconds': target.remainingMilliseconds() > 0n,
    'target.pod': ofPod(target.pod()),
    'target.container': ofContainer(target.container()),
  };
}

function ofPod(pod: Pod): Reported {
  return {
    ...getters('pod', pod, 'namespace name uid labels annotations addresses host-addresses host-network'),
    'pod.label': each(['a', NONE], (key) => pod.label(key)),
    'pod.annotation': each(['note', NONE], (key) => pod.annotation(key)),
    'pod.json': pod.json().includes('"containers"'),
    'pod.pointer': each(['/metadata/name', '/none'], (path) => pod.pointer(path)),
  };
}

function ofContainer(container: Container): Reported {
  return {
    ...getters('container', container, 'name id restarts image'),
    'container.ports': container.ports().map((port) => getters('container-port', port, 'name number protocol')),
    'container.port': each(['web', NONE], (name) => container.port(name)),
    'container.pointer': each(['/name', '/none'], (path) => container.pointer(path)),
  };
}

function executed(target: Target, command: string[]): Reported {
  const ended = run(target, command);
  return {
    'exec/ended.exit-code': ended.exitCode(),
    'exec/ended.output': decoded(ended.output()),
    'exec/ended.error-output': decoded(ended.errorOutput()),
  };
}

/** A line, what comes back, and then TLS, which the server doesn't speak. */
function talked(target: Target, host: string, port: number): Reported {
  const connection = open(target, host, port);
  const certificates = connection.peerCertificates().length;
  connection.write(new TextEncoder().encode('hello\n'));
  return {
    'connections/connection.peer-certificates': certificates,
    'connections/connection.write': true,
    'connections/connection.read': decoded(connection.read(64n)),
    'connections/connection.start-tls': given(() => connection.startTls('web')),
    'connections/connection.shutdown': given(() => connection.shutdown()),
  };
}
