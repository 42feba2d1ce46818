'use strict';
// A session that is a Sparkplug edge node: births, data by device, and what is sent again.

const mqttPacket = require('mqtt-packet');
const { FeederBench } = require('../../fixtures/uplink/feeder-bench');
const { readPayload } = require('../../../nodes/lib/base/sparkplug-payload');
const { EdgeNode } = require('../../../nodes/lib/uplink/sparkplug/edge-node');
const { checkOptions } = require('../../../nodes/lib/settings/uplink-options');

const ENVELOPE = 1;
const line = (/** @type {string} */ d, /** @type {number} */ s, p = 1) =>
  `${JSON.stringify({ d, t: 't', ts: 1763712000000 + s, s, c: 3, p })}\n`;

class Bench extends FeederBench {
  constructor(/** @type {any} */ options = {}) {
    super({ qos: 1, ...options });
    this.setStage(1, options.qos ?? 1, { format: 'sparkplug' });
    /** @type {Buffer[]} */
    this.written = [];
    this.edgeNode = new EdgeNode({
      group: 'plant',
      node: 'gw',
      isV5: this.link.protocolVersion === 5,
      feeder: this.feeder,
      write: (bytes) => this.written.push(bytes),
      problem: (code) => this.problems.push(code)
    });
  }

  connect() {
    this.bdSeq = readPayload(this.edgeNode.will().payload).metrics[0].value;
    this.edgeNode.connected(null, this.link.maximumPacketSize);
    return super.connect();
  }

  /** Type and device of each packet since the last call, after their numbers are checked. */
  messages() {
    return this.packets.splice(0).map((/** @type {any} */ packet) => {
      const [, , type, , device] = packet.topic.split('/');
      if (packet.qos > 0) this.ids.push(packet.messageId);
      this.byId.set(packet.messageId, packet);
      return [type, device, readPayload(packet.payload).seq].filter((part) => part !== undefined).join(' ');
    });
  }
}

const command = (/** @type {boolean} */ wanted) => {
  const name = Buffer.from('Node Control/Rebirth');
  const metric = Buffer.concat([Buffer.from([0x0a, name.length]), name, Buffer.from([0x70, wanted ? 1 : 0])]);
  return Buffer.concat([Buffer.from([0x12, metric.length]), metric]);
};
const ncmd = (/** @type {Buffer} */ payload, more = {}) =>
  /** @type {any} */ ({ topic: 'spBv1.0/plant/NCMD/gw', payload, qos: 0, ...more });

/** @param {string} payload @param {object} [more] */
const envelope = (payload, more = {}) => ({
  kind: /** @type {1} */ (ENVELOPE),
  class: 3,
  payload,
  count: payload.split('\n').length - 1,
  ...more
});

test('births precede the data, and data of several devices is divided', () => {
  const bench = new Bench();
  bench.source.push(envelope(line('a', 1) + line('b', 2) + line('a', 3)));
  expect(bench.connect().messages()).toEqual([
    'NBIRTH 0',
    'DBIRTH a 1',
    'DDATA a 2',
    'DBIRTH b 3',
    'DDATA b 4'
  ]);
  bench.ack(1);
  expect(bench.source.released).toEqual([]);
  bench.ack();
  expect(bench.source.released).toEqual([{ id: 1 }]);
  bench.source.push(envelope(line('b', 4), { class: 1 }));
  expect(bench.pump().messages()).toEqual(['DDATA b 5']);
});

test('an edge node is born without records', () => {
  const bench = new Bench();
  expect(bench.connect().messages()).toEqual(['NBIRTH 0']);
});

test('in the next session all is born again, and what has no PUBACK is sent again as new data', () => {
  const bench = new Bench();
  bench.source.push(envelope(line('a', 1) + line('b', 2)));
  bench.connect().messages();
  const first = bench.bdSeq;
  bench.ack(1);
  bench.feeder.disconnected();
  bench.connect();
  expect(bench.bdSeq).toBe((Number(first) + 1) % 256);
  expect(readPayload(bench.packets[0].payload).metrics[0]).toMatchObject({
    name: 'bdSeq',
    value: bench.bdSeq
  });
  expect(bench.packets.every(({ dup }) => !dup)).toBe(true);
  expect(bench.messages()).toEqual(['NBIRTH 0', 'DBIRTH b 1', 'DDATA b 2', 'DBIRTH a 3']);
  bench.ack();
  expect(bench.source.released).toEqual([{ id: 1 }]);
});

