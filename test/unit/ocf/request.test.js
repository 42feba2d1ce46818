'use strict';
// The limits of an ocf request node.

const { LIMITS: REQUESTING, Requesting } = require('../../../nodes/lib/ocf/request/requesting');
const { LIMITS, readMessage } = require('../../../nodes/lib/ocf/request/request-message');
const { seeded } = require('../../fixtures/random');

const DI = '00000000-0000-4000-8000-000000000001';
const SETTINGS = { timeoutMs: 1000, observe: false };
const message = (more = {}) => ({ deviceId: DI, href: '/a', ...more });
const post = (payload) => readMessage(message({ method: 'POST', payload }), SETTINGS);

/** A cloud whose devices do not answer, and the node. */
function setUp() {
  const sends = [];
  const observations = [];
  const cloud = {
    isClosed: false,
    grants: { of: async () => ({ uid: 'u' }) },
    route: { ownWayTo: () => ({}) },
    ownRequests: {
      send: () => new Promise((resolve, reject) => sends.push({ resolve, reject }))
    },
    ownObservations: {
      start: (_question, handlers) => {
        const own = { ...handlers, isOver: false, end: () => (own.isOver = true) };
        observations.push(own);
        return own;
      }
    }
  };
  const sent = [];
  const node = new Requesting({
    cloud: () => /** @type {any} */ (cloud),
    settings: SETTINGS,
    copy: (msg) => ({ ...msg }),
    send: (msg) => sent.push(msg),
    report: () => {}
  });
  /** @param {object} msg @returns {Promise<any>} the error, undefined = none */
  const take = (msg) => new Promise((resolve) => node.take(msg, (out) => sent.push(out), resolve));
  return { node, take, sends, observations, sent };
}
const turn = () => new Promise((resolve) => setImmediate(resolve));

test('1,024 requests are open at most, and one more after an answer', async () => {
  const { node, take, sends, sent } = setUp();
  for (let n = 0; n < REQUESTING.requests; n++) void take(message());
  expect(node.open).toBe(1024);
  expect(() =>
    node.take(
      message(),
      () => {},
      () => {}
    )
  ).toThrow(/1024 requests without an answer/);
  sends[0].resolve({ code: 0x45, options: [], payload: Buffer.alloc(0), last: true });
  await turn();
  expect([node.open, sent.length]).toEqual([1023, 1]);
  void take(message());
  expect(node.open).toBe(1024);
  node.close();
});

test('has 256 observations at most; another one of the same resource replaces the first', async () => {
  const { node, take, observations } = setUp();
  const href = (n) => `/a/${n}`;
  for (let n = 0; n < REQUESTING.relations; n++) void take(message({ href: href(n), observe: true }));
  await turn();
  expect([node.relations, observations.length]).toEqual([256, 256]);
  const error = await take(message({ href: '/other', observe: true }));
  expect(error).toMatchObject({ code: 'SEGANET_OCF_BUSY', message: 'The node has 256 observations.' });
  void take(message({ href: href(0), observe: true }));
  await turn();
  expect([node.relations, observations.length, observations[0].isOver]).toEqual([256, 257, true]);
  expect(await take(message({ href: href(1), observe: false }))).toBeUndefined();
  void take(message({ href: '/other', observe: true }));
  await turn();
  expect([node.relations, observations.at(-1).isOver]).toEqual([256, false]);
  node.close();
  expect([node.relations, observations.every(({ isOver }) => isOver)]).toEqual([0, true]);
});

test('a payload has 256 KiB, 16 levels and 8,192 items at most', () => {
  expect(post(Buffer.alloc(LIMITS.payloadBytes)).question.payload.length).toBe(262144);
  expect(() => post(Buffer.alloc(LIMITS.payloadBytes + 1))).toThrow(/more than 262144 bytes/);
  expect(() => post({ text: 'x'.repeat(LIMITS.payloadBytes) })).toThrow(/msg.payload as CBOR/);
  let deep = /** @type {any} */ ({});
  for (let n = 0; n < 40; n++) deep = { deep };
  expect(() => post(deep)).toThrow(/deeper than 16 levels/);
  const circle = /** @type {any} */ ({});
  circle.circle = circle;
  expect(() => post(circle)).toThrow(/deeper than 16 levels/);
  expect(() => post(Array.from({ length: 9000 }, () => 1))).toThrow(/more than 8192 items/);
  expect(() => post('text')).toThrow(/an object or a Buffer/);
});

test('a payload that CBOR cannot have is refused with a sentence', () => {
  const posting = (/** @type {unknown} */ value) => () => post({ a: [value] });
  expect(posting(() => {})).toThrow(/^msg.payload cannot become CBOR. A function has no form in CBOR.$/);
  expect(posting(new Set())).toThrow(
    /^msg.payload cannot become CBOR. An object of the type Set has no form/
  );
  expect(posting(new Date())).toThrow('msg.payload as CBOR has a tag.');
  expect(posting(2n ** 64n)).toThrow('msg.payload as CBOR has a tag.');
  expect(posting(2n ** 64n - 1n)().question.payload.toString('hex')).toBe('a16161811bffffffffffffffff');
});

test('a query has 32 values of 255 bytes at most', () => {
  const query = (more) => readMessage(message({ query: more }), SETTINGS).question.query;
  expect(query({ a: Array.from({ length: 32 }, (_none, n) => n) }).length).toBe(32);
  expect(() => query({ a: Array.from({ length: 33 }, (_none, n) => n) })).toThrow(/32 values/);
  expect(query({ a: 'x'.repeat(253) })[0].length).toBe(255);
  expect(() => query({ a: 'é'.repeat(127) })).toThrow(/255 bytes/);
});

test('whatever a message has, it is read or refused with a sentence', () => {
  const seed = Number(process.env.SEGANET_SEED ?? 1);
  const { integer } = seeded(seed);
  const values = [
    ...[
      undefined,
      null,
      '',
      0,
      -1,
      NaN,
      true,
      [],
      {},
      () => {},
      Symbol.iterator,
      2n,
      'GET',
      'get',
      '/a',
      '/a/../b'
    ],
    ...[
      '/\0',
      DI,
      DI.toUpperCase(),
      '/é',
      `/${'x'.repeat(300)}`,
      Buffer.from([1]),
      new Date(),
      { if: ['a', {}] }
    ]
  ];
  for (let n = 0; n < 3000; n++) {
    const msg = /** @type {any} */ (integer(2) ? message() : {});
    for (const name of ['deviceId', 'href', 'method', 'query', 'payload', 'observe'])
      if (integer(3) === 0) msg[name] = values[integer(values.length)];
    try {
      const { question, wish } = readMessage(msg, SETTINGS);
      expect(['request', 'observe', 'stop']).toContain(wish);
      expect(question.path.length).toBeGreaterThan(0);
    } catch (error) {
      if (!(error instanceof RangeError))
        throw new Error(`seed ${seed}, round ${n}: ${error}`, { cause: error });
      expect(error.message).toMatch(/^(msg\.|Only GET)/);
    }
  }
});
