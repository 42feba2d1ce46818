'use strict';
// A program's hint that a path confirms nothing: how it reaches the watcher, and how limited its effect is.

const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { once } = require('node:events');
const {
  HintListener,
  HintReader,
  formatHint,
  parseHint,
  MOST_BYTES,
  MOST_CONNECTIONS
} = require('../../../nodes/lib/network/paths/probe-hints');
const { FastProbe } = require('../../../nodes/lib/network/paths/fast-probe');
const { PathHints } = require('../../../nodes/lib/uplink/paths/path-hints');
const { eventually } = require('../../../bench/harness/net');
const { seeded } = require('../../fixtures/random');

describe('a hint line', () => {
  test.each([
    ['suspect eth0', { path: 'eth0', rttMs: 0 }],
    ['suspect 192.0.2.1 48', { path: '192.0.2.1', rttMs: 48 }],
    ['suspect wwan0:1 99999', { path: 'wwan0:1', rttMs: 99_999 }]
  ])('%j is a hint', (line, hint) => expect(parseHint(line)).toEqual(hint));

  test.each([
    ...['', 's', 'suspect', 'suspect ', 'suspect  eth0', 'Suspect eth0', ' suspect eth0', 'suspect eth0 '],
    ...['suspect eth0 -1', 'suspect eth0 1.5', 'suspect eth0 100000', 'suspect eth0 1 1', 'suspect eth0\r'],
    ...['suspect a\0b', 'suspect \xff', `suspect ${'x'.repeat(46)}`, 'suspect eth0\nsuspect eth0']
  ])('%j is not a hint', (line) => expect(parseHint(line)).toBe(null));

  test('is accepted as the uplink writes it', () => {
    expect(formatHint({ path: '192.0.2.1', rttMs: 0.4 })).toBe('suspect 192.0.2.1 0\n');
    expect(parseHint(formatHint({ path: '192.0.2.1', rttMs: 1e9 }).trim())).toEqual({ path: '192.0.2.1', rttMs: 99_999 }); // prettier-ignore
  });
});

describe('a hint connection', () => {
  const two = [
    { path: 'eth0', rttMs: 5 },
    { path: '10.0.0.1', rttMs: 0 }
  ];

  test('is read the same wherever it is split', () => {
    const text = 'suspect eth0 5\nsuspect 10.0.0.1\n';
    for (let at = 0; at <= text.length; at++) {
      const reader = new HintReader();
      const parts = [text.slice(0, at), text.slice(at)].map((chunk) => reader.push(chunk));
      expect(parts.flatMap(({ hints }) => hints)).toEqual(two);
      expect(parts.some(({ isWrong }) => isWrong)).toBe(false);
    }
  });

  test('ends at the first invalid line, and keeps earlier hints', () => {
    expect(new HintReader().push('suspect eth0 5\nhello\nsuspect 10.0.0.1\n')).toEqual({
      hints: two,
      isWrong: true
    });
  });

  test('reads up to 256 bytes, with or without line ends', () => {
    const reader = new HintReader();
    expect(reader.push('x'.repeat(MOST_BYTES))).toEqual({ hints: [], isWrong: false });
    expect(reader.push('x').isWrong).toBe(true);
    const lines = new HintReader();
    for (let i = 0; i < MOST_BYTES / 8; i++) lines.push('suspect ');
    expect(lines.push('a\n')).toEqual({ hints: [], isWrong: true });
  });

  test('accepts any bytes safely', () => {
    const seed = Math.floor(Math.random() * 2 ** 32);
    const { bytes, integer } = seeded(seed);
    const words = ['suspect ', 'eth0', '\n', ' ', '1', '\0', 'suspect eth0 7\n', '99999'];
    for (let i = 0; i < 20_000; i++) {
      const reader = new HintReader();
      for (let j = integer(8); j >= 0; j--) {
        const noise = bytes(integer(20)).toString('latin1');
        const { hints } = reader.push(integer(2) ? words[integer(words.length)] : noise);
        for (const { path: name, rttMs } of hints) {
          const isSound = /^[!-~]{1,45}$/.test(name) && Number.isInteger(rttMs) && rttMs >= 0 && rttMs < 1e5;
          if (!isSound) throw new Error(`${JSON.stringify(name)} ${rttMs} with seed ${seed}`);
        }
      }
    }
  });
});

