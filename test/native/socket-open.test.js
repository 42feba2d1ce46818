'use strict';

// openSocket(): the resulting kernel state, and hostile arguments.

const { execFileSync } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { openSocket, waitConnect, closeSocket, socketInfo, mptcpInfo } = require('../../native');
const { needs } = require('../../bench/harness/tools');
const { runNode, until } = require('./support/addon');

/** @typedef {import('../../native').UplinkSocketOptions} Options */

const { test: withSs } = needs('ss');
const { test: withPython } = needs('python3');
const { test: withCompiler } = needs('c++');
const { test: withMptcp } = needs(
  ...(fs.existsSync('/proc/sys/net/mptcp/enabled') ? [] : ['a kernel with MPTCP'])
);
const { test: onLinux } = needs(...(process.platform === 'linux' ? [] : ['Linux']));

/** Listens at all addresses, and sends back its input. @type {net.Server} */
let server;
/** @type {number} */
let port;
beforeAll(async () => {
  server = net.createServer((peer) => peer.on('error', () => {}).pipe(peer)).listen(0, '::');
  await once(server, 'listening');
  ({ port } = /** @type {net.AddressInfo} */ (server.address()));
});
afterAll(() => server.close());

/** @type {net.Socket[]} */
const sockets = [];
afterEach(() => sockets.splice(0).forEach((socket) => socket.destroy()));

/** @param {Options} options @param {string} [address] */
async function connect(options, address = '127.0.0.1') {
  const { fd, unknown } = openSocket(address, port, options);
  await waitConnect(fd, 5000);
  const socket = new net.Socket({ fd, readable: true, writable: true });
  sockets.push(socket);
  return { fd, unknown, socket };
}

const ASK = `
import socket
s = socket.socket(fileno=3)
T = socket.IPPROTO_TCP
asked = dict(tos=(socket.IPPROTO_IP, socket.IP_TOS), priority=(socket.SOL_SOCKET, 12), noDelay=(T, socket.TCP_NODELAY),
  userTimeoutMs=(T, socket.TCP_USER_TIMEOUT), keepIdleS=(T, socket.TCP_KEEPIDLE), keepIntervalS=(T, socket.TCP_KEEPINTVL),
  keepCount=(T, socket.TCP_KEEPCNT), keepAlive=(socket.SOL_SOCKET, socket.SO_KEEPALIVE), notSentLowat=(T, 25),
  sendBuffer=(socket.SOL_SOCKET, socket.SO_SNDBUF), tclass=(socket.IPPROTO_IPV6, socket.IPV6_TCLASS))
import json
def ask(o):
  try: return s.getsockopt(*o)
  except OSError: return -1
print(json.dumps({k: ask(o) for k, o in asked.items()}))`;

/** All options of a socket, as a process that inherits it has them from getsockopt(). @param {number} fd */
function ask(fd) {
  const stdio = /** @type {any} */ (['ignore', 'pipe', 'inherit', fd]);
  return JSON.parse(execFileSync('python3', ['-c', ASK], { stdio, encoding: 'utf8' }));
}

const ALL = /** @type {const} */ ({
  priority: 6,
  dscp: 46,
  noDelay: true,
  userTimeoutMs: 12345,
  keepIdleS: 11,
  keepIntervalS: 5,
  keepCount: 6,
  notSentLowat: 16384,
  sendBuffer: 65536
});

withPython(
  'gives each option its value, as getsockopt() reports in a process that inherits the socket',
  async () => {
    const { fd, unknown } = await connect(ALL);
    expect(unknown).toEqual([]);
    const { sendBuffer, tclass, ...seen } = ask(fd);
    expect(seen).toEqual({
      tos: 46 << 2,
      priority: 6,
      noDelay: 1,
      userTimeoutMs: 12345,
      keepIdleS: 11,
      keepIntervalS: 5,
      keepCount: 6,
      keepAlive: 1,
      notSentLowat: 16384
    });
    expect([65536, 131072]).toContain(sendBuffer);
    expect(tclass).not.toBe(46 << 2);
  }
);

withPython("leaves omitted options, or 0 for the system's value, as in a socket of Node", async () => {
  const socket = net.connect(port, '127.0.0.1');
  sockets.push(socket);
  await once(socket, 'connect');
  const usual = ask(/** @type {any} */ (socket)._handle.fd);
  expect(ask((await connect({ noDelay: false })).fd)).toEqual(usual);
  expect(ask((await connect({ userTimeoutMs: 0, notSentLowat: 0, sendBuffer: 0 })).fd)).toEqual(usual);
});

