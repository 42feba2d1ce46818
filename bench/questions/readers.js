'use strict';
// Measures what readers cost: the same load without any, with open status pages, with local subscribers that read a
// share of the devices each, and with subscribers that read all.
//   node bench/questions/readers.js --help

const net = require('node:net');
const { engineId } = require('../harness/bench-gateway');
const { measure, sleep } = require('../runs/measure');
const { readOptions } = require('../options/options');
const { turned } = require('../report/pairs');
const { conditions, markdown, list, save, spread } = require('../report/report');

const intro = `Usage: node bench/questions/readers.js [options]

Runs each case in turn: none, pages (--pages status pages are open), share (each subscriber reads the devices whose
number modulo --subscribers is its own), and all (each reads all). Reports the CPU of the gateway, the latency to the
cloud and to the PUBACK, and what the readers received. Ratios compare with the case none of the same round. Subscribers
are sockets of the harness, which does not parse what they read; a page is the requests of one as it opens.`;

const CASES = ['none', 'pages', 'share', 'all'];
const TOPICS_EACH = 64;
/** How often a page reads its cards of values, and how many. */
const CARDS = { everyMs: 2000, count: 12 };

/** @typedef {import('../runs/measure').Result & { round: number, kind: string, stats: any, bytes: number }} Run */

/** @param {number} first @param {Buffer[]} parts */
function packet(first, ...parts) {
  const body = Buffer.concat(parts);
  const length = [];
  for (let left = body.length; ;) {
    const byte = left & 127;
    left >>= 7;
    length.push(left > 0 ? byte | 128 : byte);
    if (left === 0) break;
  }
  return Buffer.concat([Buffer.from([first, ...length]), body]);
}

/** @param {string} value */
function text(value) {
  const bytes = Buffer.from(value);
  return Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 255]), bytes]);
}

/** @param {number} port @param {string} id @param {string[]} filters @param {(bytes: number) => void} onRead */
async function subscribe(port, id, filters, onRead) {
  const socket = net.connect(port, '127.0.0.1');
  await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
  socket.on('error', () => {}); // the gateway ends before the harness does
  socket.on('data', (data) => onRead(data.length));
  socket.write(packet(0x10, text('MQTT'), Buffer.from([4, 2, 0, 0]), text(id)));
  for (let at = 0; at < filters.length; at += TOPICS_EACH) {
    const some = filters.slice(at, at + TOPICS_EACH).flatMap((filter) => [text(filter), Buffer.from([0])]);
    socket.write(packet(0x82, Buffer.from([0, 1]), ...some));
  }
  return socket;
}

/**
 * Requests what an open status page requests, until the signal fires.
 * @param {string} root URL @param {(bytes: number) => void} onRead @param {AbortSignal} signal
 */
async function openPage(root, onRead, signal) {
  const cards = async () => {
    while (!signal.aborted) {
      const response = await fetch(`${root}/values?engine=${engineId}&limit=${CARDS.count}`, { signal });
      onRead((await response.arrayBuffer()).byteLength);
      await sleep(CARDS.everyMs);
    }
  };
  const stream = async () => {
    const { ok, status, body } = await fetch(`${root}/live?engine=${engineId}&devices=off`, { signal });
    if (!ok || !body) throw new Error(`the gateway answered ${status}`);
    for await (const data of body) onRead(data.byteLength);
  };
  await Promise.all([cards(), stream()]).catch((error) => {
    if (!signal.aborted) throw error;
  });
}

/** @param {string} kind @param {number} index @param {number} count @param {number} devices @returns {string[]} */
function filtersOf(kind, index, count, devices) {
  if (kind === 'all') return ['d/#'];
  const own = Array.from({ length: devices }, (_none, device) => device).filter(
    (device) => device % count === index
  );
  return own.slice(0, TOPICS_EACH).map((device) => `d/dev-${String(device).padStart(5, '0')}/#`);
}

