'use strict';
// Computes the desired state of the network for a list of paths. Pure.

const net = require('node:net');
const {
  MAIN_TABLE,
  PROTOCOL,
  endpointIdOf,
  localPreference,
  pathPreference,
  tableOf
} = require('./path-numbers');

/** @typedef {import('./path-selection').Path} Path */
/**
 * Desired fate of a path's endpoint: present, absent, unchanged, created again.
 * @typedef {'there' | 'gone' | 'kept' | 'new'} Fate
 */
/** @typedef {{ rules: import('./ip-output').Rule[], routes: import('./ip-output').Route[] }} NetworkState */

/**
 * @param {string} address of IPv4
 * @param {number} prefix
 * @returns {string} of IPv4
 */
function networkOf(address, prefix) {
  const bits = address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
  const size = 2 ** (32 - prefix);
  const base = Math.floor(bits / size) * size;
  const parts = [24, 16, 8, 0].map((shift) => Math.floor(base / 2 ** shift) % 256);
  return `${parts.join('.')}/${prefix}`;
}

/**
 * Returns a path's two rules. Destinations that the main table knows by more than its default route go that way, so
 * that containers and other local networks remain reachable. All others go through the path's own table.
 * @param {Path} path
 * @returns {import('./ip-output').Rule[]}
 */
function rulesOf({ address, slot }) {
  if (address === '') return [];
  const both = { source: address, protocol: PROTOCOL };
  return [
    { ...both, preference: localPreference(slot), table: MAIN_TABLE, suppress: 0 },
    { ...both, preference: pathPreference(slot), table: tableOf(slot), suppress: -1 }
  ];
}

/**
 * @param {Path} path
 * @returns {import('./ip-output').Route[]} none while the interface is down: the kernel refuses them
 */
function routesOf({ interface: device, address, prefix, gateway, isDirect, slot, isUp }) {
  if (address === '' || !isUp) return [];
  const all = { device, table: tableOf(slot), metric: 0, source: address };
  const network = networkOf(address, prefix);
  const routes = [];
  if (prefix < 32) routes.push({ ...all, destination: network, gateway: '', onlink: false });
  if (gateway !== '' || isDirect || prefix === 32) {
    const isFar = gateway !== '' && networkOf(gateway, prefix) !== network;
    routes.push({
      ...all,
      destination: 'default',
      gateway: net.isIPv4(gateway) ? gateway : '',
      onlink: isFar
    });
  }
  return routes;
}

/** @param {Path[]} paths @returns {NetworkState} */
const desired = (paths) => ({ rules: paths.flatMap(rulesOf), routes: paths.flatMap(routesOf) });

/** @param {Path} path @returns {import('./ip-output').Endpoint} */
const endpointOf = ({ address, interface: device, role, slot }) => ({
  id: endpointIdOf(slot),
  address,
  device,
  subflow: true,
  backup: role === 'backup',
  more: false
});

module.exports = { desired, endpointOf, networkOf };