withSs('runs the keep-alive timer, as ss shows', async () => {
  const { socket } = await connect({ keepIdleS: 77 });
  const seen = execFileSync('ss', ['-tnoH', 'sport', '=', `:${socket.localPort}`], { encoding: 'utf8' });
  expect(seen).toMatch(/timer:\(keepalive,1min1[0-7]/);
});

onLinux('keeps the configured priority with any DSCP, which would change it', async () => {
  for (const dscp of [0, 4, 10, 34, 46, 48, 63]) {
    for (const priority of /** @type {const} */ ([0, 2, 6])) {
      const { fd } = await connect({ priority, dscp });
      expect(socketInfo(fd)).toMatchObject({ priority, dscp });
    }
  }
});

onLinux('does the same over IPv6, and to an IPv4-mapped address', async () => {
  for (const address of ['::1', '::ffff:127.0.0.1']) {
    const { fd, unknown, socket } = await connect(ALL, address);
    expect([socket.localAddress, unknown]).toEqual([address, []]);
    expect(socketInfo(fd)).toMatchObject({ priority: 6, dscp: 46 });
  }
});

onLinux('reports in socketInfo acknowledged data, and data that wait here and in flight', async () => {
  const { fd, socket } = await connect({});
  const { bytesAcked: before } = socketInfo(fd);
  socket.write(Buffer.alloc(1000));
  await once(socket, 'data');
  await until(() => socketInfo(fd).bytesAcked === before + 1000, 'the acknowledgement');
  expect(socketInfo(fd)).toMatchObject({
    unsentBytes: 0,
    unackedBytes: 0,
    retransmits: 0,
    dscp: 0,
    priority: 0
  });
  expect(socketInfo(fd).rttUs).toBeGreaterThan(0);
  // It takes no more than its window when it is not read.
  const deaf = net.createServer({ pauseOnConnect: true }).listen(0, '127.0.0.1');
  await once(deaf, 'listening');
  const peer = once(deaf, 'connection');
  const full = net.connect(/** @type {net.AddressInfo} */ (deaf.address()).port, '127.0.0.1');
  sockets.push(full, (await peer)[0]);
  full.write(Buffer.alloc(64 << 20));
  const number = /** @type {any} */ (full)._handle.fd;
  await until(() => socketInfo(number).unsentBytes > 0, 'a full socket');
  deaf.close();
});

onLinux('does not let children inherit the descriptor', () => {
  const { fd } = openSocket('127.0.0.1', port, {});
  const link = `/proc/self/fd/${fd}`;
  // The child may have another file of this number.
  const script = `try { console.log(require('fs').readlinkSync('${link}')) } catch { console.log('none') }`;
  const seen = execFileSync(process.execPath, ['-e', script], { encoding: 'utf8' });
  expect(seen.trim()).not.toBe(fs.readlinkSync(link));
  closeSocket(fd);
});

withCompiler(
  'names options that a system does not know, and sets the rest; throws on another error',
  async () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-shim-'));
    const library = path.join(folder, 'shim.so');
    execFileSync('c++', [
      '-shared',
      '-fPIC',
      '-o',
      library,
      path.join(__dirname, '../fixtures/uplink/socket-shim.cc')
    ]);
    const child = require.resolve('./children/socket-options');
    const run = async (/** @type {Record<string, string>} */ env) => {
      const { output } = await runNode([child, String(port)], { env: { LD_PRELOAD: library, ...env } });
      return JSON.parse(output);
    };
    // SO_PRIORITY, TCP_USER_TIMEOUT, TCP_NOTSENT_LOWAT
    expect(await run({ SHIM_ERROR: 'ENOPROTOOPT', SHIM_OPTIONS: '1/12 6/18 6/25' })).toEqual({
      unknown: ['priority', 'userTimeoutMs', 'notSentLowat'],
      dscp: 46
    });
    // SO_KEEPALIVE
    expect(await run({ SHIM_ERROR: 'EOPNOTSUPP', SHIM_OPTIONS: '1/9' })).toEqual({
      unknown: ['keepIdleS', 'keepIntervalS', 'keepCount'],
      dscp: 46
    });
    // TCP_CONGESTION, which its user may not have
    expect(await run({ SHIM_ERROR: 'EPERM', SHIM_OPTIONS: '6/13' })).toEqual({
      unknown: ['congestion'],
      dscp: 46
    });
    expect(await run({ SHIM_ERROR: 'EPERM', SHIM_OPTIONS: '1/12' })).toEqual({
      code: 'EPERM',
      message: 'socket option priority',
      left: 0
    });
    fs.rmSync(folder, { recursive: true });
  }
);

