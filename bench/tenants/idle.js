'use strict';
// When tenants that nobody uses rest, and that tenants with work do not (criterion 11).

const { page } = require('./pages');
const { onStage } = require('./stage');

const IDLE_MS = 1000;
const STOP_MS = 1000;
const POLL_MS = 10;
const REST_MS = 60_000;
const SEND_MS = 300;
const RENEW_MS = 5000;
/** Events of a tenant that does not serve any longer. */
const RESTS = ['paused', 'stopped', 'crashed', 'failed'];
const QOS = /** @type {const} */ ({ qos: 1 });

/** @param {number} ms */
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Uses a tenant for a moment, and waits until it rests.
 * @param {import('./stage').Stage} stage @param {string} tenant @param {string} resting the state that begins it
 * @returns {Promise<number>} ms between the end of its idle time and the beginning of its rest
 */
async function lateness(stage, tenant, resting) {
  const body = { reason: 'operator', class: 8, holder: 'bench' };
  const { lease } = await stage.keeper.ask('POST', `/v1/tenants/${tenant}/lease`, body);
  await stage.keeper.ask('DELETE', `/v1/leases/${lease}`);
  const released = Date.now();
  const deadline = performance.now() + REST_MS;
  for (;;) {
    const row = (await stage.keeper.rows()).get(tenant);
    // A pause is over at once, so its beginning may be missed; a stop takes longer.
    if (row && row.state !== 'running') {
      const hasTime = row.state === resting || row.state === 'paused';
      return (hasTime ? row.since : Date.now()) - released - IDLE_MS;
    }
    if (performance.now() > deadline) throw new Error(`${tenant} did not rest within ${REST_MS / 1000} s`);
    await pause(POLL_MS);
  }
}

/**
 * @param {{ samples: number, busyMs: number, driver?: import('./stage').Driver }} options busyMs: how long tenants
 *   with work are watched; their idle time is 1 s
 * @returns {Promise<{ stopLate: number[], pauseLate: number[], busyMs: number, rests: string[], records: number,
 *   losses: number }>} rests: of tenants with work; losses: connections of devices that ended
 */
function idleStops({ samples, busyMs, driver }) {
  const cold = { idleMs: IDLE_MS, stopMs: STOP_MS, warm: false };
  const tenants = ['cold', 'warm', 'lease', 'records', 'page'];
  return onStage({ tenants, times: cold, driver, hasPages: true }, async (stage) => {
    await stage.prime();
    stage.home.writeTenants(
      tenants.map((name) => stage.entry(name, name === 'warm' ? { warm: true, stopMs: REST_MS } : {}))
    );
    await stage.keeper.ask('POST', '/v1/reload');
    /** @type {number[]} */
    const stopLate = [];
    /** @type {number[]} */
    const pauseLate = [];
    const sleeper = await stage.device('cold');
    for (let i = 0; i < samples; i++) {
      stopLate.push(await lateness(stage, 'cold', 'stopping'));
      pauseLate.push(await lateness(stage, 'warm', 'pausing'));
      await stage.untilStopped(['cold']);
    }
    const busy = await work(stage, busyMs);
    // The device is still connected, and its record still arrives.
    await sleeper.publishAsync('temperature', '21.5', QOS);
    await stage.untilArrived('cold', 1);
    return { stopLate, pauseLate, busyMs, ...busy, losses: stage.losses };
  });
}

/**
 * Keeps three tenants busy: with a lease, with records, and with an open connection.
 * @param {import('./stage').Stage} stage @param {number} busyMs
 */
async function work(stage, busyMs) {
  const busy = ['lease', 'records', 'page'];
  const body = { reason: 'operator', class: 8, holder: 'bench' };
  const { lease } = await stage.keeper.ask('POST', '/v1/tenants/lease/lease', body);
  const renewal = setInterval(
    () => void stage.keeper.ask('PUT', `/v1/leases/${lease}`).catch(() => {}),
    RENEW_MS
  );
  const device = await stage.device('records');
  let records = 0;
  let isOver = false;
  const sending = (async () => {
    for (; !isOver; await pause(SEND_MS)) {
      await device.publishAsync('temperature', '21.5', QOS);
      records += 1;
    }
  })();
  // Each answer takes several times the idle time.
  const reading = (async () => {
    while (!isOver) await page(stage, 'page', '/slow');
  })();
  try {
    await stage.untilArrived('records', 1);
    await stage.keeper.untilState(busy, ['running'], REST_MS);
    /** @type {string[]} */
    const rests = [];
    const end = await stage.keeper.follow(({ tenant, event }) => {
      if (busy.includes(tenant) && RESTS.includes(event)) rests.push(`${tenant} ${event}`);
    });
    await pause(busyMs);
    end();
    return { rests, records };
  } finally {
    isOver = true;
    clearInterval(renewal);
    await Promise.allSettled([sending, reading]);
    await stage.keeper.ask('DELETE', `/v1/leases/${lease}`).catch(() => {});
  }
}

module.exports = { idleStops };
