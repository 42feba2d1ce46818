'use strict';

// UplinkConnection: the owner of its descriptor, the state after close(), and threads that end at any moment.

const { once } = require('node:events');
const fs = require('node:fs');
const net = require('node:net');
const { Worker } = require('node:worker_threads');
const mqttPacket = require('mqtt-packet');
const {
  Engine,
  UplinkSource,
  UplinkConnection,
  PublishWriter,
  InFlightWindow,
  openSocket,
  waitConnect,
  closeSocket
} = require('../../native');
const { stage, usualPlan, until } = require('./support/addon');

const wireWorker = require.resolve('./children/connection-worker');

/** @param {number} fd */
const isOpen = (fd) => fs.existsSync(`/proc/self/fd/${fd}`);
const byClass = Array.from({ length: 9 }, () => [Buffer.from('t')]);
const spec = Object.freeze({ order: 0, maxPacket: 1 << 20, maxUnsent: 65536 });
const stages = [
  {
    id: stage.uplink,
    topic: byClass,
    recordTopic: byClass,
    qos: /** @type {const} */ (1),
    keyRaw: Buffer.from('g'),
    keyJson: Buffer.from('g'),
    history: /** @type {const} */ ('none'),
    historySuffix: Buffer.alloc(0)
  }
];

/** Enters the express path with a window of its own. */
function enter(wire, source, options = spec) {
  const writer = new PublishWriter();
  writer.setStages(stages);
  const window = new InFlightWindow(16, 0);
  wire.enter(source, writer, window, options);
  return window;
}
/** @returns {import('../../native').UplinkWireHandlers} */
const handlers = () => ({
  onOpen() {},
  onBytes() {},
  onPubacks() {},
  onDrain() {},
  onEnd() {},
  onLeave() {}
});

