'use strict';

// Hostile arguments to every method: a TypeError that names the argument, never a crash, never a half-done call.

const { Engine, UplinkSource, StoreSource, PushResult } = require('../../native');
const { stage, usualPlan } = require('./support/addon');

const ignore = () => {};

/** @type {Engine} */
let engine;
/** @type {UplinkSource} */
let source;
/** @type {StoreSource} */
let store;
beforeAll(() => {
  engine = new Engine({ workers: 1, memoryMiB: 4, log: true }, ignore);
  store = new StoreSource(engine.token, ignore);
  engine.applyPlan(usualPlan());
  source = new UplinkSource(engine.token, 0, ignore);
});
afterAll(() => engine.close());

const detached = (Type = Uint8Array, length = 16) => {
  const view = new Type(length);
  structuredClone(view.buffer, { transfer: [view.buffer] });
  return view;
};

/** @type {[string, any][]} */
const junk = [
  ['undefined', undefined],
  ['null', null],
  ['true', true],
  ['-1', -1],
  ['0.5', 0.5],
  ['NaN', NaN],
  ['Infinity', Infinity],
  ['2**53', 2 ** 53],
  ['1n', 1n],
  ['empty string', ''],
  ['string', 'x'],
  ['{}', {}],
  ['[]', []],
  ['Symbol', Symbol('x')],
  ['function', ignore],
  ['Proxy', new Proxy({}, { get: () => { throw new RangeError('trap'); } })], // prettier-ignore
  ['valueOf', { valueOf: () => 1, toString: () => '1' }],
  ['huge string', 'x'.repeat(1 << 20)],
  ['detached', detached()],
  ['DataView', new DataView(new ArrayBuffer(8))],
  ['Float64Array', new Float64Array(3)],
  ['engine', () => engine]
];
const numbers = new Set(['-1', '0.5', 'NaN', 'Infinity', '2**53']);
const strings = new Set(['empty string', 'string', 'huge string']);

/**
 * A method, valid arguments, and for each argument its name and which junk is valid after all.
 * @type {[string, () => any, string, any[], [string, Set<string>][]][]}
 */
const methods = [
  ['workerOf', () => engine, 'workerOf', ['d'], [['deviceId', strings]]],
  ['applyPlan', () => engine, 'applyPlan', [usualPlan()], [['plan|stages|trap', new Set()]]],
  ['listen', () => engine, 'listen', [stage.source, { host: '127.0.0.1', port: 0 }], [['stage', new Set()], ['options|host|trap', new Set()]]], // prettier-ignore
  ['unlisten', () => engine, 'unlisten', [1], [['stage', new Set()]]],
  ['push', () => engine, 'push', [stage.ingest, 'd', 't', Buffer.from('1'), 0, 0, 0, -1, 0, 0], [
      ['stage', new Set()], ['deviceId', strings], ['topic', strings], ['payload', new Set(['detached'])], ['recordClass', new Set()],
      ['flags', new Set()], ['tsMs', new Set()], ['seq', new Set(['-1'])], ['ticket', new Set()], ['deferral', new Set(['undefined'])]]], // prettier-ignore
  [
    'endDeferrals',
    () => engine,
    'endDeferrals',
    [[64], 0],
    [
      ['ids', new Set(['[]'])],
      ['end', new Set()]
    ]
  ],
  ['classify', () => engine, 'classify', [stage.batch, 'd', 't', Buffer.from('1'), 3], [['stage', new Set()], ['deviceId', strings], ['topic', strings], ['payload', new Set(['detached'])], ['recordClass', new Set()]]], // prettier-ignore
  ['takeMessages', () => engine, 'takeMessages', [Buffer.alloc(64)], [['into', new Set(['detached'])]]],
  ['flush', () => engine, 'flush', [0], [['stage', new Set()]]],
  [
    'take',
    () => source,
    'take',
    [Buffer.alloc(64), new Float64Array(16)],
    [
      ['into', new Set(['detached'])],
      ['meta', new Set()]
    ]
  ],
  ['release', () => source, 'release', [1, [0], 1, 'no'], [['id', new Set()], ['refused', new Set(['undefined', '[]'])], ['code', new Set(['undefined'])], ['reason', new Set(['undefined', ...strings])]]], // prettier-ignore
  [
    'opened',
    () => store,
    'opened',
    [0, [0, 0, 0, 0, 0, 0, 0, 0, 0]],
    [
      ['maxRow', new Set()],
      ['records', new Set()]
    ]
  ],
  ['store take', () => store, 'take', [Buffer.alloc(64), new Float64Array(10)], [['into', new Set(['detached'])], ['meta', new Set()]]], // prettier-ignore
  [
    'committed',
    () => store,
    'committed',
    [1, 1],
    [
      ['ticket', new Set()],
      ['row', new Set()]
    ]
  ],
  ['failed', () => store, 'failed', [1], [['ticket', new Set()]]],
  ['dropped', () => store, 'dropped', [1], [['ticket', new Set()]]],
  ['frees', () => store, 'frees', [new Float64Array(4)], [['into', new Set(['Float64Array'])]]],
  ['removed', () => store, 'removed', [1, 3, 0], [['row', new Set()], ['recordClass', new Set()], ['records', new Set()]]], // prettier-ignore
  ['wanted', () => store, 'wanted', [new Float64Array(4)], [['meta', new Set(['Float64Array'])]]],
  ['loaded', () => store, 'loaded', [1, 0, Buffer.alloc(4)], [['row', new Set()], ['records', new Set()], ['body', new Set(['detached'])]]] // prettier-ignore
];

