'use strict';
// Permission to send: the token file, device globs, the settings.

const crypto = require('node:crypto');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { checkSettings, schema } = require('../../../nodes/lib/sources/http/http-options');
const { RequestRates, MAX_DEVICES } = require('../../../nodes/lib/sources/http/request-rates');
const { TokenFile, parseTokens } = require('../../../nodes/lib/login/token-file');
const { parseOptions } = require('../../../nodes/lib/base/options');
const { openDoor } = require('../../fixtures/devices/http-bench');

const hash = (token) => crypto.createHash('sha256').update(token).digest('hex');
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-tokens-'));
afterAll(() => fs.rmSync(folder, { recursive: true }));

/** @param {string} name @param {string} text @param {number} [mode] */
function write(name, text, mode = 0o600) {
  const file = path.join(folder, name);
  fs.writeFileSync(file, text);
  fs.chmodSync(file, mode);
  const reported = [];
  const tokens = new TokenFile(file, (sentence) => reported.push(sentence));
  return { file, reported, tokens, ok: tokens.refresh() };
}

test('limits a token to the devices of its lines, and skips comments', () => {
  const { tokens, ok } = write('ok', `# fleet\n\nfleet:$sha256$${hash('s3cret')}:pump-*\r\nfleet:$sha256$${hash('s3cret')}:a:b\n`); // prettier-ignore
  expect(ok).toBe(true);
  const bearer = tokens.find('Bearer s3cret');
  expect(bearer?.name).toBe('fleet');
  expect(['pump-1', 'a:b', 'meter'].map((device) => bearer?.allows(device))).toEqual([true, true, false]);
});

test.each([
  undefined,
  '',
  'Bearer',
  'Bearer ',
  'Basic s3cret',
  's3cret',
  'Bearer S3cret',
  'Bearer s3cret x',
  `Bearer ${'x'.repeat(600)}`
])('finds no token in Authorization %j', (header) => {
  const { tokens } = write('one', `n:$sha256$${hash('s3cret')}:*`);
  expect(tokens.find(header)).toBe(null);
});

test.each([
  's3cret',
  'n:s3cret:*',
  'n:$sha256$abc:*',
  `n:$sha256$${hash('x')}`,
  `n:$sha256$${hash('x')}:`,
  `:$sha256$${hash('x')}:*`,
  `n:$sha256$${hash('x')}:${'x'.repeat(257)}`,
  `n:$sha256$${hash('x')}:*\nm:$sha256$${hash('x')}:*`
])('refuses the line %j by number, without repeating it', (line) => {
  expect(() => parseTokens(`# first\n${line}`)).toThrow(/^Line [23]\b(?!.*s3cret)/);
});

test('uses a changed file at once; a wrong or missing one changes nothing and is reported once', () => {
  const { file, tokens, reported } = write('changing', `n:$sha256$${hash('one')}:*`);
  fs.writeFileSync(file, `n:$sha256$${hash('two')}:*\n# longer`);
  tokens.refresh();
  expect([tokens.find('Bearer one'), tokens.find('Bearer two')?.name]).toEqual([null, 'n']);
  fs.writeFileSync(file, 'oops');
  expect([tokens.refresh(), tokens.refresh()]).toEqual([false, false]);
  fs.rmSync(file);
  expect(tokens.refresh()).toBe(false);
  expect(tokens.find('Bearer two')?.name).toBe('n');
  expect(reported).toEqual([expect.stringMatching(/Line 1/), expect.stringMatching(/ENOENT/)]);
});

test('warns of a file that others may read', () => {
  expect(write('open', '', 0o644).reported).toEqual([expect.stringMatching(/chmod 640/)]);
});

test('answers 401 without a token and 403 for a device of others, also in a list', async () => {
  const { tokens } = write('http', `n:$sha256$${hash('s3cret')}:pump-*`);
  const { server, post, engine } = await openDoor({ login: 'tokens' }, { tokens });
  const mine = { Authorization: 'Bearer s3cret', 'Content-Type': 'application/x-ndjson' };
  const none = await post('/r/pump-1', '1');
  expect([none.status, none.headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="seganet"']);
  expect((await post('/r/meter', '1', { Authorization: 'Bearer s3cret' })).status).toBe(403);
  const list = '{"deviceId":"pump-1","payload":1}\n{"deviceId":"meter","payload":1}';
  expect(await post('/r', list, mine)).toMatchObject({ status: 403, body: { line: 2, accepted: 0 } });
  expect(engine.taken).toEqual([]);
  expect((await post('/r/pump-1', '{"payload":1}', mine)).status).toBe(200);
  await server.close(0);
});

test('remembers the rates of a bounded number of devices', () => {
  const rates = new RequestRates(1, 1);
  for (let i = 0; i < MAX_DEVICES + 5; i++) rates.take(new Map([[`d${i}`, 1]]), 0);
  expect(rates.buckets.size).toBe(MAX_DEVICES);
});

test('passes a list larger than the burst, and charges it later', () => {
  const rates = new RequestRates(10, 5);
  expect(rates.take(new Map([['a', 25]]), 0)).toBe(0);
  expect(rates.take(new Map([['b', 1], ['a', 1]]), 0)).toBeCloseTo(2.1); // prettier-ignore
  expect(rates.take(new Map([['a', 1]]), 2101)).toBe(0);
});

describe('settings', () => {
  const check = (config) => {
    const { values, problems } = parseOptions(config, schema);
    if (problems.length > 0) throw new Error(problems.join(' '));
    return checkSettings(values);
  };

  test.each([
    [{ host: '0.0.0.0' }, /Any client that reaches/],
    [{ host: '::' }, /Any client that reaches/],
    [{ login: 'tokens' }, /token file is missing/],
    [{ headerTimeoutS: 60 }, /must not be less/],
    [{ corsOrigins: 'app.example' }, /not a web origin/],
    [{ path: '/r' }, /"path"/],
    [{ path: 'a/../b c' }, /"path"/],
    [{ port: 70000 }, /"port"/],
    [{ host: 'a b' }, /"host"/],
    [{ login: 'maybe' }, /"login"/],
    [{ maxBodyKiB: 0 }, /"maxBodyKiB"/],
    [{ maxConnections: 0 }, /"maxConnections"/],
    [{ class: 'urgent' }, /"class"/]
  ])('refuse %j with a sentence', (config, reason) => expect(() => check(config)).toThrow(reason));

  test('allow anonymous access elsewhere only on request, and warn of tokens without encryption', () => {
    expect(check({ host: '0.0.0.0', allowAnonymous: true })).toBe('');
    expect(check({ host: '0.0.0.0', login: 'tokens', tokenFile: '/x' })).toMatch(/without encryption/);
    expect(check({ host: '0.0.0.0', login: 'tokens', tokenFile: '/x', tls: 't' })).toBe('');
  });
});
