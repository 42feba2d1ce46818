'use strict';
// Messages that have several records in them, and what only looks like one.

const { Deliveries, END, KEY } = require('../../../nodes/lib/engine/deliveries');

const node = (id, type = 'any') => ({ id, type });
const [source, uplink] = [node('source'), node('uplink')];
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Records with names, in a flow that calls the hooks as Node-RED does. */
function flow() {
  const [names, ends, onTheWay] = [[], {}, []];
  const clock = { now: 0 };
  const deliveries = new Deliveries(
    (ids, end) => ids.forEach((id) => (ends[names[id]] = end)),
    () => clock.now
  );
  const all = {
    deliveries,
    clock,
    ends,
    start(name, timeoutMs = 1000) {
      const msg = {};
      deliveries.start(msg, names.push(name) - 1, source, { timeoutMs, acknowledges: false });
      return msg;
    },
    /** Node-RED delivers a message; receive() passes it to the node in a later turn. */
    send(msg, from, to) {
      const event = { msg, source: { node: from }, destination: { node: to } };
      deliveries.onRoute(event);
      deliveries.onDeliver(event);
      onTheWay.push({ sent: msg, to, event });
    },
    /** @returns the message that the node gets */
    receive(sent, to) {
      const at = onTheWay.findIndex((each) => each.sent === sent && each.to === to);
      const { msg } = at < 0 ? { msg: sent } : onTheWay.splice(at, 1)[0].event;
      deliveries.onReceive({ msg, destination: { node: to } });
      deliveries.onReceived({ msg, destination: { node: to } });
      return msg;
    },
    done(msg, at, error) {
      deliveries.onComplete({ msg, error, node: { node: at } });
    },
    /** A record that is in a node. */
    inside(name, at, timeoutMs) {
      const msg = all.start(name, timeoutMs);
      all.send(msg, source, at);
      return all.receive(msg, at);
    },
    /** A message arrives in the engine. @returns {(error?: Error) => void} to be called when it is safe */
    arrive(sent) {
      const msg = all.receive(sent, uplink);
      const isSafe = deliveries.comesBack(msg);
      all.done(msg, uplink);
      return isSafe;
    }
  };
  return all;
}

const { DELIVERED, REFUSED, WITHHELD } = END;

describe('two timers in one turn', () => {
  /** A function sent A to a delay node before. Now it sends B, and in another timer of the turn completes A. */
  async function late() {
    const all = flow();
    const [f, delay] = [node('f', 'function'), node('delay')];
    const [a, b] = [all.inside('A', f), all.inside('B', f)];
    all.send(a, f, delay);
    await turn();
    const held = all.receive(a, delay);
    all.send(b, f, uplink);
    all.done(a, f);
    await turn();
    return { ...all, held, delay, f, isSafe: all.arrive(b), b };
  }

  test('do not acknowledge a record whose own message is still in the flow', async () => {
    const { ends, isSafe, held, delay, done } = await late();
    isSafe();
    await turn();
    expect(ends).toEqual({ B: DELIVERED });
    done(held, delay);
    await turn();
    expect(ends).toEqual({ B: DELIVERED, A: DELIVERED });
  });

  test('do not refuse a record because another one failed', async () => {
    const { ends, isSafe, b, f, held, delay, done, send, arrive } = await late();
    isSafe(new Error('full'));
    done(b, f);
    await turn();
    expect(ends).toEqual({ B: REFUSED });
    send(held, delay, uplink);
    done(held, delay);
    arrive(held)();
    await turn();
    expect(ends).toEqual({ B: REFUSED, A: DELIVERED });
  });

  test('make a dropped record wait for a message that it may be in, and for its other branches', async () => {
    const { inside, send, receive, done, arrive, ends } = flow();
    const [f, delay] = [node('f', 'function'), node('delay')];
    const [a, b] = [inside('A', f), inside('B', f)];
    const copy = { ...a };
    send(copy, source, delay);
    const held = receive(copy, delay);
    send(b, f, uplink);
    done(a, f);
    done(b, f);
    await turn();
    arrive(b)();
    await turn();
    expect(ends).toEqual({ B: DELIVERED });
    done(held, delay);
    await turn();
    expect(ends).toEqual({ A: DELIVERED, B: DELIVERED });
  });
});

