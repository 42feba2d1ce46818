'use strict';
// Snapshots of a gateway's network, and their difference.

const fs = require('node:fs');
const http = require('node:http');
const os = require('node:os');
const path = require('node:path');
const { once } = require('node:events');
const {
  describe: inWords,
  differences,
  isEmpty
} = require('../../../docker/tenants/lib/snapshots/difference');
const { listSnapshots, readSnapshot, writeSnapshot } = require('../../../docker/tenants/lib/snapshots/file');
const { readNetwork } = require('../../../docker/tenants/lib/snapshots/gateway-api');

const NOW = new Date('2026-11-23T06:00:00.000Z');

/** @type {string} */
let folder;
/** @type {http.Server[]} */
const servers = [];
beforeEach(() => (folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-snapshots-'))));
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
  fs.rmSync(folder, { recursive: true, force: true });
});

/** @param {(url: URL, request: http.IncomingMessage, response: http.ServerResponse) => void} answer */
async function gateway(answer) {
  const server = http.createServer((request, response) => {
    answer(new URL(request.url ?? '', 'http://x'), request, response);
  });
  servers.push(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  return `http://127.0.0.1:${port}`;
}

/** @template T @param {AsyncIterable<T>} lines */
async function all(lines) {
  const found = [];
  for await (const line of lines) found.push(line);
  return found;
}

/** @param {object[]} lines @param {Date} [now] @param {number} [keep] */
const write = (lines, now = NOW, keep = 10) => {
  const given = (async function* () {
    for (const line of lines) yield /** @type {any} */ (line);
  })();
  return writeSnapshot({ folder, source: 'test', lines: given, now, keep });
};

const pump = {
  type: 'device',
  engine: 'e',
  device: 'pump',
  protocol: 'mqtt',
  node: 'n',
  connected: true,
  listening: true
};
const full = { ...pump, class: 3, records: 5, lastSeen: NOW.toISOString(), address: '192.0.2.1:4000' };

test('reads engines, links, all pages of devices, and the latest values', async () => {
  /** @type {string[]} */
  const seen = [];
  const url = await gateway(({ pathname, searchParams }, request, response) => {
    seen.push(String(request.headers.authorization));
    const json = (/** @type {object} */ value) => response.end(JSON.stringify(value));
    if (pathname === '/seganet/live') {
      const engines = [
        { id: 'e', name: 'hall', running: true, reason: '' },
        { id: 'f', name: '', running: false, reason: 'stopped' }
      ];
      const session = {
        classes: '1,2',
        state: 'connected',
        reason: '',
        rttMs: 12,
        oldestMs: -1,
        inflight: 0,
        acknowledged: 7
      };
      const path1 = { name: 'lte', state: 'up', role: 'backup', rttMs: 40, interface: 'wwan0' };
      const view = {
        gateway: 'gw',
        engines,
        summary: { devices: 2, received: 9, delivered: 7, dropped: 0, waitsFor: '' },
        classes: [{ inMemory: 1, backlog: 1 }],
        log: { state: 'ready' },
        uplinks: [
          { broker: 'b', name: 'cloud', state: 'connected', sessions: [{ ...session, paths: [path1] }] }
        ]
      };
      // Two events, in pieces; the stream stays open.
      response.write(`event: snapshot\ndata: ${JSON.stringify(view).slice(0, 50)}`);
      response.write(`${JSON.stringify(view).slice(50)}\n\nevent: history\ndata: {}\n\n`);
    } else if (pathname === '/seganet/engines/e/agents') {
      const after = searchParams.get('after');
      const row = {
        protocol: 'mqtt',
        node: 'n',
        connected: true,
        listening: false,
        class: 3,
        records: 1,
        bytes: 2
      };
      const device = after ? 'b' : 'a';
      json({
        agents: [{ ...row, device, ratePerS: 1, silentMs: after ? -1 : 2000, address: '' }],
        next: after ? null : 'a'
      });
    } else if (pathname === '/seganet/series')
      json({
        nodes: [
          { id: 's', running: true },
          { id: 't', running: false }
        ]
      });
    else if (pathname === '/seganet/series/s/latest') {
      json({
        series: [
          { device: 'a', name: 'rssi', ts: NOW.getTime(), value: -61 },
          { device: 'b', name: 'new' }
        ],
        next: null
      });
    } else {
      response.statusCode = 404;
      json({ error: 'unknown' });
    }
  });
  const lines = await all(readNetwork({ url, token: 'secret' }, NOW));
  expect(
    lines.map(({ type, engine, device, path: name }) =>
      [type, engine, device, name].filter(Boolean).join(' ')
    )
  ).toEqual(['engine e', 'link e', 'link e lte', 'device e a', 'device e b', 'engine f', 'value a']);
  expect(lines[0]).toMatchObject({ running: true, gateway: 'gw', waiting: 2, log: 'ready' });
  expect(lines[1]).toMatchObject({ uplink: 'b', session: '1,2', state: 'connected', rttMs: 12 });
  expect(lines[3]).toMatchObject({ lastSeen: '2026-11-23T05:59:58.000Z', class: 3 });
  expect(lines[4]).toMatchObject({ lastSeen: null });
  expect(lines[6]).toEqual({
    type: 'value',
    series: 's',
    device: 'a',
    name: 'rssi',
    at: NOW.toISOString(),
    value: -61
  });
  expect(new Set(seen)).toEqual(new Set(['Bearer secret']));
});

test('says what is wrong with a gateway', async () => {
  const status = (/** @type {number} */ code, text = '') =>
    gateway((_url, _request, response) => {
      response.statusCode = code;
      response.end(text);
    });
  const read = async (/** @type {string} */ url) => all(readNetwork({ url, token: '' }, NOW));
  await expect(read(await status(401))).rejects.toThrow(/It needs a login: name a file with a token/);
  await expect(read(await status(500))).rejects.toThrow(/answered \/seganet\/live with status 500/);
  await expect(read(await status(200, '<html>'))).rejects.toThrow(/is not JSON/);
  await expect(read('http://127.0.0.1:1')).rejects.toThrow(/does not answer/);
  const endless = await gateway((_url, _request, response) => {
    const more = () => response.write('x'.repeat(1 << 20), () => !response.destroyed && more());
    more();
  });
  await expect(read(endless)).rejects.toThrow(/too long an answer/);
});

test('stops at a list that repeats itself', async () => {
  const url = await gateway(({ pathname }, _request, response) => {
    const engines = [{ id: 'e', running: true }];
    if (pathname === '/seganet/live')
      response.write(`event: snapshot\ndata: ${JSON.stringify({ engines })}\n\n`);
    else if (pathname.endsWith('/agents'))
      response.end('{"agents":[{"device":"a","silentMs":0}],"next":"a"}');
    else response.end('{"nodes":[{"id":"s","running":true}],"series":[{"device":"a","name":"b"}],"next":0}');
  });
  expect((await all(readNetwork({ url, token: '' }, NOW))).length).toBe(3);
});

test('writes files, finds them again, and removes the oldest', async () => {
  for (let day = 20; day < 25; day++) await write([full], new Date(`2026-11-${day}T06:00:00.000Z`), 3);
  fs.writeFileSync(path.join(folder, 'notes.txt'), '');
  const names = listSnapshots(folder).map((file) => path.basename(file));
  expect(names).toEqual([24, 23, 22].map((day) => `network-202611${day}T060000000Z.ndjson`));
  expect(await readSnapshot(listSnapshots(folder)[0])).toEqual({
    at: '2026-11-24T06:00:00.000Z',
    source: 'test',
    lines: [full]
  });
});

test('leaves no file when the gateway fails in the middle', async () => {
  const lines = (async function* () {
    yield /** @type {any} */ (full);
    throw new Error('gone');
  })();
  await expect(writeSnapshot({ folder, source: 'test', lines, now: NOW, keep: 3 })).rejects.toThrow('gone');
  expect(fs.readdirSync(folder)).toEqual([]);
});

test('refuses files that are cut, damaged, or no snapshots', async () => {
  const { file } = await write([full, full]);
  const text = fs.readFileSync(file, 'utf8');
  const rows = text.split('\n');
  const wrong = [
    '',
    'x',
    '{}',
    '[]',
    'null',
    text.slice(0, -5),
    rows.slice(0, 2).join('\n'),
    rows.slice(1).join('\n')
  ];
  wrong.push(
    [rows[0], rows[1], rows[3]].join('\n'),
    text.replace('"version":1', '"version":2'),
    `{"type":"${'x'.repeat(70_000)}"}`
  );
  for (const each of wrong) {
    fs.writeFileSync(file, each);
    await expect(readSnapshot(file)).rejects.toThrow(/cannot be used/);
  }
  await expect(readSnapshot(path.join(folder, 'none'))).rejects.toThrow(/cannot be used/);
});

test('lists what was added, what is gone, and what has changed', () => {
  const link = {
    type: 'link',
    engine: 'e',
    uplink: 'b',
    session: '1',
    path: '',
    state: 'connected',
    reason: '',
    rttMs: 20
  };
  const value = { type: 'value', series: 's', device: 'pump', name: 't', value: 20 };
  const before = [full, { ...full, device: 'old' }, { ...full, device: 'quiet' }, link, value];
  const after = [
    { ...full, connected: false, records: 9, address: '192.0.2.1:5000', lastSeen: 'later' },
    { ...full, device: 'new' },
    { ...full, device: 'quiet' },
    { ...link, state: 'reconnecting', reason: 'ECONNREFUSED', rttMs: 30 },
    { ...value, value: 21 }
  ];
  const found = differences(before, after);
  expect(found.devices.added.map(({ device }) => device)).toEqual(['new']);
  expect(found.devices.gone.map(({ device }) => device)).toEqual(['old']);
  expect(found.devices.changed.map(({ line, fields }) => [line.device, fields])).toEqual([
    ['pump', { connected: [true, false] }]
  ]);
  expect(found.silent.map(({ device }) => device)).toEqual(['quiet']);
  expect(inWords(found)).toEqual([
    '+ device e / new',
    '- device e / old',
    '~ device e / pump: connected true → false',
    '~ link e / b / 1: state connected → reconnecting, reason  → ECONNREFUSED',
    '~ value s / pump / t: value 20 → 21',
    '1 devices sent nothing in between'
  ]);
  expect(isEmpty(found)).toBe(false);
  expect(isEmpty(differences(before, before))).toBe(true);
});

test('counts a round trip as changed only when it is much longer or shorter', () => {
  const link = (/** @type {unknown} */ rttMs) => [
    { type: 'link', engine: 'e', uplink: 'b', session: '1', path: '', rttMs }
  ];
  const isOther = (/** @type {unknown} */ a, /** @type {unknown} */ b) =>
    !isEmpty(differences(link(a), link(b)));
  expect([
    isOther(5, 20),
    isOther(100, 180),
    isOther(100, 201),
    isOther(300, 100),
    isOther(null, 10)
  ]).toEqual([false, false, true, true, true]);
});

test('shows the ids of devices without characters that change the terminal', () => {
  const odd = { ...full, device: 'a\u001b[2J\u202eb' };
  expect(inWords(differences([], [odd]))).toEqual(['+ device e / a\\u{1b}[2J\\u{202e}b']);
});
