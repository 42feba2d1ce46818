'use strict';
// The paper's figures 5 to 8 for one system and one number of peers: throughput of TCP and UDP, round trips, CPU,
// memory, goroutines and threads.

const { during, resetPeak, sizeOf } = require('./network/engines');
const { ping, startServer, tcp, udp } = require('./network/traffic');
const { Star } = require('./network/star');
const { sleep } = require('./network/wait');

const WARM_UP_S = 1;
/** Of the criterion about round trips: each peer's load. */
const PACED_MBITS = 20;

/** @typedef {import('./systems').Running} Running @typedef {{ seconds: number }} Sizes */

const sum = (/** @type {number[]} */ values) => values.reduce((a, b) => a + b, 0);

/**
 * Runs a load from all spokes, and measures the engines in its window.
 * @template T
 * @param {Running} running @param {Star} star @param {number} seconds
 * @param {(spoke: import('./network/star').Place) => Promise<T>} send
 * @param {number} warmUp seconds before the window
 */
async function underLoad(running, star, seconds, send, warmUp) {
  const [hub] = running.engines;
  if (hub) resetPeak(hub);
  const sending = Promise.all(star.spokes.map(send));
  // The sender's error is the cause of any later one.
  const failed = sending.then(() => new Promise(() => {}));
  const window = async () => {
    await sleep(warmUp * 1000);
    const { cores, result } = await during(running.engines, async () => {
      const rtt = await ping(star.spokes[0], running.hub, seconds - 0.5);
      return { rtt, figures: await running.figures(), size: hub && sizeOf(hub) };
    });
    return { hubCores: cores[0], cores: sum(cores), ...result };
  };
  const { rtt, size, figures, hubCores, cores } = /** @type {Awaited<ReturnType<typeof window>>} */ (
    await Promise.race([window(), failed])
  );
  const sent = await sending;
  return { sent, rtt, hubCores, cores, ...size, ...figures };
}

/**
 * @param {import('./systems').System} system @param {number} peers @param {Sizes} sizes
 */
async function rates(system, peers, { seconds }) {
  const star = await Star.open(peers);
  /** @type {Running | undefined} */
  let running;
  try {
    running = await system.start(star);
    await startServer(star.hub);
    return { system: system.name, peers, ...(await phases(running, star, seconds)) };
  } finally {
    await running?.stop();
    await star.close();
  }
}

/** @param {Running} running @param {Star} star @param {number} seconds */
async function phases(running, star, seconds) {
  const { hub } = running;
  const idle = await ping(star.spokes[0], hub, 1);
  const { sent: streams, ...tcpLoad } = await underLoad(
    running,
    star,
    seconds,
    (spoke) => tcp(spoke, hub, WARM_UP_S, seconds, 0),
    WARM_UP_S
  );
  const rate = streams.map(({ mbits }) => mbits);
  const pacedTcp = await underLoad(
    running,
    star,
    seconds,
    (spoke) => tcp(spoke, hub, WARM_UP_S, seconds, PACED_MBITS),
    WARM_UP_S
  );
  const paced = await underLoad(running, star, seconds, (spoke) => udp(spoke, hub, seconds, PACED_MBITS), 0);
  const flood = await underLoad(running, star, seconds, (spoke) => udp(spoke, hub, seconds, 0), 0);
  return {
    idle,
    tcp: {
      ...tcpLoad,
      mbits: sum(rate),
      least: Math.min(...rate),
      most: Math.max(...rate),
      retransmits: sum(streams.map(({ retransmits }) => retransmits))
    },
    pacedTcp,
    paced: datagrams(paced),
    udp: datagrams(flood)
  };
}

/** @param {Awaited<ReturnType<typeof underLoad<Awaited<ReturnType<typeof udp>>>>>} measured */
function datagrams({ sent, ...rest }) {
  const all = (/** @type {'sent' | 'received' | 'duplicates' | 'outOfOrder' | 'mbits'} */ field) =>
    sum(sent.map((each) => each[field]));
  return {
    ...rest,
    mbits: all('mbits'),
    lost: 1 - all('received') / Math.max(1, all('sent')),
    duplicates: all('duplicates'),
    outOfOrder: all('outOfOrder')
  };
}

module.exports = { PACED_MBITS, rates };
