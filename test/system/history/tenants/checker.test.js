'use strict';
// The checker of histories with tenants, with histories made by hand.

const { check } = require('./checker');

const SEED = 7;
const sent = (tenant, n, more = {}) => ({
  type: 'send',
  device: `${tenant}/dev-0@${SEED}`,
  class: 3,
  n,
  time: n,
  connection: 1,
  hash: `h${n}`,
  ...more
});
const acked = (tenant, n) => sent(tenant, n, { type: 'ack' });
const arrived = (tenant, n, more = {}) => ({
  d: 'dev-0',
  t: 'd/dev-0/c3',
  c: 3,
  key: `front/e/3/${n}`,
  i: 0,
  h: false,
  pid: 10,
  p: { device: `${tenant}/dev-0@${SEED}`, class: 3, n, hash: `h${n}` },
  ...more
});

/**
 * A history of the tenant acme in which records 0 to 2 were acknowledged.
 * @param {any[]} lines @param {object} [more]
 */
const verdict = (lines, more = {}) =>
  check(
    /** @type {any} */ ({
      seed: SEED,
      killed: [],
      findings: [],
      faults: [],
      devices: [0, 1, 2].flatMap((n) => [sent('acme', n), acked('acme', n)]),
      lines: { acme: lines, blue: [] },
      ...more
    })
  );
const all = () => [0, 1, 2].map((n) => arrived('acme', n));

test('is content with what arrived once and in order', () => {
  expect(verdict(all())).toMatchObject({ valid: true, acknowledged: 3, delivered: 3, counts: {} });
});

test('finds what is lost, foreign, changed, unknown, cut off', () => {
  expect(verdict(all().slice(1)).counts).toEqual({ lost: 1 });
  expect(verdict(all(), { lines: { acme: [], blue: all() } }).counts).toMatchObject({ foreign: 3 });
  const changed = arrived('acme', 1, { p: { ...arrived('acme', 1).p, hash: 'other' } });
  expect(verdict([arrived('acme', 0), changed, arrived('acme', 2)]).counts).toEqual({ changed: 1 });
  for (const more of [{ d: 'dev-1' }, { c: 2 }, { t: 'd/dev-0/c2' }])
    expect(verdict([arrived('acme', 0, more), ...all().slice(1)]).counts).toEqual({ changed: 1 });
  expect(verdict([...all(), arrived('acme', 9)]).counts).toEqual({ phantom: 1 });
  expect(verdict([...all(), null]).counts).toEqual({ damaged: 1 });
});

test('finds what is swapped, but live records may overtake those from the log', () => {
  const [a, b, c] = all();
  expect(verdict([b, a, c]).counts).toEqual({ swapped: 1 });
  expect(verdict([b, { ...a, h: true }, c]).counts).toEqual({});
  expect(verdict([c, { ...b, h: true }, { ...a, h: true }]).counts).toEqual({ swapped: 1 });
});

test('finds what is doubled; a tenant that was killed may get a batch again', () => {
  const [first, ...rest] = all();
  const again = { ...first, pid: 11 };
  expect(verdict([first, ...rest, first]).counts).toEqual({ doubled: 1 });
  expect(verdict([first, ...rest, again]).counts).toEqual({ 'doubled after a stop': 1 });
  expect(verdict([first, ...rest, again], { killed: [10] })).toMatchObject({ valid: true, copies: 1 });
  expect(verdict([first, ...rest, again], { killed: [11] }).counts).toEqual({ 'doubled after a stop': 1 });
});

test('allows as many keys of a record as its device has sent it', () => {
  const other = arrived('acme', 0, { key: 'front/e/3/9' });
  expect(verdict([...all(), other]).counts).toEqual({ doubled: 1 });
  const devices = [sent('acme', 0), sent('acme', 0, { dup: true }), acked('acme', 0)];
  expect(verdict([arrived('acme', 0), other], { devices }).counts).toEqual({});
});

test('a batch that the tenant refused passes again, late', () => {
  const [a, b, c] = all();
  const failed = { ...a, failed: 'full' };
  expect(verdict([failed, b, c, a])).toMatchObject({ valid: true, refused: 1, excused: 1 });
  expect(verdict([failed, b, c]).counts).toEqual({ lost: 1 });
  const half = { ...b, key: a.key, i: 1 };
  expect(verdict([half, failed, c, half, a]).counts).toEqual({});
  expect(verdict([half, failed, c, half, a])).toMatchObject({ again: 1 });
});

test('skips records of earlier runs, and reports what the harness found', () => {
  const earlier = arrived('acme', 5, { p: { ...arrived('acme', 5).p, device: 'acme/dev-0@6' } });
  expect(verdict([earlier, ...all()])).toMatchObject({ valid: true, earlier: 1 });
  expect(verdict(all(), { findings: [{ what: 'stuck', text: 'after 90 s' }] })).toMatchObject({
    valid: false,
    stuck: 1
  });
});