test('sequence numbers return to 0 after 255', () => {
  const bench = new Bench({ inflight: 1000 });
  bench.source.push(envelope(Array.from({ length: 300 }, (_, i) => line(`d${i}`, i)).join('')));
  const numbers = bench
    .connect()
    .messages()
    .map((each) => Number(each.split(' ').at(-1)));
  expect(numbers).toEqual(Array.from({ length: 601 }, (_, i) => i % 256));
});

test('a host gets all births when it asks for them', () => {
  const bench = new Bench();
  bench.source.push(envelope(line('a', 1) + line('b', 2)));
  bench.connect().messages();
  bench.ack();
  let taken = 0;
  for (const each of [
    ...[
      ncmd(command(false)),
      ncmd(Buffer.from([0xff])),
      ncmd(command(true), { topic: 'spBv1.0/plant/NCMD/x' })
    ],
    ncmd(Buffer.alloc(70000))
  ])
    bench.edgeNode.onPublish(each, () => taken++);
  expect(bench.pump().messages()).toEqual([]);
  bench.edgeNode.onPublish(ncmd(command(true), { qos: 1, messageId: 258 }), () => taken++);
  expect(bench.written).toEqual([Buffer.from([0x40, 2, 1, 2])]);
  expect(bench.pump().messages()).toEqual(['NBIRTH 0', 'DBIRTH b 1', 'DBIRTH a 2']);
  expect(taken).toBe(5);
});

test('a flood of rebirth commands leads to a rebirth each five seconds, and the last command is answered', () => {
  const bench = new Bench();
  bench.source.push(envelope(line('a', 1)));
  bench.connect().messages();
  bench.ack();
  const flood = () => {
    for (let i = 0; i < 1000; i++) {
      bench.edgeNode.onPublish(ncmd(command(true)), () => {});
      bench.pump();
    }
    return bench.messages();
  };
  const births = ['NBIRTH 0', 'DBIRTH a 1'];
  expect(flood()).toEqual(births);
  expect(flood()).toEqual([]);
  expect(bench.later(4999).messages()).toEqual([]);
  expect(bench.later(1).messages()).toEqual(births);
  expect(bench.later(60000).messages()).toEqual([]);
  expect(flood()).toEqual(births);
  expect(flood()).toEqual([]);
  // The next session has its births anyway.
  bench.feeder.disconnected();
  expect(bench.connect().messages()).toEqual(births);
  expect(bench.later(60000).messages()).toEqual([]);
});

test('a rebirth command while births are sent is answered behind them', () => {
  const bench = new Bench({ outputLimit: 500 });
  bench.source.push(envelope(Array.from({ length: 10 }, (_, i) => line(`d${i}`, i)).join('')));
  const drain = () => {
    const all = [];
    for (let i = 0; i < 40; i++) {
      bench.writes.shift()?.();
      all.push(...bench.pump().messages());
    }
    return all;
  };
  bench.connect();
  drain();
  bench.ack();
  bench.feeder.disconnected();
  bench.connect();
  expect(bench.messages().length).toBeLessThan(6);
  bench.edgeNode.onPublish(ncmd(command(true)), () => {});
  expect(drain()).not.toContain('NBIRTH 0');
  bench.later(5000);
  const again = drain();
  expect(again[0]).toBe('NBIRTH 0');
  expect(again).toHaveLength(11);
});

test('a subscription that the end of the connection cut off is not a refusal', () => {
  const bench = new Bench();
  /** @type {any} */
  let answer;
  const client = /** @type {any} */ ({
    subscribe: (/** @type {unknown} */ _, /** @type {unknown} */ __, /** @type {unknown} */ done) =>
      (answer = done)
  });
  bench.edgeNode.connected(client, 0);
  answer(new Error('Connection closed'), []);
  expect(bench.problems).toEqual([]);
  answer(new Error('Subscribe error: Not authorized'), [], { granted: [0x87] });
  expect(bench.problems).toEqual(['NCMD']);
});

test('births wait while the stream is full', () => {
  const bench = new Bench({ outputLimit: 500 });
  bench.source.push(envelope(Array.from({ length: 10 }, (_, i) => line(`d${i}`, i)).join('')));
  bench.connect();
  while (bench.writes.length > 0) bench.writes.shift()() ?? bench.pump();
  bench.messages();
  bench.ack();
  bench.feeder.disconnected();
  bench.connect();
  const first = bench.messages();
  expect(first[0]).toBe('NBIRTH 0');
  expect(first.length).toBeLessThan(6);
  const all = [...first];
  for (let i = 0; i < 20 && bench.writes.length > 0; i++) {
    bench.writes.shift()();
    all.push(...bench.pump().messages());
  }
  expect(all).toHaveLength(11);
});

