// Images come from places that the configuration names.

import type { Container, Verdict } from 'witlet:admission/types@0.1.0';

import { isWithin, parseReference } from './reference.ts';
import { Fields } from './sdk/witlet.ts';

/** What stands under `config:` in the plugin's entry. */
export type Config = {
  /** Registries, or registries and the beginning of a path. */
  allow: string[];
  requireDigest: boolean;
};

export function parseConfig(text: string): Config {
  return Fields.read(text, (fields) => {
    const [allow, requireDigest] = [fields.texts('allow'), fields.boolean('requireDigest', false)];
    if (allow.length === 0) throw fields.refusal('allow', 'must have at least one repository');
    const wrong = allow.findIndex((place) => place.startsWith('/') || place.endsWith('/'));
    if (wrong >= 0) throw fields.refusal(`allow[${wrong}]`, 'a place neither begins nor ends with a slash');
    return { allow, requireDigest };
  });
}

/** The verdict on a pod with these containers. The first one that is wrong is reported. */
export function decide(containers: Pick<Container, 'name' | 'image'>[], { allow, requireDigest }: Config): Verdict {
  for (const { name, image } of containers) {
    if (image === '') return reject('ImageNotAllowed', name, 'no image is named');
    const { place, pinned } = parseReference(image);
    if (!allow.some((allowed) => isWithin(place, allowed))) {
      return reject('ImageNotAllowed', name, `${place} isn't allowed`);
    }
    if (requireDigest && !pinned) return reject('ImageNotPinned', name, `${place} isn't pinned by a digest`);
  }
  return { tag: 'admit' };
}

function reject(reason: string, container: string, why: string): Verdict {
  return { tag: 'reject', val: { reason, message: `container "${container}": ${why}` } };
}
