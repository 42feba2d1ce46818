'use strict';
// Criteria that one number of nodes shows: without privilege, by the relay, silent peers, peers that have gone.

const { during, resetPeak, sizeOf } = require('./network/engines');
const { PORT, startNode, startServices, statusOf } = require('./network/home');
const { Star } = require('./network/star');
const { MTU } = require('./systems');
const seganet = require('./systems/seganet');
const { load, startServer, tcp } = require('./network/traffic');
const { eventually, sleep } = require('./network/wait');

const WARM_UP_S = 1;
const FORWARD = '127.0.0.1:5301';
const DAY_S = 86_400;
const KEEPALIVE = 32;
const HEADERS = 28;
/** Of a process of root: it keeps its files and loses every capability. */
const UNPRIVILEGED = ['setpriv', '--bounding-set=-all', '--inh-caps=-all', '--no-new-privs'];

/**
 * @template T
 * @param {number} peers @param {(star: Star) => Promise<T>} body
 */
async function inStar(peers, body) {
  const star = await Star.open(peers);
  try {
    return await body(star);
  } finally {
    await star.close();
  }
}

/** @param {import('./systems').Running} running @param {() => Promise<any>} body */
async function whileRunning(running, body) {
  try {
    return await body();
  } finally {
    await running.stop();
  }
}

/** Criterion 20. @param {{ seconds: number }} sizes */
const rootless = ({ seconds }) =>
  inStar(1, async (star) => {
    const [spoke] = star.spokes;
    const services = await startServices(star, ['hub', spoke.name]);
    const how = { within: UNPRIVILEGED, hasTun: false };
    const offer = ['--offer', `load=tcp/${PORT}@127.0.0.1:${PORT}`];
    const forward = ['--forward', `tcp/${FORWARD}=hub:${PORT}`];
    const engines = [
      await startNode(star.hub, 'hub', { ...how, args: offer }),
      await startNode(spoke, spoke.name, { ...how, args: forward })
    ];
    await startServer(star.hub);
    try {
      // The first connection builds the session.
      await load(spoke, ['echo', 'tcp', FORWARD, '10', '0']);
      await eventually('the path is direct', () =>
        statusOf(spoke.name).peers.some((/** @type {any} */ { path }) => path === 'direct')
      );
      const { cores, result } = await during(engines, () =>
        load(spoke, ['tcp', FORWARD, String(WARM_UP_S), String(seconds), '0'])
      );
      return { ...result, hubCores: cores[0], cores: cores[0] + cores[1], mode: statusOf('hub').mode };
    } finally {
      await Promise.all([...engines, services].map((child) => child.stop()));
    }
  });

/** Criterion 21: the relay has one core, which it shares. @param {{ seconds: number, cpus: string }} sizes */
const relayed = ({ seconds, cpus }) =>
  inStar(1, async (star) => {
    const options = {
      mtu: 1280,
      args: ['--relay-only'],
      servicesCpus: cpus,
      path: /** @type {const} */ ('relay')
    };
    const running = await seganet.start(star, options);
    const services = /** @type {import('../harness/child').Child} */ (running.services);
    return whileRunning(running, async () => {
      await startServer(star.hub);
      const { cores, result } = await during([services], () =>
        tcp(star.spokes[0], running.hub, WARM_UP_S, seconds, 0)
      );
      return { ...result, relayCores: cores[0] };
    });
  });

/** @param {import('./network/star').Place} place @returns {number} bytes of its link, both ways */
function linkBytes(place) {
  const [{ stats64 }] = JSON.parse(place.run('ip -s -j link show e'));
  return stats64.rx.bytes + stats64.tx.bytes;
}

/**
 * @returns {number} bytes of the hub's tunnels to all peers, both ways, with the headers of IP and UDP; what passes a
 *          silent tunnel are keepalives of 32 bytes
 */
function tunnelBytes() {
  const { peers } = statusOf('hub');
  const all = peers.flatMap((/** @type {any} */ peer) => [peer.bytesDirect, peer.bytesRelay]);
  const payload = all.reduce(
    (/** @type {number} */ sum, /** @type {any} */ each) => sum + each.in + each.out,
    0
  );
  return (payload * (KEEPALIVE + HEADERS)) / KEEPALIVE;
}

/**
 * Criterion 22: every peer has a session and nothing to say.
 * @param {{ peers: number, settleSeconds: number, silentSeconds: number, isMetered: boolean }} sizes
 */
const silent = ({ peers, settleSeconds, silentSeconds, isMetered }) =>
  inStar(peers, async (star) => {
    const running = await seganet.start(star, { mtu: MTU, args: isMetered ? ['--metered'] : [] });
    return whileRunning(running, async () => {
      const [hub, ...rest] = running.engines;
      await sleep(settleSeconds * 1000);
      const bytes = star.spokes.map(linkBytes);
      const inTunnels = tunnelBytes();
      const { cores } = await during([hub, ...rest], () => sleep(silentSeconds * 1000));
      const grown = star.spokes.map((spoke, i) => linkBytes(spoke) - bytes[i]);
      const tunnelPerDay = ((tunnelBytes() - inTunnels) / peers / silentSeconds) * DAY_S;
      const linkPerDay = (Math.max(...grown) / silentSeconds) * DAY_S;
      return {
        peers,
        hubCores: cores[0],
        tunnelPerDay,
        linkPerDay,
        ...sizeOf(hub),
        ...(await running.figures())
      };
    });
  });

/**
 * Criterion 5: the hub's memory before, under and after the load of peers that then end.
 * @param {{ peers: number, seconds: number, afterSeconds: number }} sizes
 */
const gone = ({ peers, seconds, afterSeconds }) =>
  inStar(peers, async (star) => {
    const running = await seganet.start(star, { mtu: MTU });
    return whileRunning(running, async () => {
      const [hub, ...rest] = running.engines;
      const look = async () => ({ ...sizeOf(hub), ...(await running.figures()) });
      await startServer(star.hub);
      const before = await look();
      resetPeak(hub);
      await Promise.all(star.spokes.map((spoke) => tcp(spoke, running.hub, WARM_UP_S, seconds, 0)));
      const loaded = await look();
      await Promise.all(rest.map((child) => child.stop()));
      await sleep(afterSeconds * 1000);
      return { peers, before, loaded, afterSeconds, after: await look() };
    });
  });

module.exports = { gone, inStar, relayed, rootless, silent };
