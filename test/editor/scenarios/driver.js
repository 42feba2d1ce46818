'use strict';
// Imports and runs every scenario in a browser. Start it in separate network and mount namespaces, because scenarios
// have fixed ports and a name with two addresses. Each line on stdout is { scenario, error, seconds }.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { haveTool } = require('../../../bench/harness/tools');
const { startBleBench } = require('../../fixtures/devices/ble-bench');
const { root } = require('../../fixtures/gateway/packed');
const { nodesOf } = require('../support/editor');
const { importExample } = require('../support/import');
const { checks } = require('./checks');
const { World } = require('./world');

/** @param {World} world @param {string} name @param {any} bench @returns {Promise<string>} the error, '' if it ran */
async function runOne(world, name, bench) {
  const check = checks[name];
  if (!check) return 'the test does not know it: add it to checks.js';
  try {
    await world.import(name);
    await check.before(world);
    await check.after(world, bench);
    const wrong = [...world.nodeRed.statuses].filter(([, { text = '' }]) =>
      /wrong setting|no engine/.test(text)
    );
    if (wrong.length > 0) return `red nodes: ${JSON.stringify(wrong)}`;
    return world.editor.errors.splice(0).join('; ');
  } catch (error) {
    const statuses = JSON.stringify([...world.nodeRed.statuses.values()].map(({ text }) => text));
    return `${/** @type {Error} */ (error).message}; ${statuses}; ${world.nodeRed.child.output.slice(-800)}`;
  } finally {
    await world.reset();
  }
}

/** The login of a preset refers to variables, and survives the dialog and Deploy. @param {World} world */
async function importPreset(world) {
  try {
    await importExample(world.page, ['clouds', 'HiveMQ Cloud']);
    await world.deploy();
    const { id } = (await nodesOf(world.page)).find(({ type }) => type === 'seganet-uplink-broker') ?? {
      id: ''
    };
    const answer = await world.nodeRed.ask('GET', `/credentials/seganet-uplink-broker/${id}`);
    const login = JSON.stringify(await answer.json());
    return login === '{"username":"${HIVEMQ_USER}","has_password":true}' ? '' : `the login is ${login}`;
  } catch (error) {
    return /** @type {Error} */ (error).message;
  }
}

async function main() {
  // A namespace begins with its loopback down.
  execFileSync('ip', ['link', 'set', 'lo', 'up']);
  // Some machines have one address for localhost only.
  const hosts = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-hosts-')), 'hosts');
  fs.writeFileSync(hosts, '127.0.0.1 localhost\n::1 localhost\n');
  execFileSync('mount', ['--bind', hosts, '/etc/hosts']);
  const bench = haveTool('python:bumble') ? await startBleBench() : undefined;
  const world = await World.open(bench ? { BLE_ADAPTER: bench.port } : {});
  const only = process.env.SCENARIOS_ONLY?.split(',');
  try {
    for (const file of fs.readdirSync(path.join(root, 'examples', 'scenarios')).sort()) {
      const scenario = path.basename(file, '.json');
      if (only && !only.some((each) => scenario.startsWith(each))) continue;
      const start = Date.now();
      const error = await runOne(world, scenario, bench);
      console.log(JSON.stringify({ scenario, error, seconds: (Date.now() - start) / 1000 }));
    }
    console.log(JSON.stringify({ scenario: 'a cloud preset', error: await importPreset(world) }));
  } finally {
    await world.close();
    await bench?.close();
  }
}

main().then(
  () => process.exit(0),
  (error) => {
    console.log(JSON.stringify({ scenario: 'the start', error: String(error.stack) }));
    process.exit(1);
  }
);
