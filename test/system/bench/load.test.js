'use strict';
// The generator's load shapes, the sink's steps and the formats of peers: planted faults are the reported faults.

const dgram = require('node:dgram');
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const packets = require('mqtt-packet');
const { build, outFolder } = require('../../../bench/harness/build');
const { compareStreams } = require('../../../bench/harness/compare');
const { Child } = require('../../../bench/harness/child');
const { acknowledge, runLoad, serve } = require('../../fixtures/uplink/load-server');
const { needs } = require('../../../bench/harness/tools');

const { describe } = needs('c++');

jest.setTimeout(60000);

/** @typedef {{topic: string, size: number, device: string, seq: number, k: number, us: number}} Seen */

/** Runs the generator against a server that acknowledges all. @param {Record<string, number | string>} options */
async function load(options) {
  /** @type {Seen[]} */
  const seen = [];
  const server = await serve(({ topic, payload, messageId }, socket) => {
    seen.push({ topic, size: payload.length, ...JSON.parse(String(payload)) });
    acknowledge(socket, messageId);
  });
  const result = await runLoad(server, { 'lead-ms': 100, ...options });
  expect(result).toMatchObject({ sent: seen.length, acked: seen.length, unsent: 0, protocolErrors: 0 });
  const start = result.lines.find((/** @type {any} */ { event }) => event === 'start').us;
  return { result, start, seen, server };
}