describe('a joined message', () => {
  /** Records that are in a join node, which joins them with the key of the last one. */
  function joined(all, names, join = node('join', 'join'), to = uplink) {
    const records = names.map((name) => all.inside(name, join));
    const message = { ...records.at(-1) };
    all.send(message, join, to);
    for (const msg of records) all.done(msg, join);
    return message;
  }

  test('ends its records when it is safe', async () => {
    const all = flow();
    const message = joined(all, ['A', 'B', 'C']);
    await turn();
    all.arrive(message)();
    await turn();
    expect(all.ends).toEqual({ A: DELIVERED, B: DELIVERED, C: DELIVERED });
  });

  test('ends a record of a join node whose other branch is open', async () => {
    const all = flow();
    const [join, old] = [node('join', 'join'), node('old')];
    const [a, b] = [all.inside('A', join), all.inside('B', join)];
    all.send({ ...a }, source, old);
    const message = { ...b };
    all.send(message, join, uplink);
    for (const msg of [a, b]) all.done(msg, join);
    await turn();
    all.arrive(message)();
    await turn();
    expect(all.ends).toEqual({ A: DELIVERED, B: DELIVERED });
  });

  test('keeps the others waiting when the record with its key is delivered by another branch', async () => {
    const all = flow();
    const [join, delay] = [node('join', 'join'), node('delay')];
    const [a, b] = [all.inside('A', join), all.inside('B', join)];
    const direct = { ...b };
    all.send(direct, source, uplink);
    const message = { ...b };
    all.send(message, join, delay);
    for (const msg of [a, b]) all.done(msg, join);
    await turn();
    const held = all.receive(message, delay);
    all.arrive(direct)();
    await turn();
    expect(all.ends).toEqual({ B: DELIVERED });
    all.send(held, delay, uplink);
    all.done(held, delay);
    await turn();
    expect(all.ends).toEqual({ B: DELIVERED });
    all.arrive(held)();
    await turn();
    expect(all.ends).toEqual({ A: DELIVERED, B: DELIVERED });
    expect(all.deliveries.followed).toBe(0);
  });

  test.each(['refused', 'delivered'])(
    'is followed when the record with its key was %s before',
    async (how) => {
      const all = flow();
      const join = node('join', 'join');
      const [a, b] = [all.inside('A', join, 5000), all.inside('B', join)];
      const direct = { ...b };
      if (how === 'delivered') {
        all.send(direct, source, uplink);
        all.arrive(direct)();
      } else {
        all.clock.now = 1001;
        all.deliveries.tick();
      }
      await turn();
      const message = { ...b };
      all.send(message, join, uplink);
      for (const msg of [a, b]) all.done(msg, join);
      await turn();
      expect(all.ends).toEqual({ B: how === 'refused' ? REFUSED : DELIVERED });
      all.arrive(message)();
      await turn();
      expect(all.ends).toMatchObject({ A: DELIVERED });
      expect(all.deliveries.followed).toBe(0);
    }
  );

  test('is followed without a key of a record, as that of a join node in reduce mode', async () => {
    const all = flow();
    const join = node('join', 'join');
    const [a, b] = [all.inside('A', join), all.inside('B', join)];
    const message = { payload: 2, _msgid: 'made by Node-RED' };
    all.send(message, join, uplink);
    for (const msg of [a, b]) all.done(msg, join);
    await turn();
    expect(all.ends).toEqual({});
    expect(message).toEqual({ payload: 2, _msgid: 'made by Node-RED' });
    all.arrive(message)();
    await turn();
    expect(all.ends).toEqual({ A: DELIVERED, B: DELIVERED });
  });

  test('can be joined again', async () => {
    const all = flow();
    const second = node('second', 'join');
    const messages = [joined(all, ['A', 'B'], undefined, second), joined(all, ['C', 'D'], undefined, second)];
    await turn();
    const held = messages.map((each) => all.receive(each, second));
    const message = { ...held[1] };
    all.send(message, second, uplink);
    for (const each of held) all.done(each, second);
    await turn();
    expect(all.ends).toEqual({});
    all.arrive(message)();
    await turn();
    expect(all.ends).toEqual({ A: DELIVERED, B: DELIVERED, C: DELIVERED, D: DELIVERED });
    expect(all.deliveries.followed).toBe(0);
  });

  test('that fails refuses its records', async () => {
    const all = flow();
    const message = joined(all, ['A', 'B']);
    await turn();
    all.arrive(message)(new Error('full'));
    await turn();
    expect(all.ends).toEqual({ A: REFUSED, B: REFUSED });
  });

  test('whose node a deploy replaces withholds its records', async () => {
    const all = flow();
    const gone = node('gone');
    const message = joined(all, ['A', 'B'], undefined, gone);
    all.receive(message, gone);
    all.deliveries.hold();
    all.deliveries.resume(({ id }) => id !== 'gone');
    await turn();
    expect(all.ends).toEqual({ A: WITHHELD, B: WITHHELD });
  });

  test('of a function node, too, keeps its records waiting', async () => {
    const all = flow();
    const message = joined(all, ['A', 'B', 'C'], node('f', 'function'));
    await turn();
    expect(all.ends).toEqual({});
    all.arrive(message)();
    await turn();
    expect(all.ends).toEqual({ A: DELIVERED, B: DELIVERED, C: DELIVERED });
  });
});

