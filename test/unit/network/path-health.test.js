'use strict';
// When a path is up, and the resulting state of its endpoint. The clock is the test's.

const { Health, fatesOf } = require('../../../nodes/lib/network/paths/path-health');

const SETTINGS = { probes: true, everyMs: 1000, timeoutMs: 700 };
const LINK = { exists: true, carrier: true, address: '10.0.1.1' };
const good = { ok: true, why: 'answers' };
const bad = { ok: false, why: 'silent' };

/** A path whose probes are answered, or time out, as `answers` says for each moment. */
class Bench {
  constructor(settings = SETTINGS) {
    this.now = 0;
    this.health = new Health(settings, 0);
    this.alive = true;
    this.health.link(LINK, 0);
  }

  /** @param {number} until ms @param {(health: InstanceType<typeof Health>) => boolean} [isOver] */
  run(until, isOver = () => false) {
    while (this.health.nextProbeAt <= until && !isOver(this.health)) {
      this.now = Math.max(this.now, this.health.nextProbeAt) + (this.alive ? 20 : SETTINGS.timeoutMs);
      this.health.probed(this.alive ? good : bad, this.now);
    }
    if (!isOver(this.health)) this.now = Math.max(this.now, until);
    return this.now;
  }
}

test('makes a path up at the first answer', () => {
  const { health } = new Bench();
  expect(health).toMatchObject({ state: 'probing', nextProbeAt: 0, isKnown: false });
  health.probed(good, 20);
  expect(health).toMatchObject({ state: 'up', why: 'answers', since: 20, nextProbeAt: 1020 });
});

test('notices silence within 3 s, at the worst moment, and not after one lost probe', () => {
  const bench = new Bench();
  bench.run(5000);
  bench.alive = false;
  const since = bench.now;
  bench.run(since + 10_000, ({ state }) => state === 'down');
  expect(bench.health).toMatchObject({ state: 'down', why: 'silent' });
  expect(bench.now - since).toBeLessThan(3000);

  const other = new Bench();
  other.run(5000);
  other.health.probed(bad, 5700);
  expect(other.health).toMatchObject({ state: 'up', nextProbeAt: 6000 });
  other.health.probed(good, 6010);
  other.health.probed(bad, 7000);
  expect(other.health.state).toBe('up');
});

describe('when a user of the path reports silence', () => {
  const used = () => {
    const bench = new Bench();
    bench.run(5000);
    return bench.health;
  };

  test('probes twice at once, with a short time-out, and takes the path down if neither is answered', () => {
    const health = used();
    expect(health).toMatchObject({ timeoutMs: 700, isFastProbe: false });
    expect(health.suspect(0, 5100)).toBe(true);
    expect(health).toMatchObject({ state: 'up', nextProbeAt: 5100, timeoutMs: 150, isFastProbe: true });
    health.probed(bad, 5350);
    expect(health).toMatchObject({ state: 'down', why: 'silent', nextProbeAt: 5650 });
    expect(health).toMatchObject({ timeoutMs: 700, isFastProbe: false });
  });

  test('trusts the path again after one answer', () => {
    const health = used();
    health.suspect(0, 5100);
    health.probed(good, 5310, 10);
    expect(health).toMatchObject({ state: 'up', nextProbeAt: 6310, timeoutMs: 700, isFastProbe: false });
    health.probed(bad, 7010);
    expect(health).toMatchObject({ state: 'up', nextProbeAt: 7310 });
  });

  test('adapts the time-out to slow answers', () => {
    const health = used();
    for (let now = 5200; now < 30_000; now += 1000) health.probed(good, now, 200);
    health.suspect(0, 30_000);
    expect(health.timeoutMs).toBeGreaterThan(550);
  });

  test.each([
    [
      'a probe without a reachable target',
      (health) => health.probed({ ok: null, why: 'no such name' }, 5200)
    ],
    ['a lost link', (health) => health.link({ ...LINK, carrier: false }, 5200)],
    ['a new address', (health) => health.link({ ...LINK, address: '10.0.1.77' }, 5200)]
  ])('ends it on %s', (_, /** @type {(health: InstanceType<typeof Health>) => void} */ end) => {
    const health = used();
    health.suspect(0, 5100);
    end(health);
    expect(health.isFastProbe).toBe(false);
  });

  test('does not probe a path earlier that is not up, or is not probed', () => {
    expect(new Bench().health.suspect(0, 1)).toBe(false);
    const { health } = new Bench({ ...SETTINGS, probes: false });
    expect(health.suspect(0, 1)).toBe(false);
    expect(health.nextProbeAt).toBe(Infinity);
  });
});

