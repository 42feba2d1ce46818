'use strict';
// Small faults of a long run, drawn from a seed. Each ends its own effect.

/** @typedef {import('./soak').Soak} Soak */
/** @typedef {ReturnType<typeof import('../../fixtures/random').draws>} Draws */

/** @param {number} ms */
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** @type {Record<string, (soak: Soak, draw: Draws) => Promise<void>>} */
const FAULTS = {
  reset: async ({ proxy }) => proxy.reset(),
  outage: async ({ proxy }, { between }) => {
    proxy.freeze();
    await wait(between(500, 6000));
    proxy.thaw();
  },
  'broker-stop': async ({ broker }, { between }) => {
    await broker.stop('SIGTERM');
    await wait(between(300, 4000));
    await broker.start();
  },
  paused: async ({ system }, { between }) => {
    system.signal('SIGSTOP');
    await wait(between(100, 2000));
    system.signal('SIGCONT');
  },
  deploy: async ({ system }, { pick }) => {
    await system.deploy(pick(['full', 'nodes', 'flows']), 'seganet-priority-1');
  },
  devices: async ({ fleet }, { between }) => {
    const first = between(0, fleet.devices.length - 31);
    for (const device of fleet.devices.slice(first, first + 30)) device.socket?.resetAndDestroy();
  },
  pages: async ({ look }) => {
    await Promise.all(['/seganet/', '/seganet/metrics', '/seganet/readyz'].map(look));
  }
};

module.exports = { FAULTS };
