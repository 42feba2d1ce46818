'use strict';

// Commands wait for their device in order, are kept when it cannot be reached, and each ends in exactly one way.

const { Desk } = require('../../../nodes/lib/commands/command-queues');

/** A desk with a clock of its own; attempts are answered by the test, commits too. */
function makeDesk(limits) {
  const made = { time: 1e12, attempts: [], kept: new Map(), pending: [], removed: [], told: [] };
  let row = 0;
  const shelf = {
    add: (command, done) => made.pending.push({ command, done }),
    remove: (gone) => {
      made.removed.push(gone);
      made.kept.delete(gone);
    }
  };
  const attempt = (command, done) => {
    const at = { command, done: (end, reason) => done({ end, reason }) };
    made.attempts.push(at);
    if (made.auto) at.done(made.auto);
  };
  const desk = new Desk({ attempt, shelf, now: () => made.time, wall: () => made.time, limits });
  return Object.assign(made, {
    desk,
    send: (device, id, more = {}) =>
      desk.submit(
        { id, device, topic: `cmd/${device}/x`, payload: Buffer.from(id), qos: 1, expiresAt: made.time + 60000, origin: null, ...more }, // prettier-ignore
        (status, reason) => made.told.push([id, status, ...(made.reasons ? [reason] : [])])
      ),
    commit(error = null) {
      for (const { command, done } of made.pending.splice(0)) {
        if (error) done(error, 0);
        else {
          made.kept.set(++row, command.id);
          done(null, row);
        }
      }
    },
    pass(ms) {
      made.time += ms;
      desk.tick();
    },
    tried: () => made.attempts.map(({ command }) => command.id)
  });
}

test('commands of a device go one after the other, those of two devices side by side', () => {
  const desk = makeDesk();
  for (const [device, id] of [['a', 'a1'], ['a', 'a2'], ['b', 'b1']]) desk.send(device, id); // prettier-ignore
  expect(desk.tried()).toEqual(['a1', 'b1']);
  desk.attempts[0].done('taken');
  expect(desk.tried()).toEqual(['a1', 'b1', 'a2']);
  expect(desk.told).toEqual([['a1', 'taken']]);
});

test('a device that is away: kept, queued when it is on disk, taken in order when it is back', () => {
  const desk = makeDesk();
  desk.auto = 'offline';
  for (const id of ['1', '2', '3']) desk.send('a', id);
  expect(desk.tried()).toEqual(['1']);
  expect(desk.told).toEqual([]);
  desk.commit();
  expect(desk.told).toEqual([['1', 'queued'], ['2', 'queued'], ['3', 'queued']]); // prettier-ignore
  desk.auto = 'taken';
  desk.desk.wake('a');
  expect(desk.tried()).toEqual(['1', '1', '2', '3']);
  expect(desk.told.slice(3)).toEqual([['1', 'taken'], ['2', 'taken'], ['3', 'taken']]); // prettier-ignore
  expect(desk.removed).toEqual([1, 2, 3]);
  expect(desk.desk.view()).toMatchObject({ waiting: 0, waitingBytes: 0, devices: 0, taken: 3, queued: 3 });
});

test('a command that is taken while it is being written is not reported as queued, and its row goes', () => {
  const desk = makeDesk();
  desk.auto = 'offline';
  desk.send('a', '1');
  desk.auto = 'taken';
  desk.desk.wake('a');
  desk.commit();
  expect(desk.told).toEqual([['1', 'taken']]);
  expect([...desk.kept]).toEqual([]);
});

test('what takes longer than the patience is kept meanwhile, and those behind it too', () => {
  const desk = makeDesk();
  desk.send('a', '1');
  desk.send('a', '2');
  desk.pass(999);
  expect(desk.pending).toHaveLength(0);
  desk.pass(1);
  desk.commit();
  expect(desk.told).toEqual([['1', 'queued'], ['2', 'queued']]); // prettier-ignore
  desk.attempts[0].done('taken');
  expect(desk.told.at(-1)).toEqual(['1', 'taken']);
});

test('a device that came back while its command was on the way is not missed', () => {
  const desk = makeDesk();
  desk.send('a', '1');
  desk.desk.wake('a');
  desk.attempts[0].done('offline');
  expect(desk.tried()).toEqual(['1', '1']);
});

test('a time that is over ends a command, but not one that is on its way', () => {
  const desk = makeDesk();
  desk.send('a', 'away', { expiresAt: desk.time + 1000 });
  desk.send('b', 'late', { expiresAt: desk.time });
  expect(desk.told).toEqual([['late', 'expired']]);
  desk.pass(1000);
  desk.commit();
  expect(desk.told.slice(1)).toEqual([['away', 'queued']]);
  desk.attempts[0].done('offline');
  desk.pass(1000);
  expect(desk.told.at(-1)).toEqual(['away', 'expired']);
  expect([...desk.kept]).toEqual([]);
});

test('QoS 0 is for now: it is not kept', () => {
  const desk = makeDesk();
  desk.reasons = true;
  desk.auto = 'offline';
  desk.send('a', '1', { qos: 0 });
  expect(desk.told).toEqual([
    ['1', 'expired', 'The device is not connected. A command with QoS 0 is not kept.']
  ]);
  expect(desk.pending).toHaveLength(0);
});

