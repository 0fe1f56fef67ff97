// What is asked, and what is said of the answer, without the host.

import { type Response, TcpError } from './sdk/witlet.ts';
import { type Outcome, type ProbeType, dict, failure, integer, optional, probeType, success, text } from './sdk/witlet-probe.ts';
import type { Target } from 'witlet:probe/probe-types@0.2.0';

/** What is asked by HTTPS. */
export type Asked = { url: string; method: string; headers: Record<string, string>; body: Uint8Array };

/** What the host does. Both throw a TcpError. */
export type Doing = { request(target: Target, asked: Asked): Response; ping(target: Target, port: number, tls: string): string };

/** The probe type. */
export const https = ({ request, ping }: Doing): ProbeType =>
  probeType({
    parameters: {
      url: optional(text, ''),
      method: optional(text, 'GET'),
      headers: optional(dict(text), new Map()),
      body: optional(text, ''),
      ping: optional(integer, 0),
      tls: optional(text, ''),
    },
    probe(target, { url, method, headers, body, ping: port, tls }) {
      try {
        if (port > 0) return success(ping(target, port, tls));
        return judge(request(target, { url, method, headers: Object.fromEntries(headers), body: new TextEncoder().encode(body) }));
      } catch (error) {
        if (!(error instanceof TcpError)) throw error;
        return failure(`${error.code}: ${error.message}`);
      }
    },
  });

function judge({ status, headers, body }: Response): Outcome {
  const said = `${status} ${headers.get('x-node') ?? '-'} ${new TextDecoder().decode(body)}`;
  return status < 300 ? success(said) : failure(said);
}