describe('the load generator', () => {
  test('sends each step at its rate, and reports each separately', async () => {
    const steps = { steps: '200,800,400', 'step-seconds': 0.5, histograms: 1 };
    const { result, start, seen } = await load({ devices: 8, ...steps, 'tick-us': 5000 });
    expect(result.steps.map((/** @type {any} */ { rate, sent, acked }) => [rate, sent, acked])).toEqual([
      [200, 100, 100],
      [800, 400, 400],
      [400, 200, 200]
    ]);
    const planned = seen.filter(({ us }) => us >= start + 5e5 && us < start + 1e6);
    expect(planned).toHaveLength(400);
    expect(Math.max(...seen.map(({ us }) => us))).toBe(start + 1497500);
    expect(result.offered).toBeCloseTo(700 / 1.5, 2);
    for (const { ackUs } of [result, ...result.steps]) {
      const sum = ackUs.buckets.reduce(
        (/** @type {number} */ all, /** @type {number[]} */ [, n]) => all + n,
        0
      );
      expect(sum).toBe(ackUs.count);
    }
  });

  test('counts late messages in the step in which they were due', async () => {
    let held = 0;
    const server = await serve(({ messageId, payload }, socket) => {
      // Nothing is acknowledged from 0.4 s on for 0.4 s: with a window of one that makes step 2 late.
      const { seq } = JSON.parse(String(payload));
      if (seq === 20 && held === 0) {
        held = 1;
        setTimeout(() => acknowledge(socket, messageId), 300);
      } else acknowledge(socket, messageId);
    });
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-load-'));
    const out = path.join(folder, 'load.json');
    const options = {
      devices: 1,
      steps: '50,50,50',
      'step-seconds': 0.4,
      inflight: 1,
      'alarm-every': 0,
      out
    };
    const { steps, sent } = await runLoad(server, { ...options, 'late-ms': 100 });
    const [{ longestUs }] = JSON.parse(fs.readFileSync(out, 'utf8')).streams;
    fs.rmSync(folder, { recursive: true });
    expect(sent).toBe(60);
    // The wait of the device: that of its slowest message.
    expect(longestUs).toBe(Math.max(...steps.map((/** @type {any} */ { ackUs }) => ackUs.max)));
    expect(steps[1].late).toBeGreaterThanOrEqual(8);
    expect(steps[1].sent).toBe(20);
    expect(steps[1].ackUs.max).toBeGreaterThan(250000);
  });

  test('lets each device send at its own random times, the same with the same seed', async () => {
    const options = { devices: 20, rate: 100, seconds: 1, arrivals: 'poisson', 'tick-us': 2000 };
    const one = await load({ ...options, seed: 7 });
    const again = await load({ ...options, seed: 7 });
    /** @param {typeof one} run */
    const times = ({ seen, start }) => seen.map(({ device, us }) => `${device} ${us - start}`).sort();
    expect(times(again)).toEqual(times(one));
    const gaps = [...new Set(one.seen.map(({ device }) => device))].flatMap((device) => {
      const own = one.seen.filter((each) => each.device === device).map(({ us }) => us);
      return own.slice(1).map((us, i) => (us - own[i]) / 1e6);
    });
    const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
    const variance = gaps.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / gaps.length;
    // About 2,000 exponential gaps: the standard error of the mean is 2.3 %, of the variance 6.3 %.
    expect(mean).toBeGreaterThan(0.0093);
    expect(mean).toBeLessThan(0.0107);
    expect(variance / mean ** 2).toBeGreaterThan(0.8);
    expect(variance / mean ** 2).toBeLessThan(1.2);
    expect(Math.abs(one.seen.length - 2000)).toBeLessThan(180);
  });

  test('keeps its random times however slow the answers are', async () => {
    /** @type {number[][]} */
    const times = [];
    for (const delayMs of [0, 40]) {
      /** @type {number[]} */
      const seen = [];
      const server = await serve(({ messageId, payload }, socket) => {
        seen.push(JSON.parse(String(payload)).us);
        setTimeout(() => acknowledge(socket, messageId), delayMs);
      });
      const options = { devices: 1, rate: 100, seconds: 0.5, arrivals: 'poisson', inflight: 2 };
      await runLoad(server, options);
      times.push(seen.map((us) => us - seen[0]));
    }
    expect(times[1]).toEqual(times[0]);
  });

  test('divides its messages among the classes exactly, each with its own sequence', async () => {
    const { seen } = await load({ devices: 4, rate: 200, seconds: 1, shares: '1:5,2:10,3:75,4:10' });
    const levels = ['t', 'alarm', 'high', 'bulk'];
    expect(levels.map((level) => seen.filter(({ topic }) => topic.endsWith(`/${level}`)).length)).toEqual([
      600, 40, 80, 80
    ]);
    for (const { topic, k } of seen) expect(topic.split('/')[2]).toBe(levels[k]);
    const bulk = seen.filter(({ device, k }) => device === 'dev-00002' && k === 3).map(({ seq }) => seq);
    expect(bulk).toEqual(Array.from({ length: 20 }, (_, i) => i));
  });

  test('draws the sizes of payloads from a range', async () => {
    const { seen } = await load({ devices: 4, rate: 200, seconds: 1, payload: '100-300' });
    const sizes = seen.map(({ size }) => size);
    expect(Math.min(...sizes)).toBeGreaterThanOrEqual(100);
    expect(Math.min(...sizes)).toBeLessThan(110);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(300);
    expect(Math.max(...sizes)).toBeGreaterThan(290);
    const mean = sizes.reduce((sum, size) => sum + size, 0) / sizes.length;
    expect(Math.abs(mean - 200)).toBeLessThan(10);
  });

  test('writes payloads of any length of the length field', async () => {
    for (const payload of [0, 100, 16500]) {
      const { seen } = await load({ devices: 1, rate: 20, seconds: 0.2, payload, 'alarm-every': 2 });
      expect(seen.map(({ size }) => size)).toEqual(Array(4).fill(payload || seen[0].size));
    }
  });

  test('adds bursts to its rate', async () => {
    const { start, seen } = await load({ devices: 5, rate: 40, seconds: 1.2, burst: '0.5:0.1:5' });
    const counts = Array.from({ length: 12 }, (_, i) => {
      const from = start + i * 1e5;
      return seen.filter(({ us }) => us >= from && us < from + 1e5).length;
    });
    expect(counts).toEqual([20, 20, 20, 20, 20, 100, 20, 20, 20, 20, 100, 20]);
  });

  test('is silent at rate 0, except for keep-alive pings', async () => {
    const { result, server } = await load({ devices: 3, rate: 0, seconds: 2.2, keepalive: 1 });
    expect(result).toMatchObject({ sent: 0, offered: 0, connectionLosses: 0 });
    expect(result.pings).toBeGreaterThanOrEqual(6);
    expect(result.pings).toBeLessThanOrEqual(9);
    expect(server.pings).toBe(result.pings);
  });

  test('refuses shares whose sum is not 100', async () => {
    for (const wrong of ['1:5,3:90', '9:100', '1:x', '3:100.5']) {
      const child = new Child(build('loadgen'), ['--shares', wrong]);
      expect((await child.exited).code).toBe(2);
      expect(child.output).toContain('--shares must be');
    }
  });
});

