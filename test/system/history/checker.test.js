'use strict';
// The checker is checked before it is trusted: it must find every planted fault, and nothing in a valid history.

const { seeded } = require('../../fixtures/random');
const { check } = require('./checker');
const { nameOf } = require('./history');
const { madeUp, settings } = require('./made-up');

const seed = Number(process.env.SEGANET_TEST_SEED) || (Date.now() % 1e9) + 1;

/** @typedef {import('./history').History} History */

/** @param {History} history @param {Partial<typeof settings>} [more] */
const verdictOf = (history, more = {}) => check(history, { ...settings, ...more });

/**
 * First deliveries of records that arrived once, so that removing or moving one shows.
 * @param {History} history
 * @param {boolean} historical
 */
function singles(history, historical) {
  const copies = new Map();
  for (const arrival of history.arrivals) copies.set(nameOf(arrival), (copies.get(nameOf(arrival)) || 0) + 1);
  return history.arrivals.filter((each) => each.historical === historical && copies.get(nameOf(each)) === 1);
}

/** @param {History} history @param {(below: number) => number} integer @param {boolean} historical */
function swapTwo(history, integer, historical) {
  const candidates = singles(history, historical);
  for (;;) {
    const a = candidates[integer(candidates.length)];
    const b = candidates.find((each) => each.device === a.device && each.class === a.class && each.n > a.n);
    if (!b || b.key === a.key) continue;
    const [i, j] = [history.arrivals.indexOf(a), history.arrivals.indexOf(b)];
    [history.arrivals[i], history.arrivals[j]] = [b, a];
    return;
  }
}

/** @param {any[]} list @param {(below: number) => number} integer */
const pick = (list, integer) => list[integer(list.length)];

/**
 * name → the planted fault, and the kind that the checker must report.
 * @type {Record<string, [string, (history: History, integer: (below: number) => number) => void]>}
 */
const mutants = {
  'an acknowledged record never arrives': [
    'lost',
    (history, integer) => {
      const name = nameOf(pick(singles(history, false), integer));
      history.arrivals = history.arrivals.filter((each) => nameOf(each) !== name);
    }
  ],
  'a stored record never arrives': [
    'lost',
    (history, integer) => {
      const name = nameOf(pick(singles(history, true), integer));
      history.arrivals = history.arrivals.filter((each) => nameOf(each) !== name);
    }
  ],
  'a record is forgotten though its PUBACK was kept from the gateway': [
    'lost',
    (history, integer) => {
      pick(singles(history, false), integer).passed = false;
    }
  ],
  'two live first deliveries are swapped': [
    'swapped',
    (history, integer) => swapTwo(history, integer, false)
  ],
  'two historical first deliveries are swapped': [
    'swapped',
    (history, integer) => swapTwo(history, integer, true)
  ],
  'a record overtakes one that was refused long before': [
    'swapped',
    (history, integer) => {
      swapTwo(history, integer, false);
      for (const { device, class: recordClass, n, sent } of history.arrivals) {
        const refusal = { device, class: recordClass, n, code: 0x97, sent: sent - 900, time: sent - 800 };
        history.refusals.push(refusal);
      }
    }
  ],
  'a record arrives that no device sent': [
    'phantom',
    (history, integer) => {
      history.arrivals.push({ ...pick(history.arrivals, integer), n: 1000000 });
    }
  ],
  'a dead letter that no device sent': [
    'phantom',
    (history) => {
      history.dead.push({ device: 'dev-0', class: 1, n: 1000000 });
    }
  ],
  'a record arrives with another payload': [
    'changed',
    (history, integer) => {
      pick(history.arrivals, integer).hash = 'other';
    }
  ],
  'more copies than were in flight': [
    'duplicates',
    (history, integer) => {
      // Before the first disruption not even one copy is allowed.
      const early = history.arrivals.filter(({ time }) => time < 1000);
      const at = integer(early.length);
      history.arrivals.splice(at + 1, 0, history.arrivals[at]);
    }
  ],
  'more copies than all disruptions allow': [
    'duplicates',
    (history) => {
      const last = history.arrivals[history.arrivals.length - 1];
      const { process, connection } = verdictOf(history).perDisruption;
      for (let i = 0; i <= process + connection; i += 1) history.arrivals.push(last);
    }
  ],
  'a key is used for two messages': [
    'key',
    (history, integer) => {
      const [a, b] = [pick(singles(history, false), integer), history.arrivals[0]];
      a.key = b.content === a.content ? history.arrivals[history.arrivals.length - 1].key : b.key;
    }
  ],
  'a record is sent again under another key': [
    'key',
    (history, integer) => {
      const again = history.arrivals.filter(({ time, n }) => time > 1000 && n >= 30 && n < 33);
      pick(again.slice(-10), integer).key = 'gw/2/c/0';
      const copies = history.arrivals.filter((each) => each.key === again[0].key);
      for (const copy of copies.slice(-3)) copy.key = 'gw/2/c/1';
    }
  ],
  'a record is missing in the counters': [
    'counters',
    (history) => {
      history.stats[0].counters.recordsDelivered -= 1;
    }
  ],
  'a drop that nothing explains': [
    'dropped',
    (history) => {
      history.stats[0].drops.logFull = [0, 0, 1, 0, 0];
    }
  ],
  'memory above its limit': [
    'memory',
    (history) => {
      history.samples.push({ time: 4000, rssBytes: 201e6, diskBytes: 0 });
    }
  ],
  'the log above its limit': [
    'disk',
    (history) => {
      history.samples.push({ time: 4000, rssBytes: 0, diskBytes: 51e6 });
    }
  ]
};

