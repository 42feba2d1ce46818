'use strict';
// Which paths there are: what was asked for, found in the network as it is, each with a slot that it keeps. Pure.

const net = require('node:net');
const { SLOTS } = require('./path-numbers');

/** @typedef {import('./path-settings').Wanted} Wanted */
/** @typedef {import('./inspect-paths').Facts} Facts */
/** slot: of its numbers; gateway: the last one known, '' = none. @typedef {{ name: string, interface: string, slot: number, gateway: string }} Known */
/**
 * @typedef {object} Path
 * @property {string} name as it was asked for @property {string} interface '' = none has the address @property {import('./path-settings').Role} role
 * @property {number} slot @property {boolean} exists @property {boolean} isUp @property {boolean} carrier
 * @property {string} address of IPv4, '' = none @property {number} prefix
 * @property {string} gateway '' = none @property {boolean} isDirect it has a default route without a gateway (PPP, raw IP)
 */

/** Those that cost by the byte, and others of their kind. */
const METERED = /^(wwan|ppp|rmnet|usb)/;

/** Interfaces with a default route, best first, and those that were there before. @param {{defaults: {device: string}[]}} facts @param {Known[]} known @returns {Wanted[]} */
function automatic({ defaults }, known) {
  const names = [...defaults.map(({ device }) => device), ...known.map((of) => of.name)];
  return [...new Set(names)]
    .slice(0, SLOTS.length)
    .map((target) => ({ target, role: METERED.test(target) ? 'backup' : 'active' }));
}

/** @param {Wanted[]} wanted none = auto @param {Facts} facts @param {Known[]} known @returns {Path[]} */
function choosePaths(wanted, facts, known) {
  const list = wanted.length > 0 ? wanted : automatic(facts, known);
  const taken = new Set(
    known.filter(({ name }) => list.some(({ target }) => target === name)).map(({ slot }) => slot)
  );
  return list.map(({ target, role }) => {
    const old = known.find(({ name }) => name === target);
    const slot = old?.slot ?? /** @type {number} */ (SLOTS.find((of) => !taken.has(of)));
    taken.add(slot);
    return { name: target, role, slot, ...place(target, facts, old) };
  });
}

/** @param {string} target @param {Facts} facts @param {Known | undefined} old */
function place(target, facts, old) {
  const isAddress = net.isIPv4(target);
  const found = facts.interfaces.find(({ name, addresses }) =>
    isAddress ? addresses.some(({ address }) => address === target) : name === target
  );
  const name = found?.name ?? (isAddress ? (old?.interface ?? '') : target);
  const has = found ?? facts.interfaces.find((of) => of.name === name);
  const address = isAddress ? found?.addresses.find((of) => of.address === target) : found?.addresses[0];
  const route = facts.defaults.find(({ device }) => device === name);
  return {
    interface: name,
    exists: has !== undefined,
    isUp: has?.isUp ?? false,
    carrier: has?.carrier ?? false,
    address: address?.address ?? '',
    prefix: address?.prefix ?? 32,
    // The kernel drops it when the interface goes down, and only what made it brings it back.
    gateway: route ? route.gateway : (old?.gateway ?? ''),
    isDirect: route !== undefined && route.gateway === ''
  };
}

/** What is to be remembered of them. @param {Path[]} paths @returns {Known[]} */
const knownOf = (paths) =>
  paths.map(({ name, interface: device, slot, gateway }) => ({ name, interface: device, slot, gateway }));

module.exports = { automatic, choosePaths, knownOf };
