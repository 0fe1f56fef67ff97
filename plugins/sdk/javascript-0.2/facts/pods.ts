// A pod of a manifest.

import type { Container, HostPort, Image, Owner, Pod, Volume } from 'witlet:admission/admission-types@0.2.0';

import { type Amounts, isSidecar, ofPod, qos } from './amounts.ts';
import { ContainerFacts, type List, protocol } from './containers.ts';
import { ImageFacts } from './images.ts';
import { Held, entries, flag, get, items, names, number, pairs, pointer, text, word } from './values.ts';

const LISTS: List[] = ['initContainers', 'containers', 'ephemeralContainers'];

class VolumeFacts extends Held implements Volume {
  readonly #spec: unknown;
  readonly #index: number;

  constructor(spec: unknown, index: number) {
    super();
    this.#spec = spec;
    this.#index = index;
  }

  name = (): string => text(get(this.#spec, 'name'));
  hostPath = (): string | undefined => get(this.#spec, 'hostPath', 'path') as string | undefined;
  pointer = (path: string): string | undefined => pointer(this.#spec, path);

  kind(): string {
    const kinds = entries(this.#spec).filter(([name, value]) => name !== 'name' && value !== null);
    return kinds.map(([name]) => name).sort()[0] ?? '';
  }

  image(): Image | undefined {
    const image = get(this.#spec, 'image');
    if (typeof image !== 'object') return undefined;
    return new ImageFacts(text(get(image, 'reference')), `spec.volumes[${this.#index}].image.reference`);
  }
}

class OwnerFacts extends Held implements Owner {
  readonly #spec: unknown;

  constructor(spec: unknown) {
    super();
    this.#spec = spec;
  }

  apiVersion = (): string => text(get(this.#spec, 'apiVersion'));
  kind = (): string => text(get(this.#spec, 'kind'));
  name = (): string => text(get(this.#spec, 'name'));
  uid = (): string => text(get(this.#spec, 'uid'));
  isController = (): boolean => flag(get(this.#spec, 'controller'));
}

class HostPortFacts extends Held implements HostPort {
  readonly #spec: unknown;
  readonly #number: number;

  constructor(spec: unknown, number: number) {
    super();
    this.#spec = spec;
    this.#number = number;
  }

  protocol = (): string => protocol(get(this.#spec, 'protocol'));
  number = (): number => this.#number;

  /** As written: addresses aren't put into their shortest form. */
  address(): string | undefined {
    const address = word(get(this.#spec, 'hostIP'));
    return address === undefined || /^(0\.0\.0\.0|[0:]+)$/.test(address) || !/^[0-9a-fA-F.:]+$/.test(address) ? undefined : address;
  }
}

/** The pod of a manifest, from a source; with the handler that its runtime class means on the node, if that is known. */
export class PodFacts extends Held implements Pod {
  readonly #manifest: unknown;
  readonly #source: string;
  readonly #runtimeHandler: string | undefined;

  constructor(manifest: unknown = {}, source = 'file', runtimeHandler?: string) {
    super();
    this.#manifest = manifest;
    this.#source = source;
    this.#runtimeHandler = runtimeHandler;
  }

  #metadata = (...path: string[]): unknown => get(this.#manifest, 'metadata', ...path);
  #spec = (...path: string[]): unknown => get(this.#manifest, 'spec', ...path);

  amounts = (part: 'requests' | 'limits'): Amounts => ofPod(this.#spec(), part);

  namespace = (): string => text(this.#metadata('namespace'));
  name = (): string => text(this.#metadata('name'));
  uid = (): string => text(this.#metadata('uid'));
  source = (): string => this.#source;
  label = (key: string): string | undefined => new Map(this.labels()).get(key);
  labels = (): [string, string][] => pairs(this.#metadata('labels'));
  annotation = (key: string): string | undefined => new Map(this.annotations()).get(key);
  annotations = (): [string, string][] => pairs(this.#metadata('annotations'));
  owners = (): Owner[] => items(this.#metadata('ownerReferences')).map((spec) => new OwnerFacts(spec));
  serviceAccount = (): string => word(this.#spec('serviceAccountName')) ?? 'default';
  priority = (): number => number(this.#spec('priority')) ?? 0;
  priorityClass = (): string => text(this.#spec('priorityClassName'));
  runtimeClass = (): string => text(this.#spec('runtimeClassName'));
  runtimeHandler = (): string | undefined => (this.runtimeClass() === '' ? '' : this.#runtimeHandler);
  qos = (): string => qos(this.#manifest);
  hostNetwork = (): boolean => flag(this.#spec('hostNetwork'));
  hostPid = (): boolean => flag(this.#spec('hostPID'));
  hostIpc = (): boolean => flag(this.#spec('hostIPC'));
  hostUsers = (): boolean => this.#spec('hostUsers') !== false;
  volumes = (): Volume[] => items(this.#spec('volumes')).map((spec, index) => new VolumeFacts(spec, index));
  resources = (): string[] => names(this.amounts('requests'), this.amounts('limits'));
  request = (resource: string): bigint | undefined => this.amounts('requests').get(resource);
  limit = (resource: string): bigint | undefined => this.amounts('limits').get(resource);
  json = (): string => JSON.stringify(this.#manifest);
  pointer = (path: string): string | undefined => pointer(this.#manifest, path);

  hasServiceAccountToken(): boolean {
    const sources = items(this.#spec('volumes')).flatMap((volume) => items(get(volume, 'projected', 'sources')));
    return sources.some((source) => get(source, 'serviceAccountToken') !== undefined);
  }

  containers(): Container[] {
    return LISTS.flatMap((list) => items(this.#spec(list)).map((_, index) => new ContainerFacts(this.#manifest, list, index)));
  }

  images(): Image[] {
    const ofVolumes = this.volumes().map((volume) => volume.image());
    return [...this.containers().map((container) => container.image()), ...ofVolumes.filter((image) => image !== undefined)];
  }

  hostPorts(): HostPort[] {
    const containers = [...items(this.#spec('containers')), ...items(this.#spec('initContainers')).filter(isSidecar)];
    return containers.flatMap((container) => items(get(container, 'ports'))).flatMap((port) => {
      const taken = number(get(port, 'hostPort')) || (this.hostNetwork() ? number(get(port, 'containerPort')) : undefined);
      return taken !== undefined && taken >= 0 && taken <= 65535 ? [new HostPortFacts(port, taken)] : [];
    });
  }
}
