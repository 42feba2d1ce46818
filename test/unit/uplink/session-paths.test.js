'use strict';

// The path that an uplink's sockets take, and when a connection is given up for another: with the test's clock and a
// simulated machine.

const { Dial } = require('../../../nodes/lib/uplink/session/dial');
const { checkOptions } = require('../../../nodes/lib/settings/uplink-options');
const { PathKeeper } = require('../../../nodes/lib/uplink/paths/path-keeper');
const { PathWatch } = require('../../../nodes/lib/uplink/paths/path-watch');
const { parsePaths } = require('../../../nodes/lib/settings/path-options');
const { remembering } = require('../../../nodes/lib/uplink/paths/path-dial');
const { Machine } = require('../../fixtures/uplink/machine');
const { defaultRoutes } = require('../../../nodes/lib/uplink/paths/session-paths');

/** @type {Machine} */
let machine;
beforeEach(() => {
  machine = new Machine();
});
const names = (/** @type {import('../../../nodes/lib/uplink/paths/session-paths').Way[]} */ ways) =>
  ways.map(({ name }) => name);

describe('configuration', () => {
  test('reads blank as no paths and auto as the existing ones, and checks a list', () => {
    expect([undefined, '', ' '].map(parsePaths)).toEqual([null, null, null]);
    expect(parsePaths('auto')).toEqual([]);
    expect(parsePaths('eth0, wwan0:backup')).toEqual([
      { target: 'eth0', role: 'active' },
      { target: 'wwan0', role: 'backup' }
    ]);
    const options = checkOptions({ url: 'mqtt://h', gateway: 'g', paths: '192.0.2.1' }, '');
    expect(options).toMatchObject({ paths: [{ target: '192.0.2.1' }], pathLossMs: 1000 });
    expect(checkOptions({ url: 'mqtt://h', gateway: 'g' }, '').paths).toBe(null);
  });

  test.each([
    ['eth0:spare', /^A path is 'active' or 'backup', and may be 'metered', not "spare"\.$/],
    ['eth0,eth0', /^The list of paths names 'eth0' twice\.$/],
    ['eth0 rm', /^The list of paths takes auto or a list such as eth0,wwan0:backup/],
    ['::1', /takes auto or a list/],
    [',', /takes auto or a list/],
    ['a,b,c,d,e,f,g,h,i', /takes at most 8 paths/]
  ])('throws a TypeError with a sentence for %j', (text, sentence) => {
    expect(() => parsePaths(text)).toThrow(TypeError);
    expect(() => parsePaths(text)).toThrow(sentence);
  });

  test('limits the time-out', () => {
    const wrong = { url: 'mqtt://h', gateway: 'g', pathLossMs: 99 };
    expect(() => checkOptions(wrong, '')).toThrow(/pathLossMs is 99; it must be a whole number from 100/);
  });
});

describe('the order', () => {
  test('is active before backup, as entered, then dead paths, without missing ones', () => {
    const paths = machine.paths('wwan0:backup,eth0,192.0.2.1,usb0');
    expect(names(paths.inOrder())).toEqual(['eth0', '192.0.2.1', 'wwan0']);
    paths.failed('eth0');
    expect(names(paths.inOrder())).toEqual(['192.0.2.1', 'wwan0', 'eth0']);
    machine.time += 30_001;
    expect(names(paths.inOrder())).toEqual(['eth0', '192.0.2.1', 'wwan0']);
    machine.tell({ eth0: 'down', '192.0.2.1': 'down' });
    expect(names(paths.inOrder())).toEqual(['wwan0', 'eth0', '192.0.2.1']);
  });

  test('forgets a failure when the watcher has seen the path come up since', () => {
    const paths = machine.paths('eth0,wwan0');
    paths.failed('eth0');
    machine.tell({ eth0: 'up' }, 60_000);
    expect(names(paths.inOrder())).toEqual(['wwan0', 'eth0']);
    machine.tell({ eth0: 'up' });
    expect(names(paths.inOrder())).toEqual(['eth0', 'wwan0']);
  });

  test("does not demote a failed path that the watcher's probes still show up three seconds later", () => {
    const paths = machine.paths('eth0,wwan0');
    machine.tell({ eth0: 'up', wwan0: 'up' }, 60_000);
    machine.status.broker = 'cloud:8883';
    paths.failed('eth0');
    machine.time += 3000;
    expect(names(paths.inOrder())).toEqual(['wwan0', 'eth0']);
    machine.time += 1000;
    expect(names(paths.inOrder())).toEqual(['eth0', 'wwan0']);
    machine.status.broker = ''; // it looks at links only
    machine.time += 1000;
    expect(names(paths.inOrder())).toEqual(['wwan0', 'eth0']);
  });

  test("takes the watcher's paths for auto, else default routes, mobile ones as backup", () => {
    machine.defaults = [{ device: 'wwan0' }, { device: 'eth0' }];
    const paths = machine.paths('auto');
    expect(paths.inOrder()).toMatchObject([{ name: 'eth0' }, { name: 'wwan0', role: 'backup' }]);
    machine.defaults = [];
    machine.time += 1000;
    expect(names(paths.inOrder())).toEqual(['eth0', 'wwan0']);
    machine.tell({ lo: 'up' });
    expect(names(paths.inOrder())).toEqual(['lo']);
  });

  test('reads default routes as the kernel prints them', () => {
    const text = [
      'Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT',
      'wwan0\t00000000\t00000000\t0001\t0\t0\t700\t00000000\t0\t0\t0',
      'eth0\t00000000\t010200C0\t0003\t0\t0\t100\t00000000\t0\t0\t0',
      'eth0\t000200C0\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0'
    ].join('\n');
    expect(defaultRoutes(text)).toEqual([{ device: 'eth0' }, { device: 'wwan0' }]);
    expect(defaultRoutes('')).toEqual([]);
  });
});

