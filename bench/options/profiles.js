'use strict';
// Loads with a name: what devices send, and what an application of that kind needs. Options of loadgen beside the plain ones
// are in `loadOptions` (bench/loadgen).

/**
 * @typedef {object} LoadProfile
 * @property {string} title @property {string} what
 * @property {number[]} devices one run for each @property {number} rate messages a second and device
 * @property {number} payload bytes, where loadOptions has no range of it
 * @property {number} alarmEvery @property {number} [inflight]
 * @property {Record<string, string | number>} [loadOptions]
 * @property {{needMs?: number, ofClass?: number}} [need] p99 below this
 * @property {{from: number, seconds: number}} [outage] the cloud is away: from this part of the load on, for so long
 */

/** @type {Record<string, LoadProfile>} */
const profiles = {
  'seganet-paper': {
    title: "the paper's experiment",
    what: 'each device a message each 100 ms, 100 to 1,000 B; the paper reached 0.8 s at its largest number of devices',
    devices: [1, 16, 32, 64, 128, 256, 1000],
    rate: 10,
    payload: 550,
    alarmEvery: 0,
    loadOptions: { payload: '100-1000' },
    need: { needMs: 800, ofClass: 3 }
  },
  farm: {
    title: 'a farm of sensors',
    what: '1,000 sensors, 10 messages a second each, 200 B, 5 % alarms',
    devices: [1000],
    rate: 10,
    payload: 200,
    alarmEvery: 20
  },
  heart: {
    title: 'heart monitors',
    what: '64 devices with 50 messages a second of 100 B, as an ECG; 2 % of class 1, 10 % of class 2; alarms need less than 1 s',
    devices: [64],
    rate: 50,
    payload: 100,
    alarmEvery: 50,
    inflight: 256,
    loadOptions: { shares: '1:2,2:10,3:88' },
    need: { needMs: 1000, ofClass: 1 }
  },
  camera: {
    title: 'cameras',
    what: '16 devices with 10 pictures of 16 KB a second, 5 % alarms',
    devices: [16],
    rate: 10,
    payload: 16384,
    alarmEvery: 20,
    need: { needMs: 1000, ofClass: 1 }
  },
  burst: {
    title: 'bursts',
    what: '200 devices with 5 messages a second, for 1 s in each 5 s ten times as many',
    devices: [200],
    rate: 5,
    payload: 200,
    alarmEvery: 20,
    inflight: 256,
    loadOptions: { burst: '5:1:10' },
    need: { needMs: 1000, ofClass: 1 }
  },
  outage: {
    title: 'an outage',
    what: 'the farm with 200 sensors; the cloud is away for 5 s in the middle; nothing may be lost',
    devices: [200],
    rate: 10,
    payload: 200,
    alarmEvery: 20,
    inflight: 256,
    outage: { from: 0.4, seconds: 5 }
  },
  poisson: {
    title: 'chance',
    what: 'the farm with 200 sensors that send at random times (Poisson) in place of a fixed period',
    devices: [200],
    rate: 10,
    payload: 200,
    alarmEvery: 20,
    loadOptions: { arrivals: 'poisson' },
    need: { needMs: 1000, ofClass: 1 }
  }
};

module.exports = { profiles };
