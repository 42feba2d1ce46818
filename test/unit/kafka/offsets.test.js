'use strict';

const { Offsets } = require('../../../nodes/lib/kafka/source/offsets');
const { seeded } = require('../../fixtures/random');

test('commits up to the first record that is not safe', () => {
  const offsets = new Offsets();
  const ids = [10n, 11n, 13n].map((offset) => offsets.add('t', 0, offset, 5));
  offsets.done(ids[1]);
  expect(offsets.due()).toEqual([]);
  offsets.done(ids[0]);
  expect(offsets.due()).toEqual([{ topic: 't', partition: 0, offset: 12n, leaderEpoch: 5 }]);
  offsets.committed(offsets.due());
  expect(offsets.due()).toEqual([]);
  offsets.done(ids[2]);
  expect(offsets.due()).toMatchObject([{ offset: 14n }]);
  expect(offsets.size).toBe(0);
});

test('knows the first offset that is not committed, and counts the records whose offsets were', () => {
  const offsets = new Offsets();
  expect(offsets.uncommitted('t', 0)).toBe(null);
  const ids = [10n, 11n, 13n].map((offset) => offsets.add('t', 0, offset, 5));
  expect(offsets.uncommitted('t', 0)).toBe(10n);
  offsets.done(ids[0]);
  expect(offsets.uncommitted('t', 0)).toBe(10n);
  offsets.committed(offsets.due());
  expect([offsets.uncommitted('t', 0), offsets.commits]).toEqual([11n, 1]);
  for (const id of ids) offsets.done(id);
  offsets.committed(offsets.due());
  expect([offsets.uncommitted('t', 0), offsets.commits]).toEqual([14n, 3]);
});

test('knows a record that is read again after a rebalance, and begins again where the group was reset', () => {
  const offsets = new Offsets();
  const first = offsets.add('t', 0, 1n, 0);
  offsets.add('t', 0, 2n, 0);
  expect(offsets.add('t', 0, 1n, 0)).toBe(0);
  offsets.done(first);
  offsets.committed(offsets.due());
  expect(offsets.size).toBe(1);
  expect(offsets.add('t', 0, 0n, 0)).toBeGreaterThan(0);
  expect(offsets.size).toBe(2);
});

test('forgets partitions that another member has, and ignores what becomes safe then', () => {
  const offsets = new Offsets();
  const [a, b] = [offsets.add('t', 0, 1n, 0), offsets.add('t', 1, 1n, 0)];
  offsets.keep((_topic, partition) => partition === 1);
  offsets.done(a);
  offsets.done(b);
  expect(offsets.due()).toMatchObject([{ partition: 1, offset: 2n }]);
});

test('what the group has committed is delivered, whoever committed it, and what is behind it stays', () => {
  const offsets = new Offsets();
  const ids = [10n, 11n, 12n, 13n].map((offset) => offsets.add('t', 0, offset, 0));
  offsets.done(ids[2]);
  offsets.passed('t', 0, 9n, 9n);
  offsets.passed('t', 1, 9n, 9n);
  expect([offsets.size, offsets.due()]).toEqual([3, []]);
  offsets.passed('t', 0, 12n, 12n);
  expect([offsets.size, offsets.due()]).toMatchObject([1, [{ offset: 13n }]]);
  offsets.passed('t', 0, 11n, 11n);
  offsets.done(ids[0]);
  expect(offsets.due()).toMatchObject([{ offset: 13n }]);
  // It is read again, and was handed over before.
  expect(offsets.add('t', 0, 13n, 0)).toBe(0);
  offsets.passed('t', 0, 20n, 20n);
  expect([offsets.size, offsets.due(), offsets.uncommitted('t', 0)]).toEqual([0, [], 20n]);
  expect(offsets.add('t', 0, 20n, 0)).toBeGreaterThan(0);
});

test('what was read before the reading went back keeps no commit back if another member has committed it', () => {
  const offsets = new Offsets();
  const [first] = [5n, 6n].map((offset) => offsets.add('t', 0, offset, 0));
  offsets.done(offsets.add('t', 0, 3n, 0));
  offsets.done(offsets.add('t', 0, 4n, 0));
  expect(offsets.due()).toMatchObject([{ offset: 5n }]);
  offsets.passed('t', 0, 7n, 7n);
  offsets.done(first);
  expect([offsets.size, offsets.due()]).toEqual([0, []]);
  offsets.done(offsets.add('t', 0, 7n, 0));
  expect(offsets.due()).toMatchObject([{ offset: 8n }]);
});

test('what is committed while the client begins to read again is not handed over again', () => {
  const offsets = new Offsets();
  const ids = [10n, 11n, 12n].map((offset) => offsets.add('t', 0, offset, 0));
  offsets.passed('t', 0, 10n, 10n);
  for (const id of ids.slice(0, 2)) offsets.done(id);
  offsets.committed(offsets.due());
  expect([10n, 11n, 12n].map((offset) => offsets.add('t', 0, offset, 0))).toEqual([0, 0, 0]);
  expect(offsets.add('t', 0, 13n, 0)).toBeGreaterThan(0);
  // From here on, an earlier offset means that the group was reset.
  expect(offsets.add('t', 0, 10n, 0)).toBeGreaterThan(0);
});

