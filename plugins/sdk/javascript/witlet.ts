// What plugins in TypeScript and JavaScript have in common: errors, configuration, quantities, fingerprints, and HTTP over a connection.
// A project has this file as it was when `witlet plugin new` or `witlet plugin upgrade` wrote it. It imports nothing.

// ---- Errors ----

/**
 * An error in the contract's sense: its payload is the `err` of the function's result, by default the message. Every other
 * error that leaves a function ends the plugin's instance (a trap), because it is a fault of the plugin's own.
 */
export class Refusal<P = string> extends Error {
  /** The bindings look for this property. */
  readonly payload: P | string;

  /**
   * @param message For people.
   * @param payload The `err` where it isn't a text.
   */
  constructor(message: string, payload?: P) {
    super(message);
    this.name = 'Refusal';
    this.payload = payload ?? message;
  }
}

/** Why there is no connection, or no longer, or no answer. The message is for people. */
export class TcpError extends Error {
  /** The host's word for it, such as `connection-refused`; empty if it has none. */
  readonly code: string;

  constructor(message: string, code = '') {
    super(message);
    this.code = code;
  }
}

// ---- Configuration and parameters ----

const PORT_MAX = 65535;

/** The fields of a JSON object. Each is taken by its name and type; one that no one took is an error at the end. */
export class Fields {
  readonly #fields: Record<string, unknown>;
  readonly #taken: string[] = [];

  constructor(fields: Record<string, unknown>) {
    this.#fields = fields;
  }

  /**
   * Takes the fields of a text. JSON's `null`, which is what stands for nothing, has none.
   *
   * @throws {Refusal} that names what is wrong.
   */
  static read<T>(text: string, take: (fields: Fields) => T): T {
    let value: unknown;
    try {
      value = JSON.parse(text) ?? {};
    } catch {
      throw new Refusal('this is no JSON');
    }
    if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Refusal('this is no JSON object');
    const fields = new Fields(value as Record<string, unknown>);
    const taken = take(fields);
    fields.end();
    return taken;
  }

  /** Throws a Refusal if there are fields that no one took. */
  end(): void {
    const unknown = Object.keys(this.#fields).find((name) => !this.#taken.includes(name));
    if (unknown === undefined) return;
    const expected = this.#taken.length === 0 ? 'none' : `only ${this.#taken.join(', ')}`;
    throw new Refusal(`${unknown}: there is no such field, ${expected}`);
  }

  /** Whether the field is there. */
  has(name: string): boolean {
    return Object.hasOwn(this.#fields, name);
  }

  /** A text that isn't empty. */
  text(name: string, { fallback, lengthMax = Infinity }: { fallback?: string; lengthMax?: number } = {}): string {
    const value = this.#take(name, fallback);
    if (typeof value !== 'string' || (value === '' && this.has(name))) throw this.refusal(name, 'a text is needed');
    if (value.length > lengthMax) throw this.refusal(name, `it has more than ${lengthMax} characters`);
    return value;
  }

  /** A whole number. */
  integer(name: string, { least, most, fallback }: { least: number; most: number; fallback?: number }): number {
    const value = this.#take(name, fallback);
    if (typeof value !== 'number' || !Number.isInteger(value) || value < least || value > most) {
      throw this.refusal(name, `a whole number from ${least} to ${most} is needed`);
    }
    return value;
  }

  /** The number of a port. */
  port(name = 'port', fallback?: number): number {
    return this.integer(name, { least: 1, most: PORT_MAX, fallback });
  }

  boolean(name: string, fallback?: boolean): boolean {
    const value = this.#take(name, fallback);
    if (typeof value !== 'boolean') throw this.refusal(name, 'true or false is needed');
    return value;
  }

  /** A list of anything. */
  items(name: string, fallback?: unknown[]): unknown[] {
    const value = this.#take(name, fallback);
    if (!Array.isArray(value)) throw this.refusal(name, 'a list is needed');
    return value;
  }

  /** A list of texts that aren't empty. */
  texts(name: string, fallback?: string[]): string[] {
    return this.items(name, fallback).map((item, index) => {
      if (typeof item !== 'string' || item === '') throw this.refusal(`${name}[${index}]`, 'a text is needed');
      return item;
    });
  }

  /** The error that says what is wrong with a field. */
  refusal(name: string, problem: string): Refusal {
    return new Refusal(`${name}: ${problem}`);
  }

  #take(name: string, fallback: unknown): unknown {
    this.#taken.push(name);
    return this.has(name) ? this.#fields[name] : fallback;
  }
}

/** Parses a text once, and again only when it has changed: an instance that is kept has one configuration all its life. */
export function once<T>(parse: (text: string) => T): (text: string) => T {
  let known: { text: string; value: T } | undefined;
  return (text) => {
    if (known?.text !== text) known = { text, value: parse(text) };
    return known.value;
  };
}

// ---- Kubernetes' quantities ----

const QUANTITY = /^([+-]?)(?=\.?[0-9])([0-9]*)\.?([0-9]*)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,4})?$/;
const QUANTITY_LENGTH_MAX = 64;
const BINARY = 'KMGTPE';
const DECIMAL: Record<string, number> = { n: -9, u: -6, m: -3, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };

