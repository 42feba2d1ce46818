'use strict';

const { DatabaseSync } = require('node:sqlite');
const fs = require('node:fs');
const path = require('node:path');
const { openDatabase } = require('../../../nodes/lib/directory/directory-database');
const { StoreRig, thermometer, thing } = require('../../fixtures/directory/things');

/** @type {StoreRig} */
let rig;
beforeEach(() => (rig = new StoreRig()));
afterEach(() => rig.remove());

const wanted = (more) => ({ property: '', room: '', type: '', device: '', text: '', ...more });
const ids = (more) => rig.store.find(wanted(more)).map((each) => each.thing);
const make = (id, td) => rig.store.make({ source: 's', things: [{ id, td }], seen: [] });

test('finds a property in a room by its name, its type or the type of its thing', () => {
  rig.store.put({ id: 'urn:a', td: thermometer('urn:a', '105') });
  rig.store.put({ id: 'urn:b', td: thermometer('urn:b', '106') });
  const properties = {
    t: { '@type': 'saref:Temperature', forms: [{ href: 'x' }] },
    h: { forms: [{ href: 'x' }] }
  };
  rig.store.put({ id: 'urn:c', td: thermometer('urn:c', '105', { properties }) });
  expect(ids({ property: 'temperature', room: '105' }).sort()).toEqual(['urn:a', 'urn:c']);
  expect(ids({ property: 'temperature' })).toHaveLength(3);
  expect(ids({ property: 'h', room: '105' })).toEqual(['urn:c']);
  expect(ids({ property: 'temperature', type: 'temperaturesensor', room: '106' })).toEqual(['urn:b']);
  expect(ids({ property: 'temperature', text: 'thermometer "105"' }).sort()).toEqual(['urn:a', 'urn:c']);
  expect(ids({ property: 'temperature', text: '"*(' })).toEqual([]);
  rig.store.remove({ id: 'urn:a' });
  expect(ids({ property: 'temperature', room: '105' })).toEqual(['urn:c']);
});

test('distinguishes rooms that differ only between their digits', () => {
  const rooms = ['105', '1.05', '10.5', '-1.05', 'A:105'];
  for (const room of rooms) {
    const id = `urn:t:${room}`;
    rig.store.put({ id, td: thermometer(id, room, { 'brick:hasLocation': room }) });
  }
  const { readQuestion } = require('../../../nodes/lib/directory/question');
  const found = (room) => {
    const { wanted: asked } = readQuestion({ property: 'temperature', room }, { maxAgeS: 60, askMs: 0 });
    return rig.store.find(asked).map(({ thing: id }) => id);
  };
  for (const room of rooms) expect(found(room)).toEqual([`urn:t:${room}`]);
  for (const same of ['Room 105', 'room-105', 'ROOM105', 'urn:any:room:105'])
    expect(found(same)).toEqual(['urn:t:105']);
  for (const same of ['1-05', 'Room 1/05']) expect(found(same)).toEqual(['urn:t:1.05']);
  for (const same of ['a 105', 'a-105', 'https://host/a%20105']) expect(found(same)).toEqual(['urn:t:A:105']);
  expect(found('Room -1.05')).toEqual(['urn:t:-1.05']);
});

test('finds the rooms of a file that an older version wrote', () => {
  for (const room of ['1.05', '-2'])
    rig.store.put({ id: `urn:t:${room}`, td: thermometer(`urn:t:${room}`, room) });
  const before = rig.store.counts();
  rig.store.close();
  const db = new DatabaseSync(path.join(rig.directory, 'directory.db'));
  db.exec(`DELETE FROM meta WHERE name = 'terms'; DELETE FROM fact WHERE kind = 'room';
    INSERT INTO fact SELECT 'room', iif(id = 'urn:t:-2', '2', '105'), n FROM thing;
    UPDATE thing SET facts = replace(replace(facts, '"1 05"', '"105"'), '"-2"', '"2"');`);
  db.close();
  rig.open();
  expect(ids({ property: 'temperature', room: '1 05' })).toEqual(['urn:t:1.05']);
  expect(ids({ property: 'temperature', room: '-2' })).toEqual(['urn:t:-2']);
  expect(ids({ property: 'temperature', room: '105' })).toEqual([]);
  expect(rig.store.counts()).toEqual(before);
});

