'use strict';
// Determines the paths: the configured ones, as found in the present network, each with a permanent slot. Pure.

const net = require('node:net');
const { SLOTS } = require('./path-numbers');

/** @typedef {import('./path-settings').Wanted} Wanted */
/** @typedef {import('./inspect-paths').Facts} Facts */
/**
 * slot: determines its numbers; gateway: the last known one, '' = none.
 * @typedef {{ name: string, interface: string, slot: number, gateway: string }} Known
 */
/**
 * @typedef {object} Path
 * @property {string} name as configured
 * @property {string} interface '' = no interface has the address
 * @property {import('./path-settings').Role} role
 * @property {boolean} metered it costs by the byte
 * @property {number} slot
 * @property {boolean} exists
 * @property {boolean} isUp
 * @property {boolean} carrier
 * @property {string} address of IPv4, '' = none
 * @property {number} prefix
 * @property {string} gateway '' = none
 * @property {boolean} isDirect it has a default route without a gateway (PPP, raw IP)
 */

/** Interfaces that usually cost by the byte. */
const METERED = /^(wwan|ppp|rmnet|usb)/;

/**
 * Returns the interfaces with a default route, best first, and those known from before.
 * @param {{defaults: {device: string}[]}} facts
 * @param {Known[]} known
 * @returns {Wanted[]}
 */
function automatic({ defaults }, known) {
  const names = [...defaults.map(({ device }) => device), ...known.map(({ name }) => name)];
  return [...new Set(names)]
    .slice(0, SLOTS.length)
    .map((target) =>
      METERED.test(target) ? { target, role: 'backup', metered: true } : { target, role: 'active' }
    );
}

/**
 * @param {Wanted[]} wanted none = auto
 * @param {Facts} facts
 * @param {Known[]} known
 * @returns {Path[]}
 */
function choosePaths(wanted, facts, known) {
  const list = wanted.length > 0 ? wanted : automatic(facts, known);
  const taken = new Set(
    known.filter(({ name }) => list.some(({ target }) => target === name)).map(({ slot }) => slot)
  );
  return list.map(({ target, role, metered = false }) => {
    const old = known.find(({ name }) => name === target);
    const slot = old?.slot ?? /** @type {number} */ (SLOTS.find((free) => !taken.has(free)));
    taken.add(slot);
    return { name: target, role, metered, slot, ...place(target, facts, old) };
  });
}

/**
 * @param {string} target
 * @param {Facts} facts
 * @param {Known | undefined} old
 */
function place(target, facts, old) {
  const isAddress = net.isIPv4(target);
  const found = facts.interfaces.find(({ name, addresses }) =>
    isAddress ? addresses.some(({ address }) => address === target) : name === target
  );
  const name = found?.name ?? (isAddress ? (old?.interface ?? '') : target);
  const has = found ?? facts.interfaces.find((each) => each.name === name);
  const address = isAddress ? found?.addresses.find((each) => each.address === target) : found?.addresses[0];
  const route = facts.defaults.find(({ device }) => device === name);
  return {
    interface: name,
    exists: has !== undefined,
    isUp: has?.isUp ?? false,
    carrier: has?.carrier ?? false,
    address: address?.address ?? '',
    prefix: address?.prefix ?? 32,
    // The kernel drops it when the interface goes down, and only the program that created it restores it.
    gateway: route ? route.gateway : (old?.gateway ?? ''),
    isDirect: route !== undefined && route.gateway === ''
  };
}

/**
 * Returns what must be remembered about the paths.
 * @param {Path[]} paths
 * @returns {Known[]}
 */
const knownOf = (paths) =>
  paths.map(({ name, interface: device, slot, gateway }) => ({ name, interface: device, slot, gateway }));

module.exports = { automatic, choosePaths, knownOf };
