'use strict';
// The published package: packed, installed without scripts and without a network into the user folder of a Node-RED,
// loaded, run. It must include its binary and nothing that only the repository needs.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { execFileSync, spawnSync } = require('node:child_process');
const { eventually, freePort } = require('../../bench/harness/net');
const { root } = require('../fixtures/gateway/packed');
const { NodeRed, installPalette } = require('../fixtures/gateway/palette');

jest.setTimeout(180000);

describe('the published package', () => {
  /** @type {string} */
  let folder;
  /** @type {string} */
  let installed;

  beforeAll(async () => {
    const place = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-pack-'));
    folder = await installPalette(place);
    installed = path.join(folder, 'node_modules', '@seganet', 'node-red-gateway');
  });
  afterAll(() => fs.rmSync(path.dirname(folder), { recursive: true, force: true }));

  test('loads its engine without an install script', () => {
    const script = `const { Engine } = require(${JSON.stringify(installed)});
      const engine = new Engine({ workers: 1 }, () => {});
      console.log(engine.workers().length);
      engine.close();`;
    expect(execFileSync(process.execPath, ['-e', script], { encoding: 'utf8' }).trim()).toBe('1');
  });

  test('moves records in an otherwise empty Node-RED: from a message through batch and uplink to a listener', async () => {
    const port = String(await freePort());
    const place = { z: 'tab', x: 0, y: 0 };
    const nodeRed = await NodeRed.start(folder);
    try {
      await nodeRed.deploy([
        { id: 'tab', type: 'tab', label: 'palette' },
        { id: 'gateway', type: 'seganet-engine', workers: '1' },
        {
          id: 'broker',
          type: 'seganet-uplink-broker',
          url: `mqtt://127.0.0.1:${port}`,
          protocolVersion: '5'
        },
        {
          ...place,
          id: 'in',
          type: 'inject',
          props: [{ p: 'payload', v: '{"mark":1}', vt: 'json' }],
          wires: [['ingest']]
        },
        {
          ...place,
          id: 'ingest',
          type: 'seganet-ingest',
          engine: 'gateway',
          deviceId: 'd',
          deviceIdType: 'str',
          wires: [['batch']]
        },
        {
          ...place,
          id: 'batch',
          type: 'seganet-batch',
          engine: 'gateway',
          minDevices: '0',
          wires: [['uplink']]
        },
        { ...place, id: 'uplink', type: 'seganet-uplink', engine: 'gateway', broker: 'broker', wires: [] },
        { id: 'other', type: 'seganet-engine', workers: '1', acknowledge: 'received' },
        {
          ...place,
          id: 'cloud',
          type: 'seganet-mqtt-devices',
          engine: 'other',
          host: '127.0.0.1',
          port,
          version: 2,
          wires: [['text']]
        },
        {
          ...place,
          id: 'text',
          type: 'function',
          func: 'msg.payload = msg.payload.toString(); return msg;',
          outputs: 1,
          wires: [['show']]
        },
        {
          ...place,
          id: 'show',
          type: 'debug',
          name: 'arrived',
          active: true,
          tosidebar: true,
          complete: 'payload',
          wires: []
        }
      ]);
      await nodeRed.inject('in');
      await nodeRed.shows('arrived', /"mark":1/);
    } finally {
      expect(await nodeRed.stop()).toMatchObject({ code: 0 });
    }
  });

  test('says what Kafka needs, and uses it when it is there', async () => {
    const place = { z: 'tab', x: 0, y: 0, engine: 'gateway', cluster: 'cluster' };
    const brokers = `127.0.0.1:${await freePort()}`;
    const flow = [
      { id: 'tab', type: 'tab', label: 'palette' },
      { id: 'gateway', type: 'seganet-engine', workers: '1' },
      { id: 'cluster', type: 'seganet-kafka', brokers, reconnectMaxMs: '1000' },
      { ...place, id: 'source', type: 'seganet-kafka-source', topics: 'a', wires: [['uplink']] },
      { ...place, id: 'uplink', type: 'seganet-kafka-uplink', wires: [] }
    ];
    const sentence = `Kafka needs the package @platformatic/kafka: run "npm install @platformatic/kafka@2.12.1" in ${folder}, then restart.`;
    const home = path.join(path.dirname(folder), 'home');
    fs.mkdirSync(home, { mode: 0o700 });
    fs.writeFileSync(path.join(home, 'gateway.json'), JSON.stringify(flow));
    const command = path.join(installed, 'flows', 'cli', 'seganet-gateway.js');
    const check = () =>
      spawnSync(process.execPath, [command, 'check', '--home', home], { encoding: 'utf8' }).stdout;
    expect(check()).toContain(`problem  flow       ${sentence}`);

    let nodeRed = await NodeRed.start(folder);
    const isShown = (/** @type {string} */ text) =>
      ['source', 'uplink'].every((id) => nodeRed.statuses.get(id)?.text?.startsWith(text));
    /** @param {string} what @param {() => boolean} isTrue */
    const until = (what, isTrue) =>
      eventually(isTrue, { timeoutMs: 20000, what }).catch((error) => {
        const seen = `${JSON.stringify([...nodeRed.statuses])}\n${nodeRed.child.output.slice(-1500)}`;
        throw new Error(`${error.message}: ${seen}`, { cause: error });
      });
    try {
      const sets = await nodeRed.ask('GET', '/nodes', undefined, { Accept: 'application/json' });
      const kafka = (await sets.json()).filter((/** @type {{ id: string }} */ { id }) =>
        /\/seganet-kafka/.test(id)
      );
      expect(kafka).toEqual(Array(3).fill(expect.objectContaining({ enabled: true })));
      expect(kafka.filter((/** @type {{ err?: string }} */ { err }) => err)).toEqual([]);

      await nodeRed.deploy(flow);
      await until('the reason in both statuses', () => isShown('Kafka client not installed'));
      await until('the reason of both in the log', () => nodeRed.child.output.split(sentence).length > 2);

      const clients = path.join(folder, 'node_modules', '@platformatic');
      fs.symlinkSync(path.join(root, 'node_modules', '@platformatic'), clients);
      expect(check()).not.toContain('Kafka');
      await nodeRed.stop();
      nodeRed = await NodeRed.start(folder);
      await until('an absent cluster', () => isShown('nothing listens there'));
    } finally {
      expect(await nodeRed.stop()).toMatchObject({ code: 0 });
      fs.rmSync(path.join(folder, 'flows.json'), { force: true });
    }
  });

  test('includes the command seganet-log, for the installed Node', () => {
    const command = path.join(folder, 'node_modules', '.bin', 'seganet-log');
    const { version } = JSON.parse(fs.readFileSync(path.join(installed, 'package.json'), 'utf8'));
    const run = (/** @type {string[]} */ ...args) =>
      spawnSync(process.execPath, [command, ...args], { encoding: 'utf8' });
    expect(run('--version')).toMatchObject({ status: 0, stdout: `${version}\n`, stderr: '' });
    expect(run('inspect', folder)).toMatchObject({ status: 3, stdout: '' });
  });

  test('includes the command seganet-net', () => {
    const command = path.join(folder, 'node_modules', '.bin', 'seganet-net');
    const run = (/** @type {string[]} */ ...args) =>
      spawnSync(process.execPath, [command, ...args], { encoding: 'utf8' });
    expect(run('--help')).toMatchObject({ status: 0, stderr: '' });
    expect(run('plan', '--rate', '2')).toMatchObject({ status: 2, stdout: '' });
  });

  test('includes the command seganet-paths', () => {
    const command = path.join(folder, 'node_modules', '.bin', 'seganet-paths');
    const run = (/** @type {string[]} */ ...args) =>
      spawnSync(process.execPath, [command, ...args], { encoding: 'utf8' });
    expect(run('--help')).toMatchObject({ status: 0, stderr: '' });
    expect(run('plan', '--paths', '-x')).toMatchObject({ status: 2, stdout: '' });
  });

  test('includes the command seganet-tenants, whose default tenant is a gateway of this package, and its demo', () => {
    const command = path.join(folder, 'node_modules', '.bin', 'seganet-tenants');
    const env = { ...process.env, SEGANET_HOME: path.join(path.dirname(folder), 'front') };
    const run = (/** @type {string[]} */ ...args) =>
      spawnSync(process.execPath, [command, ...args], { encoding: 'utf8', env });
    expect(run('add', 'acme', '--driver', 'process')).toMatchObject({ status: 0 });
    expect(fs.existsSync(path.join(installed, 'flows', 'launcher', 'start.js'))).toBe(true);
    expect(run('demo', '--devices', '101')).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(/from 1 to 100\. See seganet-tenants demo --help\.$/m)
    });
  });

  test('names existing node files, each with its dialog and help', () => {
    const { 'node-red': section } = JSON.parse(fs.readFileSync(path.join(installed, 'package.json'), 'utf8'));
    for (const [type, file] of Object.entries(section.nodes)) {
      const files = [file, file.replace(/js$/, 'html'), `nodes/locales/en-US/${type}.json`];
      for (const name of files) expect(fs.existsSync(path.join(installed, name))).toBe(true);
    }
    for (const file of Object.values(section.plugins))
      expect(fs.existsSync(path.join(installed, file))).toBe(true);
  });

  test('includes no sources of the engine, no tests, no benchmarks, no development dependency', () => {
    const names = fs.readdirSync(installed).sort();
    expect(names).toEqual(
      [
        'LICENSE',
        'README.md',
        'docker',
        'examples',
        'flows',
        'native',
        'node_modules',
        'nodes',
        'package.json',
        'settings.js'
      ].filter((name) => name !== 'node_modules' || names.includes(name))
    );
    expect(fs.readdirSync(path.join(installed, 'native')).sort()).toEqual([
      'index.d.ts',
      'index.js',
      'node',
      'prebuilds',
      'target.js'
    ]);
    expect(fs.existsSync(path.join(folder, 'node_modules', 'aedes'))).toBe(false);
    expect(fs.existsSync(path.join(folder, 'node_modules', 'node-red'))).toBe(false);
  });
});
