'use strict';
// How soon the uplink notices that a path confirms nothing. The clock is the test's.

const { PathKeeper } = require('../../../nodes/lib/uplink/paths/path-keeper');
const { PathSuspicion } = require('../../../nodes/lib/uplink/paths/path-suspicion');

const MAIN = '192.0.2.1';
const BACKUP = '198.51.100.1';
/** @param {object} [more] @returns {any} */
const subflow = (more = {}) => ({
  local: MAIN,
  remote: '203.0.113.1',
  state: 1,
  rttUs: 1000,
  retransmits: 3,
  bytesSent: 500,
  bytesAcked: 100,
  unacked: 1,
  ...more
});

describe('an inspection', () => {
  let now = 0;
  /** @type {PathSuspicion} */
  let suspicion;
  beforeEach(() => {
    now = 0;
    suspicion = new PathSuspicion(() => now);
  });
  /** @param {number} at @param {any[]} subflows */
  const look = (at, ...subflows) => {
    now = at;
    const { silent, ...more } = suspicion.inspect('connection', subflows);
    return { silent: silent.map(({ local }) => local), ...more };
  };
  const well = { silent: [], isWaiting: true };
  const dead = { silent: [MAIN], isWaiting: true };

  test('finds one that confirms nothing for 150 ms', () => {
    expect(look(0, subflow())).toEqual(well);
    expect(look(149, subflow())).toEqual(well);
    expect(look(150, subflow())).toEqual(dead);
    expect(look(1000, subflow())).toEqual(dead);
    expect(look(1001, subflow({ bytesAcked: 101 }))).toEqual(well);
  });

  test('finds it as soon as the kernel has retransmitted in vain', () => {
    look(0, subflow());
    expect(look(59, subflow({ retransmits: 4 }))).toEqual(well);
    expect(look(60, subflow({ retransmits: 4 }))).toEqual(dead);
  });

  test('finds it after 60 ms, when the kernel had retransmitted before the first inspection', () => {
    look(0, subflow({ unacked: 0 }));
    expect(look(250, subflow({ bytesAcked: 200, retransmits: 4 }))).toEqual(well);
    expect(look(309, subflow({ bytesAcked: 200, retransmits: 4 }))).toEqual(well);
    expect(look(310, subflow({ bytesAcked: 200, retransmits: 4 }))).toEqual(dead);
  });

  test('ignores a retransmission that was confirmed long ago', () => {
    look(0, subflow());
    look(250, subflow({ bytesAcked: 200, retransmits: 4 }));
    look(500, subflow({ bytesAcked: 300, retransmits: 4 }));
    expect(look(640, subflow({ bytesAcked: 300, retransmits: 4 }))).toEqual(well);
    look(750, subflow({ bytesAcked: 400, unacked: 0, retransmits: 5 }));
    look(1000, subflow({ bytesAcked: 500, retransmits: 5 }));
    expect(look(1140, subflow({ bytesAcked: 500, retransmits: 5 }))).toEqual(well);
  });

  test('allows a long round trip four round trips, two when the kernel has retransmitted', () => {
    const far = { rttUs: 200_000 };
    look(0, subflow(far));
    expect(look(399, subflow({ ...far, retransmits: 4 }))).toEqual(well);
    expect(look(400, subflow({ ...far, retransmits: 4 }))).toEqual(dead);
    expect(look(799, subflow(far))).toEqual(well);
    expect(look(800, subflow(far))).toEqual(dead);
  });

  test('ignores a path that has nothing to confirm', () => {
    for (let at = 0; at < 5000; at += 250) {
      expect(look(at, subflow({ unacked: 0 }))).toEqual({ silent: [], isWaiting: false });
    }
    expect(look(5000, subflow())).toEqual(well);
  });

  test('finds the dead one of several', () => {
    const other = (/** @type {number} */ bytesAcked) => subflow({ local: BACKUP, bytesAcked });
    look(0, subflow(), other(1));
    expect(look(300, subflow(), other(2))).toEqual(dead);
  });

  test('keeps nothing of another connection, nor of figures that the kernel does not report', () => {
    look(0, subflow());
    now = 300;
    expect(suspicion.inspect('another', [subflow()]).silent).toEqual([]);
    for (const at of [0, 300, 600]) {
      expect(look(at, subflow({ unacked: -1, bytesAcked: -1, rttUs: -1, retransmits: -1 })).silent).toEqual(
        []
      );
    }
  });
});

describe('a session', () => {
  /** @type {any} */
  let info;
  /** @type {any[]} */
  let reported;
  let looks = 0;
  /** @type {PathKeeper} */
  let keeper;
  /** @type {any} */
  let session;
  beforeEach(() => {
    jest.useFakeTimers({ now: 0 });
    looks = 0;
    reported = [];
    info = { transport: 'mptcp', token: 1, subflows: [subflow(), subflow({ local: BACKUP, unacked: 0 })] };
    session = { client: {}, fd: 7, connected: true, noMptcp: '', kill: jest.fn(), renew: jest.fn() };
    const ways = [{ name: 'eth0', role: 'active', device: 'eth0', addresses: [MAIN] }];
    keeper = new PathKeeper({
      paths: /** @type {any} */ ({
        having: () => ways,
        isDown: () => false,
        failedAt: () => -Infinity,
        besides: () => [],
        steady: () => undefined,
        suspect: (/** @type {any[]} */ ...hint) => reported.push([Date.now(), ...hint])
      }),
      session,
      native: { mptcpInfo: () => (looks++, info) },
      lossMs: 1000,
      now: () => Date.now(),
      problem: () => {}
    });
    setInterval(() => keeper.check(), 250);
  });
  afterEach(() => jest.useRealTimers());

  test('reports its silent path 320 ms after the last confirmation at the latest, and is not ended', () => {
    for (let dies = 1000; dies < 1250; dies += 10) {
      info.subflows[0] = subflow({ bytesAcked: dies, unacked: 0 });
      reported.length = 0;
      jest.advanceTimersByTime(dies - (Date.now() % 10_000));
      info.subflows[0] = subflow({ bytesAcked: dies + 1 });
      jest.advanceTimersByTime(210);
      info.subflows[0] = subflow({ bytesAcked: dies + 1, retransmits: 4 });
      jest.advanceTimersByTime(390);
      const [[at, address, rttMs]] = reported;
      expect([address, rttMs]).toEqual([MAIN, 1]);
      expect((at % 10_000) - dies).toBeGreaterThanOrEqual(150);
      expect((at % 10_000) - dies).toBeLessThanOrEqual(320);
      info.subflows[0] = subflow({ bytesAcked: 1, unacked: 0 });
      jest.advanceTimersByTime(10_000 - (Date.now() % 10_000));
    }
    expect(session.kill).not.toHaveBeenCalled();
  });

  test('inspects a healthy path four times a second with nothing in flight, and 21 times at most', () => {
    info.subflows[0].unacked = 0;
    jest.advanceTimersByTime(10_000);
    expect(looks).toBe(40);
    looks = 0;
    const answers = setInterval(() => info.subflows[0].bytesAcked++, 20);
    info.subflows[0].unacked = 1;
    jest.advanceTimersByTime(10_000);
    expect(looks).toBeGreaterThan(150);
    expect(looks).toBeLessThanOrEqual(210);
    clearInterval(answers);
    expect(reported).toEqual([]);
  });

  test('inspects nothing between two checks without a connection', () => {
    jest.advanceTimersByTime(250);
    session.fd = null;
    jest.advanceTimersByTime(1000);
    expect(looks).toBe(1);
    expect(reported).toEqual([]);
  });
});
