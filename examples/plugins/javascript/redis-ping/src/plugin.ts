// The probe type as the host sees it. What it finds is decided in redis.ts, which knows nothing of the host.

import { get } from 'witlet:host/config@0.2.0';
import { Error as HostError } from 'witlet:host/errors@0.2.0';
import { get as secret } from 'witlet:host/secret@0.2.0';

import { redis } from './redis.ts';
import { HandlerError, exported } from './sdk/witlet-probe.ts';
import { connect } from './sdk/witlet-tcp.ts';

/** The newest value of a secret. Throws a HandlerError if there is none. */
function read(name: string): Uint8Array {
  try {
    return secret(name);
  } catch (error) {
    const { payload } = error as { payload?: HostError };
    if (payload === undefined) throw error;
    throw new HandlerError(payload.code(), payload.message());
  }
}

export const prober = exported(redis({ connect, secret: read, now: () => performance.now() }), { config: get, Error: HostError });