describe(`mutants of a valid history (seed ${seed}; SEGANET_TEST_SEED=${seed} repeats it)`, () => {
  test('have a valid original, with copies within their bound', () => {
    for (let i = 0; i < 20; i += 1) {
      const verdict = verdictOf(madeUp(seed + i));
      expect(verdict.violations).toEqual([]);
      expect(verdict).toMatchObject({ valid: true, lost: 0, swapped: 0, duplicates: 18, unacknowledged: 16 });
      expect(verdict.bound).toBe(2 * 8 * 4 + 2 * 16);
    }
  });

  test.each(Object.entries(mutants))('%s', (_name, [what, plant]) => {
    for (let i = 0; i < 20; i += 1) {
      const history = madeUp(seed + i);
      plant(history, seeded(seed + i).integer);
      const { valid, counts, violations } = verdictOf(history);
      expect(valid).toBe(false);
      expect(Object.keys(counts)).toContain(what);
      // It reports the events, not only the verdict.
      const reported = violations.find((violation) => violation.what === what);
      expect(reported?.text).not.toBe('');
    }
  });

  test('report a planted loss as the only loss, with its history', () => {
    const history = madeUp(seed);
    const record = pick(singles(history, true), seeded(seed).integer);
    history.arrivals = history.arrivals.filter((each) => nameOf(each) !== nameOf(record));
    const { lost, violations } = verdictOf(history);
    expect(lost).toBe(1);
    expect(violations[0].text).toContain(nameOf(record));
    expect(violations[0].history.join('\n')).toMatch(/sent by the device.*\n.*PUBACK read/);
    expect(violations[0].history.join('\n')).toContain('fault outage');
  });

  test('report at most ten of a kind, and count all', () => {
    const history = madeUp(seed);
    history.arrivals = history.arrivals.filter(({ historical }) => !historical);
    const { lost, violations } = verdictOf(history);
    expect(lost).toBe(96);
    expect(violations.filter(({ what }) => what === 'lost')).toHaveLength(10);
  });
});