describe('the sink', () => {
  /**
   * Returns its result for these PUBLISHes.
   * @param {[string, string][]} publishes topic and payload @param {string[]} [options]
   */
  async function receive(publishes, options = []) {
    const server = net.createServer((socket) => {
      const parser = packets.parser();
      socket.on('data', (data) => parser.parse(data));
      socket.on('error', () => {});
      parser.on('packet', (packet) => {
        if (packet.cmd === 'connect') {
          socket.write(packets.generate({ cmd: 'connack', returnCode: 0, sessionPresent: false }));
        } else if (packet.cmd === 'subscribe') {
          socket.write(packets.generate({ cmd: 'suback', messageId: packet.messageId, granted: [1, 1, 1] }));
          for (const [topic, payload] of publishes) {
            socket.write(
              packets.generate({ cmd: 'publish', topic, payload, qos: 0, dup: false, retain: false })
            );
          }
        }
      });
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-sink-'));
    const file = path.join(folder, 'sink.json');
    const port = String(/** @type {net.AddressInfo} */ (server.address()).port);
    const sink = new Child(build('sink'), ['--port', port, '--out', file, ...options]);
    try {
      await sink.until(() =>
        sink.jsonLines().some(({ publishes: n, event, records }) => n || (event === 'progress' && records))
      );
      await sink.stop();
      return JSON.parse(fs.readFileSync(file, 'utf8'));
    } finally {
      await sink.stop();
      server.close();
      fs.rmSync(folder, { recursive: true });
    }
  }

  /** @param {number} seq @param {object} [more] */
  const record = (seq, more) => JSON.stringify({ device: 'dev-00003', seq, k: 0, us: 1e15, ...more });

  test('reads JSON arrays, joined lines and metrics of peers, and detects their faults', async () => {
    const inner = [3, 4].map((seq) => ({
      fields: { us: 1e15, seq, k: 2, device: 'dev-00003' },
      name: '}{"'
    }));
    const result = await receive([
      ['d/batch', `[${record(0)},${record(1)}, ${record(1)}]`], // one twice
      ['telegraf/a', `${record(3)}\n${record(2)}\n`], // a swap
      ['telegraf/b', JSON.stringify({ metrics: inner })],
      ['telegraf/c', `${record(4)}\n{"device":"dev-00003","seq":`], // cut off
      ['telegraf/d', record(5, { k: 3 })],
      ['telegraf/e', `${record(6)}\n`]
    ]);
    expect(result).toMatchObject({ records: 10, unique: 9, duplicates: 1, outOfOrder: 1, badLines: 1 });
    expect(result).toMatchObject({ joined: 4, badRecords: 0, topicMismatches: 0 });
    expect(result.classes[2].unique).toBe(2);
    expect(result.classes[4].unique).toBe(1);
    const { lost, lostByClass } = compareStreams(
      [0, 1, 2, 3].map((kind) => ({ device: 3, kind, issued: kind === 1 ? 0 : 7, unacked: [] })),
      result.streams
    );
    expect({ lost, lostByClass }).toEqual({ lost: 12, lostByClass: { 2: 5, 3: 1, 4: 6 } });
  });

  test('reports the latency of each step, from the smallest intended time', async () => {
    const now = Date.now() * 1000;
    const at = [1000, 0, 999999, 1000000, 2500000].map((us) => now - 60e6 + us);
    const result = await receive(
      at.map((us, seq) => ['d/dev-00003/t', record(seq, { us })]),
      ['--step-seconds', '1', '--histograms', '1']
    );
    expect(result.steps.map((/** @type {any} */ { count }) => count)).toEqual([3, 1, 1]);
    expect(result.steps[2].buckets).toHaveLength(1);
    expect(result.latencyUs.normal.count).toBe(5);
  });

  test('accepts sequences up to a billion', async () => {
    const result = await receive([
      ['d/dev-00003/t', record(20000000)],
      ['d/dev-00003/t', record(1000000000)]
    ]);
    expect(result).toMatchObject({ unique: 1, badRecords: 1 });
  });
});

describe('the CoAP generator over UDP', () => {
  test('repeats unanswered messages, and counts each refusal by its kind', async () => {
    const server = dgram.createSocket('udp4');
    /** @type {Map<string, number>} */
    const times = new Map();
    const sources = new Set();
    server.on('message', (message, { port, address }) => {
      const { device, seq } = JSON.parse(String(message.subarray(message.indexOf(0xff) + 1)));
      const time = (times.get(`${device} ${seq}`) ?? 0) + 1;
      times.set(`${device} ${seq}`, time);
      sources.add(port);
      if (seq === 1 && time === 1) return; // lost
      const code = { 2: 0x84, 3: 0xa3 }[/** @type {number} */ (seq)] ?? 0x44;
      const reply = Buffer.from([0x64, code, message[2], message[3], ...message.subarray(4, 8)]);
      server.send(reply, port, address);
    });
    await new Promise((resolve) => server.bind(0, '127.0.0.1', () => resolve(undefined)));
    const options = `--port ${server.address().port} --transport udp --mode open --arrivals periodic --devices 3 --rate 30 --seconds 1`;
    const child = new Child(build('coapgen'), options.split(' '));
    await child.exited;
    server.close();
    const result = child.jsonLines().pop();
    expect(result).toMatchObject({ sent: 30, answered: 24, clientErrors: 3, unavailable: 3, timedOut: 0 });
    expect(result).toMatchObject({
      retransmitted: 3,
      unknown: 0,
      unsent: 0,
      requestBytes: 109,
      responseBytes: 8
    });
    expect(result.answerUs.max).toBeGreaterThan(1999000);
    expect(result.streams[1]).toMatchObject({
      issued: 10,
      unacked: [
        [2, 2],
        [3, 3]
      ]
    });
    expect(sources.size).toBe(3);
  });

  test('keeps a window open in a closed loop, and ends', async () => {
    const server = dgram.createSocket('udp4');
    server.on('message', (message, { port, address }) => {
      const reply = Buffer.from([0x64, 0x44, message[2], message[3], ...message.subarray(4, 8)]);
      setTimeout(() => server.send(reply, port, address), 10);
    });
    await new Promise((resolve) => server.bind(0, '127.0.0.1', () => resolve(undefined)));
    const options = `--port ${server.address().port} --transport udp --mode closed --window 2 --devices 4 --seconds 1`;
    const child = new Child(build('coapgen'), options.split(' '));
    await child.exited;
    server.close();
    const result = child.jsonLines().pop();
    // 8 open at once, each for 10 ms and more.
    expect(result.answered).toBe(result.sent);
    expect(result.answered).toBeLessThanOrEqual(800 + 8);
    expect(result.answered).toBeGreaterThan(8);
  });
});

describe('the native programs', () => {
  test('name the missing package', () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-build-'));
    fs.mkdirSync(path.join(folder, 'x'));
    fs.mkdirSync(path.join(folder, 'common'));
    fs.writeFileSync(path.join(folder, 'x/main.cc'), 'int main() {}\n');
    const program = { files: ['x/main.cc'], libraries: ['-lnosuchlibrary'], debian: 'libnosuch-dev' };
    const write = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
    try {
      expect(() => build('x', { program, folder })).toThrow(/x could not be built. It needs libnosuch-dev/);
    } finally {
      write.mockRestore();
      fs.rmSync(folder, { recursive: true });
    }
  });

  test("go into the user's cache when the package is not writable", () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-cache-'));
    try {
      const out = outFolder({ XDG_CACHE_HOME: folder }, '/proc/nowhere');
      expect(out.startsWith(path.join(folder, 'seganet-bench'))).toBe(true);
      expect(fs.statSync(out).isDirectory()).toBe(true);
    } finally {
      fs.rmSync(folder, { recursive: true });
    }
  });
});
