'use strict';
// The instrument is checked before it is trusted: planted faults must show up in its counts.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const mqtt = require('mqtt');
const { build } = require('../../../bench/harness/build');
const { compareStreams } = require('../../../bench/harness/compare');
const { readSamples } = require('../../../bench/stats/latency');
const { Child } = require('../../../bench/harness/child');
const { startCloud } = require('../../../bench/harness/cloud');
const { acknowledge, runLoad: run, serve } = require('../../fixtures/uplink/load-server');
const { eventually } = require('../../../bench/harness/net');
const { needs } = require('../../../bench/harness/tools');

const { describe } = needs('mosquitto', 'c++');

jest.setTimeout(60000);

/** @param {number} device @param {number} seq @param {{kind?: number, us?: number}} [more] */
function payload(device, seq, { kind = 0, us = Date.now() * 1000 } = {}) {
  const id = `dev-${String(device).padStart(5, '0')}`;
  return { topic: `d/${id}/${kind ? 'alarm' : 't'}`, body: JSON.stringify({ device: id, seq, k: kind, us }) };
}

/**
 * @param {number} device
 * @param {number} seq
 * @param {{kind?: number, us?: number, cls?: number, key?: string}} [more]
 */
function line(device, seq, more = {}) {
  const { topic, body } = payload(device, seq, more);
  const id = topic.split('/')[1];
  const cls = more.cls || (more.kind ? 1 : 3);
  const key = more.key === undefined ? '' : `"k":"${more.key}",`;
  return `{${key}"d":"${id}","t":"${topic}","ts":${Date.now()},"s":${seq},"c":${cls},"p":${body}}\n`;
}

