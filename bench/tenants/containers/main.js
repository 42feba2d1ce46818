'use strict';
// A measurement with an engine of its own, in the namespaces of this process: see inside.js.

const { execFileSync } = require('node:child_process');
const { importImage, runEngine } = require('../../harness/containers');
const { memory } = require('../footprint');
const { idleStops } = require('../idle');
const { heldPages } = require('../pages');
const { coldWakes, together } = require('../wakes');
const { compare } = require('./compare');
const { gatewayCommand, pack, workCommand } = require('./image');
const { RESULT } = require('./inside');
const { neighbors } = require('./neighbors');

const IMAGE = 'localhost/seganet/bench:1';

/** @type {Record<string, (options: any) => Promise<any>>} */
const measurements = { compare, coldWakes, together, heldPages, memory, idleStops, neighbors };
/** Those whose tenants are small programs. */
const SMALL = ['compare'];

async function main() {
  const { engine: name, measurement, options, folder } = JSON.parse(process.argv[2]);
  execFileSync('ip', ['link', 'set', 'lo', 'up']);
  const engine = await runEngine(name, folder);
  let code = 0;
  try {
    const hasGateway = !SMALL.includes(measurement);
    const image = await importImage(engine.socket, pack(folder, { hasGateway }), IMAGE);
    const variable = name === 'docker' ? 'SEGANET_TENANTS_DOCKER' : 'SEGANET_TENANTS_PODMAN';
    const command = hasGateway ? gatewayCommand : workCommand;
    const env = { [variable]: engine.socket, SEGANET_TENANTS_CGROUP: options.cgroup ?? '' };
    const driver = { name, image, command, env };
    const result = await measurements[measurement]({ ...options, driver, socket: engine.socket });
    console.log(`${RESULT}${JSON.stringify(result)}`);
  } catch (error) {
    console.error(error);
    code = 1;
  }
  await engine.stop();
  process.exit(code);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
