'use strict';
// Messages that a flow should not send, drawn from a seed: each field of the contract with values of every kind.

const vm = require('node:vm');

/** @typedef {ReturnType<typeof import('../../fixtures/random').seeded>} Random */

/** The fields that the nodes read from a message. */
const FIELDS = [
  ...['topic', 'payload', 'deviceId', 'priority', 'ts', 'seq', 'qos', 'retain', 'batch', 'source', '_msgid'],
  ...['flush', 'url', 'loginId', 'allowed', 'expiry', 'userProperties', 'responseTopic', 'correlationData'],
  ...['parts', 'error', 'complete', 'req', 'res', 'hasOwnProperty', 'toString', 'constructor']
];
/** The fields of a batch and similar messages. */
const INNER = [
  'id',
  'index',
  'count',
  'bytes',
  'priority',
  'firstTs',
  'lastTs',
  'reason',
  'key',
  'protocol',
  'nodeId'
];

const sandbox = vm.createContext({});
const made = (/** @type {string} */ code) => vm.runInContext(code, sandbox);

function thrower() {
  throw new Error('a trap of the fuzzer');
}

function cyclic() {
  /** @type {any} */
  const circle = { a: [1] };
  circle.a.push(circle);
  return circle;
}

function deep() {
  /** @type {any} */
  let nest = [];
  for (let i = 0; i < 20000; i++) nest = [nest];
  return nest;
}

/** @template {Uint8Array} T @param {T} view @returns {T} */
function detached(view) {
  structuredClone(view.buffer, { transfer: [/** @type {ArrayBuffer} */ (view.buffer)] });
  return view;
}