test('a commit that is repeated leaves out partitions that were forgotten, and those that are read from a later offset', () => {
  const offsets = new Offsets();
  for (const partition of [0, 1, 2]) offsets.done(offsets.add('t', partition, 1n, 0));
  const due = offsets.due();
  expect(offsets.stillDue(due)).toEqual(due);
  offsets.keep((_topic, partition) => partition === 0);
  offsets.add('t', 2, 7n, 0);
  expect(offsets.stillDue(due)).toEqual([due[0]]);
  offsets.clear();
  expect(offsets.stillDue(due)).toEqual([]);
});

test('never commits a record that is not safe, whatever the order of events', () => {
  const seed = Number(process.env.SEED ?? Date.now() % 1e9);
  const { integer } = seeded(seed);
  for (let round = 0; round < 200; round++) {
    const offsets = new Offsets();
    /** Safe offsets, commits and read positions by partition. */
    const state = [0, 1].map(() => ({ safe: new Set(), committed: 0, at: 0, open: new Map() }));
    for (let step = 0; step < 200; step++) {
      const partition = integer(2);
      const own = state[partition];
      const kind = integer(10);
      if (kind < 5) {
        const id = offsets.add('t', partition, BigInt(own.at), 0);
        if (id > 0) own.open.set(id, own.at);
        own.at++;
      } else if (kind < 8 && own.open.size > 0) {
        const [id, offset] = [...own.open][integer(own.open.size)];
        own.open.delete(id);
        own.safe.add(offset);
        offsets.done(id);
      } else if (kind === 8) {
        const due = offsets.due();
        for (const commit of due) {
          const { safe, committed } = state[commit.partition];
          for (let at = committed; at < Number(commit.offset); at++)
            expect([seed, safe.has(at)]).toEqual([seed, true]);
          state[commit.partition].committed = Math.max(committed, Number(commit.offset));
        }
        offsets.committed(due);
      } else if (integer(4) === 0) {
        // A rebalance: read again from the last commit; sometimes the partition was away.
        if (integer(2) === 0) offsets.keep((_topic, each) => each !== partition);
        own.at = own.committed;
      }
    }
  }
});

describe('an offset that was passed before', () => {
  test('keeps the commits back until the later records are safe', () => {
    const offsets = new Offsets();
    const [early, ...later] = [10n, 12n, 13n].map((offset) => offsets.add('t', 0, offset, 0));
    offsets.done(early);
    offsets.committed(offsets.due());
    const again = offsets.add('t', 0, 5n, 0);
    const next = offsets.add('t', 0, 14n, 0);
    expect(offsets.size).toBe(4);
    offsets.done(again);
    offsets.done(next);
    expect(offsets.due()).toMatchObject([{ offset: 12n }]);
    expect(offsets.uncommitted('t', 0)).toBe(5n);
    offsets.committed(offsets.due());
    expect(offsets.due()).toEqual([]);
    offsets.done(later[0]);
    expect(offsets.due()).toMatchObject([{ offset: 13n }]);
    offsets.done(later[1]);
    expect(offsets.due()).toMatchObject([{ offset: 15n }]);
    expect(offsets.size).toBe(0);
  });

  test('hands a record over again whose offset may denote another one now', () => {
    const offsets = new Offsets();
    const old = offsets.add('t', 0, 1n, 0);
    offsets.add('t', 0, 0n, 0);
    const made = offsets.add('t', 0, 1n, 0);
    expect(made).toBeGreaterThan(old);
  });

  test('is forgotten with its partition', () => {
    const offsets = new Offsets();
    offsets.add('t', 0, 1n, 0);
    offsets.add('t', 0, 0n, 0);
    offsets.keep(() => false);
    expect(offsets.size).toBe(0);
  });
});

/**
 * Tries every sequence of events of a partition whose consumer reads on, reads an offset again, and commits, while its
 * records become safe.
 * @param {number} depth events in a sequence
 * @returns {number} sequences
 * @throws {Error} if one commits beyond a record that is not safe
 */
function explore(depth) {
  let states = 0;
  /** @param {[string, number][]} events */
  const replay = (events) => {
    const offsets = new Offsets();
    const safe = new Set();
    /** @type {Map<number, number>} offsets by id */
    const open = new Map();
    let at = 0;
    const read = (/** @type {number} */ offset) => {
      const id = offsets.add('t', 0, BigInt(offset), 0);
      if (id > 0) open.set(id, offset);
    };
    for (const [kind, value] of events) {
      if (kind === 'read') read(at++);
      else if (kind === 'again') read(value);
      else if (kind === 'done') {
        safe.add(open.get(value));
        open.delete(value);
        offsets.done(value);
      } else {
        for (const { offset } of offsets.due()) {
          const lost = Array.from({ length: Number(offset) }, (_, each) => each).filter(
            (each) => !safe.has(each)
          );
          if (lost.length > 0) throw new Error(`${JSON.stringify(events)} commits ${offset} without ${lost}`);
        }
        offsets.committed(offsets.due());
      }
    }
    return { at, open };
  };
  /** @param {[string, number][]} events */
  const visit = (events) => {
    states++;
    const { at, open } = replay(events);
    if (events.length === depth) return void replay([...events, ['commit', 0]]);
    /** @type {[string, number][]} */
    const next = [['commit', 0]];
    if (at < 3) next.push(['read', 0]);
    for (let offset = 0; offset < at; offset++) next.push(['again', offset]);
    for (const id of open.keys()) next.push(['done', id]);
    for (const event of next) visit([...events, event]);
  };
  visit([]);
  return states;
}

test('never commits beyond a record that is not safe, in every sequence of eight events', () => {
  expect(explore(8)).toBeGreaterThan(50000);
});
