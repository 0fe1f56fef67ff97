// References to images, read as container runtimes read them.

/** Where images are that name no registry. */
const REGISTRY_DEFAULT = 'docker.io';
/** Where images of that registry are that name no folder. */
const FOLDER_DEFAULT = 'library';

export type Reference = {
  /** Registry and repository, such as `docker.io/library/nginx`. */
  place: string;
  /** Whether a SHA-256 digest says which image it is. */
  pinned: boolean;
};

/** @param image As in a container's spec; not empty. */
export function parseReference(image: string): Reference {
  const [named, digest] = splitAt(image, image.indexOf('@'));
  const repository = withoutTag(named);
  const [first, rest] = splitAt(repository, repository.indexOf('/'));
  const pinned = digest?.startsWith('sha256:') ?? false;
  if (rest === undefined) return { place: `${REGISTRY_DEFAULT}/${FOLDER_DEFAULT}/${repository}`, pinned };
  return { place: isRegistry(first) ? repository : `${REGISTRY_DEFAULT}/${repository}`, pinned };
}

/** Whether the place is the allowed one or below it. */
export function isWithin(place: string, allowed: string): boolean {
  return place === allowed || place.startsWith(`${allowed}/`);
}

/** A colon before the last slash belongs to a registry's port. */
function withoutTag(named: string): string {
  const colon = named.lastIndexOf(':');
  return colon > named.lastIndexOf('/') ? named.slice(0, colon) : named;
}

/** @param part What stands before the first slash. */
function isRegistry(part: string): boolean {
  return part === 'localhost' || /[.:]/.test(part) || part !== part.toLowerCase();
}

/** What is before and after a position, which belongs to neither; all of it if there is none. */
function splitAt(text: string, at: number): [string, string | undefined] {
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}
