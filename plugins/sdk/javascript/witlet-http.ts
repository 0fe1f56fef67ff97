// HTTP and HTTPS by the host: it resolves names, connects within the grant `network`, and does TLS by the authorities, and with the client
// certificate, that the plugin's entry grants. Whatever is waited for ends with the time that is left. For probe types and pod sources whose
// `wit/world.wit` has these; others don't import this module:
//
//   import wasi:clocks/monotonic-clock@0.2.0;
//   import wasi:http/outgoing-handler@0.2.0;

import { subscribeDuration } from 'wasi:clocks/monotonic-clock@0.2.0';
import { handle } from 'wasi:http/outgoing-handler@0.2.0';
import {
  type ErrorCode,
  Fields,
  type FutureIncomingResponse,
  type IncomingResponse,
  type Method,
  OutgoingBody,
  OutgoingRequest,
  httpErrorCode,
} from 'wasi:http/types@0.2.0';
import { type Pollable, poll } from 'wasi:io/poll@0.2.0';
import type { StreamError } from 'wasi:io/streams@0.2.0';

import { type Response, TcpError, type UrlParts, httpWords, urlParts } from './witlet.ts';

/** Milliseconds that are left. */
type Remaining = () => bigint;

const NANOSECONDS_PER_MILLISECOND = 1_000_000n;
const READ_BYTES = 64 << 10;
const METHODS = ['get', 'head', 'post', 'put', 'delete', 'options', 'patch'] as const;

/** So many milliseconds from now on, as what is left of them at each call. */
export function within(milliseconds: number): Remaining {
  const end = Date.now() + milliseconds;
  return () => BigInt(Math.max(end - Date.now(), 0));
}

/**
 * One request, and its answer with a body that is cut after so many bytes. Redirects aren't followed: the answer's `location` says where they
 * lead. `remaining` says what time is left: `() => target.remainingMilliseconds()` of a probe, `within(5000)` elsewhere.
 *
 * @throws {TcpError} Its `code` is the host's word for why, such as `connection-refused` or `TLS-certificate-error`.
 */
export function request(
  url: string,
  remaining: Remaining,
  {
    method = 'GET',
    headers = {},
    body = new Uint8Array(),
    bodyBytesMax = 64 << 10,
  }: { method?: string; headers?: Record<string, string>; body?: Uint8Array; bodyBytesMax?: number } = {},
): Response {
  const to = urlParts(url);
  const [outgoing, content] = outgoingRequest(to, method, headers, body.length);
  let future: FutureIncomingResponse;
  try {
    future = said(to.authority, () => handle(outgoing, undefined));
  } catch (error) {
    content[Symbol.dispose]();
    throw error;
  }
  try {
    write(content, body, remaining);
    const response = answered(future, to.authority, remaining);
    try {
      return { status: response.status(), headers: headersOf(response), body: bodyOf(response, to.authority, remaining, bodyBytesMax) };
    } finally {
      response[Symbol.dispose]();
    }
  } finally {
    future[Symbol.dispose]();
  }
}

function outgoingRequest(to: UrlParts, method: string, headers: Record<string, string>, length: number): [OutgoingRequest, OutgoingBody] {
  const all = Object.entries({ 'User-Agent': 'witlet', Accept: '*/*', ...headers, ...(length > 0 && { 'Content-Length': String(length) }) });
  const encoder = new TextEncoder();
  const fields = taken("a header can't be sent, because it has other characters than headers may, or is the host's to set", () =>
    Fields.fromList(all.map(([name, value]) => [name, encoder.encode(value)])),
  );
  const known = METHODS.find((tag) => tag.toUpperCase() === method);
  const sent: Method = known === undefined ? { tag: 'other', val: method } : { tag: known };
  const outgoing = new OutgoingRequest(fields);
  taken(`the request can't be sent: ${method} ${to.scheme}://${to.authority}${to.path}`, () => {
    outgoing.setMethod(sent);
    outgoing.setScheme({ tag: to.scheme === 'https' ? 'HTTPS' : 'HTTP' });
    outgoing.setAuthority(to.authority);
    outgoing.setPathWithQuery(to.path);
  });
  return [outgoing, outgoing.body()];
}

