// The policies, asked about manifests. What each answers stands in `../../cases/policies.yaml`, which the kit asks the component;
// here are one objection of each, and what a case of the kit can't say.

import assert from 'node:assert/strict';
import test from 'node:test';

import { POLICIES, policies } from '../src/policies.ts';
import { PodFacts, RequestFacts, load } from '../src/sdk/facts.ts';
import { type Verdict, admit, defer, reject } from '../src/sdk/witlet-admission.ts';

/** A pod that does most of what policies are against. */
const BAD = {
  metadata: { namespace: 'shop', name: 'web' },
  spec: {
    hostPID: true,
    priorityClassName: 'high',
    containers: [
      {
        name: 'app',
        image: 'nginx',
        securityContext: { privileged: true, appArmorProfile: { type: 'Unconfined' } },
        resources: { requests: { cpu: '2' }, limits: { cpu: '5' } },
        ports: [{ containerPort: 80, hostPort: 80 }],
        volumeMounts: [{ name: 'logs', mountPath: '/logs' }],
      },
    ],
    ephemeralContainers: [{ name: 'debug', image: 'busybox', securityContext: { privileged: true } }],
    volumes: [
      { name: 'logs', hostPath: { path: '/var/log' } },
      { name: 'api', projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } },
    ],
  },
};

const REASONS: [Record<string, unknown>, string][] = [
  [{ policy: 'allowedRegistries', allow: ['registry.example.com'] }, 'ImageNotAllowed'],
  [{ policy: 'noLatestTag' }, 'LatestTag'],
  [{ policy: 'digestRequired' }, 'ImageNotPinned'],
  [{ policy: 'pullPolicy', imagePullPolicy: 'Always' }, 'PullPolicy'],
  [{ policy: 'imagesAtMost', count: 1 }, 'TooManyImages'],
  [{ policy: 'noPrivileged' }, 'Privileged'],
  [{ policy: 'capabilities', drop: ['ALL'] }, 'Capabilities'],
  [{ policy: 'runAsNonRoot' }, 'RunAsRoot'],
  [{ policy: 'noPrivilegeEscalation' }, 'PrivilegeEscalation'],
  [{ policy: 'readOnlyRoot' }, 'WritableRoot'],
  [{ policy: 'seccompRequired' }, 'NoSeccomp'],
  [{ policy: 'appArmorProfiles', allow: ['RuntimeDefault'] }, 'AppArmorProfile'],
  [{ policy: 'userIds', min: 1000 }, 'UserId'],
  [{ policy: 'userNamespaces' }, 'HostUsers'],
  [{ policy: 'noHostPath', allow: ['/var/logs', '/va'] }, 'HostPath'],
  [{ policy: 'hostPathsReadOnly' }, 'HostPathWritable'],
  [{ policy: 'noHostNamespaces' }, 'HostNamespace'],
  [{ policy: 'hostPortRange', min: 30000, max: 32767 }, 'HostPort'],
  [{ policy: 'volumeKinds', allow: ['emptyDir'] }, 'VolumeKind'],
  [{ policy: 'limitsRequired', resources: ['memory'] }, 'NoLimit'],
  [{ policy: 'limitRatio', resource: 'cpu', most: 2 }, 'LimitRatio'],
  [{ policy: 'podSize', most: { cpu: 1000 } }, 'PodTooLarge'],
  [{ policy: 'guaranteedQos', priorityClasses: ['high'] }, 'NotGuaranteed'],
  [{ policy: 'requiredLabels', labels: { team: [] } }, 'RequiredLabel'],
  [{ policy: 'requiredAnnotations', annotations: ['contact'] }, 'RequiredAnnotation'],
  [{ policy: 'ownerKinds', allow: ['ReplicaSet'] }, 'NoOwner'],
  [{ policy: 'noServiceAccountToken' }, 'ServiceAccountToken'],
  [{ policy: 'serviceAccounts', deny: ['default'] }, 'ServiceAccount'],
  [{ policy: 'priorityClasses', classes: { high: ['ads'] } }, 'PriorityClass'],
];