const cases = methods.flatMap(([name, self, method, good, args]) =>
  args.map(([argument, fine], i) => ({ name: `${name}: ${argument}`, self, method, good, argument, fine, i }))
);

test.each(cases)('$name', ({ self, method, good, argument, fine, i }) => {
  for (const [what, value] of junk) {
    const args = [...good];
    args[i] = what === 'engine' ? value() : value;
    const call = () => self()[method](...args);
    if (fine.has(what)) {
      expect(call).not.toThrow();
      continue;
    }
    let error;
    try {
      call();
    } catch (caught) {
      error = caught;
    }
    const where = `${method}(${argument} = ${what})`;
    expect([where, error?.message]).toEqual([where, expect.stringMatching(argument)]);
    // By name: the addon's TypeError is not the one of Jest's context.
    expect(error.name).toBe(error.message === 'trap' ? 'RangeError' : 'TypeError');
  }
});

test('names missing arguments', () => {
  expect(() => engine.push()).toThrow(/^stage must be/);
  expect(() => engine.listen(1)).toThrow('options must be an object');
  expect(() => engine.applyPlan()).toThrow('plan must be an object');
  expect(() => source.take()).toThrow(/^into must be/);
});

test('names wrong arguments of constructors', () => {
  for (const [what, value] of junk) {
    if (what === 'engine') continue;
    const options = ['{}', '[]', 'function', 'valueOf', 'detached', 'DataView', 'Float64Array'].includes(
      what
    );
    if (!options) expect(() => new Engine(value, ignore)).toThrow(/options|trap/);
    if (what !== 'undefined' && !numbers.has(what)) {
      expect(() => new Engine({ workers: value }, ignore)).toThrow(/^workers must be/);
    }
    if (what !== 'function' && what !== 'Proxy')
      expect(() => new Engine({}, value)).toThrow(/^onDoorbell must be/);
    expect(() => new UplinkSource(value, 0, ignore)).toThrow(/^token must be/);
    expect(() => new StoreSource(value, ignore)).toThrow(/^token must be/);
    expect(() => new UplinkSource(engine.token, value, ignore)).toThrow(/^uplink must be/);
    if (what !== 'function')
      expect(() => new UplinkSource(engine.token, 1, value)).toThrow(/^onDoorbell must be/);
  }
  for (const name of ['memoryMiB', 'maxPacketBytes', 'maxDevices', 'messageRingMiB', 'workers']) {
    for (const value of [-1, NaN, 2 ** 53, '1', null]) {
      expect(() => new Engine({ [name]: value }, ignore)).toThrow(
        new RegExp(`^${name} must be a whole number`)
      );
    }
  }
  expect(() => new Engine({ cpus: '9-' }, ignore)).toThrow(expect.objectContaining({ name: 'TypeError' }));
  expect(() => new Engine({ cpus: '1023' }, ignore)).toThrow('core 1023');
  expect(() => new UplinkSource(4_000_000_000, 0, ignore)).toThrow('no open engine has the token');
  expect(() => new StoreSource(4_000_000_000, ignore)).toThrow('no open engine has the token');
  expect(() => new StoreSource(engine.token, ignore)).toThrow('already served');
  expect(() => Reflect.apply(Engine, undefined, [{}, ignore])).toThrow(
    expect.objectContaining({ name: 'TypeError' })
  );
});

