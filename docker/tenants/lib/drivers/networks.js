'use strict';
// A network for each tenant: a small subnet of our own range, because an engine's default ranges suffice for only about
// 30 networks.

const crypto = require('node:crypto');

/** Addresses of a subnet: the network, the bridge, the tenant, one spare, broadcast. */
const SUBNET_BITS = 29;
const STANDARD_RANGE = '10.213.0.0/16';

/** @param {string} text @returns {number} */
const toNumber = (text) => text.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
/** @param {number} number @returns {string} */
const toText = (number) => [24, 16, 8, 0].map((bits) => Math.floor(number / 2 ** bits) % 256).join('.');

/**
 * @param {string} text such as 10.213.0.0/16
 * @returns {{ base: number, count: number } | null} null: not a usable range
 */
function rangeOf(text) {
  const [, address, bits] = /^(\d{1,3}(?:\.\d{1,3}){3})\/(\d{1,2})$/.exec(text) ?? [];
  if (!address || address.split('.').some((part) => Number(part) > 255)) return null;
  const length = Number(bits);
  if (length < 8 || length > SUBNET_BITS) return null;
  const base = toNumber(address);
  return base % 2 ** (32 - length) === 0 ? { base, count: 2 ** (SUBNET_BITS - length) } : null;
}

/** @typedef {{ subnet: string, gateway: string, address: string }} Place address: the tenant's */

/**
 * Yields the subnets of a range, from one that depends on the tenant's name.
 * @param {{ base: number, count: number }} range
 * @param {string} name
 * @returns {Generator<Place>}
 */
function* places({ base, count }, name) {
  const first = crypto.createHash('sha256').update(name).digest().readUInt32BE(0);
  for (let i = 0; i < count; i++) {
    const start = base + ((first + i) % count) * 2 ** (32 - SUBNET_BITS);
    yield {
      subnet: `${toText(start)}/${SUBNET_BITS}`,
      gateway: toText(start + 1),
      address: toText(start + 2)
    };
  }
}

/**
 * @param {{ base: number, count: number }} range
 * @param {string} [subnet] of a network that exists
 * @returns {string} the tenant's address in it, '' if the subnet is none of this range
 */
function addressIn({ base, count }, subnet = '') {
  const [address, bits] = subnet.split('/');
  const start = toNumber(address);
  const size = 2 ** (32 - SUBNET_BITS);
  const isOurs =
    Number(bits) === SUBNET_BITS && start >= base && start < base + count * size && start % size === 0;
  return isOurs ? toText(start + 2) : '';
}

/**
 * @param {'docker' | 'podman'} engine
 * @param {{ name: string, subnet: string, gateway: string, labels: Record<string, string> }} network
 * @returns {{ path: string, body: object }} the request that makes it: no way out, and none in but from this machine
 */
function networkOf(engine, { name, subnet, gateway, labels }) {
  if (engine === 'podman') {
    // Only Podman's own API makes a network without a DNS server. That server listens on the bridge, and asks this
    // machine's resolver, also for an internal network.
    const body = { name, driver: 'bridge', internal: true, dns_enabled: false, ipv6_enabled: false, labels };
    return { path: '/libpod/networks/create', body: { ...body, subnets: [{ subnet, gateway }] } };
  }
  const body = {
    Name: name,
    Driver: 'bridge',
    Internal: true,
    CheckDuplicate: true,
    EnableIPv6: false,
    Labels: labels
  };
  const ipam = { Driver: 'default', Config: [{ Subnet: subnet, Gateway: gateway }] };
  return { path: '/networks/create', body: { ...body, IPAM: ipam } };
}

module.exports = { addressIn, networkOf, places, rangeOf, STANDARD_RANGE };