/**
 * A quantity times `scale`, rounded away from zero as Kubernetes does: `quantity('1Ki')` is 1024n, `quantity('250m', 1000n)` is 250n.
 *
 * @throws {Refusal}
 */
export function quantity(text: string, scale = 1n): bigint {
  const found = text.length > QUANTITY_LENGTH_MAX ? null : QUANTITY.exec(text);
  if (found === null) {
    throw new Refusal(`${JSON.stringify(text.slice(0, QUANTITY_LENGTH_MAX))} is no quantity, such as 250m or 1Gi`);
  }
  const [, sign, whole, fraction, unit = ''] = found;
  let number = BigInt(whole + fraction) * scale;
  let exponent = -fraction.length;
  if (unit.endsWith('i')) number <<= BigInt(10 * (BINARY.indexOf(unit[0]) + 1));
  else exponent += unit.length > 1 ? Number(unit.slice(1)) : (DECIMAL[unit] ?? 0);
  const power = 10n ** BigInt(Math.abs(exponent));
  number = exponent >= 0 ? number * power : (number + power - 1n) / power;
  return sign === '-' ? -number : number;
}

// ---- Pod sources ----

/** The prime of FNV with 64 bits is 2^40 and this. */
const PRIME_LOW = 0x1b3;
const TWO_TO_32 = 2 ** 32;

/**
 * A hash by which a source knows again what it had: FNV-1a of 64 bits over texts and their lengths, as 16 hexadecimal digits. It tells
 * changes from no changes; it doesn't withstand an attacker who looks for two things with the same hash.
 */
export function fingerprint(texts: string[]): string {
  // In two halves: the engine calculates several times faster with numbers than with BigInt.
  let [high, low] = [0xcbf29ce4, 0x84222325];
  for (const text of texts) {
    const bytes = new TextEncoder().encode(text);
    for (const part of [new TextEncoder().encode(`${bytes.length}:`), bytes]) {
      for (const byte of part) {
        const mixed = (low ^ byte) >>> 0;
        const product = mixed * PRIME_LOW;
        high = (high * PRIME_LOW + Math.floor(product / TWO_TO_32) + ((mixed << 8) >>> 0)) % TWO_TO_32;
        low = product % TWO_TO_32;
      }
    }
  }
  return [high, low].map((half) => half.toString(16).padStart(8, '0')).join('');
}

// ---- Reading from connections, and HTTP/1.1 ----

/** What is needed of a connection. Both throw a TcpError; `read` returns undefined once the other side has closed. */
export type Stream = { write(bytes: Uint8Array): void; read(length: number): Uint8Array | undefined };

/** What a server answers. */
export type Response = {
  status: number;
  /** By their names in small letters; of several with one name the last. */
  headers: Map<string, string>;
  body: Uint8Array;
};

const CR = 0x0d;
const LF = 0x0a;
const HEADERS_MAX = 100;
const HEADER_BYTES_MAX = 8 << 10;
const PART_BYTES = 4 << 10;

/** Reads lines and bytes in turn. */
export class Reader {
  readonly #stream: Pick<Stream, 'read'>;
  #received = new Uint8Array();

  constructor(stream: Pick<Stream, 'read'>) {
    this.#stream = stream;
  }