/**
 * The congestion control of a connection, as shown by ss; the other direction has the same ports.
 * @param {net.Socket} socket
 */
function congestionOf({ localPort }) {
  const seen = execFileSync('ss', ['-tniH', 'sport', '=', `:${localPort}`], { encoding: 'utf8' });
  return /([a-z0-9_-]+) wscale:/.exec(seen)?.[1];
}

/** [the options set, whether MPTCP is requested], as any user of any Linux may have them. */
const KINDS = /** @type {const} */ ([
  ['TCP', false],
  ...(fs.existsSync('/proc/sys/net/mptcp/enabled') ? [['MPTCP', true]] : [])
]);

describe.each(KINDS)('sets the congestion control of a socket of %s', (_, mptcp) => {
  withSs("is the configured one, or else the system's", async () => {
    const usual = congestionOf((await connect({ mptcp })).socket);
    expect(usual).toBe(fs.readFileSync('/proc/sys/net/ipv4/tcp_congestion_control', 'utf8').trim());
    const { socket, unknown } = await connect({ mptcp, congestion: 'reno' });
    expect([congestionOf(socket), unknown]).toEqual(['reno', []]);
  });

  withSs("is the system's for an unknown name: it is reported, and the rest is set", async () => {
    const { fd, socket, unknown } = await connect({ mptcp, priority: 6, congestion: 'no-such_one1' });
    expect([unknown, socketInfo(fd).priority]).toEqual([['congestion'], 6]);
    expect(congestionOf(socket)).toBe(congestionOf((await connect({ mptcp })).socket));
  });
});

test.each(['', 'a'.repeat(16), 'Reno', 'reno ', 'reno\0', 'é', 7, null, {}])(
  'throws a TypeError that names congestion %j',
  (congestion) => {
    const before = fs.readdirSync('/proc/self/fd').length;
    expect(() => openSocket('127.0.0.1', port, /** @type {any} */ ({ congestion }))).toThrow(
      expect.objectContaining({ name: 'TypeError', message: expect.stringMatching(/^congestion must /) })
    );
    expect(fs.readdirSync('/proc/self/fd')).toHaveLength(before);
  }
);

test('throws an Error with its code for an unreachable address', () => {
  expect(() => openSocket('255.255.255.255', 1, {})).toThrow(
    expect.objectContaining({ code: expect.stringMatching(/^E(NETUNREACH|ACCES)$/) })
  );
});

test('throws an Error with a code for a descriptor that is not a socket, and closes nothing', () => {
  const file = fs.openSync(__filename, 'r');
  for (const call of [closeSocket, socketInfo]) {
    expect(() => call(file)).toThrow(expect.objectContaining({ code: 'ENOTSOCK' }));
    expect(() => call(1 << 30)).toThrow(expect.objectContaining({ code: 'EBADF' }));
  }
  fs.fstatSync(file);
  fs.closeSync(file);
});

