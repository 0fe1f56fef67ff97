// Where images come from, and how they are pinned: those of all containers and of image volumes.

import type { Image } from 'witlet:admission/admission-types@0.2.0';

import { admit, integer, invalid, isWithin, list, policy, rejectFirst, shown, text } from './sdk/witlet-admission.ts';

/** Images come from these places: registries, or registries with the beginning of a path. What is in no registry doesn't. */
export const allowedRegistries = policy({
  config: { allow: list(text) },
  validate({ allow }) {
    if (allow.length === 0) throw invalid('allow', 'name one place at least');
    const wrong = allow.find((place) => place === '' || place.startsWith('/') || place.endsWith('/'));
    if (wrong !== undefined) throw invalid('allow', `${JSON.stringify(wrong)} is no registry, nor a path of one`);
  },
  admit(request, { allow }) {
    const foreign = request.pod().images().filter((image) => !allow.some((place) => isWithin(image, place)));
    return rejectFirst('ImageNotAllowed', foreign.map((image) => `${shown(image)} doesn't come from ${allow.join(' or ')}`));
  },
});

/** No image has the tag `latest`, which is also that of images that name no tag; a digest outweighs it. */
export const noLatestTag = policy({
  admit(request) {
    const latest = request.pod().images().filter((image) => image.digest() === undefined && image.tag() === 'latest');
    return rejectFirst('LatestTag', latest.map((image) => `${shown(image)} may change at any time`));
  },
});

/** Every image has a digest. */
export const digestRequired = policy({
  admit(request) {
    const unpinned = request.pod().images().filter((image) => image.digest() === undefined);
    return rejectFirst('ImageNotPinned', unpinned.map((image) => `${shown(image)} has no digest`));
  },
});

/** Containers state this pull policy, such as `Always`. */
export const pullPolicy = policy({
  config: { imagePullPolicy: text },
  admit(request, { imagePullPolicy }) {
    const others = request.pod().containers().filter((container) => container.pullPolicy() !== imagePullPolicy);
    return rejectFirst('PullPolicy', others.map((container) => `${shown(container)} doesn't have the pull policy ${imagePullPolicy}`));
  },
});

/** A pod has at most so many different images. */
export const imagesAtMost = policy({
  config: { count: integer },
  admit(request, { count }) {
    const { size } = new Set(request.pod().images().map((image) => image.name()));
    return rejectFirst('TooManyImages', size > count ? [`${size} images are more than ${count}`] : []);
  },
});

/** An image of a running pod is replaced by another tag or digest of its repository only. */
export const imageUpdates = policy({
  subscribes: ['update'],
  admit(request) {
    const old = request.oldPod();
    if (old === undefined) return admit();
    const part = (image: Image) => `${image.place()} ${image.registry()}/${image.repository()}`;
    const before = old.images().map(part);
    const others = request.pod().images().filter((image) => !before.includes(part(image)));
    return rejectFirst('OtherImage', others.map((image) => `${shown(image)} is no version of the image before`));
  },
});
