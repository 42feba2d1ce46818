'use strict';

const { CoapDesk } = require('../../../nodes/lib/sources/coap-desk/coap-desk');
const { answerCode, dotted, methodCode, methodOf } = require('../../../nodes/lib/sources/coap-desk/codes');

/** An engine with scripted events, which records calls. */
class FakeEngine {
  constructor() {
    this.calls = [];
    this.events = [];
    this.handle = 1;
    this.pushed = 0;
  }
  takeDesk(stage, limit) {
    this.stage = stage;
    return this.events.splice(0, limit);
  }
  #call(name, args, result) {
    this.calls.push([name, ...args]);
    return result;
  }
  answerRequest = (...args) => this.#call('answer', args, true);
  answerRequests = (...args) => this.#call('answerAll', args);
  identifyConnection = (...args) => this.#call('identify', args, true);
  grantConnection = (...args) => this.#call('grant', args, true);
  settleRequest = (...args) => this.#call('settle', args, true);
  forgetConnection = (...args) => this.#call('forget', args, true);
  closeConnection = (...args) => this.#call('close', args, true);
  recordOfConnection = (...args) => this.#call('record', args, this.pushed);
  askDevice = (...args) => this.#call('ask', args, this.handle === 0 ? 0 : this.handle++);
  cancelAsk = (...args) => this.#call('cancel', args);
  openTopic = (...args) => this.#call('open', args, this.handle++);
  closeTopic = (...args) => this.#call('close', args);
  followTopic = (...args) => this.#call('follow', args);
  askLatestPost = (...args) => this.#call('latest', args);
}

const EMPTY = Buffer.alloc(0);
const turn = () => new Promise((resolve) => setImmediate(resolve));

function open() {
  const engine = new FakeEngine();
  const seen = [];
  const answers = [];
  const faults = [];
  let ring = () => {};
  let rings = true;
  const desk = new CoapDesk(
    engine,
    7,
    (fn) => {
      ring = fn;
      return () => (rings = false);
    },
    {
      asked: (request) => seen.push(request),
      answered: (...args) => answers.push(args),
      gone: (...args) => seen.push(args),
      posted: (...args) => seen.push(args),
      fault: (error) => faults.push(error.message)
    }
  );
  const give = (...events) => {
    engine.events.push(...events);
    ring();
  };
  return { desk, engine, seen, answers, faults, give, rings: () => rings };
}

const asked = {
  kind: 'asked',
  connection: 3,
  device: '',
  address: '192.0.2.7:4711',
  note: '',
  code: 2,
  token: Buffer.from('t'),
  path: ['a', 'b'],
  query: ['c=d'],
  options: [[12, Buffer.from([50])]],
  payload: Buffer.from('x')
};

