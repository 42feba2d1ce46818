'use strict';
// A directory with its thread, and the feed of devices.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { DatabaseSync } = require('node:sqlite');
const { DeviceFeed, Directory, parseRules } = require('../../../nodes/lib/directory');
const { eventually } = require('../../../bench/harness/net');
const { thing } = require('../../fixtures/directory/things');

/** @type {string} */
let folder;
/** @type {string[]} */
let problems;
/** @type {Directory[]} */
let opened;
beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-directory-'));
  problems = [];
  opened = [];
});
afterEach(async () => {
  for (const each of opened) await each.close();
  fs.rmSync(folder, { recursive: true, force: true });
});

const open = (options = {}) => {
  const directory = new Directory(
    { directory: folder, maxThings: 1000, keepDays: 30, maxAgeS: 60, askMs: 100, ...options },
    { routes: [], problem: (sentence) => problems.push(sentence), changed: () => {} }
  );
  opened.push(directory);
  return directory;
};
const list = async (directory) => (await directory.ask('list', { offset: 0, limit: 1000 })).things;

test('keeps its things over a restart, and refuses calls after its end', async () => {
  const first = open();
  const id = await first.ask('createAnonymous', { td: thing() });
  await first.close();
  await expect(first.ask('get', { id })).rejects.toMatchObject({ status: 503 });
  expect(await open().ask('get', { id })).toMatchObject({ id, title: 'thing' });
});

test('refuses what is nested too deep for its thread, and stays usable', async () => {
  const directory = open();
  const deep = JSON.parse(`${'['.repeat(100000)}${']'.repeat(100000)}`);
  for (let i = 0; i < 1001; i++) {
    const refusal = directory.ask('put', { id: 'urn:deep', td: { ...thing(), deep } });
    await expect(refusal).rejects.toMatchObject({ status: 400 });
  }
  expect(await list(directory)).toEqual([]);
});

test('sets a damaged file aside with a message, and begins a new one', async () => {
  fs.writeFileSync(path.join(folder, 'directory.db'), Buffer.alloc(8192, 'no database '));
  const directory = open();
  await eventually(() => problems.length > 0);
  expect(problems[0]).toMatch(/is damaged\. Its file is now .*directory\.db\.damaged-\d+/);
  expect(await list(directory)).toEqual([]);
  expect(fs.readdirSync(folder).some((name) => name.includes('.damaged-'))).toBe(true);
});

test('replaces a file that is damaged while it runs: new numbers are higher, and searches find the new things', async () => {
  const directory = open();
  /** @type {number[]} */
  const ids = [];
  const send = directory.streams.send.bind(directory.streams);
  directory.streams.send = (events) => {
    ids.push(...events.map(({ id }) => id));
    send(events);
  };
  for (let i = 0; i < 100; i++)
    await directory.ask('put', { id: `urn:old:${i}`, td: thing({ id: `urn:old:${i}` }) });
  const { revision } = await directory.ask('list', { offset: 0, limit: 1 });
  const find = async () =>
    JSON.parse(await directory.searches.run('jsonpath', { query: '$[*].id' }).catch(() => '["fails"]'));
  expect(await find()).toHaveLength(100);
  const file = path.join(folder, 'directory.db');
  const other = new DatabaseSync(file);
  other.exec("UPDATE meta SET value = value WHERE name = 'revision'; PRAGMA wal_checkpoint(TRUNCATE);");
  other.close();
  fs.writeFileSync(file, Buffer.alloc(fs.statSync(file).size, 'no database '));
  await eventually(
    async () => {
      await directory.ask('put', { id: 'urn:new', td: thing({ id: 'urn:new' }) }).catch(() => {});
      return problems.length > 0 && directory.state.total === 1;
    },
    { timeoutMs: 20000, what: 'the new file' }
  );
  const before = ids[99];
  expect(ids.slice(100).every((id) => id > before)).toBe(true);
  expect((await directory.ask('list', { offset: 0, limit: 1 })).revision).toBeGreaterThan(revision);
  await eventually(async () => (await find())[0] === 'urn:new', { timeoutMs: 20000, what: 'the new thing' });
  expect(await find()).toEqual(['urn:new']);
});

test('keeps the WAL of a file that is damaged, and sets no second file aside at once', async () => {
  const directory = open();
  const file = path.join(folder, 'directory.db');
  const put = (id) => directory.ask('put', { id, td: thing({ id }) });
  const asides = () => fs.readdirSync(folder).filter((name) => name.includes('.damaged-'));
  for (let i = 0; i < 50; i++) await put(`urn:old:${i}`);
  // While another connection is open, the WAL is not copied into the database.
  const other = new DatabaseSync(file);
  other.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  await put('urn:late');
  /** Damages the file, and makes the directory read it again. @param {DatabaseSync} db */
  const damage = (db) => {
    db.exec("UPDATE meta SET value = value + 1 WHERE name = 'revision'");
    const bytes = fs.readFileSync(file);
    fs.writeFileSync(file, bytes.fill('no database ', 4096));
  };
  try {
    damage(other);
    await eventually(
      () =>
        list(directory).then(
          () => problems.length > 0,
          () => false
        ),
      { what: 'a new file' }
    );
  } finally {
    other.close();
  }
  expect(await list(directory)).toEqual([]);
  const [aside, wal, ...more] = asides().sort();
  expect([wal, more]).toEqual([`${aside}-wal`, []]);
  expect(fs.readFileSync(path.join(folder, wal)).includes('urn:late')).toBe(true);

  await put('urn:new');
  const next = new DatabaseSync(file);
  next.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  damage(next);
  next.close();
  await expect(list(directory)).rejects.toMatchObject({
    status: 503,
    message: expect.stringMatching(/cannot be used/)
  });
  expect(asides()).toHaveLength(2);
});

