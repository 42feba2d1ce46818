'use strict';
// Sets shadows over HTTP at a rate, until its input ends. Prints what it has done as JSON.
//   load.js PORT SHADOWS RATE SEED

const http = require('node:http');
const { setTimeout: delay } = require('node:timers/promises');
const { seeded } = require('../../fixtures/random');
const { stateOf } = require('./scenario');

const MAX_OPEN = 200;
const TICK_MS = 20;
const [port, shadows, perS, seed] = process.argv.slice(2).map(Number);

const agent = new http.Agent({ keepAlive: true, maxSockets: MAX_OPEN });
const random = seeded(seed);
const done = { updates: 0, failed: 0 };
let open = 0;
let isOver = false;

/** @param {number} n */
function set(n) {
  const device = `dev-${Math.floor(random.next() * shadows)}`;
  const text = JSON.stringify({ device, desired: stateOf(n) });
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
  open++;
  const end = (/** @type {boolean} */ isDone) => {
    open--;
    done[isDone ? 'updates' : 'failed']++;
  };
  const request = http.request({ port, path: '/seganet/shadow', method: 'POST', agent, headers });
  request.on('response', (response) => response.resume().on('end', () => end(response.statusCode === 200)));
  request.on('error', () => end(false));
  request.end(text);
}

async function main() {
  process.stdin.resume().on('end', () => (isOver = true));
  const begun = performance.now();
  for (let n = 2, sent = 0; !isOver; n++) {
    const due = ((performance.now() - begun) / 1000) * perS;
    for (; sent < due && open < MAX_OPEN; sent++) set(n);
    // What the gateway did not take in time is not made up for.
    sent = Math.max(sent, Math.floor(due));
    await delay(TICK_MS);
  }
  while (open > 0) await delay(TICK_MS);
  const perSecond = Math.round(done.updates / ((performance.now() - begun) / 1000));
  process.stdout.write(`${JSON.stringify({ ...done, perSecond })}\n`);
  agent.destroy();
}

void main();
