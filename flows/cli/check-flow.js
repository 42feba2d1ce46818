'use strict';
// Checks of the gateway's folder, its flow, and the ports that the flow needs.

const dgram = require('node:dgram');
const fs = require('node:fs');
const net = require('node:net');
const path = require('node:path');
const { page } = require('../../nodes/lib/base/texts/page');
const { resolved } = require('../../nodes/lib/base/variable-reference');
const alarms = require('../../nodes/lib/settings/alarm-options');
const { missingClient } = require('../../nodes/lib/kafka/uplink/client');
const { missingLibrary } = require('../../nodes/lib/parquet/files/writer-package');
const { noProgram, program } = require('../../nodes/lib/overlay/locations');
const { adminSocket } = require('../../nodes/lib/overlay/services-client');
const { hasCapability } = require('./capabilities');
const { credentialsOf, filesOf } = require('./flow-credentials');
const { readFlow } = require('../launcher/flow-file');
const { runningNodes } = require('../service/running-nodes');
const { wantedPorts } = require('./flow-ports');

/** @typedef {import('./check').Finding} Finding */
/** @typedef {import('./flow-ports').Wanted} Wanted */

const TWICE =
  'Alarms are sent over two paths, so receivers get them twice. An unbatch node drops the second copy; any other receiver must do so by the key.';

/**
 * @param {string} home
 * @param {NodeJS.ProcessEnv} env
 * @param {{ runs: boolean, isDropped: boolean }} state runs: the gateway is running, so that its ports are in use;
 *   isDropped: root has given up its rights, which the service may have in part
 * @returns {Promise<Finding[]>}
 */
async function checkFlow(home, env, state) {
  const file = path.join(home, 'gateway.json');
  const folder = checkHome(home);
  if (folder.result === 'problem') return [folder];
  if (!fs.existsSync(file)) {
    const text = 'There is no flow yet: the first start creates it, and so does seganet-gateway init.';
    return [folder, { about: 'flow', result: 'note', text }, ...(await checkPorts([], env, state))];
  }
  const { flow, problem } = flowOf(file);
  if (problem) return [folder, { about: 'flow', result: 'problem', text: problem }];
  return [
    folder,
    ...checkEngines(flow, file),
    ...checkCredentials(home),
    ...checkBluetooth(flow),
    ...checkKafka(flow),
    ...checkParquet(flow),
    ...checkOverlay(flow, env),
    ...checkAlarms(flow, env),
    ...checkServices(env),
    ...checkSubscribers(flow, env),
    ...(await checkPorts(flow, env, state))
  ];
}

/** @param {string} home @returns {Finding} */
function checkHome(home) {
  const about = 'folder';
  const closed = `This user cannot use ${home}. Run the command as the gateway's user, or change the owner.`;
  /** @type {fs.Stats | undefined} */
  let stat;
  try {
    stat = fs.statSync(home, { throwIfNoEntry: false });
  } catch {
    return { about, result: 'problem', text: closed };
  }
  if (!stat)
    return {
      about,
      result: 'note',
      text: `${home} does not exist yet. Create it with seganet-gateway init.`
    };
  if (!stat.isDirectory()) {
    return { about, result: 'problem', text: `${home} is not a folder. Name another one with --home.` };
  }
  if (stat.mode & 0o022) {
    const text = `${home} is writable by other users, who could change the flow. Run "chmod 700 ${home}".`;
    return { about, result: 'problem', text };
  }
  try {
    fs.accessSync(home, fs.constants.R_OK | fs.constants.W_OK | fs.constants.X_OK);
  } catch {
    return { about, result: 'problem', text: closed };
  }
  return { about, result: 'ok', text: `${home} is private and writable.` };
}

/** @param {string} file @returns {{ flow: any[], problem: string }} */
function flowOf(file) {
  try {
    return { flow: readFlow(file), problem: '' };
  } catch (error) {
    const remedy = 'Restore it from a backup, or remove it to get the shipped flow.';
    return { flow: [], problem: `The flow ${file} ${/** @type {Error} */ (error).message}. ${remedy}` };
  }
}

