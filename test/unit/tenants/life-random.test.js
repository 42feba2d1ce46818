'use strict';
// Random histories of one keeper: callers, crashes, an engine that goes away, a file that changes. After each, no
// call of the engine overlapped another one of the same tenant, at most two starts overlapped, or three with one of
// class 1, every caller got an answer, and every tenant wakes.
// SEGANET_SEED=N repeats one history.

const { seeded } = require('../../fixtures/random');
const { fakeKeeper } = require('../../fixtures/tenants/fake-keeper');

const HISTORIES = 60;
const STEPS = 150;
const STARTS = 2;
/** More tenants than may start at once. */
const NAMES = ['a', 'b', 'c', 'd', 'e'];
const never = new AbortController().signal;

/** What a caller may be refused with. */
const CODES = ['busy', 'failed', 'leased', 'engine', 'unknown', undefined];

/** @param {number} seed */
async function history(seed) {
  const { next: random } = seeded(seed);
  const pick = (/** @type {any[]} */ list) => list[Math.floor(random() * list.length)];
  const world = fakeKeeper({ limits: { starts: STARTS, readyMs: 5000 } });
  const { clock, driver, keeper, ready } = world;
  /** @type {string[]} */
  const steps = [];
  /** @type {Map<string, string>} leases that were granted, and neither returned nor refused: their tenants */
  const leases = new Map();
  /** Tenants that callers of class 1 wait for. @type {string[]} */
  const urgent = [];
  let waiting = 0;
  /** @type {unknown[]} */
  const surprises = [];
  let specs = NAMES.map((name) => ({ name, idleMs: 2000, stopMs: 5000, always: false, warm: true }));
  /** @type {string[]} */
  const starting = [];
  const start = driver.start.bind(driver);
  driver.start = async (spec) => {
    starting.push(spec.name);
    const most = STARTS + (starting.some((name) => urgent.includes(name)) ? 1 : 0);
    if (starting.length > most) surprises.push(new Error(`${starting.length} starts at once, not ${most}`));
    await start(spec).finally(() => starting.splice(starting.indexOf(spec.name), 1));
  };
  await world.apply(...specs);

  /** @param {Promise<any>} promise @param {(value: any) => void} [then] */
  const track = (promise, then) => {
    waiting++;
    promise
      .then(then, (error) => {
        const isOurs =
          CODES.includes(error.code) && (error.code || /does not run|is not paused/.test(error.message));
        if (!isOurs) surprises.push(error);
      })
      .finally(() => waiting--);
  };
  /** @param {string} name @param {Parameters<typeof keeper.lease>[1]} request @param {AbortSignal} signal */
  const take = async (name, request, signal) => {
    if (request.priority === 1) urgent.push(name);
    try {
      // A tenant that left the file is unknown.
      return await keeper.lease(name, request, signal);
    } finally {
      if (request.priority === 1) urgent.splice(urgent.indexOf(name), 1);
    }
  };
  /** @param {string} name */
  const lease = (name) => {
    const gone = new AbortController();
    const request = {
      by: pick(['records', 'connection', 'operator']),
      priority: 1 + Math.floor(random() * 8),
      holder: ''
    };
    track(take(name, request, gone.signal), ({ lease: id }) => void leases.set(id, name));
    if (random() < 0.2) clock.timer(random() * 800, () => gone.abort());
  };
  const tenantOf = (/** @type {string} */ name) => Promise.resolve().then(() => keeper.tenant(name));
  /** @type {Record<string, () => void>} */
  const deeds = {
    lease: () => lease(pick(NAMES)),
    again: () => lease(pick(NAMES)),
    release: () => {
      const id = pick([...leases.keys()]);
      if (id) keeper.release(id);
      leases.delete(id);
    },
    renew: () => {
      for (const id of leases.keys()) if (!keeper.renew(id)) leases.delete(id);
    },
    wake: () =>
      track(
        tenantOf(pick(NAMES)).then((tenant) => tenant.wake({ by: 'operator', isForced: random() < 0.5 }))
      ),
    sleep: () =>
      track(
        tenantOf(pick(NAMES)).then((tenant) =>
          tenant.sleep({ isForced: random() < 0.3, isPause: random() < 0.5 })
        )
      ),
    crash: () => driver.crash(pick(NAMES)),
    slow: () => void (ready.ms = pick([1, 300, 3000, Infinity])),
    engine: () => void (driver.isAway = random() < 0.4),
    broken: () => void (random() < 0.5 ? driver.broken.add(pick(NAMES)) : driver.broken.clear()),
    file: () => {
      specs = NAMES.filter(() => random() < 0.85).map((name) => ({
        name,
        idleMs: pick([500, 2000]),
        stopMs: 5000,
        always: random() < 0.2,
        warm: random() < 0.7
      }));
      track(world.apply(...specs));
    }
  };

  try {
    for (let i = 0; i < STEPS; i++) {
      const deed = pick(Object.keys(deeds));
      steps.push(deed);
      deeds[deed]();
      if (random() < 0.7) await clock.pass(Math.floor(random() ** 3 * 6000));
      // A granted lease that can be renewed has a tenant that runs.
      for (const [id, name] of leases) {
        if (!keeper.renew(id)) leases.delete(id);
        else if (keeper.tenant(name).status.state !== 'running')
          throw new Error(`leased, but ${keeper.tenant(name).status.state}`);
      }
    }
    // Then all is well again: every caller has an answer, and every tenant wakes and sleeps.
    driver.isAway = false;
    driver.broken.clear();
    ready.ms = 100;
    await clock.pass(120_000);
    if (waiting > 0) throw new Error(`${waiting} callers have no answer`);
    await world.apply(...NAMES.map((name) => ({ name, idleMs: 2000, stopMs: 5000 })));
    const woken = Promise.all(
      NAMES.map((name) => take(name, { by: 'operator', priority: 1, holder: '' }, never))
    );
    woken.catch(() => {});
    await clock.pass(10_000);
    if ((await woken).length !== NAMES.length) throw new Error('not all woke');
    await clock.pass(30_000 + 2000 + 5000 + 1000);
    const states = NAMES.map((name) => keeper.tenant(name).status.state);
    if (states.some((state) => state !== 'stopped')) throw new Error(`at the end: ${states}`);
    if (surprises.length > 0) throw surprises[0];
    if (driver.violations.length > 0) throw new Error(driver.violations.join('; '));
    await keeper.close({ isStopped: false });
    if (clock.timers > 0) throw new Error(`${clock.timers} timers are left`);
  } catch (error) {
    throw new Error(`seed ${seed}: ${/** @type {Error} */ (error).stack}\nsteps: ${steps.join(' ')}`, {
      cause: error
    });
  } finally {
    world.close();
  }
}

test(`no tenant gets stuck in ${HISTORIES} random histories`, async () => {
  const given = process.env.SEGANET_SEED;
  const first = given ? Number(given) : Math.floor(Math.random() * 2 ** 31);
  for (let i = 0; i < (given ? 1 : HISTORIES); i++) await history(first + i);
}, 60_000);