test("births keep the broker's Maximum Packet Size, and a record whose metrics do not fit is a line", () => {
  const maximumPacketSize = 3000;
  const bench = new Bench({ maximumPacketSize });
  const p = Object.fromEntries(Array.from({ length: 10 }, (_, i) => ['x'.repeat(200) + i, i]));
  bench.source.push(envelope(line('a', 1, /** @type {any} */ (p)) + line('b', 2)));
  bench.connect();
  const born = bench.packets.filter(({ topic }) => topic.includes('/DBIRTH/'));
  expect(born.map(({ payload }) => readPayload(payload).metrics.map(({ name }) => name))).toEqual([
    ['Gateway/Line', 'Gateway/Record'],
    ['t', 'Gateway/Record']
  ]);
  for (const { payload } of bench.packets) expect(payload.length).toBeLessThan(maximumPacketSize);
  bench.messages();
  bench.ack();
  expect(bench.source.released).toEqual([{ id: 1 }]);
});

test('records of the log are marked as historical', () => {
  const bench = new Bench();
  bench.source.push(envelope(line('a', 1), { backlog: true }));
  bench.connect();
  const { metrics } = readPayload(bench.packets.at(-1).payload);
  expect(metrics.map(({ isHistorical }) => isHistorical)).toEqual([true, true]);
});

test('a refused packet names the lines of its device', () => {
  const bench = new Bench({ protocolVersion: 5 });
  bench.source.push(envelope(line('a', 1) + line('b', 2) + line('a', 3) + line('b', 4)));
  bench.connect().messages();
  for (let i = 0; i < 40 && !bench.source.released.some(({ id }) => id === 1); i++) {
    // The broker takes others, so the refusal is about this one.
    bench.source.push(envelope(line('a', 10 + i)));
    bench.answer(({ topic }) => (topic.endsWith('/b') ? 0x87 : 0));
    bench.later(600000).messages();
  }
  expect(bench.source.released.find(({ id }) => id === 1)).toMatchObject({ refused: [1, 3] });
});

test('QoS 0 data is done when it is written', () => {
  const bench = new Bench({ qos: 0 });
  bench.source.push(envelope(line('a', 1) + line('b', 2)));
  bench.connect();
  expect(bench.packets.map(({ qos }) => qos)).toEqual([0, 0, 0, 0, 0]);
  for (const done of bench.writes) done();
  expect(bench.source.released).toEqual([{ id: 1 }]);
});

test('the death is published before a DISCONNECT, because the broker publishes no will then', () => {
  const bench = new Bench({ protocolVersion: 4 });
  bench.connect();
  bench.edgeNode.leave();
  /** @type {any} */
  let packet;
  const parser = mqttPacket.parser({ protocolVersion: 4 });
  parser.on('packet', (each) => (packet = each));
  parser.parse(bench.written[0]);
  expect(packet).toMatchObject({ topic: 'spBv1.0/plant/NDEATH/gw', qos: 1, retain: false });
  expect(readPayload(packet.payload).metrics).toMatchObject([{ name: 'bdSeq', value: bench.bdSeq }]);
});

test('each session is an edge node of its own', () => {
  const url = 'mqtt://127.0.0.1:1883';
  const of = (/** @type {object} */ more) =>
    checkOptions({ url, gateway: 'gw1', ...more }, 'native').edgeNodes;
  expect(of({})).toEqual([]);
  expect(of({ sparkplugGroup: 'plant' })).toEqual([
    { group: 'plant', node: 'gw1-1' },
    { group: 'plant', node: 'gw1-2' }
  ]);
  expect(of({ sparkplugGroup: 'plant', sparkplugNode: 'edge', groups: 'all' })).toEqual([
    { group: 'plant', node: 'edge' }
  ]);
  expect(() => of({ sparkplugGroup: 'a/b' })).toThrow(
    "The Sparkplug group id 'a/b' must have 1 to 128 characters"
  );
  expect(() => of({ sparkplugGroup: 'g', sparkplugNode: 'a+b' })).toThrow("The Sparkplug edge node id 'a+b'");
});
