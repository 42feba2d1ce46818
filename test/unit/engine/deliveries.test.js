'use strict';

const { Deliveries, END, KEY, whenEnded } = require('../../../nodes/lib/engine/deliveries');

const node = (id, type = 'any') => ({ id, type });
const source = node('source');
const limit = { timeoutMs: 1000, acknowledges: false };
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Deliveries with a clock, and a flow that calls its hooks as Node-RED does. */
function flow() {
  const ends = [];
  const clock = { now: 0 };
  const deliveries = new Deliveries(
    (ids, end) => ids.forEach((id) => ends.push([id, end])),
    () => clock.now
  );
  let deferral = 0;
  const onTheWay = [];
  return {
    deliveries,
    ends,
    clock,
    /** A record leaves the source. */
    start(more = {}) {
      const msg = {};
      deliveries.start(msg, ++deferral, source, { ...limit, ...more });
      return msg;
    },
    /** Node-RED delivers a message from one node to another. */
    send(msg, from, to) {
      deliveries.onRoute({ msg });
      const event = { msg, source: { node: from }, destination: { node: to } };
      deliveries.onDeliver(event);
      onTheWay.push({ sent: msg, to, event });
    },
    /** @returns the message that the node gets */
    receive(sent, to) {
      const at = onTheWay.findIndex((each) => each.sent === sent && each.to === to);
      const [{ event } = { event: { msg: sent } }] = at < 0 ? [] : onTheWay.splice(at, 1);
      const { msg } = event;
      deliveries.onReceive({ msg, destination: { node: to } });
      deliveries.onReceived({ msg, destination: { node: to } });
      return msg;
    },
    done(msg, at, error) {
      deliveries.onComplete({ msg, error, node: { node: at } });
    }
  };
}

test('waits for each branch of a record, and acknowledges when all have ended', async () => {
  const { start, send, receive, done, ends } = flow();
  const [a, b] = [node('a'), node('b')];
  const msg = start();
  send(msg, source, a);
  const copy = { ...msg };
  send(copy, source, b);
  receive(msg, a);
  done(msg, a);
  await turn();
  expect(ends).toEqual([]);
  receive(copy, b);
  done(copy, b);
  await turn();
  expect(ends).toEqual([[1, END.DELIVERED]]);
});

test('counts a message on its way between two nodes', async () => {
  const { start, send, receive, done, ends } = flow();
  const [a, b] = [node('a'), node('b')];
  const msg = start();
  send(msg, source, a);
  receive(msg, a);
  send(msg, a, b);
  done(msg, a);
  await turn();
  expect(ends).toEqual([]);
});

test('follows a message by its _msgid alone, and by its symbol alone', async () => {
  for (const copy of [({ _msgid }) => ({ _msgid }), ({ [KEY]: key }) => ({ [KEY]: key })]) {
    const { start, send, receive, done, ends } = flow();
    const a = node('a');
    const made = copy(start());
    send(made, source, a);
    receive(made, a);
    done(made, a);
    await turn();
    expect(ends).toEqual([[1, END.DELIVERED]]);
  }
});

test('acknowledges when the first message that came back is safe, although branches are open', async () => {
  const { deliveries, start, send, receive, ends } = flow();
  const [a, uplink] = [node('a'), node('uplink')];
  const msg = start();
  send(msg, source, a);
  send(msg, source, uplink);
  receive(msg, uplink);
  const isSafe = deliveries.comesBack(msg);
  await turn();
  expect(ends).toEqual([]);
  isSafe();
  await turn();
  expect(ends).toEqual([[1, END.DELIVERED]]);
  expect(deliveries.comesBack(msg)).toBeNull();
});

test('waits for a message that came back although its node is done', async () => {
  const { deliveries, start, send, receive, done, ends } = flow();
  const uplink = node('uplink');
  const msg = start();
  send(msg, source, uplink);
  receive(msg, uplink);
  const isSafe = deliveries.comesBack(msg);
  done(msg, uplink);
  await turn();
  expect(ends).toEqual([]);
  isSafe(new Error('dropped'));
  await turn();
  expect(ends).toEqual([[1, END.REFUSED]]);
});

test('refuses after an error, once no branch is open', async () => {
  const { start, send, receive, done, ends } = flow();
  const [a, b] = [node('a'), node('b')];
  const msg = start();
  send(msg, source, a);
  send(msg, source, b);
  receive(msg, a);
  done(msg, a, new Error('no'));
  await turn();
  expect(ends).toEqual([]);
  receive(msg, b);
  done(msg, b);
  await turn();
  expect(ends).toEqual([[1, END.REFUSED]]);
});

test('gives a Catch node, which gets the message after onComplete, the time to deliver it', async () => {
  const { deliveries, start, send, receive, done, ends } = flow();
  const [a, catcher] = [node('a'), node('catch')];
  const msg = start();
  send(msg, source, a);
  receive(msg, a);
  done(msg, a, new Error('no'));
  const caught = receive({ ...msg }, catcher);
  await turn();
  expect(ends).toEqual([]);
  const isSafe = deliveries.comesBack(caught);
  done(caught, catcher);
  isSafe();
  await turn();
  expect(ends).toEqual([[1, END.DELIVERED]]);
});

test('ends the visit of a subflow instance, which never calls done()', async () => {
  const { start, send, receive, ends } = flow();
  const instance = node('s', 'subflow:abc');
  const msg = start();
  send(msg, source, instance);
  receive(msg, instance);
  await turn();
  expect(ends).toEqual([[1, END.DELIVERED]]);
});

