'use strict';
// Memory of tenants that run and that sleep (criterion 10), and the paper's long experiment (criterion 1).

const { readMemory } = require('../harness/memory');
const { readCpu } = require('../harness/proc');
const { page } = require('./pages');
const { names, onStage } = require('./stage');

const QOS = /** @type {const} */ ({ qos: 1 });
const RUNNING = 2;
const ASLEEP = 20;
const PACKET_MS = 60_000;
/** 13 bytes, as in the paper. */
const PACKET = '{"temp":21.5}';
/** They run until the end. */
const AWAKE = { idleMs: 3_600_000, stopMs: 3_600_000, warm: false };

/** @param {number} ms */
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** @typedef {{ rss: number, pss: number, private: number }} Weight bytes; private: what its end would free */

/** @param {number} group @returns {Weight} */
function weigh(group) {
  const { rss, pss, privateDirty } = readMemory([group]);
  return { rss, pss, private: privateDirty };
}

/**
 * The memory of each tenant: that of its processes, or what the engine says about its container.
 * @param {import('./stage').Stage} stage @param {string[]} tenants
 * @returns {Promise<Weight[]>}
 */
async function weighTenants(stage, tenants) {
  const rows = await stage.keeper.rows();
  return tenants.map((name) => {
    const group = stage.home.group(name);
    if (group) return weigh(group);
    const bytes = rows.get(name)?.memoryBytes ?? 0;
    return { rss: bytes, pss: bytes, private: bytes };
  });
}

/**
 * @param {{ more: number, settleMs: number, driver?: import('./stage').Driver }} options more: sleeping tenants that
 *   are added to find the memory of one
 * @returns {Promise<{ running: Weight[], front: Weight, keeper: Weight, more: number, frontWithMore: Weight,
 *   keeperWithMore: Weight }>}
 */
function memory({ more, settleMs, driver }) {
  const tenants = names(RUNNING, 'run');
  const asleep = names(ASLEEP, 'sleep');
  return onStage({ tenants, asleep, times: AWAKE, driver }, async (stage) => {
    for (const tenant of tenants) {
      const device = await stage.device(tenant);
      await device.publishAsync('temperature', '21.5', QOS);
      await stage.untilArrived(tenant, 1, 20);
    }
    await pause(settleMs);
    const running = await weighTenants(stage, tenants);
    const [front, keeper] = [weigh(stage.frontPid), weigh(stage.keeper.pid)];
    await stage.grow(names(more, 'more'));
    await pause(settleMs);
    return {
      running,
      front,
      keeper,
      more,
      frontWithMore: weigh(stage.frontPid),
      keeperWithMore: weigh(stage.keeper.pid)
    };
  });
}

/** @param {import('./stage').Stage} stage @returns {Record<'front' | 'keeper' | 'tenant', number>} process groups */
const groupsOf = (stage) => ({
  front: stage.frontPid,
  keeper: stage.keeper.pid,
  tenant: stage.home.group('acme')
});

/**
 * A tenant with a store and a page that runs all the time, and a device that sends 13 bytes each 60 s.
 * @param {{ minutes: number, quietMs: number }} options quietMs: before the measurement; each process compacts its heap
 *   once in its first idle seconds
 * @returns {Promise<{ seconds: number, packets: number, cores: Record<'front' | 'keeper' | 'tenant', number>,
 *   memory: Record<'front' | 'keeper' | 'tenant', Weight> }>}
 */
function duty({ minutes, quietMs }) {
  const options = { tenants: ['acme'], times: AWAKE, hasStore: true, hasPages: true };
  return onStage(options, async (stage) => {
    const device = await stage.device('acme');
    await device.publishAsync('temperature', PACKET, QOS);
    await stage.untilArrived('acme', 1, 20);
    const { body } = await page(stage, 'acme');
    if (!body.includes('pump-1 temperature')) throw new Error(`The page has no value: ${body.slice(0, 200)}`);
    await pause(quietMs);
    const groups = groupsOf(stage);
    const before = {
      front: readCpu(groups.front),
      keeper: readCpu(groups.keeper),
      tenant: readCpu(groups.tenant)
    };
    const from = performance.now();
    const until = from + minutes * PACKET_MS;
    let packets = 1;
    while (performance.now() < until) {
      await device.publishAsync('temperature', PACKET, QOS);
      packets += 1;
      await pause(Math.min(PACKET_MS, Math.max(0, until - performance.now())));
    }
    const seconds = (performance.now() - from) / 1000;
    await stage.untilArrived('acme', packets, 20);
    const used = (/** @type {'front' | 'keeper' | 'tenant'} */ part) =>
      (readCpu(groups[part]) - before[part]) / seconds;
    return {
      seconds,
      packets: packets - 1,
      cores: { front: used('front'), keeper: used('keeper'), tenant: used('tenant') },
      memory: { front: weigh(groups.front), keeper: weigh(groups.keeper), tenant: weigh(groups.tenant) }
    };
  });
}

module.exports = { memory, duty, weigh };
