'use strict';

const { Inbox, LIMIT, DEFERRED_LIMIT } = require('../../../nodes/lib/engine/inbox');

const args = (topic) => ({
  deviceId: 'd',
  topic,
  payload: Buffer.alloc(0),
  cls: 3,
  flags: 0,
  ts: 0,
  seq: -1
});

/** An engine that gives the test's answers, and remembers accepted records. */
function engineThat(answer) {
  const taken = [];
  const completions = [];
  return {
    taken,
    completions,
    answer,
    push(stage, _device, topic, _payload, _cls, _flags, _ts, _seq, ticket) {
      const result = this.answer(stage, topic);
      if (result === 0) taken.push({ stage, topic, ticket });
      return result;
    },
    takeCompletions: () => completions.splice(0)
  };
}

/** An inbox whose engine has its plan. */
function inboxOf(engine) {
  const inbox = new Inbox(engine, (error) => {
    throw error;
  });
  inbox.waitForPlan = false;
  return inbox;
}

test('completes a record that the engine takes at once, without an error', () => {
  const done = jest.fn();
  inboxOf(engineThat(() => 0)).put(1, args('a'), done);
  expect(done.mock.calls).toEqual([[undefined]]);
});

test('refuses messages with a sentence while the gateway is a standby', () => {
  const engine = engineThat(() => 0);
  const inbox = inboxOf(engine);
  inbox.isStandby = () => true;
  const done = jest.fn();
  inbox.put(1, args('a'), done);
  expect(done.mock.calls[0][0]).toMatchObject({
    code: 'SEGANET_STANDBY',
    message: expect.stringContaining('standby')
  });
  expect(engine.taken).toEqual([]);
  inbox.isStandby = () => false;
  inbox.put(1, args('b'), done);
  expect(engine.taken).toMatchObject([{ topic: 'b' }]);
});

test('queues records that do not fit, and enters them in order once there is room', () => {
  const engine = engineThat(() => 1);
  const inbox = inboxOf(engine);
  const done = jest.fn();
  for (const topic of ['a', 'b', 'c']) inbox.put(1, args(topic), done);
  expect([inbox.size, inbox.waits(1), inbox.waits(2)]).toEqual([3, true, false]);
  expect(done).not.toHaveBeenCalled();

  let room = 2;
  engine.answer = () => (room-- > 0 ? 0 : 1);
  inbox.run();
  expect(engine.taken.map(({ topic }) => topic)).toEqual(['a', 'b']);
  engine.answer = () => 0;
  inbox.put(1, args('d'), done);
  expect(engine.taken).toHaveLength(2);
  inbox.run();
  expect(engine.taken.map(({ topic }) => topic)).toEqual(['a', 'b', 'c', 'd']);
  expect(done).toHaveBeenCalledTimes(4);
  expect(inbox.size).toBe(0);
});

test('protects a queued message from changes by other nodes', () => {
  const engine = engineThat(() => 1);
  const payloads = [];
  const inbox = inboxOf({ ...engine, push: (_s, _d, _t, payload) => (payloads.push(String(payload)), 1) });
  const payload = Buffer.from('abc');
  inbox.put(1, { ...args('a'), payload }, () => {});
  payload.fill('x');
  inbox.run();
  expect(payloads).toEqual(['abc', 'abc']);
});

test('does not let a full stage delay another', () => {
  const engine = engineThat((stage) => (stage === 1 ? 1 : 0));
  const inbox = inboxOf(engine);
  inbox.put(1, args('a'), () => {});
  inbox.put(2, args('b'), () => {});
  expect(engine.taken).toHaveLength(1);
});

test('fails a record beyond the limit, and keeps the queued ones', () => {
  const inbox = inboxOf(engineThat(() => 1));
  const waiting = jest.fn();
  for (let i = 0; i < LIMIT; i++) inbox.put(1, args('a'), waiting);
  const done = jest.fn();
  inbox.put(1, args('b'), done);
  expect(done.mock.calls[0][0].message).toMatch(/engine is full/);
  expect(waiting).not.toHaveBeenCalled();
});

