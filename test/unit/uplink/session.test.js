'use strict';

// A session's connection attempts: the socket that they make, and what ends them. The broker is the test's, on
// loopback.

const fs = require('node:fs');
const native = require('../../../native');
const { Authority } = require('../../fixtures/devices/authority');
const { Broker, freePort, until } = require('../../../bench/harness/broker');
const { DeafListener } = require('../../fixtures/uplink/deaf-listener');
const { ScriptedBroker } = require('../../fixtures/uplink/scripted-broker');
const { checkOptions } = require('../../../nodes/lib/settings/uplink-options');
const { Session } = require('../../../nodes/lib/uplink/session/session');
const { needs } = require('../../../bench/harness/tools');

const { test: withOpenssl } = needs('openssl');

jest.setTimeout(30000);

/** The addon in a Node that exports no OpenSSL. */
const withoutTls = { ...native, UplinkConnection: class extends native.UplinkConnection {} };
/** An addon without sockets of its own. */
const nodeSockets = { BrokerReader: native.BrokerReader };
Object.defineProperty(withoutTls.UplinkConnection, 'hasTls', { value: false });

/** @type {(() => unknown)[]} */
const cleanups = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function startBroker(tlsOptions) {
  const broker = await ScriptedBroker.start({}, tlsOptions);
  cleanups.push(() => broker.close());
  return broker;
}

async function openDeaf() {
  const deaf = await DeafListener.open();
  cleanups.push(() => deaf.close());
  return deaf;
}

/** @param {object} options of the uplink @param {object} [group] of the session @param {object} [addon] */
function makeSession(options, group = {}, addon = native) {
  const seen = { states: [], reasons: [], problems: [], closes: [], connected: 0, lost: 0, link: null };
  const checked = { ...checkOptions({ gateway: 'gw', reconnectMinMs: 1, reconnectMaxMs: 1, ...options }, ''), ...group }; // prettier-ignore
  const handlers = {
    onState(state, why) {
      seen.states.push(state);
      seen.reasons.push(why);
    },
    onConnected(link) {
      seen.connected++;
      seen.link = link;
    },
    onDisconnected(byBroker, code) {
      seen.lost++;
      seen.closes.push([byBroker, code]);
    },
    onPuback() {},
    onProblem: (code, reason) => void seen.problems.push([code, reason])
  };
  const session = new Session(checked, handlers, addon);
  cleanups.push(() => new Promise((resolve) => session.stop(() => resolve(undefined))));
  session.start();
  return { session, seen };
}

const countDescriptors = () => fs.readdirSync('/proc/self/fd').length;
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const stop = (session) => new Promise((resolve) => session.stop(() => resolve(undefined)));

/** Descriptors of a closed socket are freed in the next turns of the loop. */
async function settles(count) {
  await until(
    () => countDescriptors() <= count,
    5000,
    `${countDescriptors()} descriptors to become ${count}`
  );
}

test('gives the socket the options of its group, and knows its descriptor', async () => {
  const broker = await startBroker();
  const { session, seen } = makeSession({ url: broker.url }, { socket: { priority: 6, dscp: 46 } });
  expect(session.fd).toBe(null);
  await until(() => seen.connected === 1);
  const reported = { priority: 6, dscp: 46, localAddress: '127.0.0.1' };
  expect(native.socketInfo(Number(session.fd))).toMatchObject(reported);
  await stop(session);
  await until(() => session.fd === null);
  expect(broker.goodbyes).toBe(1);
  expect(seen.problems).toEqual([]);
});

for (const [by, addon, kind] of [
  ['the engine', native, 'ConnectionStream'],
  // A JavaScript stream under TLS would double the cost of a packet.
  ['Node, where it brings the engine no OpenSSL: on the handle itself', withoutTls, 'TLSSocket']
]) {
  withOpenssl(`the same under TLS of ${by}`, async () => {
    const authority = new Authority();
    cleanups.push(() => authority.remove());
    const broker = await startBroker(authority.issue());
    const { session, seen } = makeSession(
      { url: broker.url, tls: { ca: authority.ca } },
      { socket: { priority: 6 } },
      addon
    );
    await until(() => seen.connected === 1);
    expect(native.socketInfo(Number(session.fd)).priority).toBe(6);
    const { stream } = /** @type {any} */ (session.client);
    expect(stream.constructor.name).toBe(kind);
    if (kind === 'TLSSocket') expect(stream._handle.fd).toBe(session.fd);
  });
}

test('lets Node make the sockets where the addon has none, and reports unset options once', async () => {
  const broker = await startBroker();
  const { session, seen } = makeSession(
    { url: broker.url },
    { socket: { priority: 6, dscp: 0 } },
    nodeSockets
  );
  for (let i = 1; i <= 3; i++) {
    await until(() => seen.connected === i);
    session.renew({ code: 'TEST', reason: 'again', refused: false });
  }
  await until(() => seen.connected === 4);
  expect(seen.problems).toEqual([
    [
      'SOCKET_OPTIONS',
      "This system cannot set keepIntervalS, keepCount, userTimeoutMs, priority on the uplink's socket. Only missing acknowledgements reveal a dead link. The network does not send urgent records first."
    ]
  ]);
});

test('leaves no descriptor after hundreds of attempts at a port that refuses', async () => {
  const before = countDescriptors();
  const { session, seen } = makeSession({ url: `mqtt://localhost:${await freePort()}` });
  const attempts = () => seen.states.filter((state) => state === 'disconnected').length;
  await until(() => attempts() > 300, 20000);
  expect(seen.reasons.find(Boolean)).toMatchObject({
    code: 'ECONNREFUSED',
    reason: expect.stringMatching(/^Nothing listens at localhost:/)
  });
  await stop(session);
  await settles(before);
});