test('names wrong arguments with their limits, and opens nothing', () => {
  const call =
    (/** @type {any} */ method, /** @type {any[]} */ ...args) =>
    () =>
      Reflect.apply(method, undefined, args);
  const before = fs.readdirSync('/proc/self/fd').length;
  for (const wrong of [undefined, null, 1, {}]) {
    expect(call(openSocket, wrong, port, {})).toThrow('address must be a string');
  }
  for (const wrong of ['', 'localhost', '127.0.0', '127.0.0.1\0', ' ::1', '1.2.3.4:5', 'x'.repeat(1 << 20)]) {
    expect(call(openSocket, wrong, port, {})).toThrow('address must be an IPv4 or IPv6 address');
  }
  for (const wrong of [undefined, null, '80', 0, 65536, 0.5, NaN]) {
    expect(call(openSocket, '::1', wrong, {})).toThrow('port must be a whole number from 1 to 65535');
  }
  for (const wrong of [undefined, null, 1, 'x']) {
    expect(call(openSocket, '::1', port, wrong)).toThrow('options must be an object');
  }
  for (const wrong of [null, 0, 'true', {}]) {
    expect(call(openSocket, '::1', port, { noDelay: wrong })).toThrow('noDelay must be true or false');
  }
  for (const [name, low, high] of [
    ['priority', 0, 6],
    ['dscp', 0, 63],
    ['userTimeoutMs', 0, 2 ** 31 - 1],
    ['keepIdleS', 1, 32767],
    ['keepIntervalS', 1, 32767],
    ['keepCount', 1, 127],
    ['notSentLowat', 0, 2 ** 31 - 1],
    ['sendBuffer', 0, 2 ** 31 - 1]
  ]) {
    const limits = `${name} must be a whole number from ${low} to ${high}`;
    for (const wrong of [null, '5', NaN, 0.5, Number(low) - 1, Number(high) + 1]) {
      expect(call(openSocket, '::1', port, { [name]: wrong })).toThrow(limits);
    }
    for (const good of [low, high]) closeSocket(call(openSocket, '::1', port, { [name]: good })().fd);
  }
  for (const name of ['noDelay', 'dscp', 'sendBuffer']) {
    const trap = Object.defineProperty({}, name, { get() { throw new RangeError('trap'); } }); // prettier-ignore
    expect(call(openSocket, '::1', port, trap)).toThrow(new RangeError('trap'));
  }
  for (const method of [closeSocket, socketInfo]) {
    for (const wrong of [undefined, null, '3', -1, 0.5, NaN, 2 ** 31, {}]) {
      expect(call(method, wrong)).toThrow(/^fd must be a whole number from 0 to 2147483647/);
    }
  }
  expect(fs.readdirSync('/proc/self/fd')).toHaveLength(before);
});

describe('the interface of a socket', () => {
  onLinux('uses the configured interface and address', async () => {
    const { socket } = await connect({ device: 'lo', localAddress: '127.0.0.9' });
    expect(socket.localAddress).toBe('127.0.0.9');
    const { socket: six } = await connect({ device: 'lo', localAddress: '::1' }, '::1');
    expect(six.localAddress).toBe('::1');
  });

  onLinux('is refused where the system has no such interface, and nothing stays open', () => {
    const before = fs.readdirSync('/proc/self/fd').length;
    for (const [options, code] of /** @type {[Options, string][]} */ ([
      [{ device: 'no-such-dev0' }, 'ENODEV'],
      [{ localAddress: '192.0.2.1' }, 'EADDRNOTAVAIL'],
      [{ localAddress: '::1' }, 'EAFNOSUPPORT']
    ])) {
      expect(() => openSocket('127.0.0.1', port, options)).toThrow(expect.objectContaining({ code }));
    }
    expect(fs.readdirSync('/proc/self/fd')).toHaveLength(before);
  });

  withMptcp('speaks MPTCP on request, and mptcpInfo() knows that the far end does not', async () => {
    const options = { mptcp: true, userTimeoutMs: 5000, device: 'lo', localAddress: '127.0.0.9' };
    const { fd, noMptcp } = openSocket('127.0.0.1', port, options);
    await waitConnect(fd, 5000);
    expect([noMptcp, mptcpInfo(fd)]).toMatchObject([
      '',
      { transport: 'fallback', token: 0, subflows: [{ local: '127.0.0.9', remote: '127.0.0.1', state: 1 }] }
    ]);
    closeSocket(fd);
    const { fd: plain, socket } = await connect({});
    socket.write(Buffer.alloc(1000));
    await once(socket, 'data');
    await until(() => mptcpInfo(plain).subflows[0].bytesAcked > 1000, 'the acknowledgement');
    const reported = mptcpInfo(plain);
    expect(reported).toMatchObject({ transport: 'tcp', subflows: [{ unacked: 0, retransmits: 0 }] });
    expect(reported.subflows[0].bytesSent).toBe(1000);
    expect(reported.subflows[0].rttUs).toBeGreaterThan(0);
  });

  test.each([
    [{ mptcp: 1 }],
    [{ mptcp: null }],
    [{ device: '' }],
    [{ device: 'a'.repeat(16) }],
    [{ device: 'lo\0' }],
    [{ device: 7 }],
    [{ localAddress: '' }],
    [{ localAddress: 'localhost' }],
    [{ localAddress: '127.0.0.1\0' }],
    [{ localAddress: null }],
    [{ localAddress: '1'.repeat(1000) }]
  ])('throws a TypeError that names %j', (options) => {
    const [name] = Object.keys(options);
    expect(() => openSocket('127.0.0.1', port, /** @type {any} */ (options))).toThrow(
      expect.objectContaining({ name: 'TypeError', message: expect.stringContaining(name) })
    );
  });
});