test('answers with the reason while the folder cannot be used, and works once it can', async () => {
  const file = path.join(folder, 'file');
  fs.writeFileSync(file, '');
  const directory = open({ directory: file });
  await expect(list(directory)).rejects.toMatchObject({
    status: 503,
    message: expect.stringMatching(/not a folder/)
  });
  fs.rmSync(file);
  expect(await list(directory)).toEqual([]);
});

describe('the feed of devices', () => {
  const feedOf = (directory, agents, rules = []) =>
    new DeviceFeed({
      source: 's',
      page: (after, limit) => {
        const rows = agents.filter(({ device }) => device > after).slice(0, limit);
        return { agents: rows, next: rows.length === limit ? rows.at(-1).device : null };
      },
      values: directory.values,
      ask: directory.ask.bind(directory),
      base: { gateway: 'gw', path: '/', isSecured: true },
      rules: parseRules(JSON.stringify(rules)),
      problem: (sentence) => problems.push(sentence),
      left: (things) => directory.leaveOut('devices', things)
    });
  const agent = (device) => ({ device, protocol: 'mqtt', silentMs: 0, class: 3 });

  test('makes a thing of each device of all pages, and again when it has a new property', async () => {
    const directory = open({ maxThings: 3000 });
    const agents = Array.from({ length: 1500 }, (_, i) => agent(`d${String(i).padStart(4, '0')}`));
    const feed = feedOf(directory, agents, [{ device: 'd*', room: '{1}' }]);
    await eventually(() => directory.state.total === 1500, { timeoutMs: 30000, what: 'the things' });
    const [first] = await list(directory);
    expect(first).toMatchObject({ 'brick:hasLocation': { 'rdfs:label': '0000' }, security: 'login' });
    const id = 'urn:seganet:gw:device:d0007';
    expect((await directory.ask('get', { id })).properties).toBeUndefined();
    directory.values.note({ device: 'd0007', payload: { temperature: 1 }, topic: '', ts: 0, cls: 0 });
    feed.soon();
    await eventually(async () => (await directory.ask('get', { id })).properties?.temperature);
    await feed.close();
    expect(problems).toEqual([]);
  });

  test('keeps the properties of a device that has not sent them since a restart', async () => {
    const rules = [{ device: 'd', room: '1' }];
    const id = 'urn:seganet:gw:device:d';
    let made = 0;
    const start = () => {
      const directory = open();
      const { ask } = directory;
      directory.ask = async (what, input) => {
        const answer = await ask.call(directory, what, input);
        if (what === 'make' && input.things.length > 0) made++;
        return answer;
      };
      return { directory, feed: feedOf(directory, [agent('d')], rules) };
    };
    const note = ({ directory, feed }, payload) => {
      directory.values.note({ device: 'd', payload, topic: '', ts: 0, cls: 0 });
      feed.soon();
    };
    const names = async ({ directory }) => Object.keys((await directory.ask('get', { id })).properties ?? {});
    const first = start();
    await eventually(() => made === 1);
    note(first, { temperature: 1, humidity: 2, rssi: -60 });
    await eventually(() => made === 2);
    expect(await names(first)).toEqual(['humidity', 'temperature']);
    await first.feed.close();
    await first.directory.close();

    const second = start();
    await eventually(() => made === 3);
    expect(await names(second)).toEqual(['humidity', 'temperature']);
    note(second, { temperature: 1, battery: 3 });
    await eventually(() => made === 4);
    expect(await names(second)).toEqual(['battery', 'humidity', 'temperature']);
    const [found] = await second.directory.ask('find', {
      property: 'humidity',
      room: '1',
      type: '',
      device: '',
      text: ''
    });
    expect(found).toMatchObject({ device: 'd', name: 'humidity' });
    await second.feed.close();
    expect(problems).toEqual([]);
  });

  test('counts the devices that the directory has no room for, until there is room', async () => {
    const directory = open({ maxThings: 2 });
    await directory.ask('make', { source: 'old', things: [{ id: 'urn:old', td: thing() }], seen: [] });
    const feed = feedOf(directory, [agent('a'), agent('b')]);
    await eventually(() => directory.view().left === 1, { what: 'the device beyond the limit' });
    directory.values.note({ device: 'a', payload: { t: 1 }, topic: '', ts: 0, cls: 0 });
    feed.soon();
    await eventually(async () => (await list(directory)).some(({ properties }) => properties?.t));
    expect(directory.view()).toMatchObject({ left: 1, forgotten: 0, things: 2 });
    await directory.ask('keepOnly', { source: 'old', ids: [] });
    directory.values.change(['b']);
    feed.soon();
    await eventually(() => directory.view().left === 0);
    await feed.close();
  });

  test('tries again what the store could not take', async () => {
    const directory = open();
    let failures = 1;
    const { ask } = directory;
    directory.ask = async (what, input) => {
      if (what === 'make' && failures-- > 0) throw new Error('The disk is full.');
      return ask.call(directory, what, input);
    };
    const feed = feedOf(directory, [agent('a')]);
    await eventually(() => problems.includes('The disk is full.'));
    feed.soon();
    await eventually(() => directory.state.total === 1);
    await feed.close();
  });
});