test('keeps posted and made things apart', () => {
  make('urn:made', thermometer('urn:made', '1'));
  for (const change of [
    () => rig.store.put({ id: 'urn:made', td: thermometer('urn:made', '2') }),
    () => rig.store.patch({ id: 'urn:made', patch: { title: 'x' } }),
    () => rig.store.remove({ id: 'urn:made' })
  ])
    expect(change).toThrow(/made urn:made from a device/);
  rig.store.put({ id: 'urn:posted', td: thing({ id: 'urn:posted' }) });
  make('urn:posted', thing({ title: 'other' }));
  expect(rig.store.get({ id: 'urn:posted' })).toMatchObject({ title: 'thing' });
  rig.store.keepOnly({ source: 's', ids: [] });
  expect(rig.store.counts()).toMatchObject({ total: 1, posted: 1 });
});

test('makes an unchanged thing only once, and forgets one whose device was not seen for the days', () => {
  make('urn:a', thing());
  make('urn:a', thing());
  expect(rig.events.map(({ type }) => type)).toEqual(['thing_created']);
  rig.now += 29 * 86400000;
  rig.store.make({ source: 's', things: [], seen: ['urn:a'] });
  rig.now += 29 * 86400000;
  rig.store.tick();
  expect(rig.store.counts().total).toBe(1);
  rig.now += 2 * 86400000;
  rig.store.tick();
  expect(rig.store.counts().total).toBe(0);
  expect(rig.store.make({ source: 's', things: [], seen: ['urn:a'] }).missing).toEqual(['urn:a']);
});

test('remembers the names that the records of a device had, for the days of devices', () => {
  const day = 86400000;
  const noted = (names) =>
    rig.store.make({ source: 's', things: [{ id: 'urn:a', td: thing(), names }], seen: [], adds: true });
  const names = () => rig.store.namesOf({ source: 's', ids: ['urn:a', 'urn:none'] });
  noted(['t', 'h']);
  expect(names()).toEqual([['t', 'h'], []]);
  rig.now += 10 * day;
  // After a restart: at first without a record.
  noted([]);
  noted(['t']);
  rig.store.make({ source: 's', things: [], seen: ['urn:a'] });
  expect(names()).toEqual([['t', 'h'], []]);
  rig.now += 19 * day;
  expect(names()).toEqual([['t', 'h'], []]);
  rig.now += 2 * day;
  expect(names()).toEqual([['t'], []]);
  expect(rig.events.map(({ type }) => type)).toEqual(['thing_created']);
});

test('takes the properties for the names of records in a file that an older version wrote', () => {
  const properties = { t: { forms: [{ href: 'x' }] } };
  make('urn:a', thing({ properties }));
  expect(rig.store.namesOf({ source: 's', ids: ['urn:a'] })).toEqual([['t']]);
  expect(rig.store.namesOf({ source: 'other', ids: ['urn:a'] })).toEqual([[]]);
});

test('merges what two sources know of a device into one thing, and does not alternate between them', () => {
  const affordance = (href) => ({ forms: [{ href }] });
  const ofCloud = thing({
    title: 'lamp',
    properties: { t: affordance('ocf://d/t'), p: affordance('ocf://d/p') }
  });
  const ofRecords = thing({ 'seganet:x': 1, properties: { t: affordance('value'), h: affordance('value') } });
  const cloud = (source = 'ocf:c', td = ofCloud) =>
    rig.store.make({ source, things: [{ id: 'urn:a', td }], seen: ['urn:a'] });
  const records = (td = ofRecords) =>
    rig.store.make({
      source: 'devices:f',
      things: [{ id: 'urn:a', td, names: ['t', 'h'] }],
      seen: [],
      adds: true
    });
  const both = {
    title: 'lamp',
    'seganet:x': 1,
    properties: { ...ofRecords.properties, ...ofCloud.properties }
  };
  const types = () => rig.events.map(({ type }) => type);
  for (const first of [records, cloud]) {
    rig.events.length = 0;
    first();
    for (const again of [cloud, records, cloud, records, cloud]) again();
    expect(rig.store.get({ id: 'urn:a' })).toMatchObject(both);
    expect(types()).toEqual(['thing_created', 'thing_updated']);
    // The device leaves the cloud, and its records stay.
    rig.store.keepOnly({ source: 'ocf:c', ids: [] });
    expect(rig.store.get({ id: 'urn:a' })).toMatchObject({
      title: 'thing',
      properties: ofRecords.properties
    });
    expect(Object.keys(rig.store.get({ id: 'urn:a' }).properties)).toEqual(['t', 'h']);
    expect(rig.store.namesOf({ source: 'devices:f', ids: ['urn:a'] })).toEqual([['t', 'h']]);
    records();
    expect(types()).toHaveLength(3);
    // Another cloud takes the place of the one before.
    cloud();
    cloud('ocf:new', thing({ title: 'new' }));
    rig.store.keepOnly({ source: 'ocf:c', ids: [] });
    expect(rig.store.get({ id: 'urn:a' })).toMatchObject({ title: 'new', properties: ofRecords.properties });
    rig.remove();
    rig = new StoreRig();
  }
});

