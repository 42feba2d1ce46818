'use strict';
// Which path should be backup. The clock is the test's.

const { Advice, complaintOf } = require('../../../nodes/lib/network/paths/role-advice');
const { seeded } = require('../../fixtures/random');

const LIMITS = {
  belowPercent: 40,
  lossPercent: 20,
  rttMs: 500,
  backupAfterMs: 10_000,
  activeAfterMs: 30_000,
  aheadMs: 3000
};
const FIGURES = {
  signalDbm: null,
  linkPercent: null,
  rttMs: 20,
  lossPercent: 0,
  txBytesPerSecond: null,
  rxBytesPerSecond: null
};
const wifi = (/** @type {number} */ linkPercent) => ({ ...FIGURES, linkPercent, signalDbm: -80 });

/** Paths whose quality the test sets. */
class Bench {
  /** @param {Record<string, 'active' | 'backup'>} roles */
  constructor(roles) {
    this.now = 0;
    this.advice = new Advice(LIMITS);
    /** @type {import('../../../nodes/lib/network/paths/role-advice').Judged[]} */
    this.paths = Object.entries(roles).map(([name, role]) => ({ name, role, isUp: true, quality: FIGURES }));
    /** @type {string[]} */
    this.log = [];
    this.roles = roles;
  }

  /** @param {string} name @param {Partial<import('../../../nodes/lib/network/paths/role-advice').Judged>} more */
  set(name, more) {
    this.paths = this.paths.map((path) => (path.name === name ? { ...path, ...more } : path));
    return this;
  }

  /** @param {number} seconds */
  pass(seconds) {
    for (let i = 0; i < seconds; i++) {
      const before = this.roles;
      const advised = this.advice.evaluate(this.paths, (this.now += 1000));
      this.roles = Object.fromEntries([...advised].map(([name, { role }]) => [name, role]));
      for (const [name, { role, why }] of advised)
        if (role !== before[name]) this.log.push(`${this.now / 1000} ${name} ${role}: ${why}`);
    }
    return this;
  }
}

const both = () => new Bench({ wlan0: 'active', eth0: 'active' });

test.each([
  [{}, ''],
  [{ linkPercent: 40, signalDbm: -82 }, ''],
  [{ linkPercent: 39, signalDbm: -83 }, 'link quality of 39 % (-83 dBm) is below 40 %'],
  [{ lossPercent: 20 }, ''],
  [{ lossPercent: 21 }, '21 % of the probes had no answer, more than 20 %'],
  [{ rttMs: 500.1 }, 'round trip of 500.1 ms is longer than 500 ms'],
  [{ rttMs: null, lossPercent: null }, '']
])('%j: %j', (figures, complaint) => expect(complaintOf({ ...FIGURES, ...figures }, LIMITS)).toBe(complaint));

test('makes a path backup after 10 s of bad quality, and active again after 30 s of good quality', () => {
  const bench = both()
    .pass(5)
    .set('wlan0', { quality: wifi(30) })
    .pass(10);
  expect(bench.log).toEqual([]);
  bench.pass(1);
  expect(bench.log).toEqual(['16 wlan0 backup: link quality of 30 % (-80 dBm) is below 40 %']);
  bench
    .pass(60)
    .set('wlan0', { quality: wifi(70) })
    .pass(30);
  expect(bench.log).toHaveLength(1);
  bench.pass(1);
  expect(bench.log.slice(1)).toEqual(['107 wlan0 active: good for 30 s']);
});

test('restarts the time after a moment of the other kind', () => {
  const bench = both();
  for (let i = 0; i < 10; i++) {
    bench.set('wlan0', { quality: wifi(30) }).pass(9);
    bench.set('wlan0', { quality: wifi(41) }).pass(1);
  }
  expect(bench.log).toEqual([]);
});

test('makes a path backup that goes down and up again by its loss, so that it does no harm when it is back', () => {
  const bench = both().set('wlan0', { quality: { ...FIGURES, lossPercent: 40 } });
  for (let i = 0; i < 11; i++) bench.set('wlan0', { isUp: i % 4 < 2 }).pass(1);
  expect(bench.roles.wlan0).toBe('backup');
});

test("requires each value's margin for good: just above its limit is not enough", () => {
  const margins = [
    [wifi(49), wifi(50)],
    [
      { ...FIGURES, lossPercent: 11 },
      { ...FIGURES, lossPercent: 10 }
    ],
    [
      { ...FIGURES, rttMs: 401 },
      { ...FIGURES, rttMs: 400 }
    ]
  ];
  for (const [almost, good] of margins) {
    const bench = both()
      .set('wlan0', { quality: { ...wifi(10), lossPercent: 50, rttMs: 900 } })
      .pass(12);
    expect(bench.log.splice(0)).toHaveLength(1);
    bench.set('wlan0', { quality: almost }).pass(100);
    expect(bench.log).toEqual([]);
    bench.set('wlan0', { quality: good }).pass(31);
    expect(bench.log).toHaveLength(1);
  }
});

test('advises nothing while no other active path is up and not bad', () => {
  const lone = new Bench({ wlan0: 'active', wwan0: 'backup' }).set('wlan0', { quality: wifi(5) }).pass(60);
  const dead = both()
    .set('wlan0', { quality: wifi(5) })
    .set('eth0', { isUp: false })
    .pass(60);
  const poor = both()
    .set('wlan0', { quality: wifi(5) })
    .set('eth0', { quality: wifi(6) })
    .pass(60);
  expect([lone.log, dead.log, poor.log]).toEqual([[], [], []]);
});

