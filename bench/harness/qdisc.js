'use strict';
// Shapes the gateway's end of the link and counts the traffic of each band.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { haveTool } = require('./tools');
const { run } = require('./netns');

const table = 'seganet_bench';

/**
 * Sets up a token bucket with the three bands of pfifo_fast: priority 6 and 7, 0 and 4, the others.
 * @param {string} dev @param {number} rate bit/s
 * @param {object} [how]
 * @param {number} [how.burst] bytes in the bucket. The default is two packets: a larger bucket would pass a whole batch
 *          at once, and later packets would wait for it. At tens of Mbit/s such a small bucket runs empty when the
 *          timer is late.
 * @param {string[]} [how.within] prefix of a command that runs in the namespace of the interface
 */
function tbf(dev, rate, { burst = 3028, within = [] } = {}) {
  const there = (/** @type {string} */ line) => {
    const [command, ...args] = [...within, ...line.split(' ')];
    run(command, args);
  };
  there(`ip link set ${dev} txqueuelen 100`); // pfifo_fast reads it when it is made
  there(`tc qdisc add dev ${dev} root handle 1: tbf rate ${rate}bit burst ${burst} latency 50ms`);
  there(`tc qdisc add dev ${dev} parent 1:1 handle 10: pfifo_fast`);
}

/**
 * Changes the rate of a link that tbf() shapes, at both ends. Waiting packets stay.
 * @param {string} dev at both ends @param {number} rate bit/s
 * @param {string[]} there prefix of a command at the other end
 * @param {number} [burst] as in tbf()
 */
function retune(dev, rate, there, burst = 15000) {
  const line = `qdisc change dev ${dev} root handle 1: tbf rate ${Math.round(rate)}bit burst ${burst} latency 50ms`;
  for (const within of [[], there]) {
    const [command, ...args] = [...within, 'tc', ...line.split(' ')];
    run(command, args);
  }
}

const seganetNet = path.join(__dirname, '../../nodes/lib/network/qdisc/cli/seganet-net.js');

/** Fraction of the link that htb guarantees to each band that is not urgent. */
const htbReserve = 0.1;

/**
 * Sets up htb like a user: three classes that borrow from each other, selected by the socket's priority and DSCP.
 * @param {string} dev @param {number} rate bit/s
 */
function htb(dev, rate) {
  // The state for `undo` is not needed: the queue disappears with the namespace.
  const state = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-net-'));
  const wish = ['--interface', dev, '--rate', `${rate / 1000}kbit`, '--share', `${htbReserve * 100}`];
  const how = ['--scheme', 'htb', '--force', '--state-dir', state];
  try {
    run(process.execPath, [seganetNet, 'apply', ...wish, ...how]);
  } finally {
    fs.rmSync(state, { recursive: true, force: true });
  }
}

/** @type {Record<string, (dev: string, rate: number) => void>} */
const shapes = { none: () => {}, 'tbf-pfifo_fast': (dev, rate) => tbf(dev, rate), htb };

/**
 * Replaces the shaping of the interface and resets all counters to 0.
 * @param {string} dev @param {string} kind of `shapes` @param {number} rate bit/s
 */
function shape(dev, kind, rate) {
  try {
    run('tc', ['qdisc', 'del', 'dev', dev, 'root']);
  } catch {
    // no queue was set up
  }
  run('ip', ['link', 'set', dev, 'gso_max_segs', '65535']);
  shapes[kind](dev, rate);
  if (haveTool('nft')) countMarks(dev);
}

/**
 * Counts packets by the socket's priority, in the bands of pfifo_fast, under any queueing discipline.
 * @param {string} dev
 */
function countMarks(dev) {
  const rules = `
    table netdev ${table} {}
    delete table netdev ${table}
    table netdev ${table} {
      counter band0 {}
      counter band1 {}
      counter band2 {}
      counter ef {}
      chain out {
        type filter hook egress device ${dev} priority 0; policy accept;
        ip dscp ef counter name ef
        meta priority { 0:6, 0:7 } counter name band0 accept
        meta priority { 0:1, 0:2, 0:3, 0:5 } counter name band2 accept
        counter name band1
      }
    }`;
  run('/bin/sh', ['-c', 'echo "$1" | nft -f -', 'sh', rules]);
}

/** Runs tc, which prints an empty string for an empty list. @param {string[]} args @returns {any[]} */
const tcJson = (...args) => JSON.parse(run('tc', ['-s', '-j', ...args]).trim() || '[]');

/** @typedef {Record<string, {packets: number, bytes: number, dropped?: number}>} Bands */

/**
 * Returns the packets sent so far: in total; by priority (band0, band1, band2, and ef over all bands) if nft is
 * installed; and by class of htb.
 * @param {string} dev @returns {Bands}
 */
function readBands(dev) {
  /** @type {Bands} */
  const bands = {};
  const [root] = tcJson('qdisc', 'show', 'dev', dev, 'root');
  if (root?.kind !== 'noqueue') bands.all = { packets: root.packets, bytes: root.bytes, dropped: root.drops };
  if (haveTool('nft')) {
    const { nftables } = JSON.parse(run('nft', ['-j', 'list', 'counters', 'table', 'netdev', table]));
    for (const { counter } of nftables) {
      if (counter) bands[counter.name] = { packets: counter.packets, bytes: counter.bytes };
    }
  }
  bands.all ??= total([bands.band0, bands.band1, bands.band2]);
  // Some releases of tc cannot print classes as JSON.
  const classes = run('tc', ['-s', 'class', 'show', 'dev', dev]);
  const line = /^class htb (\S+) .*leaf.*\n\s*Sent (\d+) bytes (\d+) pkts? \(dropped (\d+)/gm;
  for (const [, name, bytes, packets, dropped] of classes.matchAll(line)) {
    bands[name] = { packets: Number(packets), bytes: Number(bytes), dropped: Number(dropped) };
  }
  return bands;
}

/** @param {({packets: number, bytes: number} | undefined)[]} parts */
function total(parts) {
  const known = parts.flatMap((part) => part ?? []);
  return {
    packets: known.reduce((sum, { packets }) => sum + packets, 0),
    bytes: known.reduce((sum, { bytes }) => sum + bytes, 0)
  };
}

/** @param {Bands} before @param {Bands} after @returns {Bands} */
function difference(before, after) {
  return Object.fromEntries(
    Object.entries(after).map(([name, { packets, bytes, dropped }]) => [
      name,
      {
        packets: packets - (before[name]?.packets ?? 0),
        bytes: bytes - (before[name]?.bytes ?? 0),
        ...(dropped === undefined ? {} : { dropped: dropped - (before[name]?.dropped ?? 0) })
      }
    ])
  );
}

/** Parses a rate such as 2mbit. @param {string} text @returns {number} bit/s, NaN if it is not a rate */
function bitsPerSecond(text) {
  const found = text.match(/^(\d+(?:\.\d+)?)(k|m|g)?(?:bit)?$/i);
  const factor = { k: 1e3, m: 1e6, g: 1e9 };
  return found ? Number(found[1]) * (factor[/** @type {'k'} */ (found[2]?.toLowerCase())] ?? 1) : NaN;
}

module.exports = { retune, shape, shapes, tbf, readBands, difference, bitsPerSecond };
