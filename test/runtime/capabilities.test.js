'use strict';
// A palette in which capabilities are disabled, as its user does it in Node-RED's palette manager: engine, records,
// live view and metrics work without them, and what is disabled is not loaded.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const mqtt = require('mqtt');
const { freePort, waitForPort } = require('../../bench/harness/net');
const { viewLive } = require('../fixtures/gateway/live-viewer');
const { linkPalette, NodeRed } = require('../fixtures/gateway/palette');
const { smallFlow } = require('../fixtures/gateway/small-flow');
const { cleanUp, temporaryFolder, until } = require('./process');

const root = path.join(__dirname, '../..');
const {
  name: palette,
  'node-red': { nodes }
} = require('../../package.json');

/** Node types by capability, and the members of a snapshot that it adds. */
const CAPABILITIES = {
  demand: { types: ['demand'], members: [] },
  shadow: { types: ['shadow'], members: [] },
  forecast: { types: ['forecast'], members: ['network'] },
  directory: { types: ['find'], members: [] },
  kafka: { types: ['kafka', 'kafka-uplink', 'kafka-source'], members: ['kafka'] },
  ocf: { types: ['ocf-cloud', 'ocf-request'], members: ['clouds'] },
  overlay: { types: ['overlay', 'overlay-peers'], members: ['overlays', 'overlayServices'] },
  parquet: { types: ['parquet-uplink'], members: [] },
  series: { types: ['series'], members: [] },
  tenants: { types: ['tenants', 'tenant-events'], members: ['tenants'] }
};
const NAMES = /** @type {(keyof typeof CAPABILITIES)[]} */ (Object.keys(CAPABILITIES));
/** @param {keyof typeof CAPABILITIES} name */
const setsOf = (name) => CAPABILITIES[name].types.map((type) => `seganet-${type}`);

afterEach(cleanUp);

/** What the files of node types use while they are loaded. */
const RED = `{
  nodes: { registerType() {} },
  httpAdmin: { get() {}, post() {}, put() {}, delete() {}, use() {} },
  auth: { needsPermission: () => () => {} },
  settings: {}, log: { addHandler() {} }, events: new (require('events'))(), hooks: { add() {} }
}`;

/** @returns {string[]} files in nodes/lib that the core's node types load */
function loadedFiles() {
  const off = NAMES.flatMap(setsOf);
  const files = Object.entries(nodes).flatMap(([set, file]) => (off.includes(set) ? [] : [file]));
  const program = `for (const file of ${JSON.stringify(files)}) require('./' + file)(${RED});
    console.log(JSON.stringify(Object.keys(require.cache)))`;
  const text = execFileSync(process.execPath, ['-e', program], { cwd: root, encoding: 'utf8' });
  const loaded = /** @type {string[]} */ (JSON.parse(text)).map((file) => path.relative(root, file));
  return loaded.filter((file) => file.startsWith('nodes/lib/'));
}

test('loads nothing of a capability whose node types are disabled, but the guard of open listeners', () => {
  const loaded = loadedFiles();
  expect(loaded.length).toBeGreaterThan(100);
  expect(loaded.filter((file) => NAMES.some((name) => file.startsWith(`nodes/lib/${name}/`))).sort()).toEqual(
    [
      'nodes/lib/tenants/exposure.js',
      'nodes/lib/tenants/file/locations.js',
      'nodes/lib/tenants/file/rules-record.js',
      'nodes/lib/tenants/file/schema.js'
    ]
  );
});

test('loads what only the nodes of one type need with the first of them', () => {
  const loaded = loadedFiles();
  for (const file of ['unbatch/running-unbatch', 'sources/http/http-server', 'tls/index'])
    expect(loaded).not.toContain(`nodes/lib/${file}.js`);
});

/**
 * Starts Node-RED with a palette in which node sets are disabled.
 * @param {string} home with the list of nodes that Node-RED wrote
 * @param {string[]} off names of node sets
 */
async function startWithout(home, off) {
  const file = path.join(home, '.config.nodes.json');
  const list = JSON.parse(fs.readFileSync(file, 'utf8'));
  for (const [set, entry] of Object.entries(list[palette].nodes)) entry.enabled = !off.includes(set);
  fs.writeFileSync(file, JSON.stringify(list));
  return NodeRed.start(home);
}

test('takes records, and shows them, with each capability disabled, and with all of them', async () => {
  const home = temporaryFolder();
  linkPalette(home);
  await (await NodeRed.start(home)).stop();
  for (const off of [...NAMES.map((name) => [name]), NAMES]) {
    const sets = off.flatMap(setsOf);
    const nodeRed = await startWithout(home, sets);
    try {
      const list = await (await nodeRed.ask('GET', `/nodes/${palette}`)).json();
      const disabled = list.nodes.filter((/** @type {any} */ { enabled }) => !enabled);
      expect(disabled.map((/** @type {any} */ set) => set.name).sort()).toEqual([...sets].sort());
      const port = await freePort();
      await nodeRed.deploy(smallFlow(port, path.join(temporaryFolder(), 'log')));
      await waitForPort(port, '127.0.0.1', 20000);
      const device = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`, { reconnectPeriod: 0 });
      await device.publishAsync('t', '1', { qos: 1 });
      await device.endAsync();
      const viewer = await viewLive(`http://${nodeRed.address}/seganet/live?engine=engine&ocf=on&tenants=on`);
      await until(() => viewer.snapshots.length > 0, { what: 'a snapshot' });
      viewer.close();
      expect(viewer.newest.summary.received).toBe(1);
      for (const name of NAMES)
        for (const member of CAPABILITIES[name].members)
          expect([off, member, member in viewer.newest]).toEqual([off, member, !off.includes(name)]);
      const metrics = await (await nodeRed.ask('GET', '/seganet/metrics')).text();
      expect(metrics).toMatch(/^seganet_engine_up\{engine="engine"\} 1$/m);
      expect((await nodeRed.ask('GET', '/seganet/')).headers.get('content-type')).toMatch('text/html');
    } finally {
      await nodeRed.stop();
    }
  }
}, 240000);
