'use strict';

// Batches that grow with their compression.

const { FeederBench: Bench } = require('../../fixtures/uplink/feeder-bench');
const { BatchRatio } = require('../../../nodes/lib/uplink/sending/batch-ratio');
const { checkStage, compileStage } = require('../../../nodes/lib/uplink/sending/uplink-stage');
const { decompress, encodingOf } = require('../../../nodes/lib/unbatch/payload-encoding');
const { seeded } = require('../../fixtures/random');

const ENVELOPE = 1;
const MIN_BYTES = 1024;
const MAX_BYTES = 65536;

describe('the ratio', () => {
  test('is 1 without compression, and before anything was sent', () => {
    const ratio = new BatchRatio();
    expect(ratio.update()).toBe(1);
    ratio.written(1000, 1100);
    expect(ratio.update()).toBe(1);
  });

  test('rises within seconds, with a margin, and falls at once', () => {
    const ratio = new BatchRatio();
    const after = (/** @type {number} */ batch) => (ratio.written(batch, 1000), ratio.update());
    const rising = Array.from({ length: 12 }, () => after(8000));
    expect(rising).toEqual([...rising].sort((a, b) => a - b));
    expect(rising.at(-1)).toBe(6);
    // A second without packets says nothing.
    expect(ratio.update()).toBe(6);
    expect(after(2500)).toBe(2);
    expect(after(900)).toBe(1);
  });

  test('counts batches that are not compressed', () => {
    const ratio = new BatchRatio();
    for (let i = 0; i < 12; i++) {
      ratio.written(7000, 1000);
      ratio.written(7000, 7000);
      ratio.update();
    }
    expect(ratio.update()).toBe(1);
  });

  test.each([1, 2, 3])('is never above the last second, seed %i', (seed) => {
    const { integer: random } = seeded(seed);
    const ratio = new BatchRatio();
    const wrong = [];
    for (let second = 0; second < 2000; second++) {
      const [batch, packet] = [1 + random(60000), 1 + random(9000)];
      ratio.written(batch, packet);
      const found = ratio.update();
      if (found < 1 || found > Math.max(1, batch / packet)) wrong.push({ batch, packet, found });
    }
    expect(wrong).toEqual([]);
  });
});

/**
 * A worker, a link and a broker around a feeder. Batches are as large as the engine may make them.
 */
class SlowLink {
  /** @param {number} bytesPerS @param {number} maximumPacketSize @param {number} seed */
  constructor(bytesPerS, maximumPacketSize, seed) {
    this.bytesPerMs = bytesPerS / 1000;
    this.limit = maximumPacketSize;
    this.random = seeded(seed).integer;
    this.bench = /** @type {any} */ (new Bench({ maximumPacketSize, stages: false }));
    this.bench.feeder.setStages(
      new Map([[1, compileStage(checkStage({ compress: 'zstd' }), 'g', ['zstd'])]])
    );
    this.bench.connect();
    this.isNoise = false;
    this.made = 0;
    this.freeAt = 0;
    /** @type {{ at: number, messageId: number }[]} */
    this.way = [];
    /** Bytes of the packets, and numbers of the records in them. */
    this.sizes = /** @type {number[]} */ ([]);
    this.arrived = /** @type {number[]} */ ([]);
    this.m = 16384;
  }

  #line() {
    const n = this.made++;
    const noise = () => Array.from({ length: 30 }, () => this.random(2 ** 32).toString(36)).join('');
    const payload = this.isNoise ? { noise: noise() } : { kWh: this.random(900), on: true, source: 'timer' };
    return `{"d":"m-${n % 9}","t":"hall/m-${n % 9}","ts":${1763712000000 + n},"s":${n},"c":3,"p":${JSON.stringify(payload)}}\n`;
  }

  #push() {
    let text = '';
    let count = 0;
    for (let line = this.#line(); ; line = this.#line()) {
      text += line;
      count++;
      if (text.length + 300 > this.m) break;
    }
    this.bench.source.push({ kind: ENVELOPE, payload: text, count });
  }

  /** @param {number} seconds @param {boolean} [hasLoad] more than the link carries */
  run(seconds, hasLoad = true) {
    const { bench } = this;
    const end = bench.time + seconds * 1000;
    for (let second = bench.time; bench.time < end; bench.later(10)) {
      while (hasLoad && bench.source.lanes[3].length < 4) this.#push();
      bench.pump();
      for (const { messageId, length, payload } of bench.packets.splice(0))
        this.#carry(messageId, length, payload);
      while (this.way.length > 0 && this.way[0].at <= bench.time)
        bench.feeder.sender.acknowledge(/** @type {any} */ (this.way.shift()).messageId, 0);
      if (bench.time - second < 1000) continue;
      second = bench.time;
      bench.feeder.everySecond();
      this.m = bench.source.batchBytes.at(-1);
      expect(this.m).toBeGreaterThanOrEqual(MIN_BYTES);
      expect(this.m).toBeLessThanOrEqual(MAX_BYTES);
    }
  }

  /** @param {number} messageId @param {number} length @param {Buffer} payload */
  #carry(messageId, length, payload) {
    const bytes = length + 4;
    this.freeAt = Math.max(this.freeAt, this.bench.time) + bytes / this.bytesPerMs;
    this.way.push({ at: this.freeAt + 10, messageId });
    this.sizes.push(length);
    const encoded = encodingOf({ payload });
    const text = String(encoded ? decompress(encoded, undefined) : payload);
    for (const line of text.trimEnd().split('\n')) this.arrived.push(JSON.parse(line).s);
  }
}

test('a batch fills a packet on a full link', () => {
  const link = new SlowLink(100e3, 0, 1);
  link.run(10);
  expect(link.bench.feeder.rate.packetBytes).toBe(2048);
  expect(link.m).toBeGreaterThan(3 * 2048);
  const late = link.sizes.slice(-50);
  for (const size of late) expect(size).toBeLessThan(2.5 * 2048);
  expect(Math.max(...late)).toBeGreaterThan(1024);
});

test.each([7])(
  'keeps the packet limit when records suddenly compress badly, and loses none, seed %i',
  (seed) => {
    const link = new SlowLink(120e3, 3000, seed);
    link.run(10);
    const grown = link.m;
    expect(grown).toBeGreaterThan(2 * 2488);
    link.isNoise = true;
    link.run(4);
    expect(link.m).toBeLessThan(grown / 2);
    link.isNoise = false;
    link.run(8);
    expect(link.m).toBeGreaterThan(2 * 2488);
    link.run(4, false);
    expect(Math.max(...link.sizes)).toBeLessThanOrEqual(3000);
    expect(link.arrived).toEqual([...Array(link.made).keys()]);
    expect(link.bench.problems).toEqual([]);
  }
);