test('makes it active at once when the other active path goes down, before a configured backup', () => {
  const bench = new Bench({ wlan0: 'active', eth0: 'active', wwan0: 'backup' });
  bench.set('wlan0', { quality: wifi(5) }).pass(20);
  expect(bench.roles).toEqual({ wlan0: 'backup', eth0: 'active', wwan0: 'backup' });
  bench.set('eth0', { isUp: false }).pass(1);
  expect(bench.roles).toEqual({ wlan0: 'active', eth0: 'active', wwan0: 'backup' });
  expect(bench.log.at(-1)).toBe('21 wlan0 active: no other active path is up');
  // And not backup again before its time.
  bench.set('eth0', { isUp: true }).pass(10);
  expect(bench.roles.wlan0).toBe('active');
  bench.pass(1);
  expect(bench.roles.wlan0).toBe('backup');
});

test('makes the best of several active then', () => {
  const bench = new Bench({ wlan0: 'active', wlan1: 'active', wlan2: 'active', eth0: 'active' });
  bench.set('wlan0', { quality: wifi(5) }).set('wlan1', { quality: wifi(30) });
  bench.set('wlan2', { quality: { ...wifi(30), lossPercent: 30 } }).pass(20);
  bench.set('eth0', { isUp: false }).pass(1);
  expect(bench.roles).toEqual({ wlan0: 'backup', wlan1: 'active', wlan2: 'backup', eth0: 'active' });
});

test('keeps both active while one fades and the other grows, and then the better one', () => {
  const bench = new Bench({ wlan0: 'active', wlan1: 'active' });
  bench
    .set('wlan1', { quality: wifi(10) })
    .set('wlan0', { quality: wifi(90) })
    .pass(15);
  expect(bench.roles).toEqual({ wlan0: 'active', wlan1: 'backup' });
  bench
    .set('wlan0', { quality: wifi(30) })
    .set('wlan1', { quality: wifi(35) })
    .pass(11);
  expect(bench.log.at(-1)).toBe('26 wlan1 active: no active path is better');
  bench.set('wlan1', { quality: wifi(60) }).pass(11);
  expect(bench.roles).toEqual({ wlan0: 'backup', wlan1: 'active' });
});

test('keeps the backup role across down and up, and requires the whole time of good quality again', () => {
  const bench = both()
    .set('wlan0', { quality: wifi(5) })
    .pass(12)
    .set('wlan0', { quality: wifi(90) })
    .pass(29);
  bench.set('wlan0', { isUp: false }).pass(10).set('wlan0', { isUp: true }).pass(30);
  expect(bench.roles.wlan0).toBe('backup');
  bench.pass(1);
  expect(bench.roles.wlan0).toBe('active');
});

test('gives a path that went away and returned its configured role', () => {
  const bench = both()
    .set('wlan0', { quality: wifi(5) })
    .pass(12);
  const all = bench.paths;
  bench.paths = all.filter(({ name }) => name !== 'wlan0');
  bench.pass(1);
  bench.paths = all;
  bench.pass(1);
  expect(bench.roles).toEqual({ wlan0: 'active', eth0: 'active' });
});

test('always keeps one path active that was set active, the best known kind of those up if any is; promotes no backup (seed 11)', () => {
  const { integer } = seeded(11);
  for (let round = 0; round < 20; round++) {
    const bench = new Bench({ a: 'active', b: 'active', c: 'active', z: 'backup' });
    const changes = /** @type {Record<string, number>} */ ({});
    for (let i = 0; i < 100; i++) {
      const name = 'abcz'[integer(4)];
      const figures = { ...wifi(integer(101)), lossPercent: integer(60), rttMs: integer(900) };
      bench.set(name, { isUp: integer(4) > 0, quality: integer(5) === 0 ? FIGURES : figures });
      const before = bench.roles;
      bench.pass(1 + integer(15));
      expect(bench.roles.z).toBe('backup');
      const active = bench.paths.filter((path) => bench.roles[path.name] === 'active');
      expect(active.length).toBeGreaterThan(0);
      const mayCarry = bench.paths.filter(({ role, isUp }) => role === 'active' && isUp);
      expect(active.some(({ isUp }) => isUp)).toBe(mayCarry.length > 0);
      for (const [path, role] of Object.entries(bench.roles)) {
        if (role !== before[path]) changes[path] = (changes[path] ?? 0) + 1;
      }
    }
    expect(changes.z).toBe(undefined);
  }
});

describe('with a look ahead', () => {
  test.each([
    [60, 39, 'link quality of 60 % (-80 dBm) falls, and will be below 40 % in 3 s'],
    [60, 40, ''],
    [60, null, ''],
    [39, 80, 'link quality of 39 % (-80 dBm) is below 40 %']
  ])('%i %% now and %j %% then: %j', (now, then, complaint) =>
    expect(complaintOf(wifi(now), LIMITS, then)).toBe(complaint)
  );

  test('leaves a path whose signal falls before it is bad, and returns once it rises', () => {
    const bench = both();
    bench.set('wlan0', { quality: wifi(60), expectedPercent: 20 }).pass(12);
    expect(bench.log).toEqual([
      '11 wlan0 backup: link quality of 60 % (-80 dBm) falls, and will be below 40 % in 3 s'
    ]);
    // It is better than the limit by the margin, but its signal still falls.
    bench.set('wlan0', { quality: wifi(60), expectedPercent: 45 }).pass(40);
    expect(bench.log.length).toBe(1);
    bench.set('wlan0', { quality: wifi(60), expectedPercent: 75 }).pass(31);
    expect(bench.log.at(-1)).toBe('83 wlan0 active: good for 30 s');
  });

  test('keeps the last active path, however its signal falls', () => {
    const bench = both();
    bench
      .set('eth0', { isUp: false })
      .set('wlan0', { quality: wifi(60), expectedPercent: 0 })
      .pass(60);
    expect(bench.roles.wlan0).toBe('active');
  });
});
