'use strict';

const path = require('node:path');
const { parsePath } = require('../../../nodes/lib/series/json-path');
const { searchText } = require('../../../nodes/lib/series/text-search');
const { DatabaseSync } = require('../../../nodes/lib/store/sqlite');
const { START, batchOf, rigs } = require('../../fixtures/series/series-rig');
const { seeded } = require('../../fixtures/random');

const rig = rigs();

const record = (at, device, topic, payload, ts = START) =>
  at.store.put([batchOf({ device, ts, numbers: {}, topic, text: JSON.stringify(payload) })]);
const ask = (at, { path: keys, ...question }) => {
  const whole = { words: '', operator: '=', value: null, device: '', limit: 100, ...question };
  at.store.text.flush();
  const db = new DatabaseSync(path.join(at.directory, 'series.db'), { readOnly: true });
  try {
    return searchText(db, { ...whole, keys: keys ? parsePath(keys) : null }, 10000).records;
  } finally {
    db.close();
  }
};
const devices = (records) => records.map(({ device }) => device);

test.each(['latest', 'all'])('finds words in device, topic and payload (%s)', (search) => {
  const at = rig({ search });
  record(at, 'pump-1', 'hall/alarm', { text: 'Überhitzung in hall 3', code: 17 });
  record(at, 'pump-2', 'yard/state', { text: 'all well' });
  expect(devices(ask(at, { words: 'alarm überhitzung' }))).toEqual(['pump-1']);
  expect(devices(ask(at, { words: 'pump-2' }))).toEqual(['pump-2']);
  expect(devices(ask(at, { words: 'überh*' }))).toEqual(['pump-1']);
  expect(devices(ask(at, { words: 'pump' }))).toEqual(['pump-2', 'pump-1']);
  expect(devices(ask(at, { words: 'pump', device: 'pump-1' }))).toEqual(['pump-1']);
  expect(ask(at, { words: 'nothing' })).toEqual([]);
  expect(ask(at, { words: 'pump', limit: 1 })).toHaveLength(1);
  at.reopen();
  expect(devices(ask(at, { words: '17' }))).toEqual(['pump-1']);
});

test('keeps the latest record of each device and topic, or all of them', () => {
  for (const [search, count] of [
    ['latest', 1],
    ['all', 3]
  ]) {
    const at = rig({ search });
    for (const n of [1, 2, 3]) {
      record(at, 'a', 't', { word: `same${n}`, common: 'yes' }, START + n);
      at.store.text.flush();
    }
    expect(ask(at, { words: 'common' })).toHaveLength(count);
    expect(ask(at, { words: 'same1' })).toHaveLength(search === 'all' ? 1 : 0);
    expect(ask(at, { path: 'word' })).toMatchObject([{ value: 'same3', ts: START + 3 }]);
  }
});

test('finds values of JSON in the latest record of each device and topic', () => {
  const at = rig();
  record(at, 'a', 't', { state: 'on', level: 5, list: [{ x: 1 }], 'odd key': true });
  record(at, 'b', 't', { state: 'off', level: 50 });
  at.store.put([batchOf({ device: 'c', ts: START, numbers: {}, topic: 't', text: 'no json' })]);
  const by = (keys, value, operator) =>
    devices(ask(at, { path: keys, value: value ?? null, ...(operator && { operator }) }));
  expect(by('state', 'on')).toEqual(['a']);
  expect(by('state', 'on', '!=')).toEqual(['b']);
  expect(by('level', '5', '>')).toEqual(['b']);
  expect(by('level', '5.0')).toEqual(['a']);
  expect(by('$.list[0].x', '1')).toEqual(['a']);
  expect(by('["odd key"]', 'true')).toEqual(['a']);
  expect(by('level')).toEqual(['a', 'b']);
  expect(by('missing')).toEqual([]);
  expect(devices(ask(at, { words: 'off', path: 'level', value: '50' }))).toEqual(['b']);
});

