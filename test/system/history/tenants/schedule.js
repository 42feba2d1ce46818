'use strict';
// The plan of a run with tenants, drawn from its seed: bursts of records on tenants that sleep, and faults meanwhile.

const { draws, seeded } = require('../../../fixtures/random');

/**
 * @typedef {{kind: string, at: number, tenant: string, for: number, [detail: string]: any}} Fault times in ms after the
 *   start of the load; for: how long a process stays away, or a state lasts
 * @typedef {{at: number, for: number, tenant: string, rate: number}} Burst rate: records a second
 *
 * @typedef {object} Schedule
 * @property {number} seed @property {string} kind the run's main fault @property {number} seconds of load
 * @property {number} devices of each tenant
 * @property {import('../devices/payload').Shape} shape
 * @property {{idleMs: number, stopMs: number, warm: boolean}[]} times of the tenants
 * @property {number} flowMs time that a record stays in the flow of its tenant
 * @property {Burst[]} bursts
 * @property {Fault[]} faults
 */

const TENANTS = ['acme', 'blue', 'cyan'];

const KINDS = [
  'none',
  'front-kill',
  'keeper-kill',
  'tenant-kill',
  'all-kill',
  'front-stop',
  'keeper-stop',
  'tenant-stop',
  'sleep',
  'removed',
  'deploy',
  'file',
  'volume-full',
  'power-cut',
  'tenant-broken'
];

/** Nodes of the front whose change is deployed. */
const CHANGED = ['in', 'priority', 'tenants', 'tenants', 'engine'];

/** @typedef {ReturnType<typeof draws>} Draws */

/** @type {Record<string, (draw: Draws) => Partial<Fault>>} */
const details = {
  none: () => ({}),
  'front-kill': ({ between }) => ({ for: between(0, 500) }),
  'keeper-kill': ({ between }) => ({ for: between(0, 1500) }),
  'tenant-kill': ({ chance }) => ({ isWoken: chance(30) }),
  'all-kill': ({ between }) => ({ for: between(0, 500) }),
  'front-stop': ({ between }) => ({ for: between(200, 2500) }),
  'keeper-stop': ({ between }) => ({ for: between(200, 2500) }),
  'tenant-stop': ({ between }) => ({ for: between(200, 2500) }),
  sleep: ({ chance, between }) => ({ force: chance(70), pause: chance(50), times: between(1, 3) }),
  removed: ({ between, chance }) => ({ for: between(100, 2000), byCommand: chance(30) }),
  deploy: ({ between, pick }) => ({
    times: between(1, 3),
    gapMs: between(0, 600),
    deploy: pick(['full', 'nodes', 'nodes', 'flows']),
    changed: pick(CHANGED)
  }),
  file: ({ between, chance }) => ({ for: between(300, 2500), isInvalid: chance(50) }),
  'volume-full': ({ between }) => ({ for: between(300, 2500) }),
  'power-cut': ({ between }) => ({ for: between(0, 500) }),
  'tenant-broken': ({ between }) => ({ for: between(300, 2500) })
};

/** @param {Draws} draw @param {number} ms length of the load @returns {Burst[]} */
function drawBursts({ between, pick, chance }, ms) {
  /** @type {Burst[]} */
  const bursts = [];
  for (const tenant of TENANTS) {
    // The pauses between two bursts are long enough for the tenant to sleep, or not.
    for (let at = between(0, 600); at < ms; at += between(600, 3000)) {
      const length = between(20, 700);
      bursts.push({ at, for: length, tenant, rate: pick([50, 200, 600, 1200]) });
      at += length;
    }
    if (chance(40)) bursts.push({ at: 0, for: ms, tenant, rate: 20 });
  }
  return bursts;
}

/**
 * @param {number} seed
 * @param {{seconds: number, kinds: string[]}} options
 * @returns {Schedule}
 */
function drawSchedule(seed, { seconds, kinds }) {
  const draw = draws(seeded(seed ^ 0x7e4a));
  const { pick, between, chance } = draw;
  // All kinds are equally frequent in a row of seeds.
  const kind = kinds[seed % kinds.length];
  const ms = seconds * 1000;
  const bursts = drawBursts(draw, ms);
  const faults = [kind, ...(kind !== 'none' && chance(40) ? [pick(kinds)] : [])].map((each, i) => {
    const tenant = pick(TENANTS);
    const burst = pick(bursts.filter((one) => one.tenant === tenant));
    // Most faults hit a tenant that is at work, or waking.
    const at = chance(70)
      ? burst.at + between(0, Math.min(burst.for, 400))
      : between(100, Math.round(ms * (i === 0 ? 0.6 : 0.9)));
    return { kind: each, at, tenant, for: 0, ...details[each](draw) };
  });
  return {
    seed,
    kind,
    seconds,
    devices: between(2, 6),
    shape: { seed, minPad: 20, maxPad: pick([40, 200, 600]), bigEvery: 0, bigPad: 0 },
    times: TENANTS.map(() => ({
      idleMs: between(100, 1000),
      stopMs: pick([1000, 60000, 60000, 60000]),
      warm: chance(85)
    })),
    flowMs: pick([0, 0, 20, 100, 400]),
    bursts,
    faults
  };
}

module.exports = { drawSchedule, KINDS, TENANTS };