describe('the sink', () => {
  /** @type {import('../../../bench/harness/cloud').Cloud} */
  let cloud;
  /** @type {mqtt.MqttClient} */
  let publisher;
  beforeAll(async () => {
    cloud = await startCloud();
    publisher = await mqtt.connectAsync(`mqtt://127.0.0.1:${cloud.plainPort}`, { clientId: 'publisher' });
  });
  afterAll(async () => {
    if (publisher) await publisher.endAsync();
    if (cloud) await cloud.close();
  });

  /** @param {() => Promise<void>} publish @param {number} records @param {string[]} [more] options */
  async function receive(publish, records, more = []) {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-sink-'));
    const file = path.join(folder, 'sink.json');
    const samples = path.join(folder, 'samples');
    const port = String(cloud.plainPort);
    const sink = new Child(build('sink'), ['--port', port, '--out', file, '--samples', samples, ...more]);
    try {
      await sink.until((output) => output.includes('"ready"'));
      await publish();
      await sink.until(() => sink.jsonLines().some((found) => found.records === records));
      await sink.stop();
      return { ...JSON.parse(fs.readFileSync(file, 'utf8')), samples: readSamples(samples) };
    } finally {
      await sink.stop();
      fs.rmSync(folder, { recursive: true });
    }
  }

  /** @param {{topic: string, body: string}} record */
  const send = ({ topic, body }) => publisher.publishAsync(topic, body, { qos: 1 });

  /** An envelope. @param {string} text @param {string} [topic] */
  const batch = (text, topic = 'gw/g/normal') => publisher.publishAsync(topic, text, { qos: 1 });

  test('counts a planted loss, a swap and a duplicate in single payloads', async () => {
    const result = await receive(async () => {
      for (const seq of [0, 1, 3, 2, 4, 4, 6]) await send(payload(7, seq)); // 5 is lost
      for (const seq of [0, 1]) await send(payload(7, seq, { kind: 1 })); // a stream of its own
      await send(payload(8, 1)); // 0 is lost
    }, 10);
    expect(result).toMatchObject({ records: 10, unique: 9, duplicates: 1, outOfOrder: 1, badRecords: 0 });
    expect(result.streams).toEqual([
      { device: 7, kind: 0, next: 7, missing: [[5, 5]] },
      { device: 7, kind: 1, next: 2, missing: [] },
      { device: 8, kind: 0, next: 2, missing: [[0, 0]] }
    ]);
  });

  test('counts the same in envelopes, and mixed classes, bad lines and wrong topics', async () => {
    const result = await receive(async () => {
      await batch(line(1, 0) + line(2, 0) + line(1, 2));
      await batch(line(1, 1) + line(1, 2)); // 1 after 2, and 2 again
      await batch(line(3, 0) + line(3, 0, { kind: 1 })); // an alarm inside a batch of normal records
      await batch(line(4, 0));
      await batch(`${line(4, 1)}not json\n{"d":"dev-00004"}\n${line(4, 2).trimEnd()}`); // no line feed: cut off
      await batch(line(5, 0).replace('d/dev-00005/t', 'd/dev-00006/t'));
    }, 10);
    expect(result).toMatchObject({
      envelopes: 6,
      singleEnvelopes: 2,
      mixedEnvelopes: 1,
      duplicates: 1,
      outOfOrder: 1,
      badLines: 3,
      topicMismatches: 1
    });
    expect(result.batchRecords.max).toBe(3);
  });

  test('counts repeats under the same key, and the records that a receiver would lose by it', async () => {
    const result = await receive(async () => {
      const first = line(1, 0, { key: 'gw/mdl3k2x1q/3/7' }) + line(1, 1);
      await batch(first);
      await batch(first); // delivered again
      await batch(line(1, 1, { key: 'gw/mdl3k2x1q/3/8' })); // again, but the key does not show it
      await batch(line(1, 2, { key: 'gw/mdl3k2x1q/3/7' })); // another record under an old key
      await batch(line(1, 3, { key: 'site/7/mdl3k2x1q/3/9.2' })); // part of an envelope that was cut to fit
      await batch(line(1, 4)); // without a key
    }, 8);
    expect(result).toMatchObject({ records: 8, unique: 5, duplicates: 3, duplicatesSameKey: 2 });
    expect(result).toMatchObject({ envelopes: 6, keys: 3, repeatedKeys: 2, keylessEnvelopes: 1 });
    expect(result).toMatchObject({ newUnderOldKey: 1, badKeys: 0, badLines: 0 });
  });

  test('counts malformed keys', async () => {
    const result = await receive(async () => {
      await batch(line(2, 0) + line(2, 1, { key: 'gw/e/3/1' })); // not in the first line
      await batch(line(2, 1, { key: 'gw/e/1/2' })); // of another class
      for (const key of ['3/3', '/3/4', 'gw//3/5', 'gw/e/3/', 'gw/e/3/x']) await batch(line(2, 2, { key }));
      await batch(`{"k":"gw/e/3/6\n`); // cut off
      await batch(`{"k":"gw/e/3/7"}\n${line(2, 3)}`);
    }, 8);
    expect(result).toMatchObject({ badLines: 3, badKeys: 6, keylessEnvelopes: 1, unique: 4 });
  });

  test('checks the order of live data and of the backlog separately', async () => {
    const history = 'gw/g/normal/history';
    const result = await receive(
      async () => {
        await batch(line(1, 5) + line(1, 6));
        await batch(line(1, 0) + line(1, 1), history);
        await batch(line(1, 7));
        await batch(line(1, 3) + line(1, 2), history); // a swap in the backlog
        await batch(line(1, 9) + line(1, 8)); // and one in live data; 4 is lost
        await publisher.publishAsync('d/dev-00002/t/history', payload(2, 0).body, { qos: 1 });
      },
      10,
      ['--history-suffix', '/history']
    );
    expect(result).toMatchObject({ unique: 10, historical: 5, outOfOrder: 2, topicMismatches: 0 });
    expect(result.streams[0].missing).toEqual([[4, 4]]);
    expect(result.historicalLatencyUs.normal.count).toBe(5);
    expect(result.latencyUs.normal.count).toBe(5);
  });

  test('keeps the times of each alarm and of some normal records', async () => {
    const us = Date.now() * 1000 - 2500;
    const result = await receive(
      async () => {
        for (const seq of [0, 1, 2, 3]) await send(payload(3, seq));
        await send(payload(3, 0, { kind: 1, us }));
        await publisher.publishAsync('d/dev-00003/alarm/history', payload(3, 1, { kind: 1 }).body, {
          qos: 1
        });
      },
      6,
      ['--sample-every', '2', '--history-suffix', '/history']
    );
    expect(result.samples.map((/** @type {any} */ { alarm, historical }) => [alarm, historical])).toEqual([
      [false, false],
      [false, false],
      [true, false],
      [true, true]
    ]);
    expect(result.samples[2].intendedMs).toBe(us / 1000);
    expect(result.samples[2].arrivedMs).toBeGreaterThanOrEqual(us / 1000 + 2);
  });

  test('distinguishes classes by the topic of the envelope or of the record', async () => {
    const result = await receive(
      async () => {
        await batch(line(1, 0, { cls: 2, us: (Date.now() - 500) * 1000 }), 'gw/g/high');
        await batch(line(1, 2, { cls: 2 }) + line(1, 1, { cls: 2 }), 'gw/g/high/history'); // a swap
        await batch(line(2, 0, { cls: 7 }) + line(2, 0, { cls: 7 }), 'gw/g/7'); // a duplicate
        await batch(line(3, 0, { cls: 4 }), 'gw/g/bulk');
        await batch(line(3, 1, { cls: 4 }), 'gw/g/critical'); // differs from its line
        await batch(line(3, 2, { cls: 8 }), 'gw/g/all'); // the topic does not say, the line does
        await send(payload(4, 0, { kind: 1 }));
        await publisher.publishAsync('d/dev-00005/bulk', payload(5, 0).body, { qos: 1 });
        await publisher.publishAsync('d/dev-00006/strange', payload(6, 0).body, { qos: 1 });
      },
      11,
      ['--history-suffix', '/history', '--sample-every', '1']
    );
    const counts = Object.entries(result.classes).map(([cls, of]) => {
      const { records, unique, duplicates, outOfOrder, historical } = /** @type {any} */ (of);
      return [cls, records, unique, duplicates, outOfOrder, historical];
    });
    expect(counts).toEqual([
      ['1', 2, 2, 0, 0, 0],
      ['2', 3, 3, 0, 1, 2],
      ['4', 2, 2, 0, 0, 0],
      ['7', 2, 1, 1, 0, 0],
      ['8', 1, 1, 0, 0, 0]
    ]);
    expect(result).toMatchObject({ classMismatches: 1, topicMismatches: 1, duplicates: 1, outOfOrder: 1 });
    expect(result.classes[2].latencyUs).toMatchObject({ count: 1 });
    expect(result.classes[2].latencyUs.p50).toBeGreaterThan(499000);
    const bytes = payload(3, 0).body.length;
    expect(result.classes[4].bytes).toBe(2 * bytes);
    expect(result.samples.find((/** @type {any} */ { class: cls }) => cls === 4)).toMatchObject({ bytes });
  });

  test('measures latency from the intended time, alarms separately', async () => {
    const result = await receive(async () => {
      await send(payload(1, 0, { us: (Date.now() - 20000) * 1000 }));
      await send(payload(1, 0, { kind: 1, us: (Date.now() - 20) * 1000 }));
    }, 2);
    expect(result.latencyUs.normal.p50).toBeGreaterThan(19990000);
    expect(result.latencyUs.alarm.p50).toBeGreaterThan(19000);
    expect(result.latencyUs.alarm.p50).toBeLessThan(10000000);
  });
});

