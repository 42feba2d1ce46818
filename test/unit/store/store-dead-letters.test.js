'use strict';
// Dead letters of a running log: their list, and sending them again.

const fs = require('node:fs');
const { DeadLetterService } = require('../../../nodes/lib/store/dead-letter-service');
const { writeChunk, readChunk } = require('../../../nodes/lib/store/log-chunk');
const { Rig, inspect, until } = require('../../fixtures/store/store-files');

const KIB = 1024;

/** @type {Rig[]} */
const rigs = [];
function rig(options) {
  const made = new Rig(options);
  rigs.push(made);
  return { made, service: new DeadLetterService(made.store) };
}
afterEach(async () => {
  for (const made of rigs.splice(0)) {
    await made.stop(0);
    fs.rmSync(made.directory, { recursive: true, force: true });
  }
});

/** A record of kind 0 as a chunk. */
function single(sequence, { device = 'pump', topic = 'level', payload = '1', recordClass = 3 } = {}) {
  const bytes = Buffer.concat([device, topic, payload].map((text) => Buffer.from(text)));
  const sizes = { deviceBytes: Buffer.byteLength(device), topicBytes: Buffer.byteLength(topic) };
  return writeChunk(recordClass, 7n, [{ sequence, firstTs: 1000, lastTs: 2000, bytes, ...sizes }]);
}

/** What the engine pushes for a dead letter. */
const letter = (body, { node = 'uplink', recordClass = 3, records = 1 } = {}) => ({
  node,
  class: recordClass,
  records,
  body,
  dead: { code: 135, reason: 'Not authorized' }
});

/** Makes one transaction fail before its commit, as a full disk does. @param {Rig} made */
function failNextCommit(made) {
  const { database } = made.store.recovery;
  database.commit = () => {
    delete database.commit;
    throw Object.assign(new Error('disk I/O error'), { code: 'ERR_SQLITE_ERROR', errcode: 10 });
  };
}

describe('the list', () => {
  test('has pages, the oldest first, with the device and topic of the first record', async () => {
    const { made, service } = rig();
    await made.save(
      letter(single(1, { device: 'pömpe', topic: 'tür/1', payload: 'x'.repeat(5 * KIB) })),
      letter(
        writeChunk(2, 7n, [
          { sequence: 2, kind: 1, records: 2, bytes: Buffer.from('{"d":"cam","t":"gate"}\n{"d":"b"}\n') }
        ]),
        { recordClass: 2, records: 2, node: 'other' }
      ),
      letter(Buffer.from('no chunk'))
    );
    const { letters, next } = service.list({ after: 0, limit: 2 });
    const byRow = new Map(
      [...letters, ...service.list({ after: next, limit: 2 }).letters].map((each) => [each.topic, each])
    );
    expect(letters).toHaveLength(2);
    expect([...byRow.keys()].sort()).toEqual(['', 'gate', 'tür/1']);
    expect(byRow.get('tür/1')).toMatchObject({
      node: 'uplink',
      class: 3,
      records: 1,
      device: 'pömpe',
      code: 135,
      reason: 'Not authorized'
    });
    expect(byRow.get('tür/1').bytes).toBeGreaterThan(5 * KIB);
    expect(byRow.get('gate')).toMatchObject({ device: 'cam', records: 2, class: 2, node: 'other' });
    expect(service.list({ after: letters[1].row, limit: 50 })).toMatchObject({ next: null });
  });

  test('has at most 50 rows a page', async () => {
    const { made, service } = rig();
    await made.save(...Array.from({ length: 60 }, (_, index) => letter(single(index + 1))));
    const page = service.list({ after: 0, limit: 1000 });
    expect(page.letters).toHaveLength(50);
    expect(service.list({ after: page.next, limit: 50 }).letters).toHaveLength(10);
  });

  test('has pages of 4 MiB, so that records do not wait while many large ones are read', async () => {
    const { made, service } = rig({ limitMiB: 64 });
    const payload = 'x'.repeat(900 * KIB);
    for (let i = 0; i < 9; i++) await made.save(letter(single(i + 1, { topic: `t${i}`, payload })));
    await made.save(letter(single(10, { topic: 'huge', payload: 'x'.repeat(5 * KIB * KIB) })));
    const pages = [];
    for (let after = 0; after !== null;) {
      const { letters, next } = service.list({ after, limit: 50 });
      pages.push(letters.map(({ topic }) => topic));
      after = next;
    }
    expect(pages).toEqual([['t0', 't1', 't2', 't3'], ['t4', 't5', 't6', 't7'], ['t8'], ['huge']]);
  });
});

