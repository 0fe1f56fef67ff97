// A container of a manifest.

import type { Container, ContainerPort, Image, Mount } from 'witlet:admission/admission-types@0.2.0';

import { type Amounts, amounts, isSidecar } from './amounts.ts';
import { ImageFacts } from './images.ts';
import { Held, big, flag, get, items, names, number, pointer, text, word } from './values.ts';

const APPARMOR = 'container.apparmor.security.beta.kubernetes.io/';

export type List = 'initContainers' | 'containers' | 'ephemeralContainers';

export const protocol = (value: unknown): string => (value === 'UDP' || value === 'SCTP' ? value : 'TCP');

function port(value: unknown): number | undefined {
  const found = number(value);
  return found !== undefined && found >= 1 && found <= 65535 ? found : undefined;
}

class ContainerPortFacts extends Held implements ContainerPort {
  readonly #spec: unknown;

  constructor(spec: unknown) {
    super();
    this.#spec = spec;
  }

  name = (): string => text(get(this.#spec, 'name'));
  number = (): number => port(get(this.#spec, 'containerPort')) ?? 0;
  protocol = (): string => protocol(get(this.#spec, 'protocol'));
  hostPort = (): number | undefined => port(get(this.#spec, 'hostPort'));
}

class MountFacts extends Held implements Mount {
  readonly #spec: unknown;
  readonly #isDevice: boolean;

  constructor(spec: unknown, isDevice: boolean) {
    super();
    this.#spec = spec;
    this.#isDevice = isDevice;
  }

  volume = (): string => text(get(this.#spec, 'name'));
  path = (): string => text(get(this.#spec, this.#isDevice ? 'devicePath' : 'mountPath'));
  subPath = (): string => word(get(this.#spec, 'subPath')) ?? text(get(this.#spec, 'subPathExpr'));
  readOnly = (): boolean => flag(get(this.#spec, 'readOnly'));
  isDevice = (): boolean => this.#isDevice;
}

/** An AppArmor profile; a field that can't be meant is none. */
function profile(field: unknown): string | undefined {
  const [kind, name] = [text(get(field, 'type')), word(get(field, 'localhostProfile'))];
  if (kind === 'RuntimeDefault' || kind === 'Unconfined') return kind;
  return kind === 'Localhost' && name !== undefined ? `Localhost/${name}` : undefined;
}

/** A container by where it stands in its pod. */
export class ContainerFacts extends Held implements Container {
  readonly #manifest: unknown;
  readonly #list: List;
  readonly #index: number;

  constructor(manifest: unknown, list: List, index: number) {
    super();
    this.#manifest = manifest;
    this.#list = list;
    this.#index = index;
  }

  #get = (...path: string[]): unknown => get(this.#manifest, 'spec', this.#list, this.#index, ...path);
  #own = (...path: string[]): unknown => this.#get('securityContext', ...path);
  #amounts = (part: string): Amounts => amounts(this.#get('resources', part));

  /** A field of its security context, or else of its pod's. */
  #security = (field: string): unknown => this.#own(field) ?? get(this.#manifest, 'spec', 'securityContext', field);

  name = (): string => text(this.#get('name'));
  place = (): string => `spec.${this.#list}[${this.#index}]`;
  image = (): Image => new ImageFacts(text(this.#get('image')), `${this.place()}.image`);
  pullPolicy = (): string => text(this.#get('imagePullPolicy'));
  resources = (): string[] => names(this.#amounts('requests'), this.#amounts('limits'));
  request = (resource: string): bigint | undefined => this.#amounts('requests').get(resource);
  limit = (resource: string): bigint | undefined => this.#amounts('limits').get(resource);
  privileged = (): boolean => flag(this.#own('privileged'));
  runAsNonRoot = (): boolean => flag(this.#security('runAsNonRoot'));
  runAsUser = (): bigint | undefined => big(this.#security('runAsUser'));
  runAsGroup = (): bigint | undefined => big(this.#security('runAsGroup'));
  allowPrivilegeEscalation = (): boolean => this.#own('allowPrivilegeEscalation') !== false;
  readOnlyRootFilesystem = (): boolean => flag(this.#own('readOnlyRootFilesystem'));
  addedCapabilities = (): string[] => items(this.#own('capabilities', 'add')).map(text);
  droppedCapabilities = (): string[] => items(this.#own('capabilities', 'drop')).map(text);
  envNames = (): string[] => items(this.#get('env')).map((variable) => text(get(variable, 'name')));
  ports = (): ContainerPort[] => items(this.#get('ports')).map((spec) => new ContainerPortFacts(spec));
  pointer = (path: string): string | undefined => pointer(this.#get(), path);

  kind(): string {
    if (this.#list === 'initContainers') return isSidecar(this.#get()) ? 'sidecar' : 'init';
    return this.#list === 'containers' ? 'app' : 'ephemeral';
  }

  seccompProfile(): string | undefined {
    const field = this.#security('seccompProfile');
    const [kind, path] = [get(field, 'type'), get(field, 'localhostProfile')];
    if (typeof kind !== 'string') return undefined;
    return kind === 'Localhost' && typeof path === 'string' ? `${kind}/${path}` : kind;
  }

  apparmorProfile(): string | undefined {
    const own = this.#own('appArmorProfile');
    if (own !== undefined) return profile(own);
    const annotation = text(get(this.#manifest, 'metadata', 'annotations', APPARMOR + this.name()));
    if (annotation === 'runtime/default') return 'RuntimeDefault';
    if (annotation === 'unconfined') return 'Unconfined';
    const [, name] = /^localhost\/(.+)$/.exec(annotation) ?? [];
    return name === undefined ? profile(get(this.#manifest, 'spec', 'securityContext', 'appArmorProfile')) : `Localhost/${name}`;
  }

  mounts(): Mount[] {
    const of = (list: string) => items(this.#get(list)).map((spec) => new MountFacts(spec, list === 'volumeDevices'));
    return [...of('volumeMounts'), ...of('volumeDevices')];
  }
}
