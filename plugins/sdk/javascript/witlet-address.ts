// Texts of IP addresses as `wasi:sockets` takes them.

import type { IpSocketAddress, Ipv4Address, Ipv6Address } from 'wasi:sockets/network@0.2.0';

/** How many 16-bit groups an IPv6 address has. */
const GROUPS = 8;

/**
 * An address and a port, or undefined if the text is no address. What is read are the forms that Kubernetes uses: four
 * decimal numbers, and RFC 5952 without an IPv4 address or a zone at the end.
 */
export function socketAddress(text: string, port: number): IpSocketAddress | undefined {
  const v4 = parseV4(text);
  if (v4) return { tag: 'ipv4', val: { port, address: v4 } };
  const v6 = parseV6(text);
  if (v6) return { tag: 'ipv6', val: { port, flowInfo: 0, address: v6, scopeId: 0 } };
  return undefined;
}

function parseV4(text: string): Ipv4Address | undefined {
  const [a, b, c, d, ...more] = text.split('.').map((part) => (/^\d{1,3}$/.test(part) ? Number(part) : NaN));
  const whole = more.length === 0 && [a, b, c, d].every((part) => part <= 255);
  return whole ? [a, b, c, d] : undefined;
}

function parseV6(text: string): Ipv6Address | undefined {
  const [head, tail, ...more] = text.split('::').map(groups);
  if (more.length > 0 || head === undefined) return undefined;
  // `::` stands for at least one group of zeros.
  const missing = GROUPS - head.length - (tail?.length ?? 0);
  if (tail === undefined ? missing !== 0 : missing < 1) return undefined;
  const all: number[] = [...head, ...Array<number>(missing).fill(0), ...(tail ?? [])];
  return all.every((group) => !Number.isNaN(group)) ? (all as Ipv6Address) : undefined;
}

function groups(text: string): number[] {
  if (text === '') return [];
  return text.split(':').map((group) => (/^[0-9a-f]{1,4}$/i.test(group) ? parseInt(group, 16) : NaN));
}
