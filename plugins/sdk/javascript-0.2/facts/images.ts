// References to images, read as container runtimes read them.

import type { Container, Image, ResolvedImage } from 'witlet:admission/admission-types@0.2.0';

import { Held } from './values.ts';

const COMPONENT = '[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*';
const LABEL = '[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?';
const REGISTRY = new RegExp(`^(?:\\[[0-9a-fA-F:]+\\]|${LABEL}(?:\\.${LABEL})*)(?::[0-9]+)?$`);
const REPOSITORY = new RegExp(`^${COMPONENT}(?:/${COMPONENT})*$`);
const TAG = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/;
const DIGEST = /^(?:sha256:[0-9a-f]{64}|sha384:[0-9a-f]{96}|sha512:[0-9a-f]{128})$/;
const REFERENCE_MAX = 4096;
const NAME_MAX = 255;

type Parts = { registry: string; repository: string; tag?: string; digest?: string };

/** None of what is in no registry. */
function parse(image: string): Parts | undefined {
  if (image.length > REFERENCE_MAX || image.startsWith('file:') || /^[0-9a-f]{64}$/.test(image) || /[\s\p{Cc}]/u.test(image)) return undefined;
  const [named, digest] = split(image, image.indexOf('@'));
  const colon = named.indexOf(':', named.lastIndexOf('/') + 1);
  const [name, tag] = split(named, colon);
  const [registry, path] = splitRegistry(name);
  const repository = registry === 'docker.io' && !path.includes('/') ? `library/${path}` : path;
  const fits =
    (tag === undefined || TAG.test(tag)) &&
    (digest === undefined || DIGEST.test(digest)) &&
    REGISTRY.test(registry) &&
    REPOSITORY.test(repository) &&
    registry.length + 1 + repository.length <= NAME_MAX;
  return fits ? { registry, repository, tag, digest } : undefined;
}

/** What is before and after a position, which belongs to neither; all of it if there is none. */
function split(text: string, at: number): [string, string | undefined] {
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}

/** The first part is a registry if it can't be a folder: it has a dot, a port or capitals, or is `localhost`. */
function splitRegistry(name: string): [string, string] {
  const [first, rest] = split(name, name.indexOf('/'));
  if (rest === undefined) return ['docker.io', name];
  if (first === 'index.docker.io') return ['docker.io', rest];
  return first === 'localhost' || /[.:]/.test(first) || first !== first.toLowerCase() ? [first, rest] : ['docker.io', name];
}

export class ImageFacts extends Held implements Image {
  readonly #reference: string;
  readonly #place: string;
  readonly #parts: Parts | undefined;

  constructor(reference: string, place: string) {
    super();
    this.#reference = reference;
    this.#place = place;
    this.#parts = parse(reference);
  }

  reference = (): string => this.#reference;
  place = (): string => this.#place;
  registry = (): string | undefined => this.#parts?.registry;
  repository = (): string | undefined => this.#parts?.repository;
  digest = (): string | undefined => this.#parts?.digest;

  name(): string {
    if (this.#parts === undefined) return this.#reference;
    const { registry, repository, digest } = this.#parts;
    const tag = this.tag();
    return `${registry}/${repository}${tag === undefined ? '' : `:${tag}`}${digest === undefined ? '' : `@${digest}`}`;
  }

  tag(): string | undefined {
    const parts = this.#parts;
    return parts && (parts.tag ?? (parts.digest === undefined ? 'latest' : undefined));
  }
}

/** The image that a container is to be started from. */
export class ResolvedImageFacts extends Held implements ResolvedImage {
  readonly #of: { container: Container; id: string; digest?: string; size?: bigint; credentials?: string };

  constructor(of: { container: Container; id: string; digest?: string; size?: bigint; credentials?: string }) {
    super();
    this.#of = of;
  }

  container = (): Container => this.#of.container;
  id = (): string => this.#of.id;
  digest = (): string | undefined => this.#of.digest;
  size = (): bigint | undefined => this.#of.size;
  credentials = (): string | undefined => this.#of.credentials;
}
