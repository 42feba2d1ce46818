'use strict';

// Helpers shared by the tests of the addon.

const { spawn } = require('node:child_process');
const net = require('node:net');
const { eventually } = require('../../../bench/harness/net');

/** Stages of the usual plan: devices and ingest → batch (m = 1024, t = 1 s) → uplink 0. */
const stage = Object.freeze({ source: 1, ingest: 2, batch: 3, uplink: 4 });

/** @returns {import('../../../native').PlanSpec} */
function usualPlan() {
  return {
    stages: [
      { id: stage.source, kind: 'source', next: [stage.batch], messages: false },
      { id: stage.ingest, kind: 'ingest', next: [stage.batch], messages: false },
      {
        id: stage.batch,
        kind: 'batch',
        next: [stage.uplink],
        messages: false,
        mode: 'envelope',
        format: 'ndjson',
        minDevices: 0,
        maxBytes: 1024,
        maxDelayMs: 1000,
        immediateClass: 1
      },
      { id: stage.uplink, kind: 'uplink', uplink: 0, next: [], messages: false }
    ]
  };
}

/**
 * Polls until `done` is truthy and returns its value; throws when patience ends.
 * @template T @param {() => T} done @param {string} what @param {number} [patienceMs] @returns {Promise<T>}
 */
const until = (done, what, patienceMs = 20_000) =>
  eventually(done, { timeoutMs: patienceMs, everyMs: 2, what });

/** An MQTT 3.1.1 CONNECT. @param {string} id @returns {Buffer} */
function connectPacket(id) {
  const body = Buffer.concat([
    Buffer.from([0, 4, 77, 81, 84, 84, 4, 2, 0, 0, 0, id.length]),
    Buffer.from(id)
  ]);
  return Buffer.concat([Buffer.from([0x10, body.length]), body]);
}

/** A connected device. @param {number} port @param {string} id @returns {Promise<net.Socket>} */
function connectDevice(port, id) {
  return new Promise((resolve, reject) => {
    const socket = net.connect(port, '127.0.0.1', () => socket.write(connectPacket(id)));
    socket.once('data', () => resolve(socket));
    socket.once('error', reject);
  });
}

/**
 * Runs a script in a separate Node.
 * @param {string[]} args @param {{ env?: Record<string, string>, patienceMs?: number }} [options]
 * @returns {Promise<{ code: number | null, signal: string | null, output: string }>}
 */
function runNode(args, { env = {}, patienceMs = 60_000 } = {}) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe']
    });
    let output = '';
    child.stdout.on('data', (chunk) => (output += chunk));
    child.stderr.on('data', (chunk) => (output += chunk));
    const timer = setTimeout(() => child.kill('SIGABRT'), patienceMs);
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      resolve({ code, signal, output });
    });
  });
}

/** Threads of this process, 0 where /proc is missing. */
function threadCount() {
  try {
    return require('node:fs').readdirSync('/proc/self/task').length;
  } catch {
    return 0;
  }
}

module.exports = { stage, usualPlan, until, connectDevice, runNode, threadCount };