/** A broker that only reads PUBLISH. */
let acknowledges = true;
/** @type {net.Server} */
let server;
let port = 0;
beforeAll(async () => {
  server = net.createServer((peer) => {
    const parser = mqttPacket.parser({ protocolVersion: 4 });
    parser.on('packet', ({ messageId = 0 }) => {
      if (acknowledges) peer.write(Buffer.from([0x40, 2, messageId >> 8, messageId & 255]));
    });
    peer.on('data', (bytes) => parser.parse(bytes)).on('error', () => {});
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ({ port } = /** @type {net.AddressInfo} */ (server.address()));
});
afterAll(() => server.close());

async function connect() {
  const { fd } = openSocket('127.0.0.1', port, {});
  await waitConnect(fd, 5000);
  return fd;
}

/** @param {Partial<import('../../native').UplinkWireHandlers>} [own] */
async function openWire(own) {
  const fd = await connect();
  /** @type {UplinkConnection} */
  let wire;
  await new Promise((resolve) => {
    wire = new UplinkConnection(fd, null, { ...handlers(), ...own, onOpen: () => resolve(undefined) });
  });
  return /** @type {any} */ (wire);
}

function makeEngine() {
  const engine = new Engine({ workers: 1, memoryMiB: 16 }, () => {});
  engine.applyPlan(usualPlan());
  return engine;
}

/** An alarm, which leaves at once. @param {Engine} engine */
const alarm = (engine) => engine.push(stage.ingest, 'd', 't', Buffer.from('1'), 1, 0, 0, -1, 0) === 0;

test('leaves the descriptor to its caller when a constructor throws', async () => {
  const fd = await connect();
  const thrower = Object.defineProperty(handlers(), 'onPubacks', {
    get() {
      throw new Error('of the getter');
    }
  });
  const wrong = /** @type {any[][]} */ ([
    [fd, null],
    [fd, 'yes', handlers()],
    [fd, undefined, handlers()],
    [fd, { minVersion: 'TLSv1.1' }, handlers()],
    [fd, { minVersion: 'TLSv1.2', ca: 'no certificate' }, handlers()],
    [fd, null, thrower]
  ]);
  for (const args of wrong) {
    expect(() => new UplinkConnection(.../** @type {[any, any, any]} */ (args))).toThrow();
    expect(isOpen(fd)).toBe(true);
  }
  closeSocket(fd);
  const file = fs.openSync(__filename, 'r');
  expect(() => new UplinkConnection(file, null, handlers())).toThrow('cannot be waited for');
  expect(isOpen(file)).toBe(true);
  fs.closeSync(file);
});

test('closes the descriptor in close(), also twice', async () => {
  const wire = await openWire();
  const { fd } = wire.describe();
  wire.close();
  wire.close();
  expect(wire.describe()).toBe(null);
  await until(() => !isOpen(fd), 'the descriptor');
});

test('allows in-flight batches to be taken over after close()', async () => {
  acknowledges = false;
  const engine = makeEngine();
  const source = new UplinkSource(engine.token, 0, () => {});
  const wire = await openWire();
  source.connected(true);
  const window = enter(wire, source);
  expect(alarm(engine)).toBe(true);
  const numbers = new Float64Array(13);
  await until(() => {
    wire.numbers(numbers);
    return numbers[8] === 1;
  }, 'a packet in flight');
  wire.close();
  wire.numbers(numbers);
  expect([...numbers.subarray(0, 4)]).toEqual([1, 0, 0, 1]);
  const [id, batch, bytes] = wire.leave(5000);
  expect([id, bytes > 0]).toEqual([1, true]);
  // It stays in flight, with its time by the clock of leave().
  expect([...window.ids()]).toEqual([1]);
  expect(window.sentAt(1)).toBeLessThanOrEqual(5000);
  expect(window.sentAt(1)).toBeGreaterThan(0);
  const next = await openWire();
  expect(() => next.enter(source, new PublishWriter(), window, spec)).toThrow('packets are in flight');
  next.close();
  expect(source.look(batch, Buffer.alloc(65536), new Float64Array(16))).toBeGreaterThan(0);
  expect(wire.leave(0)).toEqual([]);
  expect(source.release(batch)).toBe(true);
  source.close();
  engine.close();
  acknowledges = true;
});

test('carries a connection on a source, and a closed source ends it', async () => {
  const engine = makeEngine();
  const source = new UplinkSource(engine.token, 0, () => {});
  const [first, second] = [await openWire(), await openWire()];
  enter(first, source);
  expect(() => enter(second, source)).toThrow('already on the express path');
  first.close();
  expect(() => enter(second, source)).toThrow('already on the express path');
  first.leave(0);
  enter(second, source);
  source.close();
  expect(second.leave(0)).toEqual([]);
  expect(() => enter(second, source)).toThrow('the source is closed');
  second.close();
  engine.close();
});

test('propagates the exception of any getter', async () => {
  const engine = makeEngine();
  const source = new UplinkSource(engine.token, 0, () => {});
  const wire = await openWire();
  /** @param {any} options @param {(copy: any) => any} place @param {string | number} key */
  const spoilt = (options, place, key) => {
    const copy = structuredClone(options);
    Object.defineProperty(place(copy), key, {
      get() {
        throw new Error('of the getter');
      }
    });
    return copy;
  };
  for (const key of Object.keys(spec)) {
    const wrong = spoilt(spec, (copy) => copy, key);
    expect(() => enter(wire, source, wrong)).toThrow('of the getter');
  }
  const writer = new PublishWriter();
  const lists = [
    ...Object.keys(stages[0]).map((key) => spoilt(stages, (copy) => copy[0], key)),
    spoilt(stages, (copy) => copy, 0),
    spoilt(stages, (copy) => copy[0].topic, 3),
    spoilt(stages, (copy) => (copy[0].topic[3] = [0]), 0)
  ];
  for (const wrong of lists) expect(() => writer.setStages(wrong)).toThrow('of the getter');
  wire.close();
  source.close();
  engine.close();
});

test('enters only when it is open', async () => {
  const engine = makeEngine();
  const source = new UplinkSource(engine.token, 0, () => {});
  const wire = new UplinkConnection(await connect(), null, handlers());
  expect(() => enter(wire, source)).toThrow('the connection or the source is closed');
  wire.close();
  source.close();
  engine.close();
});

test.each([false, true])(
  'loses nothing when threads are terminated at any moment (all sent to JavaScript: %p)',
  async (tellsAll) => {
    const engine = makeEngine();
    const before = fs.readdirSync('/proc/self/fd').length;
    let pushed = 0;
    const traffic = setInterval(() => {
      for (let i = 0; i < 20; i++) if (alarm(engine)) pushed++;
    }, 1);
    for (let i = 0; i < 25; i++) {
      const worker = new Worker(wireWorker, {
        workerData: { token: engine.token, port, spec, stages, tellsAll }
      });
      await once(worker, 'message');
      await new Promise((resolve) => setTimeout(resolve, i % 5));
      await worker.terminate();
    }
    clearInterval(traffic);
    const source = new UplinkSource(engine.token, 0, () => {});
    const wire = await openWire({});
    source.connected(true);
    enter(wire, source);
    await until(() => engine.stats().counters.recordsDelivered === pushed, 'all deliveries');
    wire.close();
    wire.leave(0);
    source.close();
    engine.close();
    await until(() => fs.readdirSync('/proc/self/fd').length <= before + 1, 'the descriptors');
  },
  60_000
);