function revoked() {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

/** @param {any} thrown */
const throwing = (thrown) => ({
  get payload() {
    throw thrown;
  },
  toString: thrower,
  valueOf: thrower,
  toJSON: thrower
});

const traps = { get: thrower, has: thrower, ownKeys: thrower, getOwnPropertyDescriptor: thrower };

/** Each is made for its message: some change their container. @type {(() => unknown)[]} */
const VALUES = [
  ...[undefined, null, true, false, '', ' ', 'a', '1', '-1', '1.5', '1e999', 'NaN', 'critical', 'true'].map(
    (v) => () => v
  ),
  ...[0, -0, 1, 2, 3, 4, 8, 9, -1, 0.5, 1.5, NaN, Infinity, -Infinity, 255, 256, 65535, 65536].map(
    (v) => () => v
  ),
  ...[2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 53, 8.64e15, 8.64e15 + 1, 1e300, 5e-324].map(
    (v) => () => v
  ),
  ...[1763712000123.456, 1763712000, 1763712000123456, 0n, 5n, -(2n ** 64n)].map((v) => () => v),
  ...['\0', 'a\0b', '\ud800', '\udc00x', '\ufffe', '\ufeff', 'a/#', '+', '$SYS/x', '/', '//'].map(
    (v) => () => v
  ),
  ...['__proto__', 'constructor', 'toString', '${HOME}', '{device}', 'é'.repeat(128), 'é'.repeat(129)].map(
    (v) => () => v
  ),
  () => 'x'.repeat(65535),
  () => 'x'.repeat(65536),
  () => 'y'.repeat(1 << 20),
  () => Symbol('s'),
  () => Symbol.iterator,
  () => () => 1,
  () => class {},
  () => new Date(),
  () => new Date(NaN),
  () => new Date(-1),
  () => made('new Date(7)'),
  () => made('new Uint8Array(5)'),
  () => made('({ a: 1 })'),
  () => [],
  () => [1, [2], null],
  () => ({}),
  () => ({ a: { b: 1 } }),
  () => Object.create(null),
  () => Object.freeze({ index: 0, count: 1 }),
  () => JSON.parse('{"__proto__": {"deviceId": "polluted"}}'),
  () => new Map([['a', 1]]),
  () => new Set([1]),
  () => /x/g,
  () => new Error('an error as a value'),
  () => Object('text'),
  () => Object(5),
  () => Object(5n),
  cyclic,
  deep,
  revoked,
  () => new Proxy({}, traps),
  () => new Proxy(Buffer.from('x'), {}),
  () => new Proxy([1], {}),
  () => throwing(new Error('thrown by a getter')),
  () => throwing(undefined),
  () => ({ toJSON: () => undefined }),
  () => ({ toString: () => 'a/b', valueOf: () => 3 }),
  () => Buffer.alloc(0),
  () => Buffer.from([0xc3, 0x28, 0xff, 0xfe]),
  () => Buffer.alloc(256 * 1024),
  () => Buffer.alloc(256 * 1024 + 1),
  () => Buffer.alloc(2 << 20),
  () => detached(new Uint8Array(64)),
  () => detached(Buffer.from(new ArrayBuffer(64))),
  () => Buffer.from(new SharedArrayBuffer(16)),
  () => new Uint8Array(new ArrayBuffer(8, { maxByteLength: 16 })),
  () => new Uint16Array([1, 2]),
  () => new Float64Array([NaN]),
  () => new BigUint64Array(2),
  () => new DataView(new ArrayBuffer(4)),
  () => new ArrayBuffer(4),
  // The messages that the nodes themselves send.
  () =>
    '{"k":"g/e/3/1","d":"d","t":"t","ts":1,"s":1,"c":3,"p":1}\n{"d":"e","t":"t","ts":2,"s":1,"c":3,"b":"AA=="}\n',
  () => '{"d":"d","t":"t","ts":1,"s":1,"c":3,"b":"A"}\n\n{',
  () => ({ d: 'd', t: 't', ts: 1, s: 1, c: 3, p: {} }),
  () => ({ 'seganet-key': 'g/e/3/7', 'seganet-history': '1' }),
  () => ({ 'seganet-key': ['g/e/3/7', 'x'] }),
  () => 'coap://127.0.0.1:9/x',
  () => 'coap://[::1]:9/x',
  () => 'coap://255.255.255.255/x'
];

/** @param {object} target @param {object} msg whose getters must not be read @returns {object} */
const dress = (target, msg) => Object.defineProperties(target, Object.getOwnPropertyDescriptors(msg));

/** Wrappers of a whole message. @type {((msg: object) => object)[]} */
const SHAPES = [
  (msg) => Object.freeze(msg),
  (msg) => Object.seal(msg),
  (msg) => dress(Object.create(null), msg),
  (msg) => new Proxy(msg, {}),
  (msg) => new Proxy(msg, { set: () => false }),
  (msg) => new Proxy(msg, { ownKeys: thrower }),
  (msg) => Object.create(msg),
  (msg) => dress([], msg),
  (msg) => dress(() => {}, msg)
];

/** @template T @param {Random} random @param {T[]} list @returns {T} */
const pick = (random, list) => list[random.integer(list.length)];

/** @param {Random} random @returns {any} an object with fields of a batch or a source */
function nested(random) {
  /** @type {Record<string, unknown>} */
  const inner = {};
  for (let i = random.integer(5); i >= 0; i--)
    set(inner, pick(random, INNER), pick(random, VALUES)(), random);
  return inner;
}

/** @param {any} target @param {string} name @param {unknown} value @param {Random} random */
function set(target, name, value, random) {
  const kind = random.integer(20);
  const getter = kind === 0 ? thrower : () => value;
  if (kind <= 1) Object.defineProperty(target, name, { get: getter, enumerable: true, configurable: true });
  else Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true });
}

/**
 * A message whose record must arrive if the node takes it.
 * @param {Random} random
 * @param {number} number
 * @returns {Record<string, any>}
 */
function tame(random, number) {
  return {
    deviceId: `device-${random.integer(50)}`,
    topic: `r/${random.integer(10)}`,
    payload: { tame: number },
    priority: 1 + random.integer(4),
    qos: random.integer(3),
    ...(random.integer(2) === 0 && { ts: pick(random, [Date.now(), Date.now() + 0.25, 0, -1, 2 ** 60]) })
  };
}

/** @param {Random} random @returns {object} */
function wild(random) {
  const msg = tame(random, -1);
  for (let i = random.integer(4); i >= 0; i--) {
    const name = pick(random, FIELDS);
    const isInner = (name === 'batch' || name === 'source' || name === 'payload') && random.integer(2) === 0;
    if (random.integer(8) === 0) delete msg[name];
    else set(msg, name, isInner ? nested(random) : pick(random, VALUES)(), random);
  }
  return random.integer(12) === 0 ? pick(random, SHAPES)(msg) : msg;
}

module.exports = { tame, wild, FIELDS };