withOpenssl('leaves no descriptor after attempts that TLS refuses', async () => {
  const [authority, other] = [new Authority(), new Authority()];
  cleanups.push(() => (authority.remove(), other.remove()));
  const broker = await startBroker(authority.issue());
  const before = countDescriptors();
  const { session, seen } = makeSession({ url: broker.url, tls: { ca: other.ca } });
  await until(() => seen.states.filter((state) => state === 'refused').length > 50, 20000);
  await stop(session);
  await settles(before);
});

describe.each([
  ['the engine', native],
  ['Node', {}]
])('where no MQTT client can be made, a connection of %s', (_, addon) => {
  test('is closed by its stream, once', async () => {
    const broker = await startBroker();
    const before = countDescriptors();
    const closeSocket = jest.fn(native.closeSocket);
    const kept = { get receiveMaximum() { throw new Error('planned'); } }; // prettier-ignore
    const own = { ...addon, ...('openSocket' in addon && { closeSocket }) };
    const { session, seen } = makeSession({ url: broker.url }, { kept }, own);
    await until(() => seen.states.filter((state) => state === 'disconnected').length > 20);
    expect(closeSocket).not.toHaveBeenCalled();
    expect(seen.connected).toBe(0);
    await stop(session);
    await settles(before);
  });
});

test('reports the time-out of a port that does not answer, and leaves no descriptor', async () => {
  const deaf = await openDeaf();
  const before = countDescriptors();
  const { session, seen } = makeSession({ url: `mqtt://127.0.0.1:${deaf.port}`, connectTimeoutMs: 50 });
  await until(() => seen.states.filter((state) => state === 'disconnected').length > 3);
  expect(seen.reasons.find(Boolean)).toMatchObject({
    code: 'ETIMEDOUT',
    reason: expect.stringMatching(/does not answer\. Check the network and the firewall/)
  });
  await stop(session);
  await settles(before);
});

test('ends an attempt at once on stop, during the look-up and during the connection', async () => {
  const deaf = await openDeaf();
  for (const waitMs of [0, 0, 1, 30]) {
    const before = countDescriptors();
    const { session, seen } = makeSession({ url: `mqtt://127.0.0.1:${deaf.port}` });
    if (waitMs > 0) await pause(waitMs);
    const began = performance.now();
    await stop(session);
    expect(performance.now() - began).toBeLessThan(2000);
    await settles(before);
    await pause(20);
    expect(seen.states).toEqual(['connecting']);
  }
});

test('leaves nothing on stop at any moment of an attempt that would succeed', async () => {
  const broker = await startBroker();
  const before = countDescriptors();
  for (let turns = 0; turns < 30; turns++) {
    const { session, seen } = makeSession({ url: broker.url });
    for (let i = 0; i < turns; i++) await new Promise(setImmediate);
    await stop(session);
    const connected = seen.connected;
    await pause(2);
    expect(seen.connected).toBe(connected);
  }
  await settles(before);
});

test.each([
  ['kill', 'KILLED'],
  ['renew', 'RENEWED']
])('ends an attempt on %s, reports why, and makes the next', async (how, code) => {
  const deaf = await openDeaf();
  const before = countDescriptors();
  const { session, seen } = makeSession({ url: `mqtt://127.0.0.1:${deaf.port}` });
  await pause(20);
  session[how]({ code, reason: 'asked for', refused: false });
  expect(seen.states).toEqual(['connecting', 'disconnected']);
  expect(seen.reasons.at(-1).code).toBe(code);
  await until(() => seen.states.length === 3);
  await stop(session);
  await settles(before);
});

const { describe: withMosquitto } = needs('mosquitto');
withMosquitto('two clients with one client id', () => {
  test.each([4, 5])(
    'names the client id when two clients end each other’s connections (MQTT version %i)',
    async (version) => {
      const broker = await Broker.start();
      cleanups.push(() => broker.remove());
      const options = {
        url: broker.plainUrl,
        protocolVersion: version,
        reconnectMinMs: 20,
        reconnectMaxMs: 40
      };
      const both = [makeSession(options), makeSession(options)];
      await until(() => both[0].seen.problems.length > 0);
      expect(both[0].seen.problems[0][1]).toMatch(/nother client.*client id.*"gw"/);
    }
  );
});

test('takes a Receive Maximum of 0, with which nothing could be sent, as none', async () => {
  const broker = await startBroker();
  broker.manners = { granted: { receiveMaximum: 0 } };
  const { seen } = makeSession({ url: broker.url });
  await until(() => seen.connected > 0);
  expect(seen.link.receiveMaximum).toBe(65535);
});

test.each([
  ['a reason code of MQTT 5', 0x83, [true, 0x83]],
  ['a normal disconnection', 0, [true, 0]],
  ['a reason code that MQTT does not have', 0xe0, [true, 0]]
])('reports that the broker ended the connection by a DISCONNECT with %s', async (_, reasonCode, end) => {
  const broker = await startBroker();
  const { seen } = makeSession({ url: broker.url });
  await until(() => seen.connected > 0);
  const bytes = Buffer.from([0xe0, 2, reasonCode, 0]);
  for (const socket of broker.sockets) socket.end(bytes);
  await until(() => seen.lost > 0);
  expect(seen.closes[0]).toEqual(end);
});
