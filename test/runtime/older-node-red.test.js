'use strict';
// The palette in the oldest Node-RED that package.json allows. SEGANET_NODE_RED_4 is the folder that .ci/node-red-4
// prints; without it, the test is skipped with a notice.

const fs = require('node:fs');
const path = require('node:path');
const mqtt = require('mqtt');
const { freePort } = require('../../bench/harness/broker');
const { node, smallFlow } = require('../fixtures/gateway/small-flow');
const { run, until, temporaryFolder, cleanEnvironment, cleanUp } = require('./process');

const root = path.join(__dirname, '../..');
const folder = process.env.SEGANET_NODE_RED_4 ?? '';
const why = 'SEGANET_NODE_RED_4 names no folder with node-red 4.1';
if (!folder) process.stderr.write(`skipped in ${path.basename(__filename)}: ${why}\n`);

afterEach(cleanUp);

(folder ? test : test.skip)(
  `takes records over native wires, acknowledges them and shows its plan in Node-RED 4.1${folder ? '' : ` [skipped: ${why}]`}`,
  async () => {
    const { version } = JSON.parse(
      fs.readFileSync(path.join(folder, 'node_modules/node-red/package.json'), 'utf8')
    );
    expect(version).toMatch(/^4\.1\./);
    const home = temporaryFolder();
    const scope = path.join(home, 'node_modules/@seganet');
    fs.mkdirSync(scope, { recursive: true });
    fs.symlinkSync(root, path.join(scope, 'node-red-gateway'));
    fs.writeFileSync(
      path.join(home, 'package.json'),
      '{"name":"home","dependencies":{"@seganet/node-red-gateway":"*"}}'
    );
    const [editor, port] = [await freePort(), await freePort()];
    const settings = {
      uiPort: editor,
      uiHost: '127.0.0.1',
      flowFile: 'flows.json',
      telemetry: { enabled: false }
    };
    fs.writeFileSync(path.join(home, 'settings.js'), `module.exports = ${JSON.stringify(settings)};`);
    fs.writeFileSync(path.join(home, 'flows.json'), JSON.stringify(flowAt(port, path.join(home, 'log'))));
    run(process.execPath, [path.join(folder, 'node_modules/node-red/red.js'), '-u', home], {
      cwd: home,
      env: cleanEnvironment({})
    });
    const at = `http://127.0.0.1:${editor}/seganet/engines/engine`;
    const read = (/** @type {string} */ view) =>
      fetch(`${at}/${view}`)
        .then((answer) => (answer.ok ? answer.json() : null))
        .catch(() => null);
    const plan = await until(
      async () => {
        const view = await read('plan');
        return view?.stages.length === 3 ? view : null;
      },
      { what: 'a plan', within: 60000 }
    );
    expect(plan.stages.map((/** @type {any} */ { carriage }) => carriage)).toEqual([
      'native',
      'native',
      'none'
    ]);
    const device = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`, { clientId: 'd', reconnectPeriod: 0 });
    await device.publishAsync('t', '1', { qos: 1 });
    await device.endAsync();
    expect((await read('stats')).storedRecords[3]).toBe(1);
  },
  120000
);

/** A flow with native wires across links. @param {number} port @param {string} logDir */
function flowAt(port, logDir) {
  const nodes = [
    node('out', 'link out', { mode: 'link', links: ['in'] }),
    node('in', 'link in', { links: ['out'], wires: [['rank']] })
  ];
  return smallFlow(port, logDir, { first: 'out', nodes });
}