/** @param {any[]} flow @param {string} file @returns {Finding[]} */
function checkEngines(flow, file) {
  const own = Object.keys(require('../../package.json')['node-red'].nodes);
  const unknown = flow.find(({ type }) => type.startsWith('seganet-') && !own.includes(type));
  if (unknown) {
    const text = `The flow ${file} needs ${unknown.type}, which this version does not have. Install the version that wrote it.`;
    return [{ about: 'flow', result: 'problem', text }];
  }
  const engines = flow.filter(({ type, d }) => type === 'seganet-engine' && !d);
  if (engines.length === 0) {
    const text = `The flow ${file} has no enabled engine, so it serves no device. Add one in the editor.`;
    return [{ about: 'flow', result: 'problem', text }];
  }
  return [
    {
      about: 'flow',
      result: 'ok',
      text: `${flow.length} nodes, ${engines.length === 1 ? '1 engine' : `${engines.length} engines`}.`
    }
  ];
}

/** @param {any[]} flow @returns {Finding[]} */
function checkBluetooth(flow) {
  const isUsed = flow.some(({ type, d }) => type === 'seganet-ble-devices' && !d);
  if (!isUsed || process.platform !== 'linux' || hasCapability('CAP_NET_RAW')) return [];
  const text =
    'The flow uses Bluetooth, which needs CAP_NET_RAW. seganet-gateway install-service adds it to the unit; ' +
    `other ways: ${page('use/ble.md')}`;
  return [{ about: 'rights', result: 'note', text }];
}

/** @param {any[]} flow @returns {Finding[]} */
function checkKafka(flow) {
  const isUsed = flow.some(({ type, d }) => type === 'seganet-kafka' && !d);
  const text = isUsed ? missingClient() : '';
  return text ? [{ about: 'flow', result: 'problem', text }] : [];
}

/** @param {any[]} flow @returns {Finding[]} */
function checkParquet(flow) {
  const isUsed = flow.some(({ type, d }) => type === 'seganet-parquet-uplink' && !d);
  const text = isUsed ? missingLibrary() : '';
  return text ? [{ about: 'flow', result: 'problem', text }] : [];
}

/** @param {any[]} flow @param {NodeJS.ProcessEnv} env @returns {Finding[]} */
function checkOverlay(flow, env) {
  const isStarted = flow.some(
    (node) => node.type === 'seganet-overlay' && !node.d && node.program === 'start'
  );
  const file = isStarted ? program(env) : '';
  const exists = file !== '' && fs.existsSync(file);
  if (!isStarted || exists) return [];
  const text = file ? `SEGANET_OVERLAY names ${file}, which does not exist. Correct it.` : noProgram();
  return [{ about: 'flow', result: 'problem', text }];
}

/** @param {any[]} flow @param {NodeJS.ProcessEnv} env @returns {Finding[]} */
function checkAlarms(flow, env) {
  const finding = (/** @type {'note' | 'problem'} */ result, /** @type {string} */ text) => [
    { about: 'alarms', result, text }
  ];
  return runningNodes(flow).flatMap((node) => {
    if (node.type !== 'seganet-uplink-broker') return [];
    const of = (/** @type {string} */ property) => resolved(node[property], env);
    const redundantAlarms = /** @type {any} */ (of('redundantAlarms') || 'off');
    if (redundantAlarms === 'off') return [];
    try {
      alarms.checkAlarms({ redundantAlarms, paths: of('paths'), sparkplugGroup: of('sparkplugGroup') });
    } catch (error) {
      return finding('problem', /** @type {Error} */ (error).message);
    }
    const protocolVersion = of('protocolVersion') === '4' ? 4 : 5;
    return finding('note', alarms.alarmWarning({ redundantAlarms, protocolVersion }) || TWICE);
  });
}

/** @param {NodeJS.ProcessEnv} env @returns {Finding[]} */
function checkServices(env) {
  const socket = adminSocket(env);
  if (!socket) return [];
  const finding = (/** @type {'note' | 'problem'} */ result, /** @type {string} */ text) => [
    { about: 'overlay', result, text: `SEGANET_OVERLAY_ADMIN names ${socket}${text}` }
  ];
  try {
    if (!fs.statSync(socket).isSocket()) return finding('problem', ', which is not a socket. Correct it.');
    fs.accessSync(socket, fs.constants.R_OK | fs.constants.W_OK);
    return [];
  } catch (error) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (error);
    if (code === 'ENOENT')
      return finding(
        'note',
        ', which does not exist while the services (seganet-overlay serve) are stopped.'
      );
    return finding(
      'problem',
      `, which this user cannot open (${code}). Run the services and the gateway as the same user.`
    );
  }
}

