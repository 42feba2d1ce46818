'use strict';

// Commands wait for their device in order, are kept while it is unreachable, and each ends in exactly one way.

const { CommandQueues } = require('../../../nodes/lib/commands/command-queues');

/** Queues with their own clock; the test answers attempts and commits. */
function makeDesk(limits) {
  const made = { time: 1e12, attempts: [], kept: new Map(), pending: [], removed: [], reported: [] };
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
        (status, reason) => made.reported.push([id, status, ...(made.reasons ? [reason] : [])])
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

test('sends commands of one device in sequence, those of two devices in parallel', () => {
  const queues = makeDesk();
  for (const [device, id] of [['a', 'a1'], ['a', 'a2'], ['b', 'b1']]) queues.send(device, id); // prettier-ignore
  expect(queues.tried()).toEqual(['a1', 'b1']);
  queues.attempts[0].done('taken');
  expect(queues.tried()).toEqual(['a1', 'b1', 'a2']);
  expect(queues.reported).toEqual([['a1', 'taken']]);
});

test('keeps commands of an absent device, reports them as queued once on disk, and sends them in order on its return', () => {
  const queues = makeDesk();
  queues.auto = 'offline';
  for (const id of ['1', '2', '3']) queues.send('a', id);
  expect(queues.tried()).toEqual(['1']);
  expect(queues.reported).toEqual([]);
  queues.commit();
  expect(queues.reported).toEqual([['1', 'queued'], ['2', 'queued'], ['3', 'queued']]); // prettier-ignore
  queues.auto = 'taken';
  queues.queues.wake('a');
  expect(queues.tried()).toEqual(['1', '1', '2', '3']);
  expect(queues.reported.slice(3)).toEqual([['1', 'taken'], ['2', 'taken'], ['3', 'taken']]); // prettier-ignore
  expect(queues.removed).toEqual([1, 2, 3]);
  expect(queues.queues.view()).toMatchObject({
    waiting: 0,
    waitingBytes: 0,
    devices: 0,
    taken: 3,
    queued: 3
  });
});

test('deletes the row of a command that is taken during its write, and does not report it as queued', () => {
  const queues = makeDesk();
  queues.auto = 'offline';
  queues.send('a', '1');
  queues.auto = 'taken';
  queues.queues.wake('a');
  queues.commit();
  expect(queues.reported).toEqual([['1', 'taken']]);
  expect([...queues.kept]).toEqual([]);
});

test('keeps a command that exceeds the patience, and those behind it', () => {
  const queues = makeDesk();
  queues.send('a', '1');
  queues.send('a', '2');
  queues.pass(999);
  expect(queues.pending).toHaveLength(0);
  queues.pass(1);
  queues.commit();
  expect(queues.reported).toEqual([['1', 'queued'], ['2', 'queued']]); // prettier-ignore
  queues.attempts[0].done('taken');
  expect(queues.reported.at(-1)).toEqual(['1', 'taken']);
});

test('does not miss a device that returned while its command was in flight', () => {
  const queues = makeDesk();
  queues.send('a', '1');
  queues.queues.wake('a');
  queues.attempts[0].done('offline');
  expect(queues.tried()).toEqual(['1', '1']);
});

test('ends a command when its time is over, but not one in flight', () => {
  const queues = makeDesk();
  queues.send('a', 'away', { expiresAt: queues.time + 1000 });
  queues.send('b', 'late', { expiresAt: queues.time });
  expect(queues.reported).toEqual([['late', 'expired']]);
  queues.pass(1000);
  queues.commit();
  expect(queues.reported.slice(1)).toEqual([['away', 'queued']]);
  queues.attempts[0].done('offline');
  queues.pass(1000);
  expect(queues.reported.at(-1)).toEqual(['away', 'expired']);
  expect([...queues.kept]).toEqual([]);
});

test('does not keep a QoS 0 command', () => {
  const queues = makeDesk();
  queues.reasons = true;
  queues.auto = 'offline';
  queues.send('a', '1', { qos: 0 });
  expect(queues.reported).toEqual([
    ['1', 'expired', 'The device is not connected. A command with QoS 0 is not kept.']
  ]);
  expect(queues.pending).toHaveLength(0);
});

test('ends a command after three time-outs, one a second', () => {
  const queues = makeDesk();
  queues.send('a', '1');
  for (const count of [1, 2, 3]) {
    expect(queues.attempts).toHaveLength(count);
    queues.attempts.at(-1).done('timeout');
    queues.commit();
    queues.pass(1000);
  }
  expect(queues.reported).toEqual([['1', 'queued'], ['1', 'timeout']]); // prettier-ignore
  expect(queues.attempts).toHaveLength(3);
});

test('counts an unanswered attempt as timed out, and ignores its late answer', () => {
  const queues = makeDesk();
  queues.send('a', '1');
  queues.pass(15000);
  queues.commit();
  queues.pass(1000);
  expect(queues.attempts).toHaveLength(2);
  queues.attempts[0].done('taken');
  expect(queues.reported).toEqual([['1', 'queued']]);
  queues.attempts[1].done('taken');
  expect(queues.reported.at(-1)).toEqual(['1', 'taken']);
});

test('tries a silent device again without an event, a few per tick', () => {
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
])('enforces a limit %s: the next one is full, and there is room again later', (_name, limits, why) => {
  const queues = makeDesk(limits);
  queues.reasons = true;
  for (const id of ['1', '2', '3']) queues.send('a', id);
  expect(queues.reported).toEqual([['3', 'full', why]]);
  queues.attempts[0].done('taken');
  queues.send('a', '4');
  expect(queues.reported.slice(1)).toEqual([['1', 'taken', '']]);
});

test.each([
  ['commands', { total: 20 }, '2 commands of the tenant already wait.'],
  ['bytes', { totalBytes: 5600 }, "560 bytes of the tenant's commands already wait."]
])(
  'gives each tenant a tenth of the %s: a full one delays neither another nor a flow',
  (_name, limits, why) => {
    const queues = makeDesk(limits);
    queues.reasons = true;
    const send = (tenant, id) => queues.send(`${tenant}:d${id}`, id, { origin: { broker: 'b', rest: 'x', tenant } }); // prettier-ignore
    for (const id of ['1', '2', '3']) send('acme', id);
    expect(queues.reported).toEqual([['3', 'full', why]]);
    send('blue', '4');
    queues.send('acme:d5', '5');
    expect(queues.reported).toHaveLength(1);
    queues.attempts[0].done('taken');
    send('acme', '6');
    expect(queues.reported.slice(1)).toEqual([['1', 'taken', '']]);
  }
);

test("counts a tenant's commands of an earlier run", () => {
  const queues = makeDesk({ total: 10 });
  const origin = { broker: 'b', rest: 'x', tenant: 'acme' };
  const command = { id: 'old', device: 'acme:a', topic: 'cmd/acme:a/x', payload: Buffer.alloc(0), qos: 1, expiresAt: queues.time + 9e9, origin }; // prettier-ignore
  queues.queues.restore(command, 7, () => {});
  queues.send('acme:b', 'new', { origin });
  expect(queues.reported).toEqual([['new', 'full']]);
});

test('reports a command that cannot be kept as full, with the reason', () => {
  const queues = makeDesk();
  queues.reasons = true;
  queues.auto = 'offline';
  queues.send('a', '1');
  queues.commit(new Error('disk full'));
  expect(queues.reported).toEqual([['1', 'full', 'The gateway cannot keep the command: disk full']]);
  expect(queues.queues.view().waiting).toBe(0);
});

test('handles a hundred commands taken at once without deep recursion', () => {
  const queues = makeDesk();
  queues.auto = 'offline';
  for (let i = 0; i < 100; i++) queues.send('a', String(i));
  queues.commit();
  queues.auto = 'taken';
  queues.queues.wake('a');
  expect(queues.reported.filter(([, status]) => status === 'taken').map(([id]) => Number(id))).toEqual(
    Array.from({ length: 100 }, (_, i) => i)
  );
});

test('gives up unkept commands at the end, and releases the kept ones from memory', () => {
  const queues = makeDesk();
  queues.send('a', 'open');
  queues.auto = 'offline';
  queues.send('b', 'kept');
  queues.commit();
  queues.queues.close();
  expect(queues.reported).toEqual([['kept', 'queued'], ['open', 'closed']]); // prettier-ignore
  queues.attempts[0].done('taken');
  expect(queues.reported).toHaveLength(2);
});

test('sends the commands kept by an earlier run first, and ends them', () => {
  const queues = makeDesk();
  const reported = [];
  const command = { id: 'old', device: 'a', topic: 'cmd/a', payload: Buffer.alloc(0), qos: 1, expiresAt: queues.time + 9e9, origin: null }; // prettier-ignore
  queues.queues.restore(command, 7, (status) => reported.push(status));
  queues.send('a', 'new');
  queues.auto = 'taken';
  queues.pass(1000);
  expect(queues.tried()).toEqual(['old', 'new']);
  expect(reported).toEqual(['taken']);
  expect(queues.removed).toEqual([7]);
});

test('treats an attempt that throws as a refusal, and sends the next command', () => {
  const reported = [];
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
    queues.submit(/** @type {any} */ (command), (status, reason) => reported.push([id, status, reason]));
  }
  expect(reported).toEqual([['1', 'refused', 'no'], ['2', 'taken', '']]); // prettier-ignore
});
