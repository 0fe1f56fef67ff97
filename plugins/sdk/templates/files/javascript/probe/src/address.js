// Texts of IP addresses as `wasi:sockets` takes them.

/** @typedef {import('wasi:sockets/network@0.2.0').IpSocketAddress} IpSocketAddress */

/** How many 16-bit groups an IPv6 address has. */
const GROUPS = 8;

/**
 * An address and a port, or undefined if the text is no address. What is read are the forms that Kubernetes uses: four
 * decimal numbers, and RFC 5952 without an IPv4 address or a zone at the end.
 *
 * @param {string} text
 * @param {number} port
 * @returns {IpSocketAddress | undefined}
 */
export function socketAddress(text, port) {
  const v4 = parseV4(text);
  if (v4) return { tag: 'ipv4', val: { port, address: v4 } };
  const v6 = parseV6(text);
  if (v6) return { tag: 'ipv6', val: { port, flowInfo: 0, address: v6, scopeId: 0 } };
  return undefined;
}

/** @param {string} text */
function parseV4(text) {
  const [a, b, c, d, ...more] = text.split('.').map((part) => (/^\d{1,3}$/.test(part) ? Number(part) : NaN));
  const whole = more.length === 0 && [a, b, c, d].every((part) => part <= 255);
  return whole ? /** @type {[number, number, number, number]} */ ([a, b, c, d]) : undefined;
}

/** @param {string} text */
function parseV6(text) {
  const [head, tail, ...more] = text.split('::').map(groups);
  if (more.length > 0 || head === undefined) return undefined;
  // `::` stands for at least one group of zeros.
  const missing = GROUPS - head.length - (tail?.length ?? 0);
  if (tail === undefined ? missing !== 0 : missing < 1) return undefined;
  const all = [...head, ...Array(missing).fill(0), ...(tail ?? [])];
  const whole = all.every((group) => !Number.isNaN(group));
  return whole
    ? /** @type {[number, number, number, number, number, number, number, number]} */ (all)
    : undefined;
}

/** @param {string} text */
function groups(text) {
  if (text === '') return [];
  return text.split(':').map((group) => (/^[0-9a-f]{1,4}$/i.test(group) ? parseInt(group, 16) : NaN));
}