describe('connecting', () => {
  /**
   * @param {Paths} paths
   * @param {Record<string, string>} answers of devices: '' = connects, else the code
   * @param {object} [more]
   */
  function dial(paths, answers, more = {}) {
    /** @type {any[]} */
    const tried = [];
    const addon = {
      openSocket: (
        /** @type {string} */ address,
        /** @type {number} */ _port,
        /** @type {any} */ options
      ) => {
        tried.push({ address, ...options });
        return { fd: tried.length - 1, unknown: ['userTimeoutMs', 'notSentLowat'], noMptcp: '' };
      },
      waitConnect: async (/** @type {number} */ fd, /** @type {number} */ ms) => {
        tried[fd].ms = ms;
        const code = answers[tried[fd].device ?? ''] ?? '';
        if (code) throw Object.assign(new Error(code), { code });
      },
      closeSocket: () => {}
    };
    const attempt = new Dial({
      host: 'cloud',
      port: 1,
      timeoutMs: 15_000,
      socket: {},
      paths,
      wantsDescriptor: true,
      native: /** @type {any} */ (addon),
      lookup: async () => [{ address: '203.0.113.1' }],
      ...more
    });
    return { attempt, tried };
  }

  test('uses MPTCP, bound to the best path, and does not report what MPTCP never has', async () => {
    const { attempt, tried } = dial(machine.paths('eth0,wwan0'), {});
    expect(await attempt.connect()).toMatchObject({
      way: { name: 'eth0' },
      noMptcp: '',
      unknown: ['notSentLowat']
    });
    expect(tried).toMatchObject([{ device: 'eth0', localAddress: '192.0.2.1', mptcp: true }]);
  });

  test('gives each path a second, then the slow ones the rest, and avoids the dead ones from then on', async () => {
    const paths = machine.paths('eth0,wwan0');
    const { attempt, tried } = dial(paths, { eth0: 'ETIMEDOUT', wwan0: 'ETIMEDOUT' });
    await expect(attempt.connect()).rejects.toMatchObject({ code: 'ETIMEDOUT' });
    expect(tried.map(({ device, ms }) => [device, ms > 1000])).toEqual([
      ['eth0', false],
      ['wwan0', false],
      ['eth0', true],
      ['wwan0', true]
    ]);
    const second = dial(paths, { eth0: 'ETIMEDOUT' });
    expect(await second.attempt.connect()).toMatchObject({ way: { name: 'wwan0' } });
    expect(names(paths.inOrder())).toEqual(['wwan0', 'eth0']);
    expect((await dial(paths, {}).attempt.connect()).way?.name).toBe('wwan0');
  });

  test('takes a refusal as an answer that the path is not to blame for', async () => {
    const paths = machine.paths('eth0,wwan0');
    await expect(dial(paths, { eth0: 'ECONNREFUSED', wwan0: 'EHOSTUNREACH' }).attempt.connect()).rejects.toMatchObject({ code: 'ECONNREFUSED' }); // prettier-ignore
    expect([paths.hasFailed('eth0'), paths.hasFailed('wwan0')]).toEqual([false, true]);
  });

  test('takes paths of the other family for an address of that family', async () => {
    const lookup = async () => [{ address: '2001:db8::9' }];
    const { attempt, tried } = dial(machine.paths('eth0,wwan0'), {}, { lookup });
    await attempt.connect();
    expect(tried).toMatchObject([{ device: 'wwan0', localAddress: '2001:db8::1' }]);
  });

  test('reports no way when named paths are away, and follows the routes with auto', async () => {
    machine.interfaces = {};
    const named = dial(machine.paths('eth0'), {});
    await expect(named.attempt.connect()).rejects.toMatchObject({ code: 'ENETUNREACH' });
    expect(named.tried).toEqual([]);
    const auto = dial(machine.paths('auto'), {});
    expect(await auto.attempt.connect()).toMatchObject({ way: null });
    expect(auto.tried[0]).not.toHaveProperty('device');
  });

  test('remembers the addresses for a resolver behind a dead path', async () => {
    const paths = machine.paths('eth0');
    let answer = Promise.resolve([{ address: '203.0.113.1' }]);
    const lookup = remembering(() => answer, paths);
    await lookup('cloud');
    answer = Promise.reject(new Error('EAI_AGAIN'));
    expect(await lookup('cloud')).toEqual([{ address: '203.0.113.1' }]);
    // Another URL of the uplink has other addresses.
    await expect(lookup('other')).rejects.toThrow('EAI_AGAIN');
    jest.useFakeTimers();
    answer = new Promise(() => {});
    const silent = lookup('cloud');
    jest.advanceTimersByTime(1000);
    jest.useRealTimers();
    expect(await silent).toEqual([{ address: '203.0.113.1' }]);
  });
});

