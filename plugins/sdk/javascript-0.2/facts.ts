// Manifests in the host's place, for unit tests of handlers of contract 0.2. No component has them, for `plugin.ts` doesn't import them.
//
//   const facts = new RequestFacts(new PodFacts({ spec: { containers: [{ name: 'app', image: 'nginx:1.29' }] } }));
//   assert.deepEqual(load(pinned, {}).handler.admit(facts), reject('NotPinned', …));
//
// They say what the host would: images taken apart, what counts of security contexts, amounts as numbers, what a pod counts for.
// Manifests are taken as they are: that a field is misspelt is for the finished component's test (`witlet plugin test`), which has the
// host's own eyes.

export { ContainerFacts } from './facts/containers.ts';
export { ResolvedImageFacts } from './facts/images.ts';
export { NodeFacts } from './facts/node.ts';
export { PodFacts } from './facts/pods.ts';
export { RequestFacts, SetupFacts, load } from './facts/requests.ts';
