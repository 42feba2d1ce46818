'use strict';

// Measures the cost of a PUBLISH for the uplink thread: QoS 1 over TLS 1.3 to a mosquitto on loopback.
//   node bench/questions/uplink-publish.js [seconds]
// Columns: packets per second at full speed, and CPU µs per packet of this thread (user + system, including the reading
// of PUBACKs). The last rows give the same for mqtt.js's own publish().

const mqtt = require('mqtt');
const native = require('../../native');
const { Broker } = require('../harness/broker');
const { Feeder } = require('../../nodes/lib/uplink/sending/feeder');
const { Output } = require('../../nodes/lib/uplink/sending/output');
const { Session } = require('../../nodes/lib/uplink/session/session');
const { InFlightWindow } = require('../../nodes/lib/uplink/sending/in-flight-window');
const { checkOptions } = require('../../nodes/lib/settings/uplink-options');
const { Pacer } = require('../../nodes/lib/uplink/sending/pacer');
const { checkStage, compileStage } = require('../../nodes/lib/uplink/sending/uplink-stage');
const { MemorySource } = require('../harness/memory-source');

const SECONDS = Number(process.argv[2] ?? 3);
const INFLIGHT = 1024;
const EPOCH = Date.now() * 1024;
/** Nobody subscribes to what is published here. */
const NO_SUBSCRIBER = 'PUBACK_16';

/** Returns an engine that is never empty: it always has the same batch. */
function endless(batch) {
  const memory = new MemorySource();
  memory.push(batch);
  const { bytes, topic = '', device = '', kind } = memory.lanes[3][0];
  let id = 0;
  return {
    best: () => 3,
    bestBacklog: () => 0,
    oldestMs: () => -1,
    connected() {},
    retryMs: () => -1,
    demand() {},
    setBatchBytes() {},
    take(into, meta) {
      if (bytes.length > into.length) return -(bytes.length + 2);
      bytes.copy(into);
      meta.fill(0);
      meta[0] = ++id;
      meta[1] = 3;
      meta[3] = 1;
      meta[4] = kind;
      meta[10] = kind === 0 ? topic.length : 0;
      meta[11] = kind === 0 ? device.length : 0;
      meta[12] = EPOCH;
      meta[13] = id;
      return bytes.length;
    },
    release() {},
    close() {}
  };
}

async function measureFeeder(broker, batch, perSecond) {
  const options = checkOptions(
    { url: broker.url, tls: { ca: broker.ca }, gateway: 'bench', groups: 'all', inflight: INFLIGHT },
    ''
  );
  let scheduled = false;
  const schedule = () => {
    if (scheduled) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      feeder.pump();
    });
  };
  const output = new Output((ids) => feeder.written(ids), options.sockets[0].notSentLowat);
  const feeder = new Feeder({
    native,
    window: new InFlightWindow(native, INFLIGHT),
    output,
    pacer: new Pacer({ rate: 0, share: 0.5, now: () => performance.now() }),
    schedule,
    delay: setTimeout,
    now: () => performance.now(),
    problem: (code, reason) => code !== NO_SUBSCRIBER && console.error(code, reason)
  });
  feeder.setStages(new Map([[1, compileStage(checkStage({}), 'gw1')]]));
  const source = endless(batch);
  if (perSecond) pace(source, batch.records?.length ?? 1, perSecond, schedule);
  feeder.attach(source);
  let session;
  await new Promise((resolve) => {
    const handlers = {
      onState: (state, why) => state !== 'connecting' && why && console.error(why.reason),
      onConnected(link) {
        feeder.connected(link, (bytes, done) => session.write(bytes, done));
        resolve(undefined);
      },
      onDisconnected: () => feeder.disconnected(),
      onPuback: (id, code) => feeder.sender.acknowledge(id, code)
    };
    session = new Session(options, handlers, native);
    session.start();
  });
  const figures = await measure(() => feeder.sender.acknowledged);
  source.best = () => 0;
  await new Promise((resolve) => session.stop(resolve));
  return figures;
}

/** Makes a batch ready at a fixed rate, as devices do. */
function pace(source, records, perSecond, doorbell) {
  let ready = 0;
  const began = performance.now();
  let made = 0;
  source.best = () => (ready > 0 ? 3 : 0);
  const { take } = source;
  source.take = (into, meta) => {
    const n = take(into, meta);
    if (n > 0) ready--;
    return n;
  };
  setInterval(() => {
    const due = Math.floor(((performance.now() - began) / 1000) * (perSecond / records));
    ready += due - made;
    made = due;
    doorbell();
  }, 1).unref();
}

async function measureMqttJs(broker, topic, payload) {
  const client = await mqtt.connectAsync(broker.url, { ca: broker.ca, clean: true, protocolVersion: 5 });
  client.stream.setNoDelay(true);
  let acknowledged = 0;
  let stop = false;
  const done = () => {
    acknowledged++;
    if (!stop) client.publish(topic, payload, { qos: 1 }, done);
  };
  for (let i = 0; i < INFLIGHT; i++) client.publish(topic, payload, { qos: 1 }, done);
  const figures = await measure(() => acknowledged);
  stop = true;
  await client.endAsync();
  return figures;
}

async function measure(count) {
  const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  await wait(1000);
  const [cpu, from, at] = [process.threadCpuUsage(), count(), performance.now()];
  await wait(SECONDS * 1000);
  const used = process.threadCpuUsage(cpu);
  const packets = count() - from;
  const perSecond = Math.round((packets / (performance.now() - at)) * 1000);
  return `${String(perSecond).padStart(7)} packets/s  ${((used.user + used.system) / packets).toFixed(2)} µs CPU per packet`;
}

async function main() {
  const broker = await Broker.start({ log: false });
  const payload = Buffer.alloc(100, 'x');
  const record = { device: 'device-000123', topic: 'site/line4/sensor-000123/temperature', payload };
  const rows = [
    ['single records of 100 B', { kind: 0, ...record }],
    ['records: batches of 10 x 100 B', { records: Array.from({ length: 10 }, () => record) }],
    ['envelopes of 1 KiB', { kind: 1, payload: Buffer.from(`{"d":"${'x'.repeat(1014)}"}\n`) }],
    ['envelopes of 16 KiB', { kind: 1, payload: Buffer.from(`{"d":"${'x'.repeat(16374)}"}\n`) }]
  ];
  for (const [name, batch] of rows) console.log(name.padEnd(40), await measureFeeder(broker, batch, 0));
  console.log(
    'records: 10 000/s in batches of 10'.padEnd(40),
    await measureFeeder(broker, rows[1][1], 10000)
  );
  console.log('envelopes of 1 KiB: 2 500/s'.padEnd(40), await measureFeeder(broker, rows[2][1], 2500));
  console.log('mqtt.js publish(), 100 B'.padEnd(40), await measureMqttJs(broker, record.topic, payload));
  console.log(
    'mqtt.js publish(), 1 KiB'.padEnd(40),
    await measureMqttJs(broker, record.topic, Buffer.alloc(1024))
  );
  await broker.remove();
  process.exit(0);
}

main();