test('checks settings of the log', () => {
  const made = (/** @type {any} */ options) => () => new Engine({ workers: 1, ...options }, ignore).close();
  expect(made({ acknowledge: 'safe' })).not.toThrow();
  expect(
    made({ acknowledge: 'stored', log: true, ttlS: [0, 0, 0, 60, 60, 0, 0, 0, 60], whenFull: 'drop' })
  ).not.toThrow();
  expect(made({ acknowledge: 'stored' })).toThrow("acknowledge 'stored' requires the log");
  expect(made({ acknowledge: 'never' })).toThrow("acknowledge 'never' is not one of received, safe, stored");
  expect(made({ whenFull: 'explode' })).toThrow("whenFull 'explode' is not one of slow, drop");
  for (const ttlS of [5, [1, 2], [0, 0, -1, 0, 0, 0, 0, 0, 0], 'x'])
    expect(made({ ttlS })).toThrow(/^ttlS must be/);
  for (const name of ['lingerUrgentMs', 'lingerMs', 'patienceMs', 'epoch']) {
    for (const value of [-1, NaN, 2 ** 60, '1', null]) {
      expect(made({ [name]: value })).toThrow(new RegExp(`^${name} must be a whole number`));
    }
  }
  const plain = new Engine({ workers: 1 }, ignore);
  expect(() => new StoreSource(plain.token, ignore)).toThrow('the engine was created without `log`');
  plain.close();
});

test('checks registered devices and adaptive batches', () => {
  const applied = (/** @type {any} */ spec) => () =>
    engine.applyPlan({ stages: [{ id: 1, next: [], messages: false, ...spec }] });
  const registered = (/** @type {any} */ devices) => applied({ kind: 'source', devices });
  expect(registered(undefined)).not.toThrow();
  expect(registered([{ device: 'pump-*', class: 1 }])).not.toThrow();
  for (const devices of [null, 'x', {}]) expect(registered(devices)).toThrow('devices must be an array');
  expect(registered([1])).toThrow('device must be an object');
  expect(registered([{ class: 1 }])).toThrow('device must be a string');
  expect(registered([{ device: 'a' }])).toThrow(/^class must be/);
  expect(registered([{ device: '', class: 1 }])).toThrow(
    'registered device 1: its id or pattern must be 1 to 256 bytes'
  );
  expect(registered(Array(10_000).fill({ device: 'a', class: 4 }))).not.toThrow();
  expect(registered(Array(10_001).fill({ device: 'a', class: 4 }))).toThrow('devices: more than 10000');
  expect(registered(Array(1025).fill({ device: '*', class: 4 }))).toThrow(
    'more than 1024 registered devices with * or ?'
  );

  const batch = (/** @type {any} */ options) =>
    applied({ ...usualPlan().stages[2], next: [], flush: 'adaptive', ...options });
  for (const gapMs of [undefined, 0, 1000]) expect(batch({ gapMs })).not.toThrow();
  for (const gapMs of [-1, 1001, 0.5, '5', null])
    expect(batch({ gapMs })).toThrow(/^gapMs must be a whole number/);
  expect(batch({ flush: 'limits' })).not.toThrow();
  expect(batch({ flush: 'never' })).toThrow(
    "flush 'never' is not one of limits, adaptive, balanced, thrifty"
  );
  for (const patienceMs of [undefined, [], [0, 0, 86400000], Array(9).fill(1)])
    expect(batch({ flush: 'thrifty', patienceMs })).not.toThrow();
  for (const patienceMs of [[86400001], [-1], [0.5], ['1']])
    expect(batch({ patienceMs })).toThrow(/^patienceMs must be a whole number/);
  expect(batch({ patienceMs: '0,1' })).toThrow('patienceMs must be an array');
  expect(batch({ patienceMs: Array(10).fill(1) })).toThrow('patienceMs must have at most nine elements');
  engine.applyPlan(usualPlan());
});