const asked = (config: unknown, request: RequestFacts): Verdict => load(policies, config).handler.admit(request);

/** A pod of one container. */
const podOf = (container: unknown): PodFacts => new PodFacts({ spec: { containers: [container] } });

for (const [config, reason] of REASONS) {
  test(`${config.policy} objects with ${reason}`, () => {
    const { decision } = asked(config, new RequestFacts(new PodFacts(BAD)));
    assert.equal(decision.tag === 'reject' && decision.reason, reason);
  });
}

test('there are thirty at least', () => {
  assert.ok(Object.keys(POLICIES).length >= 30);
});

test('policies are asked when they have something to say', () => {
  for (const [config, expected] of [
    [{ policy: 'noLatestTag' }, ['add', 'update', 'ephemeral']],
    [{ policy: 'limitsRequired', resources: ['cpu'] }, ['add', 'resize']],
    [{ policy: 'imageUpdates' }, ['update']],
    [{ policy: 'noHostNamespaces' }, ['add']],
  ]) {
    assert.deepEqual(load(policies, config).setup.subscribed, expected);
  }
});

test('a configuration is refused in words', () => {
  for (const [config, words] of [
    [{ policy: 'noSuchPolicy' }, /noSuchPolicy/],
    [{ policy: 'noLatestTag', allow: [] }, /^allow: unknown field/],
    [{ policy: 'allowedRegistries', allow: ['a/'] }, /"a\/" is no registry/],
    [{ policy: 'hostPortRange', min: 2, max: 1 }, /^min: is greater than max/],
  ] as const) {
    assert.throws(() => load(policies, config), { code: 'InvalidConfiguration', message: words });
  }
});

test('an image is replaced by another of its repository', () => {
  const oldPod = podOf({ name: 'app', image: 'a/web:1' });
  const judge = (image: string) =>
    asked({ policy: 'imageUpdates' }, new RequestFacts(podOf({ name: 'app', image }), { operation: 'update', oldPod }));
  assert.deepEqual(judge('docker.io/a/web:2'), admit());
  const problem = 'image "docker.io/b/web:1" (spec.containers[0].image) is no version of the image before';
  assert.deepEqual(judge('b/web:1'), reject('OtherImage', problem));
});

test('a running pod grows by steps', () => {
  const pod = (cpu: string) => podOf({ resources: { requests: { cpu } } });
  const judge = (cpu: string) =>
    asked({ policy: 'resizeAtMost', most: 2 }, new RequestFacts(pod(cpu), { operation: 'resize', oldPod: pod('500m') }));
  assert.deepEqual(judge('1'), admit());
  assert.deepEqual(judge('1001m'), reject('ResizeTooLarge', '1001 of cpu are more than 2 times 500'));
});

test('secrets in variables are warned of', () => {
  const token = { name: 'API_TOKEN', valueFrom: { secretKeyRef: { name: 'api', key: 'token' } } };
  const env = [{ name: 'MODE', value: 'a' }, { name: 'DB_PASSWORD', value: 'b' }, token];
  const verdict = asked({ policy: 'envSecrets', words: ['PASSWORD', 'TOKEN'] }, new RequestFacts(podOf({ name: 'app', env })));
  assert.deepEqual(verdict, admit().warn('container "app" has the value of DB_PASSWORD in its spec'));
});

test('owners are counted, and noted for the decision log', () => {
  const ownerReferences = [{ kind: 'Job', name: 'j', uid: 'u', controller: true }];
  const pod = new PodFacts({ metadata: { ownerReferences } });
  assert.deepEqual(asked({ policy: 'ownerKinds', allow: ['Job'] }, new RequestFacts(pod)), admit().annotate('controller', 'Job'));
  const verdict = asked({ policy: 'spreadReplicas', most: 1 }, new RequestFacts(pod, { otherPods: [pod] }));
  assert.deepEqual(verdict, defer('TooManyReplicas', '1 pods of the same controller are on the node', 60));
});