/** Sends the body. What breaks here is better explained by the answer. */
function write(content: OutgoingBody, body: Uint8Array, remaining: Remaining): void {
  let isOver = false;
  try {
    if (body.length > 0) writeAll(content, body, remaining);
    isOver = true;
    OutgoingBody.finish(content, undefined);
  } catch (error) {
    if (error instanceof TcpError) throw error;
    payload(error);
  } finally {
    if (!isOver) content[Symbol.dispose]();
  }
}

function writeAll(content: OutgoingBody, body: Uint8Array, remaining: Remaining): void {
  const stream = content.write();
  try {
    for (let at = 0; at < body.length; ) {
      const ready = Number(stream.checkWrite());
      if (ready === 0) {
        wait(stream, remaining);
        continue;
      }
      stream.write(body.subarray(at, at + ready));
      at += ready;
    }
  } finally {
    stream[Symbol.dispose]();
  }
}

function answered(future: FutureIncomingResponse, authority: string, remaining: Remaining): IncomingResponse {
  for (;;) {
    const found = future.get();
    if (found === undefined) {
      wait(future, remaining);
      continue;
    }
    // An error only for who asks again.
    if (found.tag === 'err') throw new TcpError('the answer was taken');
    if (found.val.tag === 'err') throw failed(found.val.val, authority);
    return found.val.val;
  }
}

/** As `httpGet` has them: of several with one name the last. */
function headersOf(response: IncomingResponse): Map<string, string> {
  const fields = response.headers();
  try {
    const decoder = new TextDecoder('latin1');
    return new Map(fields.entries().map(([name, value]) => [name.toLowerCase(), decoder.decode(value)]));
  } finally {
    fields[Symbol.dispose]();
  }
}

function bodyOf(response: IncomingResponse, authority: string, remaining: Remaining, bytesMax: number): Uint8Array {
  // A stream is a child of its body.
  const body = response.consume();
  const stream = body.stream();
  const whole = new Uint8Array(bytesMax);
  let at = 0;
  try {
    while (at < bytesMax) {
      let more: Uint8Array;
      try {
        more = stream.read(BigInt(Math.min(bytesMax - at, READ_BYTES)));
      } catch (error) {
        const why = payload(error) as StreamError;
        if (why.tag === 'closed') break;
        throw broken(why.val, authority);
      }
      if (more.length === 0) wait(stream, remaining);
      whole.set(more, at);
      at += more.length;
    }
  } finally {
    stream[Symbol.dispose]();
    body[Symbol.dispose]();
  }
  return whole.slice(0, at);
}

function broken(cause: Extract<StreamError, { tag: 'last-operation-failed' }>['val'], authority: string): TcpError {
  try {
    const code = httpErrorCode(cause);
    return code === undefined ? new TcpError('the answer breaks off') : failed(code, authority);
  } finally {
    cause[Symbol.dispose]();
  }
}

/** Waits until something has happened. */
function wait(to: { subscribe(): Pollable }, remaining: Remaining): void {
  const event = to.subscribe();
  const end = subscribeDuration(remaining() * NANOSECONDS_PER_MILLISECOND);
  try {
    if (!poll([event, end]).includes(0)) throw new TcpError('no answer in time');
  } finally {
    event[Symbol.dispose]();
    end[Symbol.dispose]();
  }
}

/** Calls the host, and says what it doesn't take. */
function taken<T>(words: string, call: () => T): T {
  try {
    return call();
  } catch (error) {
    payload(error, true);
    throw new TcpError(words);
  }
}

/** Calls the host, and tells its error in words. */
function said<T>(authority: string, call: () => T): T {
  try {
    return call();
  } catch (error) {
    throw failed(payload(error) as ErrorCode, authority);
  }
}

const failed = (code: ErrorCode, authority: string): TcpError => new TcpError(httpWords(code, authority), code.tag);

/** The `err` of a function of the host, which the bindings throw in an error. What isn't one is a fault of the plugin's own. */
function payload(error: unknown, mayBeNone = false): ErrorCode | StreamError | undefined {
  if (typeof error !== 'object' || error === null || !('payload' in error)) throw error;
  const why = error.payload as ErrorCode | StreamError | undefined;
  if (why === undefined && !mayBeNone) throw error;
  return why;
}
