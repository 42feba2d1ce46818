'use strict';
// Devices connect, leave and connect again while updates of all shadows are committed. Each must get its difference
// after each CONNACK, and never an older one than before.

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const mqtt = require('mqtt');
const path = require('node:path');
const { setTimeout: delay } = require('node:timers/promises');
const { draws } = require('../../fixtures/random');
const { Scenario, quantile } = require('./scenario');
const { PATIENCE } = require('../../../bench/harness/patience');

const PATIENCE_MS = 10000 * PATIENCE;

/**
 * @typedef {object} Options
 * @property {number} shadows
 * @property {number} devices
 * @property {number} perS connections
 * @property {number} load updates a second
 * @property {number} rounds connections of each device
 * @property {ReturnType<typeof import('../../fixtures/random').seeded>} random
 * @property {(line: string) => void} [log]
 */

/**
 * @param {number} port
 * @param {string} id
 * @returns {Promise<{ ms: number, versions: number[] }>} ms: from CONNACK to the difference, Infinity = none came
 */
async function connectOnce(port, id) {
  const client = mqtt.connect(`mqtt://127.0.0.1:${port}`, { clientId: id, reconnectPeriod: 0 });
  /** @type {number[]} */
  const versions = [];
  let connectedAt = NaN;
  try {
    const ms = await new Promise((resolve, reject) => {
      const timer = setTimeout(() => resolve(Infinity), PATIENCE_MS);
      client.on('error', reject);
      client.on('connect', () => {
        connectedAt = performance.now();
        client.subscribe(`cmd/${id}/shadow/#`, { qos: 1 });
      });
      client.on('message', (_topic, payload) => {
        clearTimeout(timer);
        versions.push(JSON.parse(payload.toString()).version);
        resolve(performance.now() - connectedAt);
      });
    });
    // Others that follow must be newer.
    await delay(200);
    return { ms, versions };
  } finally {
    await client.endAsync(true);
  }
}

/** @param {Options} options */
async function runReconnects({ shadows, devices, perS, load, rounds, random, log = () => {} }) {
  const run = new Scenario({ shadows, devices, perS, cut: false, random, log });
  const numbers = Array.from({ length: shadows }, (_, i) => i);
  /** @type {number[]} */
  const times = [];
  /** @type {Map<string, number>} */
  const newest = new Map();
  let backwards = 0;
  try {
    await run.start();
    await run.set(numbers, 1);
    const child = spawn(
      process.execPath,
      [path.join(__dirname, 'load.js'), run.gateway?.adminPort, shadows, load, 1].map(String),
      { stdio: ['pipe', 'pipe', 'inherit'] }
    );
    let printed = '';
    child.stdout.setEncoding('utf8').on('data', (text) => (printed += text));
    const commits = await run.metric('commits_total');
    try {
      for (let round = 0; round < rounds; round++) {
        const connections = [];
        for (const number of draws(random).shuffled(numbers).slice(0, devices)) {
          const id = `dev-${number}`;
          const connection = connectOnce(/** @type {number} */ (run.port), id).then(({ ms, versions }) => {
            times.push(ms);
            for (const version of versions) {
              if (version < (newest.get(id) ?? 0)) backwards++;
              newest.set(id, version);
            }
          });
          connections.push(connection);
          await Promise.race([connection, delay(1000 / perS)]);
        }
        await Promise.all(connections);
      }
    } finally {
      child.stdin.end();
      if (child.exitCode === null) await once(child, 'close');
    }
    times.sort((a, b) => a - b);
    return {
      connections: times.length,
      missing: times.filter((ms) => ms === Infinity).length,
      backwards,
      commits: (await run.metric('commits_total')) - commits,
      load: JSON.parse(printed || '{}'),
      p50: quantile(times, 0.5),
      p99: quantile(times, 0.99),
      max: quantile(times, 1)
    };
  } finally {
    await run.close();
  }
}

module.exports = { runReconnects };