test('comes back after two answers in a row', () => {
  const bench = new Bench();
  bench.run(40_000);
  bench.alive = false;
  bench.run(45_000);
  bench.alive = true;
  const since = bench.now;
  bench.run(since + 10_000, ({ state }) => state === 'probing');
  expect(bench.health.why).toContain('2 answers in a row');
  bench.run(since + 10_000, ({ state }) => state === 'up');
  expect(bench.now - since).toBeLessThan(1000);
});

test('requires twice as many answers after each flap, and few again after a stable time', () => {
  const bench = new Bench();
  bench.run(40_000);
  const needed = [];
  for (let i = 0; i < 7; i++) {
    bench.alive = false;
    bench.run(bench.now + 20_000, ({ state }) => state === 'down');
    bench.alive = true;
    let answers = 0;
    while (bench.health.state !== 'up') {
      bench.now += 300;
      bench.health.probed(good, bench.now);
      answers++;
    }
    needed.push(answers);
    if (i === 5) bench.run(bench.now + 31_000);
  }
  expect(needed).toEqual([2, 4, 8, 16, 32, 32, 2]);
});

test('notices a lost link at once; a link that is back makes the path up only after answers', () => {
  const bench = new Bench();
  bench.run(40_000);
  bench.health.link({ ...LINK, carrier: false }, 40_001);
  expect(bench.health).toMatchObject({ state: 'down', why: 'the link is down', nextProbeAt: Infinity });
  bench.health.probed(good, 40_002);
  expect(bench.health.state).toBe('down');
  bench.health.link(LINK, 50_000);
  expect(bench.health).toMatchObject({ state: 'probing', why: 'the link is back', nextProbeAt: 50_000 });
  bench.run(60_000, ({ state }) => state === 'up');
  expect(bench.now - 50_000).toBeLessThan(500);
});

test('names what is missing', () => {
  const { health } = new Bench();
  health.link({ ...LINK, address: '' }, 1);
  expect(health).toMatchObject({ state: 'down', why: 'no IPv4 address' });
  health.link({ exists: false, carrier: false, address: '' }, 2);
  expect(health).toMatchObject({ state: 'down', why: 'no such interface', since: 1 });
});

test('requires answers again for a new address', () => {
  const bench = new Bench();
  bench.run(40_000);
  bench.health.link({ ...LINK, address: '10.0.1.77' }, 40_001);
  expect(bench.health).toMatchObject({
    state: 'probing',
    why: 'new address 10.0.1.77',
    nextProbeAt: 40_001
  });
});

test('draws no conclusion about the path when no target could be probed', () => {
  const bench = new Bench();
  for (let i = 0; i < 9; i++) bench.health.probed({ ok: null, why: 'no such name' }, i);
  expect(bench.health).toMatchObject({ state: 'probing', why: 'no such name' });
  bench.run(40_000);
  for (let i = 0; i < 9; i++) bench.health.probed({ ok: null, why: 'no such name' }, 40_000 + i);
  expect(bench.health).toMatchObject({ state: 'up', why: 'answers' });
});

test('uses only the link without a broker', () => {
  const { health } = new Bench({ ...SETTINGS, probes: false });
  expect(health).toMatchObject({ state: 'up', nextProbeAt: Infinity });
  health.link({ ...LINK, carrier: false }, 5);
  health.link(LINK, 6);
  expect(health).toMatchObject({ state: 'up', why: 'the link is up' });
});

describe('the endpoint', () => {
  /** @param {any} state @param {boolean} [isStale] @param {boolean} [isKnown] */
  const path = (state, isStale = false, isKnown = true) => ({ state, isStale, isKnown });

  test.each([
    ['is set while its path is up', [path('up'), path('up')], ['there', 'there']],
    [
      'is removed when its path is down and another is not',
      [path('up'), path('down', true)],
      ['there', 'gone']
    ],
    ['waits for enough answers', [path('up'), path('probing', true)], ['there', 'gone']],
    ['is set again after that', [path('up'), path('up', true)], ['there', 'new']],
    [
      'stays when all are down because its removal gains nothing',
      [path('down', true), path('down', true)],
      ['kept', 'kept']
    ],
    [
      'of a path that is down is removed when another comes back',
      [path('up', true), path('down', true)],
      ['new', 'gone']
    ],
    ['stays until the state is known', [path('up'), path('probing', false, false)], ['there', 'kept']]
  ])('%s', (_, paths, fates) => expect(fatesOf(paths)).toEqual(fates));
});