describe('a join node', () => {
  /** Three records in a join node; the message has the third one's key. */
  function joined() {
    const all = flow();
    const [join, uplink] = [node('join'), node('uplink')];
    const records = [1, 2, 3].map(() => all.start());
    for (const msg of records) {
      all.send(msg, source, join);
      all.receive(msg, join);
    }
    all.send(records[2], join, uplink);
    for (const msg of records) all.done(msg, join);
    const back = all.receive(records[2], uplink);
    return { ...all, isSafe: all.deliveries.comesBack(back) };
  }

  test('keeps all its records waiting until the joined message is safe', async () => {
    const { isSafe, ends } = joined();
    await turn();
    expect(ends).toEqual([]);
    isSafe();
    await turn();
    expect(ends.map(([id, end]) => [id, end]).sort()).toEqual([
      [1, END.DELIVERED],
      [2, END.DELIVERED],
      [3, END.DELIVERED]
    ]);
  });

  test('has all its records refused when the joined message fails', async () => {
    const { deliveries, clock, ends } = joined();
    clock.now = 1001;
    deliveries.tick();
    await turn();
    await turn();
    expect(ends.map(([, end]) => end)).toEqual([END.REFUSED, END.REFUSED, END.REFUSED]);
    expect(deliveries.size).toBe(0);
  });

  test('does not bind a record that its node drops while it passes another on', async () => {
    const { start, send, receive, done, ends } = flow();
    const [filter, next] = [node('filter'), node('next')];
    const [passed, dropped] = [start(), start()];
    send(passed, source, filter);
    send(dropped, source, filter);
    receive(passed, filter);
    send(passed, filter, next);
    done(passed, filter);
    receive(dropped, filter);
    done(dropped, filter);
    await turn();
    expect(ends).toEqual([[2, END.DELIVERED]]);
  });
});

test('refuses, or acknowledges, when the time is over', async () => {
  const { deliveries, start, send, clock, ends } = flow();
  const a = node('a');
  send(start(), source, a);
  send(start({ acknowledges: true }), source, a);
  send(start({ timeoutMs: 5000 }), source, a);
  clock.now = 1000;
  deliveries.tick();
  await turn();
  expect(ends).toEqual([
    [2, END.DELIVERED],
    [1, END.REFUSED]
  ]);
  expect(deliveries.counters).toMatchObject({ timedOut: 2, refused: 1 });
});

test('does not end a record whose message has not left its node', async () => {
  const { deliveries, start, ends } = flow();
  start();
  await turn();
  expect([ends, deliveries.size]).toEqual([[], 1]);
});

describe('a deploy', () => {
  const isLive = (/** @type {any} */ each) => each.id !== 'gone';

  test('withholds a record whose message is in, or on its way to, a node that is replaced', async () => {
    const { deliveries, start, send, receive, ends } = flow();
    const gone = node('gone');
    const [inside, onTheWay] = [start(), start()];
    send(inside, source, gone);
    receive(inside, gone);
    send(onTheWay, source, gone);
    deliveries.hold();
    deliveries.resume(isLive);
    await turn();
    expect(ends).toEqual([
      [1, END.WITHHELD],
      [2, END.WITHHELD]
    ]);
  });

  test('withholds a record that a closing node completes', async () => {
    const { deliveries, start, send, receive, done, ends } = flow();
    const delay = node('delay');
    const msg = start();
    send(msg, source, delay);
    receive(msg, delay);
    deliveries.hold();
    done(msg, delay);
    await turn();
    expect(ends).toEqual([]);
    deliveries.resume(isLive);
    await turn();
    expect(ends).toEqual([[1, END.WITHHELD]]);
  });

  test('withholds a record whose message found no node while the nodes were replaced', async () => {
    const { deliveries, start, send, receive, done, ends } = flow();
    const live = node('live');
    const msg = start();
    send(msg, source, live);
    receive(msg, live);
    deliveries.hold();
    // Node-RED drops a message whose destination does not exist after preRoute.
    deliveries.onRoute({ msg });
    deliveries.resume(isLive);
    done(msg, live);
    await turn();
    expect(ends).toEqual([[1, END.WITHHELD]]);
  });

  test('leaves records alone whose nodes stay, and those that came back', async () => {
    const { deliveries, start, send, receive, done, ends } = flow();
    const [live, uplink] = [node('live'), node('uplink')];
    const [stays, back] = [start(), start()];
    send(stays, source, live);
    receive(stays, live);
    send(back, source, uplink);
    receive(back, uplink);
    const isSafe = deliveries.comesBack(back);
    deliveries.hold();
    isSafe();
    deliveries.resume(isLive);
    await turn();
    expect(ends).toEqual([[2, END.DELIVERED]]);
    done(stays, live);
    await turn();
    expect(ends).toEqual([
      [2, END.DELIVERED],
      [1, END.DELIVERED]
    ]);
  });
});

test('withholds a message without a receiver', async () => {
  const { deliveries, ends } = flow();
  deliveries.withhold(7);
  await turn();
  expect(ends).toEqual([[7, END.WITHHELD]]);
});

test('notifies the watchers of a record how it ended', async () => {
  const { deliveries, start, send, receive, done } = flow();
  const ends = [];
  const watch = (msg, name) => whenEnded(msg, () => (end) => ends.push([name, end]));
  const a = node('a');
  const [good, bad, left] = [start(), start(), start()];
  watch({ ...good }, 'good');
  watch(bad, 'bad');
  watch(left, 'left');
  whenEnded({ _msgid: 'of nobody' }, () => {
    throw new Error('it is not followed');
  });
  for (const [msg, error] of [[good], [bad, new Error('disk full')]]) {
    send(msg, source, a);
    receive(msg, a);
    done(msg, a, error);
  }
  await turn();
  expect(ends).toEqual([
    ['good', END.DELIVERED],
    ['bad', END.REFUSED]
  ]);
  deliveries.close();
  expect(ends.slice(2)).toEqual([['left', END.WITHHELD]]);
});
