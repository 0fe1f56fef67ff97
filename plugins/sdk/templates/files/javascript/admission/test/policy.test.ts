// The handler, asked about manifests.

import assert from 'node:assert/strict';
import test from 'node:test';

import { requiredLabel } from '../src/policy.ts';
import { PodFacts, RequestFacts, load } from '../src/sdk/facts.ts';
import { type Verdict, admit, reject } from '../src/sdk/witlet-admission.ts';

/** What comes of a pod with these labels, and what is logged. */
function judged(labels: Record<string, string>): [Verdict, string[]] {
  const lines: string[] = [];
  const { handler } = load(requiredLabel((line) => void lines.push(line)), { label: 'team' });
  const pod = new PodFacts({ metadata: { name: 'web', labels } });
  return [handler.admit(new RequestFacts(pod)), lines];
}

test('a pod with the label is admitted and logged', () => {
  assert.deepEqual(judged({ app: 'web', team: 'shop' }), [admit(), ['pod web has team=shop']]);
});

test('a pod without the label is rejected in words that name it', () => {
  assert.deepEqual(judged({ app: 'web' }), [reject('LabelMissing', 'the pod has no label team'), []]);
  assert.deepEqual(judged({ team: '' }), [reject('LabelMissing', "the pod's label team is empty"), []]);
});

test('new pods alone are checked', () => {
  const { setup } = load(requiredLabel(() => {}), { label: 'team' });
  assert.deepEqual(setup.subscribed, ['add']);
});

test('a wrong configuration is refused by the name of the field', () => {
  for (const config of [null, {}, { label: '' }, { label: 1 }, { label: 'x'.repeat(318) }]) {
    assert.throws(() => load(requiredLabel(() => {}), config), { code: 'InvalidConfiguration', message: /^label: / });
  }
  assert.throws(() => load(requiredLabel(() => {}), { label: 'team', lable: 'team' }), { message: /^lable: unknown field/ });
});
