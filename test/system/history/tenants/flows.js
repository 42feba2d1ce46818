'use strict';
// User folders of a front and of a tenant: Node-RED with the few nodes that they need, so that a start is short.

const fs = require('node:fs');
const path = require('node:path');

const root = path.join(__dirname, '../../../..');
const CORE = path.join(root, 'node_modules/@node-red/nodes/core');
const NEEDED = ['10-function.js', '91-global-config.js', '98-unknown.js'];
const FRONT = ['seganet-engine', 'seganet-mqtt-devices', 'seganet-priority', 'seganet-tenants'];
const TENANT = ['seganet-engine', 'seganet-mqtt-devices', 'seganet-unbatch'];

/** @param {string} id @param {string} type @param {object} properties @param {...string} wires */
const node = (id, type, properties, ...wires) => ({
  id,
  type,
  z: 'tab',
  x: 1,
  y: 1,
  wires: wires.length > 0 ? [wires] : [],
  ...properties
});

/** A palette with some nodes of this checkout. @param {string} folder @param {string[]} types */
function linkNodes(folder, types) {
  const { name, version, 'node-red': all } = require('../../../../package.json');
  const place = path.join(folder, 'node_modules', ...name.split('/'));
  fs.mkdirSync(place, { recursive: true });
  for (const each of ['nodes', 'native']) fs.symlinkSync(path.join(root, each), path.join(place, each));
  const nodes = Object.fromEntries(Object.entries(all.nodes).filter(([type]) => types.includes(type)));
  const write = (/** @type {string} */ where, /** @type {object} */ content) =>
    fs.writeFileSync(path.join(where, 'package.json'), JSON.stringify(content));
  write(place, { name, version, keywords: ['node-red'], 'node-red': { ...all, nodes } });
  write(folder, { name: 'node-red-project', private: true, dependencies: { [name]: version } });
}

/**
 * @param {string} folder
 * @param {{flow: object[], types: string[], settings: string}} options settings: lines of the settings file
 */
function makeUser(folder, { flow, types, settings }) {
  fs.mkdirSync(folder, { recursive: true });
  linkNodes(folder, types);
  const files = fs.readdirSync(CORE).flatMap((each) => fs.readdirSync(path.join(CORE, each)));
  const excluded = files.filter((file) => file.endsWith('.js') && !NEEDED.includes(file));
  const text = `module.exports = {
  flowFile: 'flows.json', credentialSecret: 'test', telemetry: { enabled: false }, httpNodeRoot: false,
  externalModules: { autoInstall: false }, nodesExcludes: ${JSON.stringify(excluded)}, ${settings}
};\n`;
  fs.writeFileSync(path.join(folder, 'settings.js'), text);
  fs.writeFileSync(path.join(folder, 'flows.json'), JSON.stringify(flow));
}

/**
 * @param {string} folder
 * @param {{port: number, adminPort: number, file: string, socket: string, passwords: string}} places
 */
function makeFront(folder, { port, adminPort, file, socket, passwords }) {
  const rules = [1, 2, 3, 4].map((recordClass) => ({ topic: `d/+/c${recordClass}`, class: recordClass }));
  const login = { login: 'passwords', passwordFile: passwords, identity: 'clientId', tenantFrom: 'user' };
  const flow = [
    { id: 'tab', type: 'tab', label: 'front' },
    { id: 'engine', type: 'seganet-engine', gatewayId: 'front1', workers: '2', acknowledge: 'safe' },
    node(
      'in',
      'seganet-mqtt-devices',
      { version: 2, engine: 'engine', host: '127.0.0.1', port: String(port), ...login },
      'priority'
    ),
    node('priority', 'seganet-priority', { version: 1, engine: 'engine', rules }, 'tenants'),
    node('tenants', 'seganet-tenants', {
      engine: 'engine',
      file,
      socket,
      idleS: '1',
      connectS: '60',
      mostAwake: '64'
    })
  ];
  const settings = `uiHost: '127.0.0.1', uiPort: ${adminPort}, disableEditor: true,`;
  makeUser(folder, { flow, types: FRONT, settings });
}

/**
 * The receiver stores each record in the volume first, which may be full, then notes it elsewhere.
 * @param {string} folder @param {{arrived: string, volume: string, delay: string}} places
 */
function makeTenant(folder, places) {
  const settings = `httpAdminRoot: false,
  functionGlobalContext: { note: require(${JSON.stringify(path.join(__dirname, 'receiver.js'))})(${JSON.stringify(places)}) },`;
  const flow = [
    { id: 'tab', type: 'tab', label: 'tenant' },
    { id: 'engine', type: 'seganet-engine', gatewayId: 'tenant', workers: '1', acknowledge: 'safe' },
    node(
      'in',
      'seganet-mqtt-devices',
      {
        version: 2,
        engine: 'engine',
        host: '${SEGANET_TENANT_HOST}',
        port: '${SEGANET_TENANT_PORT}',
        login: 'passwords',
        identity: 'user',
        passwordFile: '${SEGANET_TENANT_PASSWORDS}',
        acknowledgeMessages: 'delivered',
        deliveryTimeoutS: '30',
        onDeliveryTimeout: 'refuse'
      },
      'unbatch'
    ),
    node('unbatch', 'seganet-unbatch', {}, 'note'),
    node('note', 'function', { func: "await global.get('note')(msg); return null;", outputs: 1, libs: [] })
  ];
  makeUser(folder, { flow, types: TENANT, settings });
}

module.exports = { makeFront, makeTenant, root };
