'use strict';
// Where devices of a cloud with several regions are signed in: claims, their order, bounds, and records of the topic.

const { PresenceTable, compareClaims } = require('../../../../nodes/lib/ocf/regions/presence-table');
const {
  MARKER,
  MOST_EPOCH,
  claimRecord,
  parseRecord
} = require('../../../../nodes/lib/ocf/regions/presence-record');
const { parseAddress } = require('../../../../nodes/lib/ocf/regions/links/address');
const { draws, seeded } = require('../../../fixtures/random');

/** SEGANET_SEED=N repeats a run. */
const SEED = Number(process.env.SEGANET_SEED ?? 1);

const DI = '0f1b9a52-75dc-4a27-9b4b-0d0e8c1f7a11';
const UID = '5b7ff4b1-3a4f-4d8e-bc55-a6c5d1b87f0a';
const A = 'coaps+tcp://a.example:5684';
const B = 'coaps+tcp://b.example:5684';
const claim = (epoch, ci = A, isOn = true) => ({ uid: UID, ci, epoch, isOn });

test('the table is the same for every order of the same claims', () => {
  const random = seeded(SEED);
  const { shuffled } = draws(random);
  for (let round = 0; round < 200; round++) {
    const claims = Array.from({ length: 12 }, () => [
      `device-${random.integer(4)}`,
      claim(1 + random.integer(5), random.integer(2) ? A : B, random.integer(2) === 0)
    ]);
    const tables = [claims, shuffled(claims), shuffled(claims)].map((all) => {
      const table = new PresenceTable({ own: A });
      for (const [di, each] of all) table.merge(di, each);
      return table;
    });
    const [first, ...others] = tables.map((table) => ({
      claims: [...table.entries()].sort(([a], [b]) => (a < b ? -1 : 1)),
      on: [A, B].map((ci) => table.devicesAt(ci).sort())
    }));
    for (const other of others) expect(other).toEqual(first);
    for (const [di, kept] of first.claims) {
      const greatest = claims
        .filter(([id]) => id === di)
        .map(([, each]) => each)
        .sort(compareClaims)
        .at(-1);
      expect(kept).toEqual(greatest);
    }
  }
});

test('every sign-in has a higher epoch than those before, whatever the clocks of the regions show', () => {
  const random = seeded(SEED);
  const tables = [A, B].map((own) => new PresenceTable({ own }));
  // The clocks differ by minutes, and go back at times.
  const clock = [() => 1e12 + random.integer(1000), () => 1e12 - 300000 + random.integer(1000)];
  let last = 0;
  for (let i = 0; i < 500; i++) {
    const at = random.integer(2);
    const epoch = tables[at].nextEpoch(DI, clock[at]());
    expect(epoch).toBeGreaterThan(last);
    last = epoch;
    for (const table of tables) {
      const merged = table.merge(DI, { uid: UID, ci: at ? B : A, epoch, isOn: true });
      expect(merged).toBe('newer');
    }
  }
});

test('a region that gives a device up uses the epoch of its claim, and does not touch a later one', () => {
  const table = new PresenceTable({ own: A });
  expect(table.merge(DI, claim(5, A))).toBe('newer');
  expect(table.merge(DI, claim(5, A, false))).toBe('newer');
  expect(table.merge(DI, claim(5, A))).toBe('older');
  expect(table.merge(DI, claim(6, B))).toBe('newer');
  expect(table.merge(DI, claim(5, A, false))).toBe('older');
  expect(table.merge(DI, claim(6, B))).toBe('same');
  expect(table.devicesAt(B)).toEqual([DI]);
  expect(table.regions()).toEqual([B]);
});

test('a full table forgets devices that are off, refuses others, and always takes its own', () => {
  const table = new PresenceTable({ own: A, most: 3 });
  table.merge('1', claim(1, B, false));
  table.merge('2', claim(1, B));
  table.merge('3', claim(1, B));
  expect(table.isFull).toBe(false);
  expect(table.merge('4', claim(1, B))).toBe('newer');
  expect(table.get('1')).toBeUndefined();
  expect(table.isFull).toBe(true);
  expect(table.merge('5', claim(1, B))).toBe('full');
  expect(table.refused).toBe(1);
  expect(table.merge('6', claim(1, A))).toBe('newer');
  expect(table.merge('2', claim(2, B, false))).toBe('newer');
  expect(table.remove('2')).toMatchObject({ epoch: 2 });
  expect(table.remove('2')).toBeUndefined();
  expect(table.size).toBe(3);
});

test('a record is read as it was written', () => {
  const { key, value } = claimRecord(DI, claim(7, B, false));
  expect(parseRecord(key, value)).toEqual({ kind: 'claim', di: DI, claim: claim(7, B, false) });
  expect(parseRecord(DI, null)).toEqual({ kind: 'deleted', di: DI });
  const marker = JSON.stringify({ ci: A, instance: 'one', partition: 3 });
  expect(parseRecord(`${MARKER}${A}#3`, marker)).toMatchObject({
    kind: 'marker',
    instance: 'one',
    partition: 3
  });
});

test.each([
  ['an empty key', ''],
  ['a value that is no JSON', DI, '{'],
  ['a list', DI, '[]'],
  ['null', DI, 'null'],
  ['another device in the value', DI, { di: UID }],
  ['a key that is no UUID', 'lamp', { di: 'lamp' }],
  ['a key in upper case', DI.toUpperCase(), { di: DI.toUpperCase() }],
  ['an address without TLS', DI, { ci: 'coap+tcp://a:1' }],
  ['an address with a user', DI, { ci: 'coaps+tcp://u@a:1' }],
  ['an address with a port above 65535', DI, { ci: 'coaps+tcp://a:65536' }],
  ['an epoch that is no whole number', DI, { epoch: 1.5 }],
  ['an epoch of 0', DI, { epoch: 0 }],
  ['an epoch that leaves no room for the next', DI, { epoch: MOST_EPOCH + 1 }],
  ['a state that does not exist', DI, { state: 'maybe' }],
  ['a user that is no UUID', DI, { uid: 'alice' }],
  ['a long value', DI, { more: 'x'.repeat(2000) }],
  ['a deletion of something else', 'lamp', null],
  ['a marker without a partition', 'region:x#0', { partition: 'x' }]
])('%s is no record', (_name, key, value = '') => {
  const whole = { di: DI, uid: UID, ci: A, epoch: 1, state: 'on' };
  const text = typeof value === 'object' && value ? JSON.stringify({ ...whole, ...value }) : value;
  expect(parseRecord(key, text)).toBeNull();
});

test('random bytes are no record, and cause no error', () => {
  const random = seeded(SEED);
  const whole = claimRecord(DI, claim(1)).value;
  for (let i = 0; i < 3000; i++) {
    const bytes = Buffer.from(whole);
    for (let n = 1 + random.integer(4); n > 0; n--) bytes[random.integer(bytes.length)] = random.integer(256);
    const record = parseRecord(DI, bytes.toString());
    if (record) expect(record.kind).toBe('claim');
  }
});

test('an address has a host and a port, which may be missing', () => {
  expect(parseAddress(A)).toEqual({ host: 'a.example', port: 5684 });
  expect(parseAddress('coaps+tcp://[::1]')).toEqual({ host: '::1', port: 5684 });
  for (const wrong of ['', 'coaps+tcp://', 'coaps+tcp://[::g]:1', `${A}/x`, 'coaps+tcp://a:0'])
    expect(parseAddress(wrong)).toBeNull();
});
