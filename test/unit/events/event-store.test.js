'use strict';
// The file of the events: restarts, limits, damage, and a disk that fails.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { EventBook } = require('../../../nodes/lib/events/event-book');
const { EventStore, MAX_DAYS, MAX_ROWS, MAX_WAITING } = require('../../../nodes/lib/events/event-store');

/** @type {string} */
let folder;
let now = 0;
/** @type {string[]} */
let warnings;

beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-events-'));
  warnings = [];
  now = 0;
});
afterEach(() => fs.rmSync(folder, { recursive: true, force: true }));

const file = () => path.join(folder, 'events', 'events.db');
const WALL = 1_700_000_000_000;

/** A run of the gateway. */
function start() {
  const clocks = { now: () => now, wall: () => WALL + now };
  const store = new EventStore(file(), { warn: (sentence) => warnings.push(sentence), ...clocks });
  const book = new EventBook(store, clocks);
  return { store, book, isClean: book.begin() };
}
const silent = (subject) => ({ kind: 'device', engine: 'gw', subject });
const line = (id, at = WALL) => ({ id, at, user: 'ada', address: '::1', what: 'flows.set', detail: '' });
const subjects = ({ book }) => book.page({ limit: 200 }).map(({ subject }) => subject);

test('continues after a restart, and knows whether the run before ended in order', () => {
  const first = start();
  expect(first.isClean).toBe(null);
  first.book.happens(silent('pump'));
  first.store.add(line(first.store.nextId()));
  first.book.end();
  const second = start();
  expect(second.isClean).toBe(true);
  // It is the same event, whose device comes back now.
  second.book.happens(silent('fan'));
  second.book.ends(silent('pump'));
  second.store.flush();
  // Killed: a third process opens the file as it is.
  const third = start();
  expect(third.isClean).toBe(false);
  const [fan, pump] = third.book.page({ limit: 10 });
  expect([fan.subject, fan.until, pump.subject, pump.until]).toEqual(['fan', null, 'pump', WALL]);
  expect(third.store.audit({ before: Infinity, limit: 9 })).toEqual([line(2)]);
  expect(new Set([fan.id, pump.id, 2]).size).toBe(3);
  expect(warnings).toEqual([]);
  third.book.end();
});

test('keeps at most 10,000 rows of each table, for 90 days, and every open event', () => {
  const { store, book } = start();
  book.happens(silent('open'));
  for (let i = 0; i < MAX_ROWS + 500; i++) {
    const id = store.nextId();
    store.put({
      ...silent('x'),
      id,
      key: 'device',
      severity: 'info',
      params: {},
      since: WALL,
      until: WALL,
      count: 1,
      acknowledged: null
    });
    store.add(line(store.nextId()));
    if (i % 1000 === 999) store.flush();
  }
  for (let i = 0; i < 61; i++) {
    book.happens(silent('open'));
    store.flush();
  }
  const count = (rows) => rows.length;
  const page = { before: Infinity, limit: MAX_ROWS * 2 };
  expect(count(store.events({ ...page, since: 0 }))).toBe(MAX_ROWS + 1);
  expect(count(store.audit(page))).toBe(MAX_ROWS);
  now += (MAX_DAYS + 1) * 86_400_000;
  for (let i = 0; i < 61; i++) {
    book.happens(silent('open'));
    store.flush();
  }
  expect(subjects({ book })).toEqual(['open']);
  expect(store.audit(page)).toEqual([]);
  book.end();
});

test('sets a damaged file aside, says so, and goes on', () => {
  const first = start();
  first.book.happens(silent('pump'));
  first.book.end();
  fs.writeFileSync(file(), Buffer.alloc(8192, 'x'));
  const second = start();
  second.book.happens(silent('fan'));
  expect(subjects(second)).toEqual(['fan']);
  expect(warnings).toEqual([
    expect.stringMatching(/events\.db cannot be opened.*renamed to events\.db\.damaged-.*new one/)
  ]);
  expect(fs.readdirSync(path.dirname(file())).some((name) => name.includes('.damaged-'))).toBe(true);
  second.book.end();
  const third = start();
  expect(subjects(third)).toEqual(['fan']);
  third.book.end();
});

test('keeps events in memory while the folder cannot be used, and moves them into the file afterwards', () => {
  const first = start();
  first.book.happens(silent('old'));
  first.book.end();
  const events = path.dirname(file());
  fs.renameSync(events, `${events}.away`);
  fs.writeFileSync(events, 'a file in the way');
  const second = start();
  expect(second.isClean).toBe(null);
  second.book.happens(silent('pump'));
  expect(subjects(second)).toEqual(['pump']);
  expect(warnings[0]).toMatch(
    /cannot be opened \(.*\)\. Until it works again, events are kept in memory only\./
  );
  fs.rmSync(events);
  fs.renameSync(`${events}.away`, events);
  now += 700_000;
  second.book.happens(silent('fan'));
  expect(subjects(second)).toEqual(['fan', 'pump', 'old']);
  second.book.end();
  const third = start();
  expect(subjects(third)).toEqual(['fan', 'pump', 'old']);
  third.book.end();
});

test('does not touch the database of another program', () => {
  fs.mkdirSync(path.dirname(file()));
  const { DatabaseSync } = require('node:sqlite');
  const other = new DatabaseSync(file());
  other.exec('CREATE TABLE mine (x); INSERT INTO mine VALUES (1); PRAGMA application_id = 7');
  other.close();
  const { book } = start();
  book.happens(silent('pump'));
  book.end();
  const again = new DatabaseSync(file());
  expect(again.prepare('SELECT count(*) AS n FROM mine').get()?.n).toBe(1);
  again.close();
  expect(warnings[0]).toMatch(/another program/);
});

test('leaves out lines of the audit log that come too fast, and says how many', () => {
  const { store, book } = start();
  for (let i = 0; i < MAX_WAITING + 7; i++) store.add(line(store.nextId()));
  expect(store.audit({ before: Infinity, limit: MAX_WAITING * 2 })).toHaveLength(MAX_WAITING);
  expect(warnings).toEqual(['7 lines of the audit log came too fast and were left out.']);
  book.end();
});