test('passes on an exception of a getter', () => {
  const trap = (/** @type {object} */ base, /** @type {string} */ name) =>
    Object.defineProperty({ ...base }, name, {
      get() {
        throw new RangeError(`trap ${name}`);
      }
    });
  const stages = {
    source: { id: 1, kind: 'source', next: [], messages: false, devices: [], parted: true, part: 'a' },
    priority: { id: 1, kind: 'priority', next: [], messages: false, rules: [], defaultClass: 0 },
    batch: { ...usualPlan().stages[2], next: [], flush: 'adaptive', gapMs: 5, patienceMs: [0] },
    uplink: { id: 1, kind: 'uplink', next: [], messages: false, uplink: 0 },
    tap: { id: 1, kind: 'tap', next: [], messages: false, everyN: 1, perSecond: 1 },
    split: { id: 1, kind: 'split', next: [], messages: false, parts: [], rates: [], budgets: [] }
  };
  for (const good of Object.values(stages)) {
    for (const name of Object.keys(good)) {
      expect(() => engine.applyPlan({ stages: [trap(good, name)] })).toThrow(new RangeError(`trap ${name}`));
    }
  }
  for (const name of ['topic', 'device', 'class']) {
    const rule = trap({ topic: 'a', device: 'b', class: 1 }, name);
    expect(() => engine.applyPlan({ stages: [{ ...stages.priority, rules: [rule] }] })).toThrow(
      `trap ${name}`
    );
  }
  for (const name of ['device', 'class']) {
    const devices = [trap({ device: 'b', class: 1 }, name)];
    expect(() => engine.applyPlan({ stages: [{ ...stages.source, devices }] })).toThrow(`trap ${name}`);
  }
  for (const list of ['next', 'rules']) {
    const items = trap([1], '0');
    const bad = Object.setPrototypeOf([0], items);
    expect(() => engine.applyPlan({ stages: [{ ...stages.priority, [list]: bad }] })).toThrow();
  }
  for (const name of [
    'workers',
    'cpus',
    'memoryMiB',
    'maxPacketBytes',
    'maxDevices',
    'messageRingMiB',
    'log',
    'acknowledge',
    'ttlS',
    'patienceMs'
  ]) {
    // prettier-ignore
    expect(() => new Engine(trap({}, name), ignore)).toThrow(new RangeError(`trap ${name}`));
  }
  for (const name of ['host', 'port', 'connectTimeoutMs']) {
    const options = trap({ host: '127.0.0.1', port: 0, connectTimeoutMs: 1 }, name);
    expect(() => engine.listen(1, options)).toThrow(new RangeError(`trap ${name}`));
  }
  expect(() => engine.applyPlan(trap({}, 'stages'))).toThrow('trap stages');
});

test('is safe with a getter that closes the engine', () => {
  const other = new Engine({ workers: 1 }, ignore);
  const plan = { get stages() { other.close(); return []; } }; // prettier-ignore
  expect(() => other.applyPlan(plan)).toThrow(expect.objectContaining({ code: 'ERR_SEGANET_CLOSED' }));
});

// Node-API defines classes with a V8 signature, which keeps one class's memory from another's methods.
test('accepts no other object as this', () => {
  const wrong = [
    undefined,
    null,
    1,
    'x',
    {},
    [],
    ignore,
    Object.create(Engine.prototype),
    Object.create(source),
    Engine.prototype
  ];
  const names = (/** @type {any} */ type) =>
    Object.getOwnPropertyNames(type.prototype).filter(
      (name) => !['constructor', 'token', 'epoch'].includes(name)
    );
  for (const [type, other] of /** @type {[any, any][]} */ ([
    [Engine, source],
    [UplinkSource, engine],
    [StoreSource, source]
  ])) {
    for (const name of names(type)) {
      for (const self of [...wrong, other, new Map(), Buffer.alloc(8)]) {
        if (name === 'close' && self === source) continue;
        expect(() => type.prototype[name].call(self, 1, 1, 1, 1)).toThrow('Illegal invocation');
      }
    }
  }
  expect(Reflect.get(Engine.prototype, 'token', source)).toBe(undefined);
  expect(() => {
    /** @type {any} */ (engine).token = 1;
  }).toThrow('read only');
  expect(() => UplinkSource.prototype.close.call(engine)).toThrow('Illegal invocation');
  expect(() => Engine.prototype.close.call(source)).toThrow('Illegal invocation');
});

test('accepts payloads and names at their limits', () => {
  const push = (
    /** @type {string} */ device,
    /** @type {string} */ topic,
    /** @type {Uint8Array} */ payload
  ) => engine.push(stage.ingest, device, topic, payload, 0, 0, 0, -1, 0);
  expect(push('\u00fc'.repeat(128), '', Buffer.alloc(0))).toBe(PushResult.OK);
  expect(push('\u00fc'.repeat(129), '', Buffer.alloc(0))).toBe(PushResult.TOO_LONG);
  expect(push('', 't', Buffer.alloc(0))).toBe(PushResult.TOO_LONG);
  expect(push('d', 'x'.repeat(65_536), Buffer.alloc(0))).toBe(PushResult.TOO_LONG);
  expect(push('d', 't', Buffer.alloc(262_145))).toBe(PushResult.TOO_LONG);
  expect(push('d', 't\0', Buffer.alloc(0))).toBe(PushResult.ODD_TOPIC);
  expect(push('d', '$SYS/x', Buffer.alloc(0))).toBe(PushResult.ODD_TOPIC);
  expect(push('$d', 't', Buffer.alloc(0))).toBe(PushResult.ODD_TOPIC);
  expect(push('\ud800', 't', new Uint8Array(new SharedArrayBuffer(8), 3, 2))).toBe(PushResult.OK);
  expect(push('d', 't', detached())).toBe(PushResult.OK);
  expect(engine.push(99, 'd', 't', Buffer.alloc(0), 0, 0, 0, -1, 0)).toBe(PushResult.NO_STAGE);
});
