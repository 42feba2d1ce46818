'use strict';

const { PathKeeper } = require('../../../nodes/lib/uplink/paths/path-keeper');
const { SecondTry } = require('../../../nodes/lib/uplink/paths/path-second-try');
const { Paths } = require('../../../nodes/lib/uplink/paths/session-paths');

const slow = 3000;
/** @param {'mptcp' | 'fallback' | 'tcp'} transport */
const info = (transport) => ({ transport, token: 0, subflows: [] });

describe('a connection that is plain TCP after MPTCP', () => {
  test('is renewed once when its handshake was so slow that the kernel omitted MPTCP', () => {
    const second = new SecondTry();
    expect(second.check(info('mptcp'), 20)).toBe(null);
    expect(second.check(info('fallback'), slow)).toMatchObject({ code: 'MPTCP_AGAIN', atOnce: true });
    expect(second.check(info('fallback'), slow)).toBe(null);
    second.check(info('mptcp'), 20);
    expect(second.check(info('fallback'), slow)).not.toBe(null);
  });

  test.each(
    /** @type {[string, 'fallback' | 'tcp', number, boolean][]} */ ([
      ['its handshake was quick: the far end no longer has MPTCP', 'fallback', 900, true],
      ['no earlier connection had MPTCP', 'fallback', slow, false],
      ['this machine has none', 'tcp', slow, true]
    ])
  )('is kept when %s', (_, transport, handshakeMs, hasSpoken) => {
    const second = new SecondTry();
    if (hasSpoken) second.check(info('mptcp'), 20);
    expect(second.check(info(transport), handshakeMs)).toBe(null);
  });

  test('ends in an orderly way, and reports why', () => {
    const none = { read: () => null, interfaces: () => ({}), defaults: () => [] };
    const session = /** @type {any} */ ({
      client: {},
      fd: 7,
      connected: true,
      noMptcp: '',
      handshakeMs: slow,
      kill: jest.fn(),
      renew: jest.fn()
    });
    let transport = /** @type {'mptcp' | 'fallback'} */ ('mptcp');
    const problem = jest.fn();
    const keeper = new PathKeeper({
      paths: new Paths([], none),
      session,
      native: { mptcpInfo: () => info(transport) },
      lossMs: 1000,
      now: () => 0,
      problem
    });
    keeper.check();
    expect(problem).not.toHaveBeenCalled();
    transport = 'fallback';
    keeper.check();
    expect(session.renew.mock.calls).toEqual([[expect.objectContaining({ code: 'MPTCP_AGAIN' })]]);
    expect(problem.mock.calls).toEqual([['MPTCP_AGAIN', expect.stringMatching(/over MPTCP\.$/)]]);
    expect(session.kill).not.toHaveBeenCalled();
  });
});