/** @param {any[]} flow @param {NodeJS.ProcessEnv} env @returns {Finding[]} */
function checkSubscribers(flow, env) {
  return runningNodes(flow)
    .filter(
      ({ type, subscribers, login, clientCert }) =>
        type === 'seganet-mqtt-devices' &&
        resolved(subscribers ?? '', env).trim() !== '' &&
        resolved(login, env) === 'none' &&
        resolved(clientCert, env) !== 'required'
    )
    .map(({ id, name }) => ({
      about: 'readers',
      result: 'note',
      text:
        `The node ${name || id} has subscribers and no login, so any client that reaches its port can pose as one of ` +
        'them and read all records. Choose a login, unless only trusted clients reach the port.'
    }));
}

/** @param {string} home @returns {Finding[]} */
function checkCredentials(home) {
  const about = 'passwords';
  try {
    if (!credentialsOf(home)) return [];
    return [{ about, result: 'ok', text: 'The passwords of the flow can be decrypted.' }];
  } catch (error) {
    const { secretFile, file } = filesOf(home);
    const text =
      `The passwords of the flow cannot be decrypted (${/** @type {Error} */ (error).message}). ` +
      `Restore ${secretFile} and ${file} from the same backup, or remove both and enter the passwords again.`;
    return [{ about, result: 'problem', text }];
  }
}

/**
 * @param {any[]} flow
 * @param {NodeJS.ProcessEnv} env
 * @param {{ runs: boolean, isDropped: boolean }} state
 * @returns {Promise<Finding[]>}
 */
async function checkPorts(flow, env, { runs, isDropped }) {
  const wanted = wantedPorts(flow, env);
  const names = wanted.map(({ protocol, port }) => `${port}/${protocol}`).join(', ');
  if (runs) return [{ about: 'ports', result: 'ok', text: `The running gateway has its ports (${names}).` }];
  /** @type {Finding[]} */
  const findings = [];
  for (const each of wanted) {
    const finding = await tryPort(each, isDropped);
    if (finding) findings.push({ about: 'ports', ...finding });
  }
  if (findings.length > 0) return findings;
  return [{ about: 'ports', result: 'ok', text: names ? `Free: ${names}.` : 'None is needed.' }];
}

/**
 * @param {Wanted} wanted
 * @param {boolean} isDropped
 * @returns {Promise<Pick<Finding, 'result' | 'text'> | null>} null: the port is free
 */
async function tryPort({ host, port, protocol, what }, isDropped) {
  const error = await (protocol === 'tcp' ? tryTcp(host, port) : tryUdp(host, port));
  if (!error) return null;
  const where = `Port ${port}/${protocol} (${what})`;
  switch (error.code) {
    case 'EADDRINUSE':
      return problem(`${where} is used by another program. Stop it, or choose another port.`);
    case 'EACCES':
      if (isDropped) {
        const text = `${where} needs CAP_NET_BIND_SERVICE, which the unit of seganet-gateway install-service has.`;
        return { result: 'note', text };
      }
      return problem(
        `${where} is not allowed for this user. Choose a port from 1024 on, or give the service CAP_NET_BIND_SERVICE.`
      );
    case 'EADDRNOTAVAIL':
      return problem(`${where}: ${host} is not an address of this machine.`);
    default:
      return problem(`${where} cannot be opened: ${error.message}.`);
  }
}

/** @param {string} text @returns {Pick<Finding, 'result' | 'text'>} */
const problem = (text) => ({ result: 'problem', text });

/** @param {string} host @param {number} port @returns {Promise<NodeJS.ErrnoException | null>} */
function tryTcp(host, port) {
  return new Promise((resolve) => {
    const server = net.createServer();
    server.once('error', resolve);
    server.listen({ port, ...(host && { host }), exclusive: true }, () => server.close(() => resolve(null)));
  });
}

/** @param {string} host @param {number} port @returns {Promise<NodeJS.ErrnoException | null>} */
function tryUdp(host, port) {
  return new Promise((resolve) => {
    const socket = dgram.createSocket(net.isIPv4(host) ? 'udp4' : 'udp6');
    socket.once('error', resolve);
    socket.bind({ port, ...(host && { address: host }), exclusive: true }, () =>
      socket.close(() => resolve(null))
    );
  });
}

exports.checkFlow = checkFlow;
