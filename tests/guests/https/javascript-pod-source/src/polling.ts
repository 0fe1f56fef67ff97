// What the source has, without the host.

import { HandlerError, type PodSource, podSource, pods, text, unchanged } from './sdk/witlet-source.ts';
import { type Response, TcpError, fingerprint } from './sdk/witlet.ts';

/** The pod whose manifest a server answers. `ask` throws a TcpError. */
export const https = (ask: (url: string) => Response): PodSource =>
  podSource({
    config: { url: text },
    poll(cursor, { url }) {
      const { status, body } = answered(() => ask(url));
      if (status !== 200 && status !== 204) throw new HandlerError('Unavailable', `the server answers ${status}`);
      const manifests = status === 200 ? [new TextDecoder().decode(body)] : [];
      const now = fingerprint(manifests);
      return (now === cursor ? unchanged() : pods(manifests)).at(now);
    },
  });

function answered(ask: () => Response): Response {
  try {
    return ask();
  } catch (error) {
    if (!(error instanceof TcpError)) throw error;
    throw new HandlerError('Unavailable', error.message);
  }
}
