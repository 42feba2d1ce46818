'use strict';
// Faults of the link and the broker. Each fault ends its own effect.

const { execFileSync } = require('node:child_process');

/** @typedef {import('../context').Context} Context */
/** @typedef {import('../schedule').Fault} Fault */

/**
 * A condition of the proxy for a while.
 * @param {(fault: Fault) => object} conditions
 * @param {boolean} [needsReset] CONNACKs count from the next one on
 */
const condition =
  (conditions, needsReset = false) =>
  /** @param {Context} context @param {Fault} fault */
  async ({ proxy, wait }, fault) => {
    const during = conditions(fault);
    const calm = Object.fromEntries(Object.keys(during).map((name) => [name, 0]));
    Object.assign(proxy.conditions, during);
    if (needsReset) proxy.reset();
    await wait(fault.for);
    Object.assign(proxy.conditions, calm);
  };

/** Packets vanish in the kernel: no FIN, no RST, no ICMP. @param {Context} context @param {Fault} fault */
async function drop({ proxy, wait }, fault) {
  const table = `seganet-history-${proxy.port}`;
  // Both sides are on this machine: packets that enter the port, and packets that leave it.
  const chain = `type filter hook input priority 0; tcp dport ${proxy.port} drop; tcp sport ${proxy.port} drop;`;
  const rules = `table inet ${table} {\n chain in {\n ${chain}\n }\n}\n`;
  execFileSync('nft', ['-f', '-'], { input: rules });
  try {
    await wait(fault.for);
  } finally {
    execFileSync('nft', ['delete', 'table', 'inet', table]);
  }
}

/** @param {NodeJS.Signals} signal */
const broken =
  (signal) =>
  /** @param {Context} context @param {Fault} fault */
  async ({ broker, wait }, fault) => {
    await broker.stop(signal);
    await wait(fault.for);
    await broker.start();
  };

/** @type {Record<string, (context: Context, fault: Fault) => Promise<void>>} */
const uplink = {
  none: async () => {},
  reset: async ({ proxy, wait }, fault) => {
    for (let i = 0; i < fault.times; i += 1) {
      await proxy.breakNext(fault.where, 200);
      await wait(fault.gapMs);
    }
  },
  blackhole: async ({ proxy, wait }, fault) => {
    proxy.freeze();
    await wait(fault.for);
    proxy.thaw();
  },
  drop,
  slow: condition(({ bytesPerSecond }) => ({ bytesPerSecond })),
  delay: condition(({ delayMs }) => ({ delayMs })),
  quota: condition(() => ({ quota: 0x97 })),
  refuse: condition(({ every }) => ({ refuseEvery: every })),
  'slow-link': condition(
    ({ delayMs, bytesPerSecond, receiveMaximum, maximumPacketSize, quotaEvery }) => ({
      delayMs,
      bytesPerSecond,
      receiveMaximum,
      maximumPacketSize,
      quotaEvery
    }),
    true
  ),
  'receive-maximum': condition(({ maximum }) => ({ receiveMaximum: maximum }), true),
  'packet-size': condition(({ maximum }) => ({ maximumPacketSize: maximum }), true),
  connack: condition(({ code }) => ({ connack: code }), true),
  'broker-stop': broken('SIGTERM'),
  'broker-kill': broken('SIGKILL')
};

module.exports = { uplink };
