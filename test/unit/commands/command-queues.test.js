'use strict';

// Commands wait for their device in order, are kept when it cannot be reached, and each ends in exactly one way.

const { CommandQueues } = require('../../../nodes/lib/commands/command-queues');

/** A queues with a clock of its own; attempts are answered by the test, commits too. */
function makeDesk(limits) {
  const made = { time: 1e12, attempts: [], kept: new Map(), pending: [], removed: [], told: [] };
  let row = 0;
  const storage = {
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
  const queues = new CommandQueues({ attempt, storage, now: () => made.time, wall: () => made.time, limits });
  return Object.assign(made, {
    queues,
    send: (device, id, more = {}) =>
      queues.submit(
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
      queues.tick();
    },
    tried: () => made.attempts.map(({ command }) => command.id)
  });
}

test('commands of a device go one after the other, those of two devices side by side', () => {
  const queues = makeDesk();
  for (const [device, id] of [['a', 'a1'], ['a', 'a2'], ['b', 'b1']]) queues.send(device, id); // prettier-ignore
  expect(queues.tried()).toEqual(['a1', 'b1']);
  queues.attempts[0].done('taken');
  expect(queues.tried()).toEqual(['a1', 'b1', 'a2']);
  expect(queues.told).toEqual([['a1', 'taken']]);
});

test('a device that is away: kept, queued when it is on disk, taken in order when it is back', () => {
  const queues = makeDesk();
  queues.auto = 'offline';
  for (const id of ['1', '2', '3']) queues.send('a', id);
  expect(queues.tried()).toEqual(['1']);
  expect(queues.told).toEqual([]);
  queues.commit();
  expect(queues.told).toEqual([['1', 'queued'], ['2', 'queued'], ['3', 'queued']]); // prettier-ignore
  queues.auto = 'taken';
  queues.queues.wake('a');
  expect(queues.tried()).toEqual(['1', '1', '2', '3']);
  expect(queues.told.slice(3)).toEqual([['1', 'taken'], ['2', 'taken'], ['3', 'taken']]); // prettier-ignore
  expect(queues.removed).toEqual([1, 2, 3]);
  expect(queues.queues.view()).toMatchObject({
    waiting: 0,
    waitingBytes: 0,
    devices: 0,
    taken: 3,
    queued: 3
  });
});

test('a command that is taken while it is being written is not reported as queued, and its row goes', () => {
  const queues = makeDesk();
  queues.auto = 'offline';
  queues.send('a', '1');
  queues.auto = 'taken';
  queues.queues.wake('a');
  queues.commit();
  expect(queues.told).toEqual([['1', 'taken']]);
  expect([...queues.kept]).toEqual([]);
});

test('what takes longer than the patience is kept meanwhile, and those behind it too', () => {
  const queues = makeDesk();
  queues.send('a', '1');
  queues.send('a', '2');
  queues.pass(999);
  expect(queues.pending).toHaveLength(0);
  queues.pass(1);
  queues.commit();
  expect(queues.told).toEqual([['1', 'queued'], ['2', 'queued']]); // prettier-ignore
  queues.attempts[0].done('taken');
  expect(queues.told.at(-1)).toEqual(['1', 'taken']);
});

test('a device that came back while its command was on the way is not missed', () => {
  const queues = makeDesk();
  queues.send('a', '1');
  queues.queues.wake('a');
  queues.attempts[0].done('offline');
  expect(queues.tried()).toEqual(['1', '1']);
});

test('a time that is over ends a command, but not one that is on its way', () => {
  const queues = makeDesk();
  queues.send('a', 'away', { expiresAt: queues.time + 1000 });
  queues.send('b', 'late', { expiresAt: queues.time });
  expect(queues.told).toEqual([['late', 'expired']]);
  queues.pass(1000);
  queues.commit();
  expect(queues.told.slice(1)).toEqual([['away', 'queued']]);
  queues.attempts[0].done('offline');
  queues.pass(1000);
  expect(queues.told.at(-1)).toEqual(['away', 'expired']);
  expect([...queues.kept]).toEqual([]);
});

test('QoS 0 is for now: it is not kept', () => {
  const queues = makeDesk();
  queues.reasons = true;
  queues.auto = 'offline';
  queues.send('a', '1', { qos: 0 });
  expect(queues.told).toEqual([
    ['1', 'expired', 'The device is not connected. A command with QoS 0 is not kept.']
  ]);
  expect(queues.pending).toHaveLength(0);
});

test('three time-outs end a command, one a second', () => {
  const queues = makeDesk();
  queues.send('a', '1');
  for (const count of [1, 2, 3]) {
    expect(queues.attempts).toHaveLength(count);
    queues.attempts.at(-1).done('timeout');
    queues.commit();
    queues.pass(1000);
  }
  expect(queues.told).toEqual([['1', 'queued'], ['1', 'timeout']]); // prettier-ignore
  expect(queues.attempts).toHaveLength(3);
});

test('an attempt that nobody answers counts as timed out, and its late answer as nothing', () => {
  const queues = makeDesk();
  queues.send('a', '1');
  queues.pass(15000);
  queues.commit();
  queues.pass(1000);
  expect(queues.attempts).toHaveLength(2);
  queues.attempts[0].done('taken');
  expect(queues.told).toEqual([['1', 'queued']]);
  queues.attempts[1].done('taken');
  expect(queues.told.at(-1)).toEqual(['1', 'taken']);
});

test('a device that is silent is tried again though no event comes, a few a tick', () => {
  const queues = makeDesk({ sweepsPerTick: 2 });
  queues.auto = 'offline';
  for (const device of ['a', 'b', 'c']) queues.send(device, device);
  queues.commit();
  queues.pass(29999);
  expect(queues.attempts).toHaveLength(3);
  queues.pass(1);
  expect(queues.attempts).toHaveLength(5);
  queues.pass(1);
  expect(queues.attempts).toHaveLength(6);
});

test.each([
  ['of a device', { perDevice: 2 }, '2 commands already wait for this device.'],
  ['in all', { total: 2 }, '2 commands already wait.'],
  ['of bytes', { totalBytes: 600 }, '600 bytes of commands already wait.']
])('a limit %s: the next one is full, and there is room again later', (_name, limits, why) => {
  const queues = makeDesk(limits);
  queues.reasons = true;
  for (const id of ['1', '2', '3']) queues.send('a', id);
  expect(queues.told).toEqual([['3', 'full', why]]);
  queues.attempts[0].done('taken');
  queues.send('a', '4');
  expect(queues.told.slice(1)).toEqual([['1', 'taken', '']]);
});

test('what cannot be kept is full, with the reason', () => {
  const queues = makeDesk();
  queues.reasons = true;
  queues.auto = 'offline';
  queues.send('a', '1');
  queues.commit(new Error('disk full'));
  expect(queues.told).toEqual([['1', 'full', 'The gateway cannot keep the command: disk full']]);
  expect(queues.queues.size).toBe(0);
});

test('a hundred commands that are taken at once need no stack', () => {
  const queues = makeDesk();
  queues.auto = 'offline';
  for (let i = 0; i < 100; i++) queues.send('a', String(i));
  queues.commit();
  queues.auto = 'taken';
  queues.queues.wake('a');
  expect(queues.told.filter(([, status]) => status === 'taken').map(([id]) => Number(id))).toEqual(
    Array.from({ length: 100 }, (_, i) => i)
  );
});

test('the end gives up what is not kept, and forgets what is', () => {
  const queues = makeDesk();
  queues.send('a', 'open');
  queues.auto = 'offline';
  queues.send('b', 'kept');
  queues.commit();
  queues.queues.close();
  expect(queues.told).toEqual([['kept', 'queued'], ['open', 'closed']]); // prettier-ignore
  queues.attempts[0].done('taken');
  expect(queues.told).toHaveLength(2);
});

test('what an earlier run kept goes out first, and ends', () => {
  const queues = makeDesk();
  const told = [];
  const command = { id: 'old', device: 'a', topic: 'cmd/a', payload: Buffer.alloc(0), qos: 1, expiresAt: queues.time + 9e9, origin: null }; // prettier-ignore
  queues.queues.restore(command, 7, (status) => told.push(status));
  queues.send('a', 'new');
  queues.auto = 'taken';
  queues.pass(1000);
  expect(queues.tried()).toEqual(['old', 'new']);
  expect(told).toEqual(['taken']);
  expect(queues.removed).toEqual([7]);
});

test('an attempt that throws is a refusal, and the next command goes', () => {
  const told = [];
  const attempts = [() => { throw new Error('no'); }, (done) => done({ end: 'taken' })]; // prettier-ignore
  const queues = new CommandQueues({ attempt: (_command, done) => attempts.shift()(done), storage: { add() {}, remove() {} }, now: () => 0, wall: () => 0 }); // prettier-ignore
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
    queues.submit(/** @type {any} */ (command), (status, reason) => told.push([id, status, reason]));
  }
  expect(told).toEqual([['1', 'refused', 'no'], ['2', 'taken', '']]); // prettier-ignore
});
