// A question in plain data, and what a handler says when it is loaded.

import type { Datetime, Node, Pod, Request, ResolvedImage, Setup } from 'witlet:admission/admission-types@0.2.0';

import { type Handler, type Loaded, invalid, loaded, setUp } from '../witlet-admission.ts';
import { NodeFacts } from './node.ts';
import { PodFacts } from './pods.ts';
import { Held } from './values.ts';

/** What the host knows. */
const OPERATIONS = ['add', 'resize', 'update', 'ephemeral', 'image-resolved', 'readmit', 'recheck'];

/** What a question has beyond the pod: without, it is an addition to a node with nothing in it in 1970. */
export type More = {
  operation?: string;
  oldPod?: PodFacts;
  /** The manifest of the node. */
  node?: unknown;
  facts?: Record<string, string>;
  /** What is in use of the node's resources. */
  used?: Record<string, bigint>;
  otherPods?: PodFacts[];
  image?: ResolvedImage;
  now?: Datetime;
};

export class RequestFacts extends Held implements Request {
  readonly #pod: PodFacts;
  readonly #more: More;

  constructor(pod: PodFacts = new PodFacts(), more: More = {}) {
    super();
    this.#pod = pod;
    this.#more = more;
  }

  operation = (): string => this.#more.operation ?? 'add';
  now = (): Datetime => this.#more.now ?? { seconds: 0n, nanoseconds: 0 };
  pod = (): Pod => this.#pod;
  oldPod = (): Pod | undefined => this.#more.oldPod;
  image = (): ResolvedImage | undefined => this.#more.image;
  node = (): Node => {
    const { node, facts, used, otherPods: pods } = this.#more;
    return new NodeFacts(node, { facts, used, pods });
  };
  otherPods = (): Pod[] => [...(this.#more.otherPods ?? [])];
}

/** What a handler says when it is loaded. */
export class SetupFacts extends Held implements Setup {
  readonly subscribed: string[] = [];
  readonly warnings: string[] = [];

  knows = (operation: string): boolean => OPERATIONS.includes(operation);

  subscribe(operation: string): void {
    if (!this.subscribed.includes(operation)) this.subscribed.push(operation);
  }

  warn(message: string): void {
    this.warnings.push(message);
  }
}

/** Loads a handler with a configuration as the host does. Throws a HandlerError where the host would refuse it. */
export function load(handler: Handler, config: unknown): { handler: Loaded; setup: SetupFacts } {
  const [made, setup] = [loaded(handler, JSON.stringify(config)), new SetupFacts()];
  setUp(made, setup);
  if (setup.subscribed.length === 0) throw invalid('subscribes', 'it subscribes to nothing');
  const unknown = setup.subscribed.find((operation) => !setup.knows(operation));
  if (unknown !== undefined) throw invalid('subscribes', `the host doesn't know ${unknown}`);
  return { handler: made, setup };
}