test('takes a key of digits in quotes for a key, and one without for an index of a list', () => {
  const at = rig();
  record(at, 'a', 't', { 2024: 5 });
  record(at, 'b', 't', [1, { 0: 7 }]);
  expect(ask(at, { path: '["2024"]' })).toMatchObject([{ device: 'a', value: 5 }]);
  expect(ask(at, { path: '[2024]' })).toEqual([]);
  expect(ask(at, { path: '[1]["0"]' })).toMatchObject([{ device: 'b', value: 7 }]);
  expect(ask(at, { path: '[0]' })).toMatchObject([{ device: 'b', value: 1 }]);
});

test('finds records with whole numbers beyond 2^53, by words and by value', () => {
  const at = rig();
  const put = (device, text) => at.store.put([batchOf({ device, ts: START, numbers: {}, topic: 't', text })]);
  put('a', '9007199254740993');
  put('b', '{"serial":9223372036854775807,"is":-9007199254740993}');
  put('c', '{"serial":18446744073709551616}');
  put('d', '{"serial":5}');
  expect(devices(ask(at, { words: '9007199254740993' }))).toEqual(['b', 'a']);
  expect(devices(ask(at, { words: 'b serial' }))).toEqual(['b']);
  expect(ask(at, { path: 'serial', operator: '>', value: '6' })).toMatchObject([
    { device: 'b', value: 2 ** 63 },
    { device: 'c', value: 2 ** 64 }
  ]);
  expect(devices(ask(at, { path: '$', value: '9007199254740993' }))).toEqual(['a']);
  expect(devices(ask(at, { words: 'serial', path: 'is', operator: '<', value: '0' }))).toEqual(['b']);
});

test('forgets the oldest records beyond its limit, and counts them', () => {
  const at = rig({ search: 'all', searchMiB: 1 });
  for (let i = 0; i < 200; i++) record(at, 'a', 't', { n: `number${i}`, fill: 'x'.repeat(10000) });
  at.store.text.flush();
  expect(at.store.text.bytes).toBeLessThanOrEqual(1 << 20);
  expect(at.store.text.counters.removed).toBeGreaterThan(50);
  expect(ask(at, { words: 'number0' })).toEqual([]);
  expect(ask(at, { words: 'number199' })).toHaveLength(1);
});

test('leaves out and counts a payload that is too long, or no text', () => {
  const at = rig();
  record(at, 'a', 't', 'x'.repeat(20000));
  at.store.put([batchOf({ device: 'b', ts: START, numbers: {}, topic: 't', text: null })]);
  expect(at.store.text.counters.noText).toBe(2);
});

test('takes any words and paths, and refuses them with a sentence or answers', () => {
  const at = rig();
  record(at, 'a', 't', { a: 1 });
  const random = seeded(9);
  const alphabet = 'aAb*"\'():^-+{}ANDORNOTNEAR \\\u00fc,.$[]0';
  for (let i = 0; i < 2000; i++) {
    const words = Array.from(
      { length: 1 + random.integer(15) },
      () => alphabet[random.integer(alphabet.length)]
    ).join('');
    try {
      ask(at, { words, ...(random.integer(3) === 0 && { path: words }) });
    } catch (error) {
      if (!(error instanceof RangeError)) throw new Error(`${words}: ${error}`, { cause: error });
    }
  }
  expect(at.store.reason).toBe('');
});

test('takes lone surrogates for U+FFFD, so that one record stays of each device and topic', () => {
  const at = rig();
  record(at, 'a\ud800', 't\udfff', { n: 1 });
  record(at, 'a\ud801', 't\ud800', { n: 2 });
  at.store.text.flush();
  record(at, 'a\ud802', 't\ud802', { n: 3 });
  expect(ask(at, { path: 'n' })).toMatchObject([{ device: 'a\ufffd', topic: 't\ufffd', value: 3 }]);
  expect(at.store.text.bytes).toBe(Buffer.byteLength('a\ufffdt\ufffd{"n":3}') + 64);
});

test('needs two letters or digits before a *, also behind a hyphen', () => {
  const at = rig();
  record(at, 'pump-17', 't', { state: 'überhitzt' });
  for (const words of ['pu*', 'üb*', 'pump-17*', '17*', 'pump-*'])
    expect(devices(ask(at, { words }))).toEqual(['pump-17']);
  for (const words of ['p*', 'ü*', 'pump-1*', 'u\u0308*', '-1-*'])
    expect(() => ask(at, { words })).toThrow(/has less than 2 letters or digits before the \*/);
});