describe('sending again', () => {
  test('moves dead letters to the chunks under the same key, and passes them to the engine', async () => {
    const { made, service } = rig();
    const rows = await made.save(letter(single(5)), letter(single(6)), letter(single(7)));
    const outcome = await service.sendAgain([rows[1], rows[0]], ['uplink']);
    expect(outcome).toEqual({
      sent: 2,
      records: 2,
      strangers: 0,
      damaged: 0,
      noRoom: 0,
      gone: 0,
      failure: ''
    });
    expect(made.events('sendAgain')).toEqual([
      expect.objectContaining({ row: rows[2] + 1, node: 'uplink', class: 3, records: [1] }),
      expect.objectContaining({ row: rows[2] + 2, node: 'uplink', class: 3, records: [1] })
    ]);
    expect(made.store.dead).toMatchObject({ count: 1 });
    expect(made.store.usage.records[3]).toBe(2);
    await made.stop();
    const { chunks, dead, integrity } = inspect(made.directory);
    expect(integrity).toBe('ok');
    expect(dead.map(({ id }) => id)).toEqual([rows[2]]);
    const kept = chunks.map(({ body }) => readChunk(body));
    expect(kept.map(({ head, entries }) => [head.epoch, entries[0].sequence])).toEqual([
      [7n, 5n],
      [7n, 6n]
    ]);
    expect(chunks[0]).toMatchObject({ records: 1, first_ts: 1000, last_ts: 2000 });
  });

  test('without rows sends all that exist at this moment', async () => {
    const { made, service } = rig({ limitMiB: 64 });
    await made.save(...Array.from({ length: 150 }, (_, index) => letter(single(index + 1))));
    const sending = service.sendAgain(null, ['uplink']);
    const late = made.save(letter(single(999)));
    expect(await sending).toMatchObject({ sent: 150, records: 150 });
    await late;
    expect(made.store.dead.count).toBe(1);
  });

  test('leaves what it cannot send, and says how many', async () => {
    const { made, service } = rig();
    const body = single(3);
    body[body.length - 1] ^= 1;
    const rows = await made.save(
      letter(single(1), { node: 'deleted' }),
      letter(single(2), { records: 2 }),
      letter(body),
      letter(single(4))
    );
    expect(await service.sendAgain(null, ['uplink'])).toMatchObject({ sent: 1, strangers: 1, damaged: 2 });
    expect(await service.sendAgain([rows[3], 4711], ['uplink'])).toMatchObject({ sent: 0, gone: 2 });
    await made.stop();
    expect(inspect(made.directory).dead.map(({ id }) => id)).toEqual(rows.slice(0, 3));
  });

  test('leaves a row with a number that no log contains, and the log open', async () => {
    const { made, service } = rig();
    const rows = await made.save(letter(single(1)), letter(single(2)), letter(single(3)));
    const wild = '9223372036854775807';
    made.store.recovery.database.db.exec(`UPDATE dead SET at = ${wild} WHERE id = ${rows[1]}`);
    const none = { records: 0, sent: 0, strangers: 0, damaged: 0, noRoom: 0, gone: 0, failure: '' };
    expect(await service.sendAgain(null, ['uplink'])).toEqual({ ...none, sent: 2, records: 2, damaged: 1 });
    expect(await service.sendAgain(null, ['uplink'])).toEqual({ ...none, damaged: 1 });
    expect([made.state, made.problems]).toEqual(['ready', []]);
  });

  test('leaves what the log has no room for', async () => {
    const { made, service } = rig({ limitMiB: 1, deadLimitMiB: 4 });
    const large = (sequence) => letter(single(sequence, { payload: 'x'.repeat(300 * KIB) }));
    await made.save(large(1), large(2), large(3), large(4), large(5));
    expect(await service.sendAgain(null, ['uplink'])).toMatchObject({ sent: 3, noRoom: 2 });
    expect(made.store.dead.count).toBe(2);
  });

  test('changes nothing if the commit fails, and works once the log is restored', async () => {
    const { made, service } = rig();
    const rows = await made.save(letter(single(1)), letter(single(2)));
    failNextCommit(made);
    const outcome = await service.sendAgain(null, ['uplink']);
    expect(outcome).toMatchObject({ sent: 0, failure: expect.stringMatching(/\.$/) });
    expect(made.events('sendAgain')).toEqual([]);
    await until(() => made.state === 'ready');
    expect(service.list({ after: 0, limit: 9 }).letters.map(({ row }) => row)).toEqual(rows);
    expect(await service.sendAgain(null, ['uplink'])).toMatchObject({ sent: 2, failure: '' });
  });

  test('keeps a dead letter whose commit was reported as failed but is on disk', async () => {
    const { made, service } = rig();
    const rows = await made.save(letter(single(1)));
    const { database } = made.store.recovery;
    const { commit } = database;
    database.commit = () => {
      delete database.commit;
      commit.call(database);
      throw Object.assign(new Error('disk I/O error'), { code: 'ERR_SQLITE_ERROR', errcode: 10 });
    };
    expect(await service.sendAgain(null, ['uplink'])).toMatchObject({ sent: 0 });
    await until(() => made.state === 'ready');
    expect(made.store.dead.count).toBe(1);
    const [again] = service.list({ after: 0, limit: 9 }).letters;
    expect(again).toMatchObject({ row: rows[0], code: 135, reason: 'Not authorized', device: 'pump' });
    await made.stop();
    expect(inspect(made.directory).chunks).toEqual([]);
  });

  test('refuses while the log is closed', async () => {
    const { made, service } = rig();
    await made.stop();
    expect(await service.sendAgain(null, ['uplink'])).toMatchObject({
      sent: 0,
      failure: 'The log is not open.'
    });
    expect(() => service.list({ after: 0, limit: 1 })).toThrow('The log is not open.');
  });
});
