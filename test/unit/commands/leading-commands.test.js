'use strict';

// The leading command of a device: before all others, kept by its sender alone, and replaced by the next one.

const { CommandQueues } = require('../../../nodes/lib/commands/command-queues');

/** Queues with their own clock; the test answers attempts. */
function makeDesk(limits = {}) {
  const made = { time: 1e12, attempts: [], stored: [], ends: [], doubts: [] };
  const storage = { add: (command) => made.stored.push(command.id), remove: () => {} };
  const attempt = (command, done) => {
    made.attempts.push({ id: command.id, done });
    if (made.auto) done(made.auto);
  };
  const queues = new CommandQueues({ attempt, storage, now: () => made.time, wall: () => made.time, limits });
  const command = (id) => ({
    id,
    device: 'a',
    topic: `cmd/a/${id[0]}`,
    payload: Buffer.from(id),
    origin: null
  });
  return Object.assign(made, {
    queues,
    send: (id) =>
      queues.submit({ ...command(id), qos: 1, expiresAt: made.time + 60000 }, (status) =>
        made.ends.push([id, status])
      ),
    lead: (id, sender) =>
      queues.lead(
        { ...command(id), qos: 1, expiresAt: 0 },
        { sender, ended: (status) => made.ends.push([id, status]), doubted: () => made.doubts.push(id) }
      ),
    pass(ms) {
      made.time += ms;
      queues.tick();
    },
    answer: (end, more) => made.attempts.at(-1).done({ end, ...more }),
    tried: () => made.attempts.map(({ id }) => id)
  });
}

test('waits for an absent device, precedes what waits for it, and is not stored', () => {
  const desk = makeDesk();
  desk.auto = { end: 'offline' };
  desk.send('1');
  desk.send('2');
  desk.lead('rate');
  desk.pass(3_600_000 * 24);
  expect(desk.stored).toEqual(['1', '2']);
  desk.attempts = [];
  desk.auto = { end: 'taken' };
  desk.queues.wake('a');
  expect(desk.tried()[0]).toBe('rate');
  expect(desk.ends.at(-1)).toEqual(['rate', 'taken']);
  expect(desk.queues.isEmpty).toBe(true);
});

test('is replaced by the next one, but not while it is in flight', () => {
  const desk = makeDesk();
  desk.lead('x1');
  desk.lead('x2');
  desk.lead('x3');
  expect(desk.tried()).toEqual(['x1']);
  desk.answer('taken');
  expect(desk.tried()).toEqual(['x1', 'x3']);
  expect(desk.queues.retract('a')).toBe(false);
  desk.answer('taken');
  expect(desk.ends).toEqual([['x1', 'taken'], ['x3', 'taken']]); // prettier-ignore
  expect(desk.queues.isEmpty).toBe(true);
});

// Both would wait otherwise, and a third one would be sent before the second.
test.each(['offline', 'timeout', 'unheard', 'busy'])(
  'is replaced by the one that came while it was in flight, if its attempt ends with %s',
  (end) => {
    const desk = makeDesk();
    desk.lead('x1');
    desk.lead('x2');
    desk.auto = { end: 'offline' };
    desk.answer(end);
    desk.lead('x3');
    desk.attempts = [];
    desk.auto = { end: 'taken' };
    desk.queues.wake('a');
    expect(desk.tried()).toEqual(['x3']);
    expect(desk.queues.isEmpty).toBe(true);
  }
);

test('is replaced and withdrawn by its own sender alone', () => {
  const desk = makeDesk();
  desk.auto = { end: 'offline' };
  desk.lead('rate', 'demand');
  desk.lead('s1', 'shadow');
  desk.lead('s2', 'shadow');
  desk.lead('gone', 'other');
  expect(desk.queues.retract('a', 'other')).toBe(true);
  desk.attempts = [];
  desk.auto = null;
  desk.queues.wake('a');
  expect(desk.queues.retract('a', 'shadow')).toBe(false);
  expect(desk.queues.retract('a', 'other')).toBe(true);
  desk.answer('taken');
  desk.answer('taken');
  expect(desk.tried()).toEqual(['s2', 'rate']);
  expect(desk.queues.isEmpty).toBe(true);
});

test('is withdrawn while it waits', () => {
  const desk = makeDesk();
  desk.auto = { end: 'offline' };
  desk.lead('rate');
  expect(desk.queues.retract('a')).toBe(true);
  expect(desk.queues.isEmpty).toBe(true);
  desk.queues.wake('a');
  expect([desk.attempts.length, desk.ends, desk.doubts]).toEqual([1, [], []]);
});

test('reports a doubt when the device may have got it, and is tried again', () => {
  const desk = makeDesk();
  desk.lead('rate');
  desk.answer('offline', { isDoubtful: true });
  desk.queues.wake('a');
  for (let attempt = 0; attempt < 3; attempt++) {
    desk.answer('timeout');
    desk.pass(1000);
  }
  expect(desk.doubts).toEqual(['rate', 'rate', 'rate', 'rate']);
  expect(desk.ends).toEqual([['rate', 'timeout']]);
});

test('does not hold up others at a device that does not listen to its topic, and leads again when it does', () => {
  const desk = makeDesk();
  desk.pass(0);
  desk.lead('x');
  desk.answer('unheard');
  desk.pass(2000);
  desk.answer('unheard');
  desk.send('1');
  desk.answer('taken');
  desk.send('2');
  desk.queues.wake('a');
  desk.answer('taken');
  expect(desk.tried()).toEqual(['x', 'x', '1', '2', 'x']);
  expect(desk.doubts).toEqual([]);
});

test('takes no place of other commands', () => {
  const desk = makeDesk({ total: 1 });
  desk.auto = { end: 'offline' };
  desk.lead('rate');
  desk.send('1');
  desk.send('2');
  expect(desk.ends).toEqual([['2', 'full']]);
  expect(desk.queues.view()).toMatchObject({ waiting: 1, devices: 1 });
});
