'use strict';

// The bytes confirmed by the far end, over connections and subflows that come and go, and the time of each path's last
// change.

const { AckedBytes } = require('../../../nodes/lib/uplink/sending/acked-bytes');
const { PathChanges } = require('../../../nodes/lib/uplink/paths/path-changes');

/** Subflows as the kernel has them, on ways 1, 2 … @param {[number, number][]} list [way, bytes] */
const subflows = (...list) =>
  list.map(([way, bytesAcked]) => ({ local: `198.18.${way}.1`, remote: '198.18.9.9', state: 1, bytesAcked }));

/** @type {{session: {client: unknown, fd: number | null}, native: any}} */
let parts;
/** @type {AckedBytes} */
let acked;
beforeEach(() => {
  parts = {
    session: { client: {}, fd: 7 },
    native: { mptcpInfo: () => ({ subflows: parts.native.list }), list: [] }
  };
  acked = new AckedBytes(parts);
});
/** @param {[number, number][]} list */
const see = (...list) => {
  parts.native.list = subflows(...list);
  return acked.read();
};

test('adds up the subflows of a connection', () => {
  expect(see([1, 100])).toBe(100);
  expect(see([1, 150], [2, 1000])).toBe(1150);
  expect(see([1, 150], [2, 1000])).toBe(1150);
});

test('subtracts nothing for a subflow that is gone or was recreated', () => {
  see([1, 5000], [2, 1000]);
  expect(see([2, 1500])).toBe(6500);
  // The old one stays listed beside the new one for a while.
  expect(see([1, 5000], [1, 20], [2, 1500])).toBe(6520);
  expect(see([1, 30], [2, 1500])).toBe(6520);
  expect(see([1, 130], [2, 1500])).toBe(6620);
});

test('starts another connection at 0, and keeps the total of the previous one', () => {
  see([1, 5000]);
  parts.session = Object.assign(acked.session, { client: null, fd: null });
  expect(acked.read()).toBe(5000);
  parts.session = Object.assign(acked.session, { client: {}, fd: 7 });
  expect(see([1, 5100])).toBe(10_100);
});

test('changes nothing for unknown values and a socket that was just closed', () => {
  see([1, 5000]);
  expect(see([1, -1])).toBe(5000);
  expect(see()).toBe(5000);
  parts.native.mptcpInfo = () => {
    throw Object.assign(new Error('closed'), { code: 'EBADF' });
  };
  expect(acked.read()).toBe(5000);
  delete parts.native.mptcpInfo;
  expect(acked.read()).toBe(5000);
});

test('gives the time since a path was seen to enter its state', () => {
  let now = 0;
  const changes = new PathChanges(() => now);
  expect(changes.since('eth0', 'unknown')).toBe('1970-01-01T00:00:00.000Z');
  now = 1000;
  expect(changes.since('eth0', 'unknown')).toBe('1970-01-01T00:00:00.000Z');
  expect(changes.since('eth0', 'down')).toBe('1970-01-01T00:00:01.000Z');
  expect(changes.since('wwan0', 'down')).toBe('1970-01-01T00:00:01.000Z');
  now = 2000;
  expect(changes.since('eth0', 'unknown')).toBe('1970-01-01T00:00:02.000Z');
});