describe('a connection', () => {
  const subflow = (/** @type {object} */ more = {}) => ({
    local: '192.0.2.1',
    remote: '',
    state: 1,
    rttUs: 20_000,
    retransmits: 0,
    bytesSent: 0,
    bytesAcked: 100,
    unacked: 1,
    ...more
  });
  const tcp = (/** @type {object} */ more = {}) =>
    /** @type {any} */ ({ transport: 'fallback', token: 0, subflows: [subflow(more)] });
  /** @param {Paths} paths */
  const watching = (paths) => new PathWatch({ paths, lossMs: 1000, now: () => machine.time });

  test('is moved to the next path when it confirms nothing for a second', () => {
    const paths = machine.paths('eth0,wwan0');
    const watch = watching(paths);
    expect(watch.check(1, tcp())).toBe(null);
    machine.time = 999;
    expect(watch.check(1, tcp())).toBe(null);
    machine.time = 1000;
    expect(watch.check(1, tcp())).toEqual({
      code: 'PATH_LOST',
      reason: 'The path eth0 acknowledged nothing for 1.0 s. Connecting over wwan0.',
      refused: false,
      atOnce: true
    });
    expect(names(paths.inOrder())).toEqual(['wwan0', 'eth0']);
  });

  test.each([
    ['something was confirmed', { bytesAcked: 101 }],
    ['there is nothing to confirm', { unacked: 0 }],
    ['its way is long', { rttUs: 300_000 }]
  ])('is kept while %s', (_, now) => {
    const watch = watching(machine.paths('eth0,wwan0'));
    watch.check(1, tcp());
    machine.time = 1100;
    expect(watch.check(1, tcp(now))).toBe(null);
  });

  test('with nothing to send leaves a path that another session has left, unless it has newer data', () => {
    const paths = machine.paths('eth0,wwan0');
    const [idle, busy] = [watching(paths), watching(paths)];
    idle.check(1, tcp({ unacked: 0 }));
    busy.check(1, tcp({ unacked: 0 }));
    machine.time = 100;
    paths.failed('eth0');
    machine.time = 500;
    expect(idle.check(1, tcp({ unacked: 0 }))).toBe(null);
    busy.check(1, tcp({ bytesAcked: 200 }));
    machine.time = 700;
    expect(busy.check(1, tcp({ bytesAcked: 200 }))).toBe(null);
    expect(idle.check(1, tcp({ unacked: 0 }))?.reason).toBe(
      'The path eth0 was abandoned by another session. Connecting over wwan0.'
    );
  });

  test('restarts the count when it is new', () => {
    const watch = watching(machine.paths('eth0,wwan0'));
    watch.check(1, tcp());
    machine.time = 1100;
    expect(watch.check(2, tcp())).toBe(null);
    expect(watch.check(null, null)).toBe(null);
  });

  test('is kept without another path; one that failed lately is tried after four time-outs', () => {
    expect(watching(machine.paths('eth0')).check(1, tcp())).toBe(null);
    const paths = machine.paths('eth0,wwan0');
    paths.failed('wwan0');
    const watch = watching(paths);
    watch.check(1, tcp());
    machine.time = 3900;
    expect(watch.check(1, tcp())).toBe(null);
    machine.time = 4100;
    expect(watch.check(1, tcp())).toMatchObject({ code: 'PATH_LOST' });
  });

  test("with nothing to send leaves on the watcher's report, and when its interface is gone", () => {
    const watch = watching(machine.paths('eth0,wwan0'));
    expect(watch.check(1, tcp({ unacked: 0 }))).toBe(null);
    machine.tell({ eth0: 'down', wwan0: 'up' });
    expect(watch.check(1, tcp({ unacked: 0 }))?.reason).toBe('The path eth0 is down. Connecting over wwan0.');
    machine.tell({});
    const second = watching(machine.paths('eth0,wwan0'));
    expect(second.check(1, tcp({ unacked: 0 }))).toBe(null);
    delete machine.interfaces.eth0;
    machine.time += 1000;
    expect(second.check(1, tcp({ unacked: 0 }))).toMatchObject({ code: 'PATH_LOST' });
  });

  test('of MPTCP with all paths is left to the kernel, and is renewed with none', () => {
    const watch = watching(machine.paths('eth0,wwan0'));
    const both = /** @type {any} */ ({ transport: 'mptcp', token: 1, subflows: [subflow(), subflow({ local: '198.51.100.1' })] }); // prettier-ignore
    watch.check(1, both);
    machine.time = 9000;
    expect(watch.check(1, both)).toBe(null);
    const none = { ...both, subflows: [subflow({ state: 7 })] };
    expect(watch.check(1, none)).toBe(null);
    machine.time = 10_000;
    expect(watch.check(1, none)).toMatchObject({ code: 'PATHS_GONE', atOnce: true });
  });

  test('on a backup path returns in an orderly way when an active one has been up for half a minute', () => {
    const watch = watching(machine.paths('eth0,wwan0:backup'));
    const onBackup = tcp({ local: '198.51.100.1', unacked: 0 });
    expect(watch.check(1, onBackup)).toBe(null);
    machine.tell({ eth0: 'up', wwan0: 'up' }, 20_000);
    expect(watch.check(1, onBackup)).toBe(null);
    machine.tell({ eth0: 'up', wwan0: 'up' }, 31_000);
    expect(watch.check(1, onBackup)).toMatchObject({ code: 'PATH_BACK', isReturn: true });
    expect(watch.check(1, { ...onBackup, transport: 'mptcp' })).toBe(null);
  });

  test('is reported with each path; the reason for a single one once, without hiding another', () => {
    /** @type {string[]} */
    const problems = [];
    const session = /** @type {any} */ ({
      client: {},
      fd: 7,
      connected: true,
      noMptcp: '',
      kill: jest.fn(),
      renew: jest.fn()
    });
    let info = tcp({ unacked: 0 });
    const keeper = new PathKeeper({
      paths: machine.paths('eth0,wwan0:backup,usb0'),
      session,
      native: { mptcpInfo: () => info },
      lossMs: 1000,
      now: () => machine.time,
      problem: (code) => void problems.push(code)
    });
    for (let i = 0; i < 3; i++) keeper.check();
    expect(problems).toEqual(['NO_MPTCP']);
    expect(keeper.view({ state: 'connected', code: '' })).toMatchObject({
      transport: 'fallback',
      code: 'NO_MPTCP',
      isNote: true,
      paths: [
        { name: 'eth0', role: 'active', state: 'unknown', subflows: 1, rttMs: 20, bytesAcked: 100 },
        { name: 'wwan0', role: 'backup', subflows: 0, rttMs: -1, bytesAcked: -1 },
        { name: 'usb0', state: 'down', interface: '', address: '' }
      ]
    });
    expect(keeper.view({ state: 'stalled', code: 'STALLED' })).not.toHaveProperty('code');
    info = { ...info, transport: 'tcp' };
    session.noMptcp = 'ENOPROTOOPT';
    expect(keeper.view({ state: 'connected', code: '' }).reason).toMatch(/turned off on this machine/);
    session.noMptcp = 'EPROTONOSUPPORT';
    expect(keeper.view({ state: 'connected', code: '' }).reason).toMatch(/this machine has no MPTCP/);
    info = tcp();
    keeper.check();
    machine.time += 1500;
    keeper.check();
    expect(session.kill.mock.calls).toEqual([[expect.objectContaining({ code: 'PATH_LOST' })]]);
  });
});