test('counts an unacknowledged record as missing, not lost', () => {
  const sent = [
    { device: 0, kind: 0, issued: 10, unacked: /** @type {[number, number][]} */ ([[9, 9]]) },
    { device: 0, kind: 1, issued: 2, unacked: [] }
  ];
  const arrived = [{ device: 0, kind: 0, next: 8, missing: /** @type {[number, number][]} */ ([[3, 4]]) }];
  const { lost, lostAlarms, missingUnacked } = compareStreams(sent, arrived);
  expect({ lost, lostAlarms, missingUnacked }).toEqual({ lost: 5, lostAlarms: 2, missingUnacked: 1 });
});

describe('the load generator', () => {
  test('sends every message on time, evenly, with its intended time and size', async () => {
    /** @type {{topic: string, size: number, device: string, seq: number, us: number}[]} */
    const seen = [];
    const server = await serve(({ topic, payload: body, messageId }, socket) => {
      seen.push({ topic, size: body.length, ...JSON.parse(String(body)) });
      acknowledge(socket, messageId);
    });
    const result = await run(server, { devices: 10, rate: 20, seconds: 1, payload: 150, 'alarm-every': 4 });
    expect(result).toMatchObject({
      sent: 200,
      acked: 200,
      unacked: 0,
      unsent: 0,
      resent: 0,
      protocolErrors: 0
    });
    expect(seen.length).toBe(200);
    expect(seen.every(({ size }) => size === 150)).toBe(true);
    expect(seen.filter(({ topic }) => topic.endsWith('/alarm')).length).toBe(50);
    const times = seen.map(({ us }) => us).sort((a, b) => a - b);
    expect(times[199] - times[0]).toBe(995000); // 200 slots of 5 ms
    for (let i = 1; i < 200; i += 1) expect(times[i] - times[i - 1]).toBe(5000);
  });

  test('reports when it is slowed, and drops nothing', async () => {
    let arrived = 0;
    const server = await serve(({ messageId }, socket) => {
      arrived += 1;
      setTimeout(() => acknowledge(socket, messageId), 300);
    });
    const result = await run(server, { devices: 2, rate: 50, seconds: 1, inflight: 5, drain: 20 });
    expect(result).toMatchObject({ sent: 100, acked: 100, unsent: 0 });
    expect(arrived).toBe(100);
    expect(result.late).toBeGreaterThan(50);
    expect(result.ackUs.max).toBeGreaterThan(1000000);
    // From the actual sending, not from the intended time.
    expect(result.pubackUs.normal.count + result.pubackUs.alarm.count).toBe(100);
    expect(result.pubackUs.normal.p50).toBeGreaterThan(290000);
    expect(result.pubackUs.normal.p99).toBeLessThan(result.ackUs.p99);
  });

  test('can be another fleet, with persistent sessions, and report progress', async () => {
    /** @type {string[]} */
    const topics = [];
    const server = await serve(({ topic, messageId }, socket) => {
      topics.push(topic);
      acknowledge(socket, messageId);
    });
    const more = { 'first-device': 300, clean: 0, 'progress-ms': 50, 'lead-ms': 0, 'topic-kind': 'bulk' };
    const result = await run(server, { devices: 2, rate: 20, seconds: 0.5, 'alarm-every': 0, ...more });
    expect(result).toMatchObject({ sent: 20, acked: 20 });
    expect(server.connects.map(({ clientId, clean }) => [clientId, clean]).sort()).toEqual([
      ['dev-00300', false],
      ['dev-00301', false]
    ]);
    expect([...new Set(topics)].sort()).toEqual(['d/dev-00300/bulk', 'd/dev-00301/bulk']);
    const acked = result.lines
      .filter((/** @type {any} */ { event }) => event === 'progress')
      .map((/** @type {any} */ progress) => progress.acked);
    expect(acked.length).toBeGreaterThan(3);
    expect(acked).toEqual([...acked].sort((a, b) => a - b));
    expect(acked[0]).toBeLessThan(20);
  });

  test('reconnects after a loss and sends unacknowledged messages again, in order', async () => {
    /** @type {number[]} */
    const order = [];
    let closed = false;
    const server = await serve(({ payload: body, messageId, dup }, socket) => {
      if (socket.destroyed) return;
      const { seq } = JSON.parse(String(body));
      if (seq >= 5 && !closed) {
        if (seq === 7) {
          closed = true;
          socket.destroy();
        }
        return; // 5 and 6 are received and never acknowledged
      }
      order.push(dup ? -seq : seq);
      acknowledge(socket, messageId);
    });
    const result = await run(server, { devices: 1, rate: 50, seconds: 0.4, 'alarm-every': 0 });
    expect(result).toMatchObject({ sent: 20, acked: 20, connectionLosses: 1 });
    expect(result.resent).toBeGreaterThanOrEqual(3);
    expect(order.slice(0, 8)).toEqual([0, 1, 2, 3, 4, -5, -6, -7]);
  });

  test('notices acknowledgements out of order and for unknown packets', async () => {
    /** @type {(number | undefined)[]} */
    const held = [];
    const server = await serve(({ messageId }, socket) => {
      held.push(messageId);
      if (held.length < 4) return;
      for (const id of [held[1], held[0], 999, held[2], held[3]]) acknowledge(socket, id);
      held.length = 0;
    });
    const result = await run(server, { devices: 1, rate: 40, seconds: 0.1 });
    expect(result).toMatchObject({ sent: 4, acked: 4, acksOutOfOrder: 1, acksUnknown: 1 });
  });

  test('ends with an error without a listener', async () => {
    const load = new Child(build('loadgen'), ['--port', '1', '--devices', '2', '--connect-seconds', '1']);
    expect((await load.exited).code).toBe(1);
    await eventually(() => load.output.includes('not every device could connect'));
  });
});
