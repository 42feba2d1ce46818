'use strict';
// Figures of a path's quality. The clock is the test's.

const {
  LEAST_PROBES,
  PERIODS,
  Quality,
  linkPercentOf
} = require('../../../nodes/lib/network/paths/path-quality');

const NOTHING = {
  signalDbm: null,
  linkPercent: null,
  rttMs: null,
  lossPercent: null,
  txBytesPerSecond: null,
  rxBytesPerSecond: null
};
const good = (ms = 20) => ({ ok: true, ms, counts: true });
const bad = { ok: false, ms: 700, counts: true };

test.each([
  [-30, 100],
  [-40, 100],
  [-41, (69 / 70) * 100],
  [-75, 50],
  [-82, 40],
  [-110, 0],
  [-119, 0]
])('maps link quality at %i dBm to %f %%', (dbm, percent) => expect(linkPercentOf(dbm)).toBe(percent));

test('reports unmeasured values as unknown', () => {
  expect(new Quality(1000).figures(0)).toEqual(NOTHING);
});

describe('probes', () => {
  test('give the loss as the part of the last twenty periods, known after ten', () => {
    const quality = new Quality(1000);
    for (let i = 1; i < LEAST_PROBES; i++) quality.probed(bad, i * 1000);
    expect(quality.figures(9000).lossPercent).toBe(null);
    quality.probed(good(), 10_000);
    expect(quality.figures(10_000).lossPercent).toBe(90);
    for (let i = 11; i <= 20; i++) quality.probed(good(), i * 1000);
    expect(quality.figures(20_000).lossPercent).toBe(45);
    quality.probed(good(), 21_000);
    expect(quality.figures(21_000).lossPercent).toBe(40);
    expect(quality.figures(21_000 + PERIODS * 1000).lossPercent).toBe(null);
  });

  test('do not count while a path is down: it has not lost them when it is back', () => {
    const quality = new Quality(1000);
    for (let i = 1; i <= 10; i++) quality.probed(good(), i * 1000);
    for (let i = 11; i <= 12; i++) quality.probed(bad, i * 1000);
    for (let i = 13; i <= 18; i++) quality.probed({ ...bad, counts: false }, i * 1000);
    quality.probed({ ...good(), counts: false }, 19_000);
    expect(quality.figures(19_000).lossPercent).toBe(17);
  });

  test('do not count when no target could be probed', () => {
    const quality = new Quality(1000);
    for (let i = 0; i < 9; i++) quality.probed({ ok: null, ms: 0, counts: true }, i);
    expect(quality.figures(9)).toEqual(NOTHING);
  });

  test('smooth the round trip, and restart it after a window without an answer', () => {
    const quality = new Quality(1000);
    quality.probed(good(20), 0);
    expect(quality.figures(0).rttMs).toBe(20);
    quality.probed(good(100), 1000);
    expect(quality.figures(1000).rttMs).toBe(30);
    quality.probed(bad, 2000);
    expect(quality.figures(2000).rttMs).toBe(30);
    expect(quality.figures(21_000).rttMs).toBe(null);
    quality.probed(good(50), 22_000);
    expect(quality.figures(22_000).rttMs).toBe(50);
  });

  test('take little memory in any number', () => {
    const quality = new Quality(60_000);
    for (let i = 0; i < 10_000; i++) quality.probed(i % 2 ? good() : bad, i);
    expect(quality.figures(10_000).lossPercent).toBe(50);
    expect(quality.probes.length).toBeLessThanOrEqual(200);
  });
});

describe('the interface', () => {
  const at = (/** @type {number} */ rx, /** @type {number} */ tx, device = 'wlan0') => ({
    device,
    dbm: null,
    bytes: { rx, tx }
  });

  test('has its bytes a second as the mean of 5 s', () => {
    const quality = new Quality(1000);
    quality.seen(at(1000, 0), 0);
    expect(quality.figures(0)).toEqual(NOTHING);
    for (let i = 1; i <= 4; i++) quality.seen(at(1000 + i * 500, i * 10_000), i * 1000);
    expect(quality.figures(4000)).toMatchObject({ rxBytesPerSecond: 500, txBytesPerSecond: 10_000 });
    for (let i = 5; i <= 10; i++) quality.seen(at(3000, 40_000), i * 1000);
    expect(quality.figures(10_000)).toMatchObject({ rxBytesPerSecond: 0, txBytesPerSecond: 0 });
  });

  test('has no figure from restarted counters, another interface, or none', () => {
    const quality = new Quality(1000);
    quality.seen(at(1000, 1000), 0);
    quality.seen(at(10, 2000), 1000);
    expect(quality.figures(1000).rxBytesPerSecond).toBe(null);
    quality.seen(at(20, 2000), 2000);
    expect(quality.figures(2000).rxBytesPerSecond).toBe(10);
    quality.seen(at(9e9, 9e9, 'wlan1'), 3000);
    expect(quality.figures(3000).rxBytesPerSecond).toBe(null);
    quality.seen({ device: 'wlan1', dbm: null, bytes: null }, 4000);
    quality.seen(at(9e9, 9e9, 'wlan1'), 5000);
    expect(quality.figures(5000)).toEqual(NOTHING);
  });

  test('has its signal as the mean of 5 s, unknown after the driver stops reporting', () => {
    const quality = new Quality(1000);
    const signals = [-70, -80, -75, -75, -75];
    signals.forEach((dbm, i) => quality.seen({ device: 'wlan0', dbm, bytes: null }, i * 1000));
    expect(quality.figures(4000)).toMatchObject({ signalDbm: -75, linkPercent: 50 });
    for (let i = 5; i <= 10; i++) quality.seen({ device: 'wlan0', dbm: null, bytes: null }, i * 1000);
    expect(quality.figures(10_000)).toEqual(NOTHING);
  });
});

describe('the trend of the signal', () => {
  /** @param {[at: number, dbm: number][]} readings */
  function seen(readings) {
    const quality = new Quality(1000);
    for (const [at, dbm] of readings) quality.seen({ device: 'wlan0', dbm, bytes: null }, at);
    return quality;
  }
  /** @type {[number, number][]} */
  const falling = [0, 1, 2, 3, 4].map((s) => [s * 1000, -60 - 3 * s]);

  test('leads to the link quality of the time ahead', () => {
    const quality = seen(falling);
    expect(quality.expectedPercent(4000, 0)).toBe(Math.round(linkPercentOf(-72)));
    expect(quality.expectedPercent(4000, 3000)).toBe(Math.round(linkPercentOf(-81)));
    expect(quality.expectedPercent(4000, 10_000)).toBe(Math.round(linkPercentOf(-102)));
  });

  test('of noise around one level is about that level', () => {
    const quality = seen([-70, -74, -66, -74, -70].map((dbm, i) => [i * 1000, dbm]));
    expect(Math.abs((quality.expectedPercent(4000, 3000) ?? 0) - linkPercentOf(-71))).toBeLessThan(4);
  });

  test('is unknown from few readings, a short span, and another interface', () => {
    expect(new Quality(1000).expectedPercent(0, 3000)).toBe(null);
    expect(seen(falling.slice(0, 3)).expectedPercent(2000, 3000)).toBe(null);
    expect(seen(falling.map(([at, dbm]) => [at / 4, dbm])).expectedPercent(1000, 3000)).toBe(null);
    const moved = seen(falling);
    moved.seen({ device: 'wlan1', dbm: -50, bytes: null }, 5000);
    expect(moved.expectedPercent(5000, 3000)).toBe(null);
  });
});
