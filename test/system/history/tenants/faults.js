'use strict';
// What a fault of a schedule does to a lab. Steps of the same part wait for each other, those of others do not.

const { TENANTS } = require('./schedule');

/** @typedef {import('./lab').Lab} Lab */
/** @typedef {import('./schedule').Fault} Fault */
/** @typedef {import('./lab').Times} Times */

const FILL_MS = 40;

/** @param {number} ms */
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** @param {Lab} lab @param {number} ms it stays away */
const killFront = (lab, ms) =>
  lab.after('front', async () => {
    await lab.kill('front');
    await wait(ms);
    await lab.startFront();
  });

/** @param {Lab} lab @param {number} ms */
const killKeeper = (lab, ms) =>
  lab.after('keeper', async () => {
    await lab.kill('keeper');
    await wait(ms);
    await lab.startKeeper();
  });

/** @param {Lab} lab @param {'front' | 'keeper'} part @param {number} ms */
const halt = (lab, part, ms) =>
  lab.after(part, async () => {
    lab[part]?.kill('SIGSTOP');
    await wait(ms);
    lab[part]?.kill('SIGCONT');
  });

/**
 * Front, keeper and the tenants file have no other step meanwhile. All that nest wait for the parts in this order.
 * @param {Lab} lab @param {number} ms it stays away
 */
const cutPower = (lab, ms) =>
  lab.after('file', () =>
    lab.after('front', () =>
      lab.after('keeper', async () => {
        await lab.cutPower();
        await wait(ms);
        await Promise.all([lab.startFront(), lab.startKeeper()]);
      })
    )
  );

/** @param {Lab} lab @param {Fault} fault @param {Times[]} times */
async function remove(lab, { tenant, for: ms, byCommand }, times) {
  if (byCommand) {
    await lab.whileStopping(tenant, lab.command('remove', tenant));
    await wait(ms);
    await lab.add(tenant, times[TENANTS.indexOf(tenant)]);
    return;
  }
  lab.write(
    times,
    TENANTS.filter((name) => name !== tenant)
  );
  await lab.whileStopping(tenant, lab.ask('POST', '/v1/reload', {}));
  await wait(ms);
  lab.write(times);
  await lab.ask('POST', '/v1/reload', {});
}

/** @type {Record<string, (lab: Lab, fault: Fault, times: Times[]) => Promise<unknown>>} */
const faults = {
  none: async () => {},
  'front-kill': (lab, fault) => killFront(lab, fault.for),
  'keeper-kill': (lab, fault) => killKeeper(lab, fault.for),
  'tenant-kill': async (lab, { tenant, isWoken }) => {
    lab.signalTenant(tenant, 'SIGKILL');
    if (isWoken) await lab.ask('POST', `/v1/tenants/${tenant}/wake`, {});
  },
  'all-kill': async (lab, fault) => {
    const all = [killFront(lab, fault.for), killKeeper(lab, fault.for)];
    for (const tenant of TENANTS) lab.signalTenant(tenant, 'SIGKILL');
    await Promise.all(all);
  },
  'front-stop': (lab, fault) => halt(lab, 'front', fault.for),
  'keeper-stop': (lab, fault) => halt(lab, 'keeper', fault.for),
  'tenant-stop': async (lab, { tenant, for: ms }) => {
    if (!lab.signalTenant(tenant, 'SIGSTOP')) return;
    await wait(ms);
    lab.signalTenant(tenant, 'SIGCONT');
  },
  sleep: async (lab, { tenant, force, pause, times }) => {
    for (let i = 0; i < times; i++) {
      const step = lab.ask('POST', `/v1/tenants/${tenant}/sleep`, { force, pause });
      await (force ? lab.whileStopping(tenant, step) : step);
      await wait(200);
    }
  },
  removed: (lab, fault, times) => lab.after('file', () => remove(lab, fault, times)),
  deploy: (lab, { times, gapMs, deploy, changed }) =>
    lab.after('front', async () => {
      for (let i = 0; i < times; i++) {
        await lab.deploy(deploy, changed);
        await wait(gapMs);
      }
    }),
  file: (lab, { for: ms, isInvalid }, times) =>
    lab.after('file', async () => {
      if (isInvalid) lab.replace('{"version":1,"tenants":[{"name":"acme","driver":');
      else lab.write(times.map((each) => ({ ...each, idleMs: each.idleMs + 100 })));
      await lab.ask('POST', '/v1/reload', {});
      await wait(ms);
      lab.write(times);
      await lab.ask('POST', '/v1/reload', {});
    }),
  'volume-full': async (lab, { tenant, for: ms }) => {
    const end = performance.now() + ms;
    while (performance.now() < end) {
      lab.fill(tenant);
      await wait(FILL_MS);
    }
    lab.empty(tenant);
  },
  'power-cut': (lab, fault) => cutPower(lab, fault.for),
  // It fails again and again, until a person repairs it and wakes it.
  'tenant-broken': (lab, { tenant, for: ms }) =>
    lab.after(tenant, async () => {
      const mend = lab.breakTenant(tenant);
      lab.signalTenant(tenant, 'SIGKILL');
      await wait(ms);
      mend();
      await lab.ask('POST', `/v1/tenants/${tenant}/wake`, {});
    })
};

module.exports = { faults, wait };