/** @type {[string, (run: Run) => number | undefined, number][]} */
const columns = [
  ['cores', ({ cores }) => cores, 3],
  ['RSS MB', ({ rssMB }) => rssMB, 0],
  ['alarm p99 ms', ({ arrived }) => arrived.latencyUs.alarm.p99 / 1000, 2],
  ['normal p99 ms', ({ arrived }) => arrived.latencyUs.normal.p99 / 1000, 1],
  ['PUBACK p99 ms', ({ sent }) => sent.pubackUs.normal.p99 / 1000, 1]
];
/** @type {[string, (run: Run) => number | undefined, number][]} */
const plain = [
  ['passed/s', ({ stats, seconds }) => (stats.counters.subscriberRecords ?? 0) / seconds, 0],
  ['MB/s read', ({ bytes, seconds }) => bytes / seconds / 1e6, 1],
  ['dropped', ({ stats }) => stats.counters.subscriberDrops ?? 0, 0],
  ['lost', ({ verdict }) => verdict?.lost, 0],
  ['late sends', ({ sent }) => sent.late, 0]
];

/** @param {Run[]} runs */
function tables(runs) {
  const of = (/** @type {string} */ kind) => runs.filter((each) => each.kind === kind);
  const all = [...columns, ...plain];
  const rows = CASES.map((kind) => [
    kind,
    ...all.map(([, value, digits]) => spread(of(kind).map(value), digits))
  ]);
  const ratios = CASES.slice(1).map((kind) => [
    `${kind} / none`,
    ...columns.map(([, value]) =>
      spread(
        of(kind).map((each) => {
          const base = runs.find((other) => other.kind === 'none' && other.round === each.round);
          return base && value(base) ? (value(each) ?? NaN) / (value(base) ?? NaN) : undefined;
        }),
        2
      )
    )
  ]);
  const first = markdown(['readers', ...all.map(([title]) => title)], rows);
  return `${first}\n\n${markdown(['ratio', ...columns.map(([title]) => title)], ratios)}`;
}

/**
 * @param {string} kind @param {import('../runs/measure').Profile} profile
 * @param {{subscribers: number, pages: number}} counts
 */
async function run(kind, profile, counts) {
  const hasSubscribers = kind === 'share' || kind === 'all';
  const seen = { bytes: 0, stats: /** @type {any} */ (undefined) };
  /** @type {net.Socket[]} */
  const sockets = [];
  const ended = new AbortController();
  const onRead = (/** @type {number} */ bytes) => void (seen.bytes += bytes);
  /** @type {NonNullable<import('../runs/measure').Profile['during']>} */
  const during = async (_cloud, startMs, { system }) => {
    const root = `http://127.0.0.1:${system?.gateway?.editorPort}/seganet`;
    const pages = Array.from({ length: kind === 'pages' ? counts.pages : 0 }, () =>
      openPage(root, onRead, ended.signal)
    );
    for (let index = 0; hasSubscribers && index < counts.subscribers; index++) {
      const filters = filtersOf(kind, index, counts.subscribers, profile.devices);
      sockets.push(await subscribe(system?.port ?? 0, `reader-${index}`, filters, onRead));
    }
    await Promise.race([sleep(startMs + profile.seconds * 1000 - Date.now()), ...pages]);
    seen.stats = await system?.gateway?.stats();
  };
  const gatewayEnv = { ...profile.gatewayEnv, SEGANET_SUBSCRIBERS: hasSubscribers ? 'reader-*=d/#' : '' };
  try {
    return { ...(await measure('seganet', { ...profile, gatewayEnv, during, statistics: true })), ...seen };
  } finally {
    ended.abort();
    for (const socket of sockets) socket.destroy();
  }
}

async function main() {
  const { profile, repeat, out, own } = readOptions(intro, {
    defaults: { systems: '' },
    numbers: {
      subscribers: ['100', 1, 256, 'local subscribers'],
      pages: ['10', 1, 16, 'open status pages']
    }
  });
  const facts = conditions(profile, repeat);
  /** @type {Run[]} */
  const runs = [];
  for (let round = 0; round < repeat; round += 1) {
    for (const kind of turned(CASES, round)) {
      runs.push({ ...(await run(kind, profile, own)), round, kind });
      console.error(`round ${round + 1}/${repeat} ${kind}: ${runs.at(-1)?.cores.toFixed(3)} cores`);
    }
  }
  console.log(
    `${list({ ...facts, subscribers: String(own.subscribers), pages: String(own.pages) })}\n\n${tables(runs)}`
  );
  save(out, { conditions: facts, profile, runs });
}

main();