test.each([
  [2, /packet limit/],
  [3, /closed/],
  [4, /not part of the running plan/]
])('fails with a sentence for result %p', (result, sentence) => {
  const done = jest.fn();
  inboxOf(engineThat(() => result)).put(1, args('a'), done);
  expect(done.mock.calls[0][0].message).toMatch(sentence);
});

test('queues a record for an unknown stage while a plan is pending', () => {
  const inbox = inboxOf(engineThat(() => 4));
  inbox.waitForPlan = true;
  const done = jest.fn();
  inbox.put(1, args('a'), done);
  expect(done).not.toHaveBeenCalled();
  inbox.waitForPlan = false;
  inbox.run();
  expect(done.mock.calls[0][0].message).toMatch(/not part of/);
});

test('completes a message with delivery when the cloud has acknowledged its ticket', () => {
  const engine = engineThat(() => 0);
  const inbox = inboxOf(engine);
  const [first, second] = [jest.fn(), jest.fn()];
  inbox.put(1, args('a'), first, { delivery: true });
  inbox.put(1, args('b'), second, { delivery: true });
  const [a, b] = engine.taken.map(({ ticket }) => ticket);
  expect(a).toBeGreaterThan(0);
  engine.completions.push(b, 0, a, 1, 999, 1);
  expect(first).not.toHaveBeenCalled();
  inbox.run();
  inbox.run();
  expect(first.mock.calls).toEqual([[undefined]]);
  expect(second.mock.calls).toEqual([[expect.any(Error)]]);
});

test('keeps the order of a message that is sent in its own completion', () => {
  const engine = engineThat(() => 1);
  const inbox = inboxOf(engine);
  inbox.put(1, args('a'), () => inbox.put(1, args('c'), () => {}));
  inbox.put(1, args('b'), () => {});
  engine.answer = () => 0;
  inbox.run();
  expect(engine.taken.map(({ topic }) => topic)).toEqual(['a', 'b', 'c']);
});

test('fails all open messages at the end, once, and counts the queued ones', () => {
  const engine = engineThat((stage) => (stage === 1 ? 1 : 0));
  const inbox = inboxOf(engine);
  const done = jest.fn();
  inbox.put(1, args('a'), done);
  inbox.put(2, args('b'), done, { delivery: true });
  expect(inbox.close('The end.')).toBe(1);
  expect(inbox.close('The end.')).toBe(0);
  expect(done.mock.calls.map(([error]) => error.message)).toEqual(['The end.', 'The end.']);
});

describe('a record that the engine refuses with an error', () => {
  const refuses =
    (/** @type {string} */ bad) => (/** @type {number} */ _stage, /** @type {string} */ topic) => {
      if (topic === bad) throw new TypeError('tsMs must be a whole number');
      return 0;
    };

  test('fails once, with the device and the reason, and is not an error of the caller', () => {
    const done = jest.fn();
    inboxOf(engineThat(refuses('bad'))).put(1, args('bad'), done);
    expect(done.mock.calls).toEqual([[expect.any(Error)]]);
    expect(done.mock.calls[0][0]).toMatchObject({
      code: 'SEGANET_REFUSED',
      message: 'The record of "d" was refused: tsMs must be a whole number.'
    });
  });

  test('does not delay records queued behind it, and none enters twice', () => {
    const engine = engineThat(() => 1);
    const inbox = inboxOf(engine);
    const done = jest.fn();
    for (const topic of ['a', 'bad', 'c']) inbox.put(1, args(topic), (error) => done(topic, error?.message));
    engine.answer = refuses('bad');
    inbox.run();
    inbox.run();
    expect(engine.taken.map(({ topic }) => topic)).toEqual(['a', 'c']);
    expect(done.mock.calls.map(([topic, message]) => [topic, message === undefined])).toEqual([
      ['a', true],
      ['bad', false],
      ['c', true]
    ]);
    expect(inbox.size).toBe(0);
  });
});

