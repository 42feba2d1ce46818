'use strict';

// npm start: reads the environment, starts the demo if no cloud is configured, and runs Node-RED in this process.

const path = require('path');
const { useCompileCache, writeCompileCacheLater } = require('./compile-cache');

// Before the other modules are loaded.
useCompileCache();

const { applyEnvironment, helpTable } = require('./environment');
const { ConfigError, EXIT_CONFIG } = require('./config-error');
const { stopOnSignals } = require('./stop');
const { stopWithParent } = require('./together');
const { watchEditor, watchStatuses } = require('./watch');
const { checkFlow, watchStart } = require('./started');
const { guardOf } = require('./guard');
const { applyProfile } = require('./profiles');
const { loadLate } = require('./late-modules');
const { compactWhenIdle } = require('../../nodes/lib/base/compact-heap');
const { isLoopback } = require('../../nodes/lib/base/loopback');
const { onRuntimeEvent } = require('../../nodes/lib/base/runtime-events');
const { page } = require('../../nodes/lib/base/texts/page');
const { logProblem } = require('./home');
const { forgetRepeated, say, sayLast, warn } = require('./log');
const { GatewayService } = require('../service/gateway-service');
const demo = require('../demo/demo');

const SETTINGS = path.join(__dirname, '..', '..', 'settings.js');

const HELP = `Starts the gateway: npm start

Environment variables configure the gateway. An empty variable counts as not set, except SEGANET_UPLINK_URL.

${helpTable()}

Without SEGANET_UPLINK_URL, the gateway connects to a demo cloud on this machine and a simulated fleet of 64 devices.
`;

/** @typedef {Record<string, string>} Values */
/** @typedef {Awaited<ReturnType<typeof demo.startCloud>>['child']} ChildProcess */

/** The demo's child processes, which are stopped at the end. @type {{ cloud?: ChildProcess, fleet?: ChildProcess }} */
const children = {};

/** @param {Values} env */
async function startDemoCloud(env) {
  const folder = path.join(env.SEGANET_HOME, 'demo');
  const { child, settings } = await demo.startCloud(folder, (topic) => {
    say(`demo cloud: the first record has arrived, on ${topic}`);
  });
  children.cloud = child;
  child
    .removeAllListeners('exit')
    .once('exit', () => say('demo cloud: ended; restart the gateway to start a new one'));
  say(`demo cloud: ${settings.SEGANET_UPLINK_URL} (TLS 1.3), its CA is ${settings.SEGANET_UPLINK_CA}`);
  Object.assign(process.env, settings);
  process.env.SEGANET_RULES ||= JSON.stringify(demo.DEMO_RULES);
}

/** @param {Values} env @param {number} port */
function startDemoFleet(env, port) {
  // A listener on all addresses is reachable on loopback.
  const host = /^(0\.0\.0\.0|::)$/.test(env.SEGANET_DEVICE_HOST) ? '127.0.0.1' : env.SEGANET_DEVICE_HOST;
  children.fleet = demo.startFleet({ host, port }, (devices) =>
    say(`demo fleet: ${devices} devices connected`)
  );
}

/**
 * @param {Values} env
 * @param {any} settings of Node-RED
 * @param {boolean} isDemo
 * @param {GatewayService} service
 */
async function runNodeRed(env, settings, isDemo, service) {
  const problem = logProblem(env);
  if (problem) warn(problem);
  const hasEditor = settings.httpAdminRoot !== false;
  checkFlow(settings.flowFile, hasEditor);
  loadLate({ hasEditor });
  const RED = require('node-red');
  await service.follow(RED);
  onRuntimeEvent(RED.events, 'flows:starting', forgetRepeated, warn);
  watchStart(RED, { flowFile: settings.flowFile, hasEditor });
  // The modules are loaded now. Later deploys load few.
  const started = onRuntimeEvent(RED.events, 'flows:started', compactOnce, warn);
  function compactOnce() {
    started();
    writeCompileCacheLater();
    compactWhenIdle();
  }
  watchStatuses(RED, (port) => {
    if (!isDemo) return;
    // The simulated devices support neither TLS nor passwords.
    if (env.SEGANET_DEVICE_TRANSPORT === 'tcp' && env.SEGANET_DEVICE_LOGIN === 'none')
      startDemoFleet(env, port);
    else say('demo fleet: not started, because devices need TLS, WebSocket or a login');
  });
  // Node-RED's own main program: it creates the HTTP server, reads the flow, and stops the nodes on a signal.
  process.argv = [
    process.execPath,
    require.resolve('node-red/red.js'),
    '--settings',
    SETTINGS,
    '--title',
    'seganet-gateway'
  ];
  require(process.argv[1]);
  // Node-RED creates its server after a promise, and listens only when the nodes are loaded.
  await new Promise((resolve) => setImmediate(resolve));
  if (!hasEditor) return;
  const server = /** @type {import('http').Server} */ (RED.server);
  watchEditor(server);
  if (!settings.adminAuth) guardOf(settings.uiHost).guardUpgrades(server);
}

async function main() {
  if (process.argv.slice(2).some((argument) => argument === '--help' || argument === '-h')) {
    process.stdout.write(HELP);
    return;
  }
  applyProfile();
  // All files are private to the gateway: the flow, its secrets, its log.
  process.umask(0o077);
  const env = applyEnvironment();
  stopWithParent();
  const service = new GatewayService({
    home: env.SEGANET_HOME,
    hasEditor: env.SEGANET_EDITOR_PORT !== 'off',
    report: warn
  });
  stopOnSignals(() => {
    service.stopping();
    demo.stop(children.fleet);
  });
  if (!isLoopback(env.SEGANET_DEVICE_HOST) && env.SEGANET_DEVICE_LOGIN === 'none') {
    say(
      `devices: ${env.SEGANET_DEVICE_HOST} is open to the network, and devices need no login; see ${page('use/security.md')}`
    );
  }
  // A tenant gets its records from its front, and has a flow of its own.
  const isDemo = !env.SEGANET_UPLINK_URL && !process.env.SEGANET_TENANT;
  const lacks = isDemo ? demo.missing() : '';
  if (lacks) throw new ConfigError([lacks]);
  // Creates SEGANET_HOME, which the demo needs, too.
  const settings = require(SETTINGS);
  if (isDemo) await startDemoCloud(env);
  await runNodeRed(env, settings, isDemo, service);
}

/** @param {any} error of main() */
function fail(error) {
  if (error instanceof ConfigError) {
    sayLast(error.message);
    process.exit(EXIT_CONFIG);
  }
  // Node's list of the files that required a missing one does not help a user.
  const [reason] = error.message.split('\n');
  const remedy =
    error.code === 'MODULE_NOT_FOUND'
      ? '. Run "npm install" in the folder of the gateway, or "npm install -g node-red" if it is installed globally.'
      : '';
  sayLast(`The gateway cannot start: ${reason}${remedy}`);
  process.exit(1);
}

if (require.main === module) main().catch(fail);

module.exports = { fail, main };
