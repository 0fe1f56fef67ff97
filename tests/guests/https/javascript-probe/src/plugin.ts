// The probe type as the host sees it.

import { get } from 'witlet:host/config@0.2.0';
import { Error as HostError } from 'witlet:host/errors@0.2.0';
import type { Target } from 'witlet:probe/probe-types@0.2.0';

import { type Doing, https } from './asking.ts';
import { type Connection, connect, connectLoopback } from './sdk/witlet-connections.ts';
import { request } from './sdk/witlet-http.ts';
import { address, exported } from './sdk/witlet-probe.ts';
import { Reader } from './sdk/witlet.ts';

const BODY_BYTES_MAX = 16;

const doing: Doing = {
  request(target, { url, ...asked }) {
    return request(url, () => target.remainingMilliseconds(), { ...asked, bodyBytesMax: BODY_BYTES_MAX });
  },
  ping(target, port, tls) {
    const connection = opened(target, port, tls);
    try {
      if (tls === 'later') connection.startTls(address(target));
      connection.write(new TextEncoder().encode('PING\r\n'));
      return `${new Reader(connection).line()}, certificates: ${connection.certificates().length}`;
    } finally {
      connection.close();
    }
  },
};

function opened(target: Target, port: number, tls: string): Connection {
  if (tls === 'loopback') return connectLoopback(target, port);
  return connect(target, address(target), port, tls === 'begin' ? { serverName: address(target) } : {});
}

export const prober = exported(https(doing), { config: get, Error: HostError });