test('computes the end of a thing from its ttl, and deletes it then', () => {
  const registration = { ttl: 60, expires: '2099-01-01T00:00:00Z' };
  rig.store.put({ id: 'urn:a', td: thing({ id: 'urn:a', registration }) });
  expect(rig.store.get({ id: 'urn:a' }).registration).toMatchObject({
    ttl: 60,
    expires: new Date(rig.now + 60000).toISOString()
  });
  rig.now += 59000;
  rig.store.tick();
  rig.now += 2000;
  expect(rig.store.counts().total).toBe(1);
  rig.store.tick();
  expect(rig.store.counts().total).toBe(0);
  expect(rig.events.at(-1)).toMatchObject({ type: 'thing_deleted', thing: 'urn:a' });
});

test('refuses more things than the limit, and counts the made ones that it leaves out', () => {
  rig.options.maxThings = 2;
  rig.store.close();
  rig.open();
  for (const id of ['urn:a', 'urn:b']) rig.store.put({ id, td: thing({ id }) });
  expect(() => rig.store.createAnonymous({ td: thing() })).toThrow(expect.objectContaining({ status: 507 }));
  expect(rig.store.put({ id: 'urn:a', td: thing({ id: 'urn:a', title: 'new' }) })).toBe(false);
  const things = ['urn:1', 'urn:2', 'urn:3'].map((id) => ({ id, td: thing() }));
  expect(rig.store.make({ source: 's', things, seen: [] })).toEqual({
    left: ['urn:3'],
    problems: [],
    missing: []
  });
  expect(rig.store.counts()).toMatchObject({ total: 4, posted: 2 });
});

test('keeps things, revision and events over a restart', () => {
  rig.store.put({ id: 'urn:a', td: thermometer('urn:a', '105') });
  rig.store.patch({ id: 'urn:a', patch: { title: 'new' } });
  const before = rig.store.counts();
  rig.store.close();
  rig.open();
  expect(rig.store.counts()).toEqual(before);
  const [{ id: first }] = rig.events;
  const events = rig.store.eventsAfter({ after: first, limit: 10 });
  expect(events).toEqual([
    { id: first + 1, type: 'thing_updated', thing: 'urn:a', data: { id: 'urn:a', title: 'new' } }
  ]);
});

test('lists things in the order of the code points of their ids', () => {
  const names = ['urn:a\u{1F600}', 'urn:a\uFF5E', 'urn:B', 'urn:ab', 'urn:a'];
  for (const id of names) rig.store.put({ id, td: thing({ id }) });
  const listed = rig.store.list({ offset: 0, limit: 10 }).things.map(({ id }) => id);
  expect(listed).toEqual(['urn:B', 'urn:a', 'urn:ab', 'urn:a\uFF5E', 'urn:a\u{1F600}']);
});

test('lists large things in pages of about 4 MiB', () => {
  const all = Array.from({ length: 100 }, (_, i) => `urn:t:${100 + i}`);
  const description = 'x'.repeat(60000);
  for (const id of all) rig.store.put({ id, td: thing({ id, description }) });
  const listed = [];
  for (let offset = 0; offset < 100;) {
    const { things, total } = rig.store.list({ offset, limit: 1000 });
    expect([things.length > 0, JSON.stringify(things).length < 4.5 * 2 ** 20, total]).toEqual([
      true,
      true,
      100
    ]);
    listed.push(...things.map(({ id }) => id));
    offset += things.length;
  }
  expect(listed).toEqual(all);
});

test('changes nothing in the file of another program or of a newer version', () => {
  const other = path.join(rig.directory, 'other');
  fs.mkdirSync(other);
  const db = new DatabaseSync(path.join(other, 'directory.db'));
  db.exec('CREATE TABLE mine (x)');
  expect(() => openDatabase(other)).toThrow(/another program/);
  db.exec('PRAGMA application_id = 0x53736e64; PRAGMA user_version = 9');
  expect(() => openDatabase(other)).toThrow(/newer version/);
  expect(db.prepare('SELECT count(*) AS n FROM sqlite_schema').get()).toEqual({ n: 1 });
  db.close();
});
