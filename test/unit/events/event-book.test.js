'use strict';
// What becomes an event, and when it ends, over a fake clock and a real database in memory.

const { AGAIN_MS, EventBook, LATEST, MAX_OPEN } = require('../../../nodes/lib/events/event-book');
const { EventStore } = require('../../../nodes/lib/events/event-store');

let now = 0;
/** @type {EventStore} */
let store;
/** @type {EventBook} */
let book;
/** @type {[string, string, number][]} change, subject, count */
let told;

beforeEach(() => {
  now = 1_000_000;
  const clocks = { now: () => now, wall: () => 1_700_000_000_000 + now };
  store = new EventStore('', { warn: (sentence) => told.push(['warn', sentence, 0]), ...clocks });
  book = new EventBook(store, clocks);
  told = [];
  book.follow(({ subject, count }, change) => told.push([change, subject, count]));
  book.begin();
});

const uplink = (subject, reason = 'ECONNREFUSED') => ({
  kind: 'uplink',
  engine: 'gw',
  subject,
  params: { reason }
});
const list = (more = {}) => book.page({ limit: 200, ...more });

test('begins what lasts, keeps its newest reason, and ends what is over', () => {
  book.observe(['uplink'], [uplink('cloud'), uplink('other')]);
  now += 5000;
  book.observe(['uplink'], [uplink('cloud', 'ENOTFOUND')]);
  const [other, cloud] = list();
  expect(cloud).toMatchObject({
    severity: 'error',
    count: 1,
    until: null,
    sentence: 'The uplink cloud is not connected: ENOTFOUND.'
  });
  expect(other.until).toBe(other.since + 5000);
  expect(list({ isOpen: true }).map(({ subject }) => subject)).toEqual(['cloud']);
  expect(told).toEqual([
    ['began', 'cloud', 1],
    ['began', 'other', 1],
    ['ended', 'other', 1]
  ]);
});

test('keeps what is unknown, and kinds that were not looked at', () => {
  book.observe(['uplink'], [uplink('cloud')]);
  book.happens({ kind: 'device', subject: 'pump' });
  book.observe(['uplink'], [], ({ subject }) => subject === 'cloud');
  expect(list({ isOpen: true })).toHaveLength(2);
});

test('counts what comes back soon at the same event, which then needs attention again', () => {
  book.observe(['uplink'], [uplink('cloud')]);
  const [{ id }] = list();
  book.acknowledge(id, 'ada');
  for (let i = 0; i < 3; i++) {
    book.observe(['uplink'], []);
    now += AGAIN_MS - 1;
    book.observe(['uplink'], [uplink('cloud')]);
  }
  expect(list()).toEqual([expect.objectContaining({ id, count: 4, acknowledged: null })]);
  book.observe(['uplink'], []);
  now += AGAIN_MS + 1;
  book.tick();
  book.observe(['uplink'], [uplink('cloud')]);
  expect(list()).toHaveLength(2);
});

test('counts drops, and ends them after a minute without one', () => {
  const drops = {
    kind: 'drops',
    engine: 'gw',
    subject: 'class 3: logFull',
    params: { class: 3, reason: 'logFull' }
  };
  book.happens(drops, 40);
  now += 59_000;
  book.tick();
  book.happens(drops, 2);
  now += 60_001;
  book.tick();
  const [event] = list();
  expect(event).toMatchObject({ count: 42, sentence: 'Records of class 3 were dropped (log full).' });
  expect(event.until).toBe(event.since + 59_000);
});

test('reports what is over at once without an end', () => {
  book.happened({ kind: 'clock', subject: '', key: 'clockBack', params: { seconds: 7 } });
  expect(told).toEqual([['began', '', 1]]);
  expect(list()[0]).toMatchObject({ until: list()[0].since, sentence: 'The clock was set back by 7 s.' });
});

test('counts further silent devices in one event, so that hostile names cannot fill the list', () => {
  for (let i = 0; i < MAX_OPEN + 5000; i++) book.happens({ kind: 'device', engine: 'gw', subject: `d${i}` });
  const open = book.page({ limit: MAX_OPEN * 2, isOpen: true });
  expect(open).toHaveLength(MAX_OPEN + 1);
  expect(open[0]).toMatchObject({ subject: '', count: 5000, key: 'devices' });
  // What is more urgent still has room.
  book.observe(['uplink'], [uplink('cloud')]);
  expect(list({ isOpen: true })[0]).toMatchObject({ subject: 'cloud' });
  for (let i = 0; i < 3; i++) book.ends({ kind: 'device', engine: 'gw', subject: `d${i}` });
  book.tick();
  expect(list({ isOpen: true }).some(({ key }) => key === 'devices')).toBe(false);
});

test('cuts texts that others chose', () => {
  book.happens({ kind: 'login', subject: 'x'.repeat(5000), params: { address: 'y'.repeat(5000) } });
  expect(JSON.stringify(list()).length).toBeLessThan(1500);
});

test('acknowledges each event once, also one that ended long ago', () => {
  book.happened({ kind: 'clock', subject: '', key: 'clockBack', params: { seconds: 7 } });
  const [{ id }] = list();
  now += AGAIN_MS * 2;
  for (let i = 0; i < LATEST + 1; i++) book.happens({ kind: 'device', subject: `d${i}` });
  book.tick();
  expect(book.acknowledge(id, 'ada')).toMatchObject({
    acknowledged: { by: 'ada', at: 1_700_000_000_000 + now }
  });
  expect(book.acknowledge(id, 'bob')?.acknowledged?.by).toBe('ada');
  expect(list().at(-1)).toMatchObject({ id, acknowledged: { by: 'ada' } });
  expect(book.acknowledge(999, 'ada')).toBe(null);
});

test('summarizes what lasts, with the latest events', () => {
  for (let i = 0; i < 8; i++) book.happens({ kind: 'device', subject: `d${i}` });
  book.acknowledge(list()[0].id, 'ada');
  const { open, unacknowledged, latest } = book.summary();
  expect([open, unacknowledged, latest.map(({ subject }) => subject)]).toEqual([
    8,
    7,
    ['d7', 'd6', 'd5', 'd4', 'd3']
  ]);
});

test('pages through all events', () => {
  for (let i = 0; i < 25; i++) book.happens({ kind: 'device', subject: `d${i}` });
  const seen = [];
  for (let before = Infinity; ; before = seen.at(-1).id) {
    const page = book.page({ before, limit: 10 });
    if (page.length === 0) break;
    seen.push(...page);
  }
  expect(seen.map(({ subject }) => subject)).toEqual(Array.from({ length: 25 }, (_, i) => `d${24 - i}`));
});