  /** So many bytes, or fewer where the server closes. */
  bytes(length: number): Uint8Array {
    while (this.#received.length < length && this.#receive(length - this.#received.length));
    return this.#split(Math.min(length, this.#received.length), 0);
  }

  /** A line that ends with CR and LF, without its end. */
  line(lengthMax = 1024): string {
    for (;;) {
      const end = this.#received.findIndex((byte, at) => byte === CR && this.#received[at + 1] === LF);
      const whole = end >= 0 ? end : this.#received.length - (this.#received.at(-1) === CR ? 1 : 0);
      if (whole > lengthMax) throw new TcpError(`the answer is longer than ${lengthMax} bytes`);
      if (end >= 0) return new TextDecoder().decode(this.#split(end, 2));
      if (!this.#receive(PART_BYTES)) throw new TcpError('the server closed the connection');
    }
  }

  #split(length: number, skipped: number): Uint8Array {
    const bytes = this.#received.slice(0, length);
    this.#received = this.#received.slice(length + skipped);
    return bytes;
  }

  #receive(length: number): boolean {
    const part = this.#stream.read(length);
    if (part === undefined) return false;
    const all = new Uint8Array(this.#received.length + part.length);
    all.set(this.#received);
    all.set(part, this.#received.length);
    this.#received = all;
    return true;
  }
}

/**
 * GET, and the answer with a body that is cut after so many bytes. The connection serves no other request.
 *
 * @throws {TcpError}
 */
export function httpGet(
  stream: Stream,
  host: string,
  path = '/',
  { headers = {}, bodyBytesMax = 64 << 10 }: { headers?: Record<string, string>; bodyBytesMax?: number } = {},
): Response {
  const fields = { Host: host, 'User-Agent': 'witlet', Accept: '*/*', Connection: 'close', ...headers };
  const lines = [`GET ${path} HTTP/1.1`, ...Object.entries(fields).map(([name, value]) => `${name}: ${value}`)];
  if (lines.some((line) => /[\0-\x1f\x7f]/.test(line))) throw new TcpError('the request has control characters');
  stream.write(new TextEncoder().encode(`${lines.join('\r\n')}\r\n\r\n`));
  const reader = new Reader(stream);
  for (;;) {
    const { status, headers } = head(reader);
    // Answers that announce another one.
    if (status >= 100 && status < 200) continue;
    const body = status === 204 || status === 304 ? new Uint8Array() : bodyOf(reader, headers, bodyBytesMax);
    return { status, headers, body };
  }
}

function head(reader: Reader): { status: number; headers: Map<string, string> } {
  const first = reader.line(HEADER_BYTES_MAX);
  const found = /^HTTP\/1\.[01] ([1-9][0-9]{2})( |$)/.exec(first);
  if (found === null) throw new TcpError(`the server doesn't speak HTTP: ${JSON.stringify(first.slice(0, 64))}`);
  const headers = new Map<string, string>();
  for (let count = 0; count <= HEADERS_MAX; count++) {
    const line = reader.line(HEADER_BYTES_MAX);
    if (line === '') return { status: Number(found[1]), headers };
    const colon = line.indexOf(':');
    if (colon < 0) throw new TcpError(`no header: ${JSON.stringify(line.slice(0, 64))}`);
    headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
  }
  throw new TcpError(`the answer has more than ${HEADERS_MAX} headers`);
}

function bodyOf(reader: Reader, headers: Map<string, string>, bytesMax: number): Uint8Array {
  if (headers.get('transfer-encoding')?.toLowerCase() === 'chunked') return chunks(reader, bytesMax);
  const declared = headers.get('content-length');
  if (declared === undefined) return reader.bytes(bytesMax);
  const desired = Math.min(length(declared, 10), bytesMax);
  const body = reader.bytes(desired);
  if (body.length < desired) throw new TcpError('the server closed the connection');
  return body;
}

function chunks(reader: Reader, bytesMax: number): Uint8Array {
  const body = new Uint8Array(bytesMax);
  let at = 0;
  while (at < bytesMax) {
    const size = length(reader.line().split(';')[0], 16);
    if (size === 0) break;
    const desired = Math.min(size, bytesMax - at);
    const chunk = reader.bytes(desired);
    if (chunk.length < desired) throw new TcpError('the server closed the connection');
    body.set(chunk, at);
    at += desired;
    if (at < bytesMax && reader.line() !== '') {
      throw new TcpError('a chunk of the answer has another length than it says');
    }
  }
  return body.subarray(0, at);
}

function length(digits: string, base: 10 | 16): number {
  const trimmed = digits.trim();
  if (!(base === 16 ? /^[0-9a-f]{1,12}$/i : /^[0-9]{1,12}$/).test(trimmed)) {
    throw new TcpError(`no length: ${JSON.stringify(digits.slice(0, 64))}`);
  }
  return parseInt(trimmed, base);
}

// ---- What is asked for by an URL, and what the host says when there is no answer: for witlet-http.ts ----

/** What a request goes to. */
export type UrlParts = { scheme: 'http' | 'https'; authority: string; path: string };

/**
 * The parts of an URL of http or https. What follows a `#` is no part of a request.
 *
 * @throws {TcpError}
 */
export function urlParts(url: string): UrlParts {
  const found = /^(https?):\/\/((?:\[[0-9a-f:.]+\]|[^/?#@:[\]\s]+)(?::[0-9]{1,5})?)([/?][^#]*)?(?:#.*)?$/i.exec(url);
  if (found === null) throw new TcpError(`${JSON.stringify(url.slice(0, 256))} is no URL of http or https with a host and without a user`);
  const [, scheme, authority, rest = ''] = found;
  return { scheme: scheme.toLowerCase() === 'https' ? 'https' : 'http', authority, path: rest.startsWith('/') ? rest : `/${rest}` };
}

/** An `error-code` of `wasi:http` in words. */
export function httpWords({ tag, val }: { tag: string; val?: unknown }, authority: string): string {
  if (tag === 'HTTP-request-denied') return `asking ${authority} isn't granted to the plugin`;
  if (tag === 'internal-error' && typeof val === 'string') return `${authority}: ${val}`;
  const details = typeof val === 'object' && val !== null ? Object.values(val) : [val];
  const said = details.filter((detail) => detail !== undefined && detail !== null).join(', ');
  return `${authority}: ${tag.replaceAll('-', ' ')}${said && ` (${said})`}`;
}
