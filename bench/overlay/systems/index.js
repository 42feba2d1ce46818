'use strict';
// The systems that the chapter overlay compares, in the order of its tables.

const { findBoringtun } = require('../network/programs');
const seganet = require('./seganet');
const nebula = require('./nebula');
const { startBoringtun, starter } = require('./wireguard');

/** WireGuard's own MTU, for all systems: the link's 1,500 less the headers. */
const MTU = 1420;
/** The overlay's own MTU, which fits through LTE, PPPoE and a relay. */
const OVERLAY_MTU = 1280;

/**
 * @typedef {object} Running
 * @property {string} hub address at which spokes reach the hub
 * @property {import('../../harness/child').Child[]} engines the hub's first; empty = none
 * @property {import('../../harness/child').Child} [services]
 * @property {() => Promise<Figures | null>} figures of the hub's Go runtime; null: it tells none
 * @property {() => Promise<void>} stop
 *
 * @typedef {{ goroutines: number, heapBytes: number, allocatedBytes: number, releasedBytes: number }} Figures
 *
 * @typedef {object} System
 * @property {string} name @property {string} title
 * @property {boolean} [isFew] only with the least and the most peers
 * @property {() => string} [lacking]
 * @property {(star: import('../network/star').Star) => Promise<Running>} start
 */

/** @type {System[]} */
const systems = [
  {
    name: 'seganet',
    title: 'seganet-overlay',
    start: (star) => seganet.start(star, { mtu: MTU })
  },
  {
    name: 'seganet-1',
    title: 'seganet-overlay, one worker',
    start: (star) => seganet.start(star, { mtu: MTU, workers: 1 })
  },
  {
    name: 'seganet-1280',
    title: `seganet-overlay, its MTU of ${OVERLAY_MTU}`,
    isFew: true,
    start: (star) => seganet.start(star, { mtu: OVERLAY_MTU })
  },
  {
    name: 'wireguard-go',
    title: 'wireguard-go as it comes',
    start: (star) => starter('wireguard')(star, { mtu: MTU })
  },
  {
    name: 'bounded',
    title: 'wireguard-go with bounded queues',
    start: (star) => starter('bounded')(star, { mtu: MTU })
  },
  {
    name: 'boringtun',
    title: 'boringtun',
    isFew: true,
    lacking: () =>
      findBoringtun() ? '' : 'boringtun-cli was not found. Install it with cargo install boringtun-cli.',
    start: (star) => startBoringtun(star, { mtu: MTU })
  },
  {
    name: 'nebula',
    title: 'Nebula',
    isFew: true,
    start: (star) => nebula.start(star, { mtu: MTU })
  },
  {
    name: 'none',
    title: 'no overlay (virtual Ethernet)',
    isFew: true,
    start: async (star) => ({
      hub: star.hubAddress,
      engines: [],
      figures: async () => null,
      stop: async () => {}
    })
  }
];

module.exports = { MTU, systems };