test('reports a callback that throws, without delay for records or acknowledgements behind it', () => {
  const engine = engineThat(() => 1);
  const report = jest.fn();
  const inbox = new Inbox(engine, report);
  const ends = [];
  for (const topic of ['a', 'b', 'c']) {
    const end = () => {
      ends.push(topic);
      if (topic === 'b') throw new Error('a fault of the caller');
    };
    inbox.put(1, args(topic), end);
    inbox.put(2, args(topic), end, { delivery: true });
  }
  engine.answer = () => 0;
  inbox.run();
  engine.completions.push(...engine.taken.flatMap(({ ticket }) => (ticket ? [ticket, 1] : [])));
  inbox.run();
  expect(engine.taken.map(({ topic }) => topic)).toEqual(['a', 'b', 'c', 'a', 'b', 'c']);
  expect(ends).toEqual(['a', 'b', 'c', 'a', 'b', 'c']);
  expect(report.mock.calls.map(([{ message }]) => message)).toEqual(Array(2).fill('a fault of the caller'));
});

test('ends a record with an odd topic with a sentence that names the remedy', () => {
  const done = jest.fn();
  new Inbox(engineThat(() => 6)).put(1, args('$SYS/x'), done);
  const [error] = done.mock.calls[0];
  expect(error.code).toBe('SEGANET_ODD_TOPIC');
  expect(error.message).toMatch(
    /begins with \$ or contains a control character.*accept such topics in the engine/
  );
});

describe('a message whose device waits for its delivery', () => {
  /** @param {(stage: number, topic: string) => number} answer */
  function tracked(answer) {
    const engine = engineThat(answer);
    /** @type {number[]} */
    const deferrals = [];
    const { push } = engine;
    engine.push = function (...all) {
      deferrals.push(all[9]);
      return push.apply(this, all);
    };
    return { engine, deferrals, inbox: inboxOf(engine) };
  }

  test('has two ends: the engine has it, and it is safe', () => {
    const { engine, deferrals, inbox } = tracked(() => 0);
    const [done, safe] = [jest.fn(), jest.fn()];
    inbox.put(1, args('a'), done, { delivery: true, safe });
    const [{ ticket }] = engine.taken;
    expect(deferrals[0]).not.toBe(ticket);
    engine.completions.push(deferrals[0], 1);
    inbox.run();
    expect([done.mock.calls, safe.mock.calls]).toEqual([[], [[undefined]]]);
    engine.completions.push(ticket, 1);
    inbox.run();
    expect(done.mock.calls).toEqual([[undefined]]);
  });

  test('fails with a reason of its own when a later flow did not deliver it', () => {
    const { engine, deferrals, inbox } = tracked(() => 0);
    const safe = jest.fn();
    inbox.put(1, args('a'), () => {}, { safe });
    engine.completions.push(deferrals[0], 3);
    inbox.run();
    expect(safe.mock.calls[0][0].code).toBe('SEGANET_NOT_DELIVERED');
  });

  test('ends both with the error when the engine refuses it, or closes', () => {
    for (const answer of [5, 1]) {
      const { inbox } = tracked(() => answer);
      const [done, safe] = [jest.fn(), jest.fn()];
      inbox.put(1, args('a'), done, { safe });
      inbox.close('The engine stopped.');
      expect(safe.mock.calls[0][0]).toBeInstanceOf(Error);
      expect(done.mock.calls[0][0]).toBeInstanceOf(Error);
    }
  });

  test('waits for room even if many others wait', () => {
    const { inbox } = tracked(() => 1);
    const [waiting, safe] = [jest.fn(), jest.fn()];
    for (let i = 0; i < DEFERRED_LIMIT; i++) inbox.put(1, args('a'), waiting, { safe: waiting });
    expect(waiting).not.toHaveBeenCalled();
    inbox.put(1, args('b'), () => {}, { safe });
    expect(safe.mock.calls[0][0].code).toBe('SEGANET_FULL');
  });
});