describe('the request desk', () => {
  test('passes requests and departures on', () => {
    const { engine, seen, give } = open();
    give(
      asked,
      { ...asked, note: '{"subject":"CN=x"}' },
      { kind: 'gone', connection: 3, device: 'd', reason: 'closed' }
    );
    const { connection, device, path, query, options, payload, token } = asked;
    const request = { connection, device, method: 'POST', path, query, options, payload, token };
    expect(seen[0]).toEqual({ ...request, peer: { address: '192.0.2.7:4711' } });
    expect(seen[1].peer.certificate).toEqual({ subject: 'CN=x' });
    expect(seen[2]).toEqual([3, 'd', 'closed']);
    expect(engine.stage).toBe(7);
  });

  test('continues after a hook that throws', () => {
    const { desk, engine, faults, give } = open();
    const answers = [];
    const bad = desk.ask('d', { path: ['x'] }, () => {
      throw new Error('broken');
    });
    const good = desk.ask('d', { path: ['x'] }, (answer) => answers.push(answer.code));
    const answer = { kind: 'answer', code: 0x45, options: [], payload: EMPTY, last: true };
    give({ ...answer, handle: bad }, { ...answer, handle: good });
    expect(faults).toEqual(['broken']);
    expect(answers).toEqual([0x45]);
    expect(engine.events).toEqual([]);
  });

  test('takes a flood in portions', async () => {
    const clock = jest.spyOn(performance, 'now').mockReturnValue(0);
    const { seen, give } = open();
    give(...Array.from({ length: 600 }, () => asked));
    expect(seen).toHaveLength(256);
    await turn();
    await turn();
    expect(seen).toHaveLength(600);
    clock.mockRestore();
  });

  test('takes less in a turn if each event takes long, and leaves the rest to the engine', async () => {
    let now = 0;
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => now);
    const { engine, seen, give } = open();
    seen.push = (...items) => {
      now += 1;
      return Array.prototype.push.apply(seen, items);
    };
    give(...Array.from({ length: 40 }, () => asked));
    expect(seen).toHaveLength(16);
    expect(engine.events).toHaveLength(24);
    await turn();
    await turn();
    expect(seen).toHaveLength(40);
    clock.mockRestore();
  });

  test('gives the same answer to many requests in few calls', () => {
    const { desk, engine, answers } = open();
    const requests = Array.from({ length: 1500 }, (_, i) => ({ connection: i + 1, token: Buffer.from('t') }));
    desk.answerAll(requests, '2.05', [[6, Buffer.from([9])]], Buffer.from('y'));
    desk.answerAll([], '2.05');
    expect(engine.calls.map(([name, to, code]) => [name, to.length, code])).toEqual([
      ['answerAll', 1024, 0x45],
      ['answerAll', 476, 0x45]
    ]);
    expect(answers).toHaveLength(1500);
    expect(answers.at(-1)).toEqual([1500, Buffer.from('t'), 0x45]);
  });

  test('answers by number or text, identifies, forgets and closes', () => {
    const { desk, engine, answers } = open();
    const token = Buffer.from('t');
    desk.answer(3, token, '2.05', [[12, Buffer.from([50])]], Buffer.from('y'));
    desk.answer(3, token, 0x84);
    expect(answers).toEqual([
      [3, token, 0x45],
      [3, token, 0x84]
    ]);
    desk.identify(3, { device: 'd' });
    desk.identify(3, { device: 'd', owner: 'o', until: 1e12, replace: true });
    desk.identify(3, { device: 'd', until: Infinity });
    desk.identify(3, { device: 'd', owner: 'o', forwardUntil: 0.5 });
    desk.grant(3, 'a', 'r');
    desk.grant(3, 'b', 'rw');
    desk.revoke(3, 'a');
    desk.settled(3, token);
    desk.forget(3, 'signedOut');
    desk.close(3, 'deleted');
    expect(engine.calls).toEqual([
      ['answer', 3, token, 0x45, [[12, Buffer.from([50])]], Buffer.from('y')],
      ['answer', 3, token, 0x84, [], EMPTY],
      ['identify', 3, 'd', '', 0, 0],
      ['identify', 3, 'd', 'o', 1e12, 0],
      ['identify', 3, 'd', '', 0, 0],
      ['identify', 3, 'd', 'o', 0, 1],
      ['grant', 3, 'a', 1],
      ['grant', 3, 'b', 2],
      ['grant', 3, 'a', 0],
      ['settle', 3, token],
      ['forget', 3, 'signedOut'],
      ['close', 3, 'deleted']
    ]);
    // @ts-expect-error only true
    expect(() => desk.identify(3, { device: 'd', replace: false })).toThrow(TypeError);
    expect(() => desk.answer(3, token, '9.99')).toThrow(TypeError);
  });

  test('ends an ask with its last answer or cancel(), and only once', () => {
    const { desk, engine, give } = open();
    const answers = [];
    const handle = desk.ask('d', { path: ['x'], observe: true }, (answer) => answers.push(answer));
    const answer = { kind: 'answer', handle, code: 0x45, options: [], payload: EMPTY, last: false };
    give(answer);
    desk.cancel(handle);
    desk.cancel(handle);
    give(answer);
    expect(answers).toEqual([{ code: 0x45, options: [], payload: EMPTY, last: false }]);
    expect(engine.calls).toEqual([
      [
        'ask',
        7,
        'd',
        { method: 1, path: ['x'], query: [], options: [], payload: EMPTY, observe: true },
        10000
      ],
      ['cancel', handle]
    ]);
  });

  test('answers 5.03 with Max-Age 1 when the engine takes no request', async () => {
    const { desk, engine } = open();
    engine.handle = 0;
    const answers = [];
    desk.ask('d', { path: [] }, (answer) => answers.push(answer));
    expect(answers).toEqual([]);
    await turn();
    expect(answers).toEqual([
      { code: 0xa3, options: [[14, Buffer.from([1])]], payload: EMPTY, last: true, failed: true }
    ]);
  });

  test('resolves a record with what became of it', async () => {
    const { desk, engine, give } = open();
    const results = [0, 1, 2, 3, 4].map(() => desk.record(3, 'topic', EMPTY));
    const handles = engine.calls.map(([, , handle]) => handle);
    give(...[0, 1, 2, 3, 4].map((result) => ({ kind: 'recorded', handle: handles[result], result })));
    expect(await Promise.all(results)).toEqual(['safe', 'full', 'notAllowed', 'notTaken', 'lost']);
    engine.pushed = 6;
    expect(await desk.record(3, '#', EMPTY, 1)).toBe('oddTopic');
    expect(engine.calls.at(-1)).toEqual(['record', 3, handles[4] + 1, '#', EMPTY, 1, 0]);
  });

  test('cancels what is open at its end', async () => {
    const { desk, engine, rings } = open();
    const handle = desk.ask('d', { path: [] }, () => {});
    const record = desk.record(3, 't', EMPTY);
    desk.end();
    expect(await record).toBe('lost');
    expect(engine.calls.at(-1)).toEqual(['cancel', handle]);
    expect(rings()).toBe(false);
  });

  test('takes what is left at its end, without callbacks', async () => {
    const { desk, engine, seen, faults } = open();
    engine.events.push(...Array.from({ length: 600 }, (_, i) => ({ ...asked, connection: i })));
    engine.events.push({ kind: 'gone', connection: 1, device: 'd', reason: 'stopped' });
    desk.end();
    await turn();
    expect(engine.events).toEqual([]);
    expect(seen).toEqual([]);
    expect(faults).toEqual([]);
  });

  test('what comes late for a desk that has ended does not reach the next desk of the stage', async () => {
    const [before, after] = [open(), open()];
    const outcomes = [before, after].map(({ desk }) => {
      const topic = desk.topics.openTopic('o', 'a', 's');
      const found = { record: 'open', latest: /** @type {unknown} */ ('open') };
      void desk.record(3, 't', EMPTY).then((recorded) => (found.record = recorded));
      void desk.topics.latestPost(topic).then((post) => (found.latest = post));
      return found;
    });
    const handleOf = ({ engine }, name) => engine.calls.findLast(([call]) => call === name)[2];
    before.desk.end();
    await turn();
    expect(outcomes[0]).toEqual({ record: 'lost', latest: null });
    const late = { number: 9, payload: Buffer.from('late') };
    after.give(
      { kind: 'recorded', handle: handleOf(before, 'record'), result: 0 },
      { kind: 'latest', handle: handleOf(before, 'latest'), ...late }
    );
    await turn();
    expect(outcomes[1]).toEqual({ record: 'open', latest: 'open' });
    const own = { number: 10, payload: Buffer.from('own') };
    after.give(
      { kind: 'recorded', handle: handleOf(after, 'record'), result: 1 },
      { kind: 'latest', handle: handleOf(after, 'latest'), ...own }
    );
    await turn();
    expect(outcomes[1]).toEqual({ record: 'full', latest: own });
  });
});