test('three time-outs end a command, one a second', () => {
  const desk = makeDesk();
  desk.send('a', '1');
  for (const count of [1, 2, 3]) {
    expect(desk.attempts).toHaveLength(count);
    desk.attempts.at(-1).done('timeout');
    desk.commit();
    desk.pass(1000);
  }
  expect(desk.told).toEqual([['1', 'queued'], ['1', 'timeout']]); // prettier-ignore
  expect(desk.attempts).toHaveLength(3);
});

test('an attempt that nobody answers counts as timed out, and its late answer as nothing', () => {
  const desk = makeDesk();
  desk.send('a', '1');
  desk.pass(15000);
  desk.commit();
  desk.pass(1000);
  expect(desk.attempts).toHaveLength(2);
  desk.attempts[0].done('taken');
  expect(desk.told).toEqual([['1', 'queued']]);
  desk.attempts[1].done('taken');
  expect(desk.told.at(-1)).toEqual(['1', 'taken']);
});

test('a device that is silent is tried again though no event comes, a few a tick', () => {
  const desk = makeDesk({ sweepsPerTick: 2 });
  desk.auto = 'offline';
  for (const device of ['a', 'b', 'c']) desk.send(device, device);
  desk.commit();
  desk.pass(29999);
  expect(desk.attempts).toHaveLength(3);
  desk.pass(1);
  expect(desk.attempts).toHaveLength(5);
  desk.pass(1);
  expect(desk.attempts).toHaveLength(6);
});

test.each([
  ['of a device', { perDevice: 2 }, '2 commands already wait for this device.'],
  ['in all', { total: 2 }, '2 commands already wait.'],
  ['of bytes', { totalBytes: 600 }, '600 bytes of commands already wait.']
])('a limit %s: the next one is full, and there is room again later', (_name, limits, why) => {
  const desk = makeDesk(limits);
  desk.reasons = true;
  for (const id of ['1', '2', '3']) desk.send('a', id);
  expect(desk.told).toEqual([['3', 'full', why]]);
  desk.attempts[0].done('taken');
  desk.send('a', '4');
  expect(desk.told.slice(1)).toEqual([['1', 'taken', '']]);
});

test('what cannot be kept is full, with the reason', () => {
  const desk = makeDesk();
  desk.reasons = true;
  desk.auto = 'offline';
  desk.send('a', '1');
  desk.commit(new Error('disk full'));
  expect(desk.told).toEqual([['1', 'full', 'The gateway cannot keep the command: disk full']]);
  expect(desk.desk.size).toBe(0);
});

test('a hundred commands that are taken at once need no stack', () => {
  const desk = makeDesk();
  desk.auto = 'offline';
  for (let i = 0; i < 100; i++) desk.send('a', String(i));
  desk.commit();
  desk.auto = 'taken';
  desk.desk.wake('a');
  expect(desk.told.filter(([, status]) => status === 'taken').map(([id]) => Number(id))).toEqual(
    Array.from({ length: 100 }, (_, i) => i)
  );
});

test('the end gives up what is not kept, and forgets what is', () => {
  const desk = makeDesk();
  desk.send('a', 'open');
  desk.auto = 'offline';
  desk.send('b', 'kept');
  desk.commit();
  desk.desk.close();
  expect(desk.told).toEqual([['kept', 'queued'], ['open', 'closed']]); // prettier-ignore
  desk.attempts[0].done('taken');
  expect(desk.told).toHaveLength(2);
});

test('what an earlier run kept goes out first, and ends', () => {
  const desk = makeDesk();
  const told = [];
  const command = { id: 'old', device: 'a', topic: 'cmd/a', payload: Buffer.alloc(0), qos: 1, expiresAt: desk.time + 9e9, origin: null }; // prettier-ignore
  desk.desk.restore(command, 7, (status) => told.push(status));
  desk.send('a', 'new');
  desk.auto = 'taken';
  desk.pass(1000);
  expect(desk.tried()).toEqual(['old', 'new']);
  expect(told).toEqual(['taken']);
  expect(desk.removed).toEqual([7]);
});

test('an attempt that throws is a refusal, and the next command goes', () => {
  const told = [];
  const attempts = [() => { throw new Error('no'); }, (done) => done({ end: 'taken' })]; // prettier-ignore
  const desk = new Desk({ attempt: (_command, done) => attempts.shift()(done), shelf: { add() {}, remove() {} }, now: () => 0, wall: () => 0 }); // prettier-ignore
  for (const id of ['1', '2']) {
    const command = {
      id,
      device: 'a',
      topic: 't',
      payload: Buffer.alloc(0),
      qos: 1,
      expiresAt: 1,
      origin: null
    };
    desk.submit(/** @type {any} */ (command), (status, reason) => told.push([id, status, reason]));
  }
  expect(told).toEqual([['1', 'refused', 'no'], ['2', 'taken', '']]); // prettier-ignore
});
