'use strict';
// Records that wake tenants: criteria 5, 6 and 9.

const { CpuLimit } = require('../harness/cpu-limit');
const { COLD, names, onStage } = require('./stage');

const QOS = /** @type {const} */ ({ qos: 1 });
/** A temperature, and what an alarm is for the rules of the front. */
const TOPIC = 'temperature';
const ALARM = 'alarm';
const PERIOD_MS = 100;

/** @typedef {import('./stage').Driver} Driver */

/**
 * Wakes one stopped tenant again and again.
 * @param {{ samples: number, driver?: Driver, cores?: number }} options cores: that keeper and tenant share; absent =
 *   all
 * @returns {Promise<{ puback: number[], arrived: number[], acknowledged: number[], losses: number }>} ms from the
 *   publish
 */
function coldWakes({ samples, driver, cores }) {
  return onStage({ tenants: ['acme'], times: COLD, driver, hasStatistics: true }, async (stage) => {
    const limit = cores ? CpuLimit.make(PERIOD_MS) : null;
    try {
      await stage.prime();
      limit?.set(cores ?? 0);
      // Tenants inherit it.
      limit?.take(stage.keeper.pid);
      const device = await stage.device('acme');
      /** @type {Record<'puback' | 'arrived' | 'acknowledged', number[]>} */
      const found = { puback: [], arrived: [], acknowledged: [] };
      for (let i = 0; i < samples; i++) {
        await stage.untilStopped(['acme']);
        // Wakes are rare, so a spare is there at the usual one.
        await stage.untilSpares();
        const [from, at] = [performance.now(), Date.now()];
        await device.publishAsync(TOPIC, '21.5', QOS);
        found.puback.push(performance.now() - from);
        found.arrived.push((await stage.untilArrived('acme', i + 1)) - at);
        await stage.untilAcknowledged();
        found.acknowledged.push(performance.now() - from);
      }
      return { ...found, losses: stage.losses };
    } finally {
      limit?.set(0);
      await stage.close();
      await limit?.remove();
    }
  });
}

/**
 * Sends a record to each of many stopped tenants in one moment, that of class 1 last.
 * @param {{ tenants: number, driver?: Driver }} options
 * @returns {Promise<{ tenants: number, puback: number[], arrived: number[], urgent: number, allAcknowledged: number }>}
 *   ms from the publish; urgent: the tenant with the record of class 1
 */
function together({ tenants: count, driver }) {
  const tenants = names(count);
  return onStage({ tenants, times: COLD, driver, hasStatistics: true }, async (stage) => {
    await stage.prime();
    const devices = await Promise.all(tenants.map((tenant) => stage.device(tenant)));
    await stage.untilStopped(tenants);
    await stage.untilSpares();
    const [from, at] = [performance.now(), Date.now()];
    const puback = Promise.all(
      devices.map(async (device, i) => {
        await device.publishAsync(i === count - 1 ? ALARM : TOPIC, '21.5', QOS);
        return performance.now() - from;
      })
    );
    const arrived = await Promise.all(
      tenants.map(async (tenant) => (await stage.untilArrived(tenant, 1, 20)) - at)
    );
    await stage.untilAcknowledged();
    const allAcknowledged = performance.now() - from;
    return { tenants: count, puback: await puback, arrived, urgent: arrived[count - 1], allAcknowledged };
  });
}

module.exports = { coldWakes, together };
