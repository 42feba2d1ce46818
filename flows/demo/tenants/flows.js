'use strict';
// The flows of the gateways that npm run tenants starts.

const path = require('node:path');
const shipped = require('../../tenant.json');
const { keepValue, pageOf } = require('./page');

const TAB = 'tab';
const ENGINE = 'engine';
/** Seconds without a record until the front disconnects from a tenant. */
const IDLE_S = 2;

/** Code of the function nodes behind a tenant's page. */
const KEEP = `${keepValue}
const values = flow.get('values') ?? {};
keepValue(values, msg);
flow.set('values', values);`;
const SHOW = `${pageOf}
msg.headers = { 'content-type': 'text/html; charset=utf-8' };
msg.payload = pageOf({
  tenant: env.get('SEGANET_TENANT'),
  user: msg.req.get('x-seganet-user') ?? '',
  values: flow.get('values') ?? {},
  now: Date.now()
});
return msg;`;

/**
 * @param {object} parts
 * @param {string} parts.home
 * @param {number} parts.port
 * @param {number} parts.pagesPort
 * @param {string} parts.passwordFile users of devices and of pages
 * @returns {Record<string, any>[]}
 */
function frontFlow({ home, port, pagesPort, passwordFile }) {
  const place = { z: TAB, engine: ENGINE };
  return [
    { id: TAB, type: 'tab', label: 'Front' },
    { id: ENGINE, type: 'seganet-engine', version: 1, workers: '1', logDir: path.join(home, 'log') },
    {
      ...place,
      id: 'devices',
      type: 'seganet-mqtt-devices',
      version: 2,
      port: String(port),
      login: 'passwords',
      passwordFile,
      identity: 'user',
      tenantFrom: 'user',
      x: 130,
      y: 100,
      wires: [['rank']]
    },
    {
      ...place,
      id: 'rank',
      type: 'seganet-priority',
      version: 1,
      rules: [{ topic: 'alarm', class: '1' }],
      x: 310,
      y: 100,
      wires: [['tenants']]
    },
    {
      ...place,
      id: 'tenants',
      type: 'seganet-tenants',
      version: 1,
      idleS: String(IDLE_S),
      pagesPort: String(pagesPort),
      pagesPasswordFile: passwordFile,
      x: 490,
      y: 100,
      wires: []
    }
  ];
}

/** Pump 5 is in room 105. */
const ROOMS = [
  { device: 'pump-*', property: 'saref:Temperature', value: 'temperature', room: '10{1}', unit: '°C' }
];

/**
 * The flow of a tenant: the shipped one, a page with the latest values, and a directory of the rooms.
 * @returns {Record<string, any>[]}
 */
function tenantFlow() {
  const [{ id: z }] = shipped;
  const nodes = shipped.map((each) =>
    each.type === 'seganet-series' ? { ...each, wires: [['keep', 'rooms']] } : each
  );
  return [
    ...nodes,
    { z, id: 'keep', type: 'function', name: 'keep', func: KEEP, outputs: 0, x: 640, y: 80, wires: [] },
    {
      z,
      id: 'rooms',
      type: 'seganet-find',
      version: 1,
      name: 'rooms',
      rules: JSON.stringify(ROOMS),
      x: 640,
      y: 120,
      wires: [[]]
    },
    { z, id: 'page', type: 'http in', url: '/values', method: 'get', x: 130, y: 180, wires: [['show']] },
    { z, id: 'show', type: 'function', name: 'show', func: SHOW, x: 310, y: 180, wires: [['answer']] },
    { z, id: 'answer', type: 'http response', x: 470, y: 180, wires: [] }
  ];
}

module.exports = { frontFlow, tenantFlow };
