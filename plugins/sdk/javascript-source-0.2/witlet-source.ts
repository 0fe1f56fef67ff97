// Pod sources for contract 0.2: `witlet:pod-source@0.2.0`.
//
//   export const folder = podSource({
//     config: { folder: text },
//     poll(cursor, { folder }) {
//       ...
//       return pods(manifests).at(fingerprint(manifests));
//     },
//   });
//
// At run time it imports nothing of the host: what it needs it is handed over by the one module that is never in a unit test,
// `export const source = exported(folder, { config: get, Error })`.

import type * as Contract from 'witlet:pod-source/source@0.2.0';
import type { Answer, News, Setup } from 'witlet:pod-source/source-types@0.2.0';

import { type Host, type Read, type Shape, inWords, object, parsed } from './values.ts';

export { HandlerError, boolean, dict, integer, invalid, list, object, optional, text } from './values.ts';
export type { Host, Read, Reader, Shape } from './values.ts';

// ---- Answers ----

/** What a source has now. Made by the functions below. */
export class Poll {
  readonly snapshot: 'pods' | 'empty' | 'unchanged';
  readonly manifests: string[];
  cursor?: string;
  nextPollMilliseconds?: number;

  constructor(snapshot: 'pods' | 'empty' | 'unchanged', manifests: string[] = []) {
    this.snapshot = snapshot;
    this.manifests = manifests;
  }

  /** With what is handed to the next poll; at most 4 KiB. */
  at(cursor: string): this {
    this.cursor = cursor;
    return this;
  }

  /** With when to ask again; without, after the configured interval. */
  after(seconds: number): this {
    this.nextPollMilliseconds = Math.round(seconds * 1000);
    return this;
  }

  /** Says it to the host. */
  say(answer: Answer): void {
    if (this.snapshot === 'pods') for (const manifest of this.manifests) answer.pod(manifest);
    else if (this.snapshot === 'empty') answer.empty();
    else answer.unchanged();
    if (this.cursor !== undefined) answer.cursor(this.cursor);
    if (this.nextPollMilliseconds !== undefined) answer.nextPollMilliseconds(BigInt(this.nextPollMilliseconds));
  }
}

/** These pods, a manifest as JSON or YAML text each, and no others. Without any, the pods of the source end. */
export const pods = (manifests: string[]): Poll => new Poll(manifests.length === 0 ? 'empty' : 'pods', manifests);

/** The same as at the last poll that gave pods or none. */
export const unchanged = (): Poll => new Poll('unchanged');

// ---- News ----

/** News of one of the source's pods. The texts that there is nothing for are empty. */
export type Change = {
  /** `status`, `gone` or `left-out`; more may come. */
  kind: string;
  namespace: string;
  name: string;
  uid: string;
  phase: string;
  reason: string;
  message: string;
  /** The whole status as JSON. */
  status?: string;
};

/** Whether the pod isn't run, and won't be as it is: it is left out, or it failed. */
export const isRefused = (change: Change): boolean => change.kind === 'left-out' || change.phase === 'Failed';

/** All that the host tells. What it lends is given back. */
export function changes(news: News): Change[] {
  const received: Change[] = [];
  for (let it = news.next(); it !== undefined; it = news.next()) {
    const [kind, namespace, name, uid] = [it.kind(), it.namespace(), it.name(), it.uid()];
    received.push({ kind, namespace, name, uid, phase: it.phase(), reason: it.reason(), message: it.message(), status: it.status() });
    it[Symbol.dispose]();
  }
  return received;
}

// ---- Sources ----

/** A source that has its configuration. */
export type LoadedSource = { validate(setup: Setup): void; poll(cursor?: string): Poll; notify(news: Change[]): void };

/** A source that makes itself of what stands under `config:`. Throws a HandlerError that names the field. */
export type PodSource = { load(config: unknown): LoadedSource };

/** What an author says of a source with these fields of its configuration. */
export type Definition<C extends Shape> = {
  /** The fields of `config:`; without, none. */
  config?: C;
  /** Whether it can work with its configuration. */
  validate?(config: Read<C>, setup: Setup): void;
  /** What it has now, all of it. A HandlerError is thrown where it can't tell, and then its last pods go on. */
  poll(cursor: string | undefined, config: Read<C>): Poll;
  /** Receives news of its pods. A HandlerError is thrown to be notified again. */
  notify?(news: Change[], config: Read<C>): void;
};

/** A pod source. */
export function podSource<C extends Shape>(it: Definition<C>): PodSource {
  return {
    load(value) {
      const config = object(it.config ?? ({} as C)).read(value ?? {}, '');
      return {
        validate: (setup) => it.validate?.(config, setup),
        poll: (cursor) => it.poll(cursor, config),
        notify: (news) => it.notify?.(news, config),
      };
    },
  };
}

/** What a component exports as `source`. */
export function exported(source: PodSource, host: Host): typeof Contract {
  let kept: LoadedSource | undefined;
  return {
    validate(setup, config) {
      inWords(host, () => source.load(parsed(config)).validate(setup));
    },
    poll(cursor, answer) {
      // An instance has one configuration all its life.
      inWords(host, () => (kept ??= source.load(parsed(host.config()))).poll(cursor).say(answer));
    },
  };
}

/** What a component exports as `feedback`, in a world with feedback. */
export function exportedFeedback(source: PodSource, host: Host): { notify(news: News): void } {
  return {
    notify(news) {
      inWords(host, () => source.load(parsed(host.config())).notify(changes(news)));
    },
  };
}