test('counts one done() for each message of a record', async () => {
  const { inside, receive, done, ends } = flow();
  const f = node('f', 'function');
  const first = inside('A', f);
  const second = receive({ ...first }, f);
  done(first, f);
  done(first, f);
  await turn();
  expect(ends).toEqual({});
  done(second, f);
  await turn();
  expect(ends).toEqual({ A: DELIVERED });
});

test('completes the record that the node got, although the node wrote another one into its message', async () => {
  const { inside, done, ends } = flow();
  const f = node('f', 'function');
  const [a, b] = [inside('A', f), inside('B', f)];
  Object.assign(a, b);
  expect(a[KEY]).toBe(b[KEY]);
  done(a, f);
  await turn();
  expect(ends).toEqual({ A: DELIVERED });
});

test('follows what a function makes of the parts of a split node, and a split node what a function made', async () => {
  const { start, send, receive, done, ends, deliveries } = flow();
  const [make, split, f] = [node('f1', 'function'), node('split', 'split'), node('f2', 'function')];
  const msg = start('A');
  send(msg, source, make);
  const got = receive(msg, make);
  const made = { _msgid: got._msgid, payload: [1, 2] };
  send(made, make, split);
  done(got, make);
  await turn();
  const whole = receive(made, split);
  delete whole._msgid;
  const part = { ...whole, _msgid: 'of the part' };
  send(part, split, f);
  done(whole, split);
  await turn();
  const held = receive(part, f);
  send({ _msgid: held._msgid }, f, uplink);
  await turn();
  done(held, f);
  await turn();
  // It is on its way to the uplink, without the symbol of the record.
  expect(ends).toEqual({});
  expect(deliveries.size).toBe(1);
});

test('takes an object that a function sends for another record for a message of that one', async () => {
  const { inside, send, receive, done, ends } = flow();
  const [f, next] = [node('f', 'function'), node('next')];
  const [a, b] = [inside('A', f), inside('B', f)];
  const object = { _msgid: a._msgid };
  send(object, f, next);
  receive(object, next);
  object._msgid = b._msgid;
  send(object, f, uplink);
  done(a, f);
  done(b, f);
  await turn();
  done(object, next);
  await turn();
  expect(ends).toEqual({ A: DELIVERED });
});

test('follows a message with several records and the key of one that was forgotten', async () => {
  const { deliveries, inside, send, done, arrive, ends } = flow();
  const f = node('f', 'function');
  const a = inside('A', f);
  for (let deploy = 0; deploy < 2; deploy++) {
    deliveries.hold();
    deliveries.resume(({ id }) => id !== 'source');
    await turn();
  }
  expect([ends, deliveries.followed]).toEqual([{ A: WITHHELD }, 0]);
  // The function kept its message, as it may do.
  const b = inside('B', f);
  const message = { ...a };
  send(message, f, uplink);
  done(a, f);
  done(b, f);
  await turn();
  expect(ends).toEqual({ A: WITHHELD });
  arrive(message)();
  await turn();
  expect(ends).toEqual({ A: WITHHELD, B: DELIVERED });
});

test('does not follow a new message of a node that has no record', () => {
  const { deliveries, send } = flow();
  send({ _msgid: 'tick' }, node('inject'), uplink);
  expect(deliveries.followed).toBe(0);
});

test('forgets the oldest of 10,000 ended records whose messages are in nodes that never call done()', async () => {
  const { deliveries, clock, inside } = flow();
  const old = node('old');
  for (let i = 0; i < 10100; i++) inside(`r${i}`, old);
  clock.now = 1001;
  deliveries.tick();
  await turn();
  expect([deliveries.size, deliveries.followed]).toEqual([0, 10000]);
});