describe('not a violation', () => {
  test('backlogs of two uplink nodes that arrive in parallel', () => {
    const history = madeUp(seed);
    swapTwo(history, seeded(seed).integer, true);
    expect(verdictOf(history, { oneBacklog: false })).toMatchObject({ valid: true, swapped: 0 });
    expect(verdictOf(history)).toMatchObject({ valid: false });
  });

  /** @returns {History} two records of one device, both delivered in order */
  const two = () => {
    const history = madeUp(1);
    history.arrivals = [];
    history.devices = [];
    history.stats = [];
    for (const n of [0, 1]) {
      const record = { device: 'd', class: 3, n };
      history.devices.push({ type: 'send', ...record, time: 1, connection: 1, hash: String(n) });
      history.devices.push({ type: 'ack', ...record, time: 20, connection: 1 });
      const event = {
        historical: false,
        key: '',
        index: 0,
        content: String(n),
        sent: 5,
        time: 10,
        passed: true,
        topic: 'gw/1/normal',
        bytes: 20
      };
      history.arrivals.push({ ...record, ...event, hash: String(n) });
    }
    return history;
  };

  test('a copy by the device itself: it sent the record twice', () => {
    const history = two();
    history.devices.push({ ...history.devices[0], connection: 2, dup: true });
    history.arrivals.push(history.arrivals[0]);
    expect(verdictOf(history)).toMatchObject({ valid: true, duplicates: 0 });
  });

  test('live before backlog', () => {
    const history = two();
    history.arrivals.reverse();
    expect(verdictOf(history).valid).toBe(false);
    history.arrivals[1].historical = true;
    expect(verdictOf(history).valid).toBe(true);
  });

  test('a swap made by the broker, which refused one of two in-flight packets', () => {
    const history = two();
    history.arrivals.reverse();
    history.arrivals[1].time = 50;
    history.refusals.push({ device: 'd', class: 3, n: 0, code: 0x97, sent: 4, time: 8 });
    expect(verdictOf(history)).toMatchObject({ valid: true, excusedSwaps: 1 });
  });

  test('a swap of the broker that the proxy read late, because it slept', () => {
    const history = two();
    history.arrivals.reverse();
    history.arrivals[0].sent = 700;
    history.arrivals[0].time = 710;
    history.arrivals[1].time = 900;
    history.refusals.push({ device: 'd', class: 3, n: 0, code: 0x97, sent: 4, time: 8 });
    expect(verdictOf(history).valid).toBe(false);
    history.pauses = [{ from: 300, until: 690 }]; // it was awake long after the refusal
    expect(verdictOf(history).valid).toBe(false);
    history.pauses = [{ from: 20, until: 690 }];
    expect(verdictOf(history)).toMatchObject({ valid: true, excusedSwaps: 1 });
  });

  test('a dead letter, and an expected drop that was counted', () => {
    const history = two();
    const [first, second] = history.arrivals;
    history.arrivals = [];
    history.dead.push(first);
    expect(verdictOf(history)).toMatchObject({ lost: 1, dead: 1 });
    const drops = { expired: [0, 0, 0, second.class === 3 ? 1 : 0, 0] };
    history.stats.push({ drops, counters: { recordsQueued: 1, recordsDelivered: 0 } });
    const more = { allowedDrops: ['deadLetter', 'expired'] };
    expect(verdictOf(history, more)).toMatchObject({ valid: true, lost: 0, dead: 1, dropped: 1 });
  });
});

test('takes about eight times as long for a history eight times as long', () => {
  /** @param {number} times @returns {History} */
  const long = (times) => {
    const base = madeUp(seed);
    const history = { ...base, devices: [], arrivals: [], stats: [] };
    for (let i = 0; i < times; i += 1) {
      const rename = (/** @type {any} */ each) => ({
        ...each,
        device: `${each.device}-${i}`,
        key: each.key && `${each.key}-${i}`
      });
      for (const event of base.devices) history.devices.push(rename(event));
      for (const arrival of base.arrivals) history.arrivals.push(rename(arrival));
    }
    history.disruptions = history.disruptions.flatMap((each) => Array(times).fill(each));
    return history;
  };
  /** CPU time, the better of two: other work on the machine must not count. @param {History} history */
  const cost = (history) => {
    const costs = [1, 2].map(() => {
      const start = process.cpuUsage();
      expect(verdictOf(history).valid).toBe(true);
      return process.cpuUsage(start).user / 1000;
    });
    return Math.min(...costs);
  };
  const [short, eightfold] = [long(20), long(160)];
  cost(short);
  // A quadratic checker would need 64 times as much.
  expect(cost(eightfold)).toBeLessThan(32 * Math.max(cost(short), 5));
});