test('codes and methods have the names of RFC 7252', () => {
  expect(dotted(0x45)).toBe('2.05');
  expect(answerCode('5.03')).toBe(0xa3);
  expect(methodOf(methodCode('iPATCH'))).toBe('iPATCH');
  expect(() => methodCode('get')).toThrow(TypeError);
  for (const code of ['2.5', '1.00', '6.00', '2.32', '']) expect(() => answerCode(code)).toThrow(TypeError);
});

describe('topics of the request desk', () => {
  test('are opened and closed, and their posts come while they are followed', async () => {
    const { desk, engine, seen, give } = open();
    const topic = desk.topics.openTopic('alice', 'a/b', 'ps/a/b');
    expect(topic).toBe(1);
    desk.topics.followTopic(topic, true);
    give({ kind: 'posted', handle: topic, number: 5, payload: Buffer.from('x') });
    await turn();
    expect(seen).toEqual([[topic, 5, Buffer.from('x')]]);
    desk.topics.followTopic(topic, false);
    desk.topics.closeTopic(topic);
    // No effect for a topic that is closed.
    desk.topics.closeTopic(topic);
    desk.topics.followTopic(topic, true);
    expect(await desk.topics.latestPost(topic)).toBe(null);
    expect(engine.calls).toEqual([
      ['open', 7, 'alice', 'a/b', 'ps/a/b', 0],
      ['follow', topic, true],
      ['follow', topic, false],
      ['close', topic]
    ]);
  });

  test('have a latest post, and the end of the desk answers all questions', async () => {
    const { desk, engine, give } = open();
    const topic = desk.topics.openTopic('alice', 'a', 'ps/a', 3);
    const [first, second, third] = [1, 2, 3].map(() => desk.topics.latestPost(topic));
    const [one, two] = engine.calls.filter(([call]) => call === 'latest').map(([, , handle]) => handle);
    give(
      { kind: 'latest', handle: two, number: 9, payload: Buffer.from('y') },
      { kind: 'latest', handle: one, number: 0, payload: EMPTY }
    );
    expect(await first).toBe(null);
    expect(await second).toEqual({ number: 9, payload: Buffer.from('y') });
    desk.end();
    expect(await third).toBe(null);
    expect(engine.calls.at(-1)).toEqual(['close', topic]);
  });
});
