'use strict';
// npm run overlay: two gateways that reach each other by name, to try out. See --help.

const fs = require('node:fs');
const path = require('node:path');
const { spawn } = require('node:child_process');
const { CliError } = require('../../../nodes/lib/base/cli/cli-error');
const { noProgram, program } = require('../../../nodes/lib/overlay/locations');
const { Gateway, HOST } = require('../gateway');
const { EXIT, checkPorts, print, runDemo, say } = require('../command');
const { makeFolder } = require('../command/folder');
const { HELP, readArguments } = require('./arguments');
const { Arrivals } = require('./arrivals');
const { gatewayFlow, hubFlow } = require('./flows');
const { NatNetwork } = require('./nat');
const { NodeWatch } = require('./node-watch');
const { showPaths } = require('./scene');
const { Services } = require('./services');

const NO_PROGRAM = `${noProgram()} In a checkout, Go builds it: npm run overlay:build (CONTRIBUTING.md says which Go).`;

/** @typedef {import('./arguments').Options} Options @typedef {import('../command').Life} Life */

/** This machine's own network. */
/** @type {Pick<InstanceType<typeof NatNetwork>, 'address' | 'within' | 'close'> & Partial<InstanceType<typeof NatNetwork>>} */
const LOOPBACK = { address: HOST, within: () => [], close() {} };

/**
 * Starts a script as a child process of this one.
 * @param {string} script
 * @param {string[]} args
 * @param {string[]} within prefix of the command
 * @param {Life} life
 */
function startScript(script, args, within, { onEnd, fail }) {
  const [command, ...rest] = [...within, process.execPath, path.join(__dirname, script), ...args];
  const child = spawn(command, rest, {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: { PATH: process.env.PATH, HOME: process.env.HOME }
  });
  let isEnding = false;
  onEnd(() => {
    isEnding = true;
    child.kill('SIGKILL');
  });
  child.once('error', fail);
  child.once('exit', (code, signal) => {
    if (!isEnding) fail(new Error(`${script} ended (${signal ?? `code ${code}`}).`));
  });
  return child;
}

/** @param {import('node:child_process').ChildProcess} broker @returns {Promise<number>} its port */
function portOf(broker) {
  return new Promise((resolve) =>
    broker.on('message', (/** @type {{ port?: number }} */ { port }) => port && resolve(port))
  );
}

/**
 * @param {string} id
 * @param {InstanceType<typeof Gateway>} gateway
 * @param {Life} life
 */
function follow(id, gateway, { onEnd, fail }) {
  onEnd(() => gateway.stop());
  gateway.follow((line) => print(`${id}: ${line}`));
  gateway.ended.then((how) => fail(new Error(`${id} ended (${how}).\n${gateway.output.trim()}`)));
}

/** Starts everything, and tells the user what there is. @param {Options} options @param {Life} life */
async function start(options, life) {
  const { onEnd, fail } = life;
  const file = program();
  if (!file || !fs.existsSync(file)) throw new CliError(NO_PROGRAM, EXIT.CANNOT);
  const { nat, port, editorPort, hubEditorPort, servicesPort, relayPort } = options;
  // In namespaces, all ports are free.
  if (!nat)
    await checkPorts({
      '--port': port,
      '--editor-port': editorPort,
      '--hub-editor-port': hubEditorPort,
      '--services-port': servicesPort,
      '--relay-port': relayPort
    });
  const network = nat ? await NatNetwork.open(nat) : LOOPBACK;
  onEnd(() => network.close());
  const { home, remove } = makeFolder('o');
  onEnd(remove);
  const homeOf = (/** @type {string} */ name) => {
    fs.mkdirSync(path.join(home, name), { recursive: true });
    return path.join(home, name);
  };
  const broker = startScript('broker.js', [], network.within('hub'), life);
  const listening = portOf(broker);
  const services = new Services({
    program: file,
    folder: homeOf('services'),
    address: network.address,
    port: servicesPort,
    relayPort,
    relayAllow: network.relayAllow,
    within: network.within('services')
  });
  onEnd(() => services.stop());
  await services.start();
  services.ended.then(
    (how) => services.isEnding || fail(new Error(`The services ended (${how}).\n${services.output}`))
  );
  await services.allow([{ from: 'group:gateways', to: 'group:hubs', ports: ['tcp/1883', 'icmp'] }]);
  say('the services of the network "plant" are ready');
  const brokerPort = await listening;
  const env = { SEGANET_OVERLAY: file };
  const hub = new Gateway({
    id: 'hub',
    home: homeOf('hub'),
    editorPort: hubEditorPort,
    flow: hubFlow({ home: homeOf('hub'), brokerPort, invitation: await services.invite('hub', 'hubs') }),
    env,
    within: network.within('hub')
  });
  follow('hub', hub, life);
  const gw = new Gateway({
    id: 'gw',
    home: homeOf('gw'),
    editorPort,
    flow: gatewayFlow({ home: homeOf('gw'), port, invitation: await services.invite('gw', 'gateways') }),
    env,
    within: network.within('gw')
  });
  follow('gw', gw, life);
  const arrivals = new Arrivals();
  broker.on('message', (/** @type {any} */ message) => {
    if (message.connection) arrivals.connections++;
    if (message.numbers) arrivals.add(message);
  });
  const device = startScript('device.js', [`${port}`], network.within('gw'), life);
  device.once('message', () => say('the device is connected to gw and sends 20 records a second'));
  let sent = 0;
  device.on('message', (/** @type {any} */ message) => (sent = message.sent ?? sent));
  const watch = new NodeWatch(path.join(home, 'gw', 'overlay'));
  onEnd(() => watch.close());
  await showPaths({ options, arrivals, watch, network, sent: () => sent });
  const inGw = network.within('gw').join(' ');
  print(`
  devices  mqtt://${HOST}:${port}            editors  gw http://${HOST}:${editorPort}/  hub http://${HOST}:${hubEditorPort}/
  look     ${file} status --state ${path.join(home, 'gw', 'overlay')}
  measure  ${file} ping --state ${path.join(home, 'gw', 'overlay')} hub
  revoke   ${file} revoke --state ${path.join(home, 'services')} gw
${inGw ? `  in gw's network: ${inGw}\n` : ''}It all goes on. Ctrl-C ends it.`);
}

if (require.main === module) runDemo({ readArguments, help: HELP, start });
