'use strict';
// A new subflow of MPTCP loses its priority to its DSCP: the keeper gives it back.

const native = require('../../../native');
const { PathKeeper } = require('../../../nodes/lib/uplink/paths/path-keeper');

const subflow = {
  ...{ id: 1, local: '10.0.1.2', remote: '192.0.2.9', state: 1, backup: false },
  ...{ rttUs: 20_000, retransmits: 0, bytesSent: 100, bytesAcked: 100, unacked: 0 }
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
    ...{ session, native: { mptcpInfo: () => info, renewPriority }, lossMs: 1000, now: () => 0 },
    paths: /** @type {any} */ ({ having: () => [], suspect: () => {} }),
    problem: () => {}
  });
});

const look = () => {
  keeper.check();
  keeper.check();
};

test('each subflow that is new, of each connection, has the priorities renewed once', () => {
  look();
  expect(renewPriority.mock.calls).toEqual([[7]]);
  info = { ...info, subflows: [subflow, { ...subflow, local: '10.64.0.2' }] };
  look();
  expect(renewPriority).toHaveBeenCalledTimes(2);
  session.client = {};
  look();
  expect(renewPriority).toHaveBeenCalledTimes(3);
});

test('one that carries nothing yet is waited for, and plain TCP keeps what it has', () => {
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

test('renewPriority() takes descriptors of sockets only', () => {
  expect(() => native.renewPriority(/** @type {any} */ ('1'))).toThrow(/^fd must be a whole number from 0/);
  expect(() => native.renewPriority(1 << 30)).toThrow(expect.objectContaining({ code: 'EBADF' }));
});