describe('FastProbe', () => {
  const settings = { everyMs: 1000, timeoutMs: 700 };
  /** @param {number[]} answers ms @param {number} [rttMs] of the hint */
  const patience = (answers, rttMs = 0) => {
    const fastProbe = new FastProbe(settings, 0);
    for (const ms of answers) fastProbe.answered(ms);
    fastProbe.begin(rttMs, 0);
    return fastProbe.timeoutMs;
  };

  test('waits three times as long as earlier answers took, or longer where they vary', () => {
    expect(patience([])).toBe(700);
    expect(patience(Array(50).fill(1))).toBe(150);
    expect(patience(Array(50).fill(60))).toBe(180);
    expect(patience(Array(50).fill(200))).toBe(600);
    expect(patience(Array(50).fill(400))).toBe(700);
    expect(patience(Array(51).fill(60).map((ms, i) => (i % 2 ? 20 : ms)))).toBeGreaterThan(110); // prettier-ignore
    expect(patience(Array(51).fill(150).map((ms, i) => (i % 5 ? 20 : ms)))).toBeGreaterThan(190); // prettier-ignore
    expect(patience(Array(50).fill(1), 180)).toBe(540);
    expect(patience(Array(50).fill(1), 99_999)).toBe(700);
  });

  test('probes five times in a row, and in the long run as often as other probes', () => {
    const fastProbe = new FastProbe(settings, 0);
    let begun = 0;
    const hurry = (/** @type {number} */ now) => {
      if (!fastProbe.begin(0, now)) return;
      begun++;
      expect(fastProbe.begin(0, now)).toBe(false);
      fastProbe.end();
    };
    for (let now = 0; now < 100; now++) hurry(now);
    expect(begun).toBe(5);
    for (let now = 100; now <= 60_000; now += 10) hurry(now);
    expect(begun).toBeGreaterThan(60);
    expect(begun).toBeLessThanOrEqual(65);
  });
});

describe('the hint socket', () => {
  /** @type {string} */
  let folder;
  /** @type {string} */
  let file;
  /** @type {import('../../../nodes/lib/network/paths/probe-hints').Hint[]} */
  let received;
  /** @type {HintListener} */
  let listener;
  beforeEach(async () => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-hints-'));
    file = path.join(folder, 'hint.sock');
    received = [];
    listener = new HintListener(file, (hint) => received.push(hint));
    await listener.start();
  });
  afterEach(async () => {
    await listener.stop();
    fs.rmSync(folder, { recursive: true });
  });

  /** @param {string} [text] */
  const connect = async (text = '') => {
    const socket = net.connect({ path: file });
    socket.on('error', () => {});
    await once(socket, 'connect');
    socket.write(text);
    return socket;
  };

  test('is open to every user, and is removed with the watcher', async () => {
    expect(fs.statSync(file).mode & 0o777).toBe(0o666);
    new PathHints({ file }).suspect('192.0.2.1', 12.4);
    await eventually(() => received.length > 0);
    expect(received).toEqual([{ path: '192.0.2.1', rttMs: 12 }]);
    await listener.stop();
    expect(fs.readdirSync(folder)).toEqual([]);
  });

  test('replaces one that a killed watcher has left', async () => {
    await listener.stop();
    fs.writeFileSync(file, '');
    listener = new HintListener(file, (hint) => received.push(hint));
    await listener.start();
    new PathHints({ file }).suspect('eth0', 0);
    await eventually(() => received.length > 0);
  });

  test('closes connections that send something else, too much, or nothing for a second', async () => {
    const closed = (/** @type {net.Socket} */ socket) =>
      new Promise((resolve) => socket.resume().once('close', resolve));
    await closed(await connect('GET / HTTP/1.1\r\n\r\n'));
    await closed(await connect('x'.repeat(100_000)));
    await closed(await connect());
    expect(received).toEqual([]);
  });

  test('has sixteen connections at most: one more ends the oldest, and is read', async () => {
    const all = [];
    for (let i = 0; i < MOST_CONNECTIONS; i++) all.push(await connect());
    const ended = new Promise((resolve) => all[0].resume().once('close', resolve));
    await connect('suspect eth0\n');
    await ended;
    await eventually(() => received.length === 1);
    expect(all.slice(1).every((socket) => !socket.destroyed)).toBe(true);
    for (const socket of all) socket.destroy();
  });

  test('reports a name that is too long as an error with a code, and the watcher continues', async () => {
    const long = new HintListener(path.join(folder, 'x'.repeat(120)), () => {});
    await expect((async () => long.start())()).rejects.toMatchObject({ code: expect.any(String) });
    await long.stop();
  });
});

describe('the uplink', () => {
  /** @param {string} file */
  function teller(file) {
    const reported = /** @type {string[]} */ ([]);
    const clock = { now: 0 };
    const connect = (/** @type {{ path: string }} */ { path: to }) => {
      reported.push(to);
      return net.connect({ path: to });
    };
    return { hints: new PathHints({ file, now: () => clock.now, connect }), reported, clock };
  }

  test('sends a hint on a path twice a second at most', () => {
    const { hints, reported, clock } = teller('/nonexistent/hint.sock');
    hints.suspect('192.0.2.1', 0);
    clock.now = 499;
    hints.suspect('192.0.2.1', 0);
    hints.suspect('192.0.2.2', 0);
    expect(reported).toHaveLength(2);
    clock.now = 500;
    hints.suspect('192.0.2.1', 0);
    expect(reported).toHaveLength(3);
  });

  test.each([
    ['there is no such file', '/nonexistent/hint.sock'],
    ['its name is too long', `/${'x'.repeat(200)}`]
  ])('sends nothing without a listener: %s', async (_, file) => {
    const { hints, reported, clock } = teller(file);
    hints.suspect('192.0.2.1', 0);
    await eventually(() => hints.restUntil > 0);
    clock.now = 4999;
    hints.suspect('192.0.2.1', 0);
    expect(reported).toHaveLength(1);
    clock.now = 5000;
    hints.suspect('192.0.2.1', 0);
    expect(reported).toHaveLength(2);
  });
});
