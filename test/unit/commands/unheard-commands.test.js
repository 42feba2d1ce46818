'use strict';

// A command to a topic that its connected device does not listen to waits without holding up the others.

const { CommandQueues } = require('../../../nodes/lib/commands/command-queues');

const SETTLE_MS = 2000;

/** The queues of one device, which listens to `topics`. Outcomes come at once, except with `isSlow`. */
function makeDevice(limits) {
  const made = { time: 1e12, topics: new Set(), isOnline: true, isSlow: false, got: [], tries: 0, reports: [], open: [], rows: 0, kept: new Set() }; // prettier-ignore
  const answer = ({ id, topic }, done) => {
    if (!made.isOnline) return done({ end: 'offline' });
    if (!made.topics.has(topic)) return done({ end: 'unheard', reason: 'not subscribed' });
    made.got.push(id);
    done({ end: 'taken' });
  };
  const storage = {
    add(_command, done) {
      made.kept.add(++made.rows);
      done(null, made.rows);
    },
    remove: (row) => made.kept.delete(row)
  };
  const attempt = (command, done) => {
    made.tries++;
    if (made.isSlow) made.open.push(() => answer(command, done));
    else answer(command, done);
  };
  const queues = new CommandQueues({ attempt, storage, now: () => made.time, wall: () => made.time, limits });
  const watch = (id) => (status) => made.reports.push([id, status]);
  const commandOf = (id, topic, more) => ({ id, device: 'a', topic, payload: Buffer.from(id), qos: 1, expiresAt: made.time + 3600000, origin: null, ...more }); // prettier-ignore
  return Object.assign(made, {
    queues,
    send: (id, topic, more = {}) => queues.submit(commandOf(id, topic, more), watch(id)),
    restore: (id, topic) => queues.restore(commandOf(id, topic, {}), ++made.rows, watch(id)),
    pass(ms) {
      for (const end = made.time + ms; made.time < end; queues.tick())
        made.time += Math.min(1000, end - made.time);
    },
    listen(topic) {
      made.topics.add(topic);
      queues.wake('a');
    }
  });
}

/** A device that listens to `x`, and whose first command goes nowhere. */
function makeDeaf(limits) {
  const device = makeDevice(limits);
  device.listen('x');
  device.send('lost', 'typo');
  device.pass(SETTLE_MS);
  return device;
}

test('sends the commands behind one that the device does not listen to, and that one when it subscribes', () => {
  const device = makeDeaf();
  for (let i = 0; i < 5; i++) device.send(`${i}`, 'x');
  expect(device.got).toEqual(['0', '1', '2', '3', '4']);
  expect(device.reports[0]).toEqual(['lost', 'queued']);
  device.listen('typo');
  expect(device.got.at(-1)).toBe('lost');
  expect(device.queues.view()).toMatchObject({ waiting: 0, waitingBytes: 0, devices: 0, taken: 6 });
  expect(device.kept.size).toBe(0);
});

test('keeps the order of all commands that one subscription makes deliverable, also across topics', () => {
  const device = makeDeaf();
  device.send('x1', 'x');
  for (const [id, topic] of [['y1', 'y'], ['z1', 'z'], ['y2', 'y'], ['z2', 'z']]) device.send(id, topic); // prettier-ignore
  device.send('x2', 'x');
  device.topics.add('y');
  device.listen('z');
  // The first one is still unheard, and the next subscription could be for it.
  expect(device.got).toEqual(['x1', 'x2']);
  device.pass(SETTLE_MS);
  expect(device.got).toEqual(['x1', 'x2', 'y1', 'z1', 'y2', 'z2']);
});

test('holds all commands back until a device that just connected has made its subscriptions', () => {
  const device = makeDevice();
  device.isOnline = false;
  for (const [id, topic] of [['1', 'y'], ['2', 'x'], ['3', 'y']]) device.send(id, topic); // prettier-ignore
  device.pass(60000 - 1000);
  device.isOnline = true;
  device.queues.wake('a');
  device.send('4', 'x');
  expect(device.got).toEqual([]);
  device.topics.add('x');
  device.listen('y');
  expect(device.got).toEqual(['1', '2', '3', '4']);
});

test('does not miss a subscription that arrives while a command is in flight', () => {
  const device = makeDeaf();
  device.isSlow = true;
  device.send('y', 'y');
  // The event of the subscription comes before the result of the engine, which did not find it.
  device.queues.wake('a');
  device.open.shift()();
  device.topics.add('y');
  for (let i = 0; i < 5; i++) {
    while (device.open.length > 0) device.open.shift()();
    device.pass(1000);
  }
  expect(device.got).toEqual(['y']);
});

test('tries each topic once a sweep, and sends a new command without a try of those that are skipped', () => {
  const device = makeDeaf({ perDevice: 1000 });
  for (let i = 0; i < 200; i++) device.send(`y${i}`, `y${i % 4}`);
  const before = device.tries;
  for (let i = 0; i < 100; i++) device.send(`x${i}`, 'x');
  expect(device.tries - before).toBe(100);
  for (let i = 0; i < 100; i++) device.send(`more${i}`, `y${i % 4}`);
  expect(device.tries - before).toBe(100);
  device.pass(30000);
  // Four topics, and the first one.
  expect(device.tries - before).toBe(100 + 5);
  device.topics.add('y2');
  device.pass(30000);
  expect(device.got.filter((id) => !id.startsWith('x'))).toEqual(
    [...Array.from({ length: 200 }, (_, i) => [`y${i}`, i]), ...Array.from({ length: 100 }, (_, i) => [`more${i}`, i])] // prettier-ignore
      .filter(([, i]) => i % 4 === 2)
      .map(([id]) => id)
  );
});

test('counts skipped commands against the limit of the device, and ends them when their time is over', () => {
  const device = makeDeaf({ perDevice: 3 });
  device.send('y', 'y', { expiresAt: device.time + 5000 });
  device.send('z', 'z');
  device.send('x', 'x');
  expect(device.reports.at(-1)).toEqual(['x', 'full']);
  device.pass(5000);
  expect(device.reports.at(-1)).toEqual(['y', 'expired']);
  device.send('x', 'x');
  expect(device.reports.at(-1)).toEqual(['x', 'taken']);
  device.pass(3600000);
  expect(device.queues.view()).toMatchObject({ waiting: 0, waitingBytes: 0, devices: 0 });
  expect(device.kept.size).toBe(0);
});

test('does not keep a QoS 0 command that the device does not listen to, and sends the next one', () => {
  const device = makeDevice();
  device.listen('x');
  device.send('0', 'y', { qos: 0 });
  device.send('1', 'x', { qos: 0 });
  expect(device.reports).toEqual([['0', 'expired'], ['1', 'taken']]); // prettier-ignore
});

test('begins with the first command again when the device leaves and returns', () => {
  const device = makeDeaf();
  device.isOnline = false;
  device.send('x', 'x');
  device.isOnline = true;
  device.listen('typo');
  expect(device.got).toEqual(['lost', 'x']);
});

test('skips commands that an earlier run stored, as others', () => {
  const device = makeDevice();
  device.topics.add('x');
  device.restore('lost', 'typo');
  device.restore('old', 'x');
  device.send('new', 'x');
  device.pass(4000);
  expect(device.got).toEqual(['old', 'new']);
  device.listen('typo');
  expect(device.got).toEqual(['old', 'new', 'lost']);
  expect(device.kept.size).toBe(0);
});
