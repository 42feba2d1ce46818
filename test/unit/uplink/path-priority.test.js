'use strict';
// A new MPTCP subflow takes its priority from its DSCP: the keeper restores it.

const native = require('../../../native');
const { PathKeeper } = require('../../../nodes/lib/uplink/paths/path-keeper');

const subflow = {
  id: 1,
  local: '10.0.1.2',
  remote: '192.0.2.9',
  state: 1,
  backup: false,
  rttUs: 20_000,
  retransmits: 0,
  bytesSent: 100,
  bytesAcked: 100,
  unacked: 0
};

/** @type {jest.Mock} */
let renewPriority;
/** @type {any} */
let session;
/** @type {any} */
let info;
/** @type {PathKeeper} */
let keeper;
beforeEach(() => {
  renewPriority = jest.fn();
  session = { client: {}, fd: 7, connected: true, noMptcp: '', handshakeMs: 20 };
  info = { transport: 'mptcp', token: 1, subflows: [subflow] };
  keeper = new PathKeeper({
    session,
    native: { mptcpInfo: () => info, renewPriority },
    lossMs: 1000,
    now: () => 0,
    paths: /** @type {any} */ ({ having: () => [], suspect: () => {} }),
    problem: () => {}
  });
});

const look = () => {
  keeper.check();
  keeper.check();
};

test('renews the priorities of each new subflow, of each connection, once', () => {
  look();
  expect(renewPriority.mock.calls).toEqual([[7]]);
  info = { ...info, subflows: [subflow, { ...subflow, local: '10.64.0.2' }] };
  look();
  expect(renewPriority).toHaveBeenCalledTimes(2);
  session.client = {};
  look();
  expect(renewPriority).toHaveBeenCalledTimes(3);
});

test('waits for a subflow that carries nothing yet, and leaves plain TCP alone', () => {
  info = { ...info, subflows: [{ ...subflow, state: 2 }] };
  look();
  expect(renewPriority).toHaveBeenCalledTimes(1);
  info = { ...info, subflows: [subflow] };
  look();
  expect(renewPriority).toHaveBeenCalledTimes(2);
  info = { ...info, transport: 'fallback' };
  session.client = {};
  look();
  expect(renewPriority).toHaveBeenCalledTimes(2);
});

test('accepts only descriptors of sockets in renewPriority()', () => {
  expect(() => native.renewPriority(/** @type {any} */ ('1'))).toThrow(/^fd must be a whole number from 0/);
  expect(() => native.renewPriority(1 << 30)).toThrow(expect.objectContaining({ code: 'EBADF' }));
});
