'use strict';

// The batch size for a link.

const { LinkRate } = require('../../../nodes/lib/uplink/sending/link-rate');
const { FeederBench: Bench } = require('../../fixtures/uplink/feeder-bench');

/** A rate with its own clock, on a link that is or is not the limit. */
class Clock {
  constructor() {
    this.time = 0;
    this.rate = new LinkRate(() => this.time);
    this.m = 0;
  }

  /** Acknowledges packets at this rate, evenly. */
  run({ seconds, bytesPerS = 0, packet = 1000, isLimited = true, maximumPacketSize = 0, ratio = 1 }) {
    this.rate.limited(isLimited);
    const sizes = [];
    const stepMs = 10;
    let due = 0;
    for (let ms = 0; ms < seconds * 1000; ms += stepMs) {
      this.time += stepMs;
      for (due += (bytesPerS * stepMs) / 1000; due >= packet; due -= packet) this.rate.acknowledged(packet);
      if (this.time % 1000 === 0) sizes.push((this.m = this.rate.update(maximumPacketSize, ratio)));
    }
    return sizes;
  }
}

test.each([
  [10e6, 65536],
  [2.7e6, 65536],
  [2.5e6, 32768],
  [400e3, 8192],
  [100e3, 2048],
  [32e3, 1024],
  [2e3, 1024]
])('sizes a link of %i bytes/s for 25 ms, as a power of two: %i', (bytesPerS, m) => {
  const clock = new Clock();
  clock.run({ seconds: 20, bytesPerS });
  expect(clock.m).toBe(m);
});

test('starts at 16 KiB', () => {
  expect(new Clock().run({ seconds: 1, isLimited: false })).toEqual([16384]);
});

test('measures a packet that takes longer than a second too', () => {
  const clock = new Clock();
  clock.run({ seconds: 60, bytesPerS: 8000, packet: 16000 });
  expect(clock.rate.goodput).toBeGreaterThan(6000);
  expect(clock.rate.goodput).toBeLessThan(10000);
  expect(clock.m).toBe(1024);
});

test('follows a link that gets faster or slower within seconds', () => {
  const clock = new Clock();
  clock.run({ seconds: 10, bytesPerS: 100e3 });
  expect(clock.m).toBe(2048);
  clock.run({ seconds: 5, bytesPerS: 1e6 });
  expect(clock.m).toBe(16384);
  clock.run({ seconds: 8, bytesPerS: 100e3 });
  expect(clock.m).toBe(2048);
});

test("measures nothing while the link is not the limit because arrivals have the devices' rate", () => {
  const clock = new Clock();
  clock.run({ seconds: 9, bytesPerS: 5000, isLimited: false });
  expect(clock.rate.goodput).toBe(0);
  expect(clock.m).toBe(16384);
});

test('doubles each second, up to 64 KiB, from ten seconds after the link was last the limit', () => {
  const clock = new Clock();
  clock.run({ seconds: 10, bytesPerS: 400e3 });
  const sizes = clock.run({ seconds: 15, isLimited: false });
  expect(sizes.slice(0, 9)).toEqual(Array(9).fill(8192));
  expect(sizes.slice(9)).toEqual([16384, 32768, 65536, 65536, 65536, 65536]);
});

test('does not take a link that is repeatedly full for an instant for the limit', () => {
  const clock = new Clock();
  for (let turn = 0; turn < 150; turn++) {
    clock.run({ seconds: 0.05, bytesPerS: 20e3 });
    clock.run({ seconds: 0.05, bytesPerS: 20e3, isLimited: false });
  }
  expect(clock.rate.goodput).toBe(0);
  expect(clock.m).toBe(65536);
});

test("stays below the broker's Maximum Packet Size with topic and key, but not below 1,024", () => {
  const clock = new Clock();
  const run = { seconds: 1, isLimited: false };
  expect(clock.run({ ...run, maximumPacketSize: 4096 })).toEqual([3584]);
  expect(clock.run({ ...run, maximumPacketSize: 1200 })).toEqual([1024]);
  expect(clock.run({ ...run, maximumPacketSize: 1e6 })).toEqual([16384]);
});

test('grows by compression only while the link is the limit, up to 64 KiB', () => {
  const clock = new Clock();
  clock.run({ seconds: 10, bytesPerS: 400e3, ratio: 5.5 });
  expect([clock.m, clock.rate.packetBytes]).toEqual([45056, 8192]);
  clock.run({ seconds: 1, bytesPerS: 400e3, ratio: 50 });
  expect(clock.m).toBe(65536);
  clock.run({ seconds: 2, bytesPerS: 400e3, ratio: 4, maximumPacketSize: 4608 });
  expect([clock.m, clock.rate.packetBytes]).toEqual([16384, 4096]);
  clock.run({ seconds: 11, ratio: 4, isLimited: false, maximumPacketSize: 4608 });
  expect(clock.m).toBe(4096);
  expect(new Clock().run({ seconds: 1, isLimited: false, ratio: 3 })).toEqual([16384]);
});

/** A bench on a link with this many bytes a second and this delay. */
function drive(bench, { seconds, bytesPerS, wayMs }) {
  const payload = 'x'.repeat(1000);
  const way = [];
  let freeAt = bench.time;
  const end = bench.time + seconds * 1000;
  for (let second = 0; bench.time < end; bench.later(10)) {
    while (bench.source.lanes[3].length < 20) bench.source.push({ topic: 't', payload });
    bench.pump();
    for (const { messageId, length } of bench.packets.splice(0)) {
      freeAt = Math.max(freeAt, bench.time) + (length * 1000) / bytesPerS;
      way.push({ at: freeAt + wayMs, messageId });
    }
    while (way.length > 0 && way[0].at <= bench.time)
      bench.feeder.sender.acknowledge(way.shift().messageId, 0);
    if (bench.time - second >= 1000) {
      second = bench.time;
      bench.feeder.everySecond();
    }
  }
}

test('reports smaller sizes to the engine when packets queue on a slow link and fill the window', () => {
  const bench = new Bench({ inflight: 32 });
  bench.connect();
  drive(bench, { seconds: 20, bytesPerS: 100e3, wayMs: 10 });
  expect(bench.source.batchBytes).toEqual([16384, 2048]);
});

test('draws no conclusion about the link when a long round trip fills the window', () => {
  const bench = new Bench({ inflight: 4 });
  bench.connect();
  drive(bench, { seconds: 20, bytesPerS: 10e6, wayMs: 600 });
  expect(bench.source.batchBytes).toEqual([16384, 32768, 65536]);
});

test('reports the size to a new engine at once', () => {
  const bench = new Bench();
  bench.feeder.detach();
  bench.feeder.attach(bench.source);
  expect(bench.source.batchBytes).toEqual([16384, 16384]);
});

test('totals the time in which the link was the limit, and what was acknowledged meanwhile', () => {
  const clock = new Clock();
  clock.run({ seconds: 2, bytesPerS: 50e3 });
  clock.run({ seconds: 5, bytesPerS: 10e3, isLimited: false });
  clock.rate.limited(true);
  clock.time += 50;
  clock.rate.acknowledged(1000);
  // A moment only: normal on a link that is fast enough.
  clock.rate.limited(false);
  expect([clock.rate.busyMs, clock.rate.busyBytes]).toEqual([2000, 100e3]);
});
