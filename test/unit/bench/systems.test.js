'use strict';
// The adapters of bench/systems: the files in the folder are known, and so is the configuration that they write.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { adapters, load } = require('../../../bench/systems');
const { systems } = require('../../../bench/options/systems');
const { parseSpeed } = require('../../../bench/harness/openssl-speed');
const { telegrafConfig } = require('../../../bench/systems/telegraf');

const cloud = { host: '127.0.0.2', tlsPort: 8883, files: { ca: '/tmp/c "a".pem' } };

test('has the systems that commands and reports name, in the order of the tables', () => {
  expect(adapters.map(({ name }) => name)).toEqual([
    ...['seganet', 'seganet-adaptive', 'seganet-paper', 'seganet-records', 'nodered', 'nodered-persistent'],
    ...[
      'mosquitto-bridge',
      'mosquitto-bridge-persistent',
      'mosquitto-bridge-saved',
      'mosquitto-bridge-sqlite',
      'bare'
    ],
    ...['agents', 'agents-processes', 'agents-paho', 'telegraf', 'telegraf-batch']
  ]);
  for (const { lacking } of adapters) expect(lacking()).toMatch(/^$|\.$/);
});

describe('a folder of systems', () => {
  /** @param {Record<string, string>} files */
  function folderOf(files) {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-systems-'));
    for (const [name, text] of Object.entries(files)) fs.writeFileSync(path.join(folder, name), text);
    return folder;
  }
  const whole = (/** @type {string} */ name) =>
    `{ name: '${name}', title: 't', what: 'w', lacking: () => '', start: async () => {} }`;

  test('treats a new file as a new system; a file may hold several', () => {
    const folder = folderOf({
      'b.js': `module.exports = ${whole('two')};`,
      'a.js': `module.exports = [${whole('one')}, ${whole('three')}];`,
      'README.md': ''
    });
    expect(load(folder).map(({ name }) => name)).toEqual(['one', 'three', 'two']);
    fs.rmSync(folder, { recursive: true });
  });

  test.each([
    ["module.exports = { name: 'x' };", "x.js: an adapter needs a string 'title'"],
    [`module.exports = { ...${whole('x')}, start: 1 };`, "x.js: adapter 'x' needs a function 'start'"],
    [`module.exports = [${whole('x')}, ${whole('x')}];`, "x.js: there are two systems 'x'"]
  ])('reports %s', (text, message) => {
    const folder = folderOf({ 'x.js': text });
    expect(() => load(folder)).toThrow(message);
    fs.rmSync(folder, { recursive: true });
  });
});

test('reports a missing requirement of a system before the run', async () => {
  const { PATH, SEGANET_PYTHON } = process.env;
  process.env.SEGANET_PYTHON = '/nowhere/python3';
  try {
    await expect(systems['agents-paho'](/** @type {any} */ ({}))).rejects.toThrow(
      /'agents-paho' cannot run here\. \/nowhere\/python3 has no module paho\. .*SEGANET_PYTHON/
    );
  } finally {
    process.env.PATH = PATH;
    if (SEGANET_PYTHON === undefined) delete process.env.SEGANET_PYTHON;
    else process.env.SEGANET_PYTHON = SEGANET_PYTHON;
  }
});

describe("Telegraf's configuration", () => {
  test('keeps payloads, over TLS 1.3, with room for pending messages', () => {
    const text = telegrafConfig({ localPort: 1883, cloud }, false);
    for (const line of [
      'servers = ["tcp://127.0.0.1:1883"]',
      'topics = ["d/#"]',
      'servers = ["mqtts://127.0.0.2:8883"]',
      'tls_ca = "/tmp/c \\"a\\".pem"',
      'tls_min_version = "TLS13"',
      'topic = "telegraf"',
      'layout = "field"',
      'max_undelivered_messages = 10000'
    ]) {
      expect(text).toContain(line);
    }
    expect(text.match(/qos = 1/g)?.length).toBe(2);
    expect(text).not.toContain('batch"');
  });

  test('sends each flush as one message, when it batches', () => {
    const text = telegrafConfig({ localPort: 1883, cloud }, true);
    for (const line of ['topic = "telegraf/batch"', 'layout = "batch"', 'data_format = "json"']) {
      expect(text).toContain(line);
    }
    expect(text).not.toContain('layout = "field"');
  });
});

describe('openssl speed -mr', () => {
  test('is read by size', () => {
    expect(parseSpeed('+H:256:1024\n+F:25:AES-128-GCM:364680533.33:1000000000.00\n')).toEqual([
      { bytes: 256, perSecond: 364680533.33 },
      { bytes: 1024, perSecond: 1e9 }
    ]);
  });
  test.each(['', '+H:256\n', '+F:25:AES:1\n', '+H:256:1024\n+F:25:AES:1.0\n'])('fails for %j', (text) => {
    expect(() => parseSpeed(text)).toThrow('openssl speed -mr');
  });
});
