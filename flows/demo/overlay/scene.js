'use strict';
// What npm run overlay shows: the first record, then the relay instead of the direct path, and the direct path again.

const { print, say } = require('../command');

const FIRST_MS = 60000;
const DIRECT_MS = 10000;
const POLL_MS = 10;
const BY_HAND = "direct paths are switched off at gw's node";

/** @param {number} ms */
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** @param {number} ms */
const seconds = (ms) => `${(ms / 1000).toFixed(ms < 1000 ? 2 : 1)} s`;

/**
 * @typedef {object} Parts
 * @property {import('./arguments').Options} options
 * @property {import('./arrivals').Arrivals} arrivals
 * @property {import('./node-watch').NodeWatch} watch of gw
 * @property {{ cut?: () => void, heal?: () => void }} network
 * @property {() => number} sent records that the device has sent
 */

/** Waits for the first record. @param {Parts} parts */
async function showFirst({ arrivals, watch }) {
  const deadline = performance.now() + FIRST_MS;
  while (arrivals.first === null) {
    if (performance.now() > deadline)
      throw new Error(`No record arrived in ${FIRST_MS / 1000} s. The messages of the gateways say why.`);
    await sleep(POLL_MS);
  }
  const took = arrivals.first - performance.timeOrigin;
  const peer = await watch.peer('hub');
  say(
    `the first record is at hub's broker, ${seconds(took)} after the start (now ${peer?.via ?? 'unknown'})`
  );
}

/**
 * Lets records flow, and tells how they fared since a change.
 * @param {Parts} parts
 * @param {number} since ms since 1970
 */
async function showFlow({ options, arrivals, watch }, since) {
  await sleep(options.seconds * 1000);
  const pause = arrivals.longestPause(since, Date.now());
  print(
    `         longest time without a record at the broker: ${pause} ms; round trip gw-hub: ${await watch.roundTrip('hub')}`
  );
}

/**
 * Changes something, waits for the path, and tells how long it took.
 * @param {Parts} parts
 * @param {object} change
 * @param {string} change.what
 * @param {() => unknown} change.make
 * @param {'direct' | 'relay'} change.path
 */
async function showChange(parts, { what, make, path }) {
  const { watch } = parts;
  const since = Date.now();
  const began = performance.now();
  await make();
  say(what);
  const { peer, isReached } = await watch.reaches('hub', path, DIRECT_MS);
  const took = performance.now() - began;
  if (isReached) say(`${peer.via} after ${seconds(took)}`);
  else say(`still ${peer.via} after ${seconds(took)}: ${peer.reason || 'no reason is known'}`);
  await showFlow(parts, since);
}

/** @param {Parts} parts */
async function showPaths(parts) {
  const { options, arrivals, watch, network, sent } = parts;
  await showFirst(parts);
  const since = Date.now();
  const { peer, isReached } = await watch.reaches('hub', 'direct', DIRECT_MS);
  if (!isReached) {
    say(`by the relay, because ${peer.reason || 'no direct path was found'}`);
    await showFlow(parts, since);
  } else {
    say(`${peer.via}`);
    await showFlow(parts, since);
    const isCut = options.nat !== null;
    await showChange(parts, {
      what: isCut ? "gw's network drops the packets of the direct path" : `${BY_HAND}`,
      make: () => (isCut ? network.cut?.() : watch.request('relay-only', { on: true })),
      path: 'relay'
    });
    await showChange(parts, {
      what: isCut ? "gw's network lets them pass again" : 'direct paths are switched on again',
      make: () => (isCut ? network.heal?.() : watch.request('relay-only', { on: false })),
      path: 'direct'
    });
  }
  const { count, missing, repeated, connections } = arrivals;
  say(
    `${sent()} records were sent, ${count} have arrived: ${missing} lost, ${repeated} twice, over ${connections === 1 ? 'one MQTT connection' : `${connections} MQTT connections`}`
  );
}

module.exports = { showPaths };
