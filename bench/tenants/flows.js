'use strict';
// The flows of the front, which is that of npm run tenants with other times, and of the tenants.

const demo = require('../../flows/demo/tenants/flows');

const ENGINE = 'engine';
/** In a tenant's volume: a line of JSON for each record that the tenant has. */
const ARRIVED = 'arrived.ndjson';
/** How long a slow page takes, ms. */
const SLOW_MS = 5000;
/** Bounds a message that the tenant's flow does not complete. */
const DELIVERY_S = '30';

const LINE = `msg.filename = env.get('SEGANET_HOME') + '/${ARRIVED}';
msg.payload = JSON.stringify({ at: Date.now(), d: msg.deviceId });
return msg;`;

const KEEP =
  "flow.set('values', { ...flow.get('values'), [`${msg.deviceId} ${msg.topic}`]: String(msg.payload) });";
const SHOW = "msg.payload = JSON.stringify(flow.get('values') ?? {}); return msg;";

/**
 * @param {Parameters<typeof demo.frontFlow>[0]} places
 * @param {{ idleS?: number, mostAwake?: number }} [options] idleS: seconds until the front gives a lease back
 * @returns {Record<string, any>[]}
 */
function frontFlow(places, { idleS = 1, mostAwake = 64 } = {}) {
  return demo.frontFlow(places).map((node) => {
    if (node.type === 'seganet-engine') return { ...node, acknowledge: 'safe' };
    if (node.type !== 'seganet-tenants') return node;
    return { ...node, idleS: String(idleS), mostAwake: String(mostAwake) };
  });
}

/**
 * The flow of a tenant: it writes a line for each record before it acknowledges it.
 * @param {{ hasStore?: boolean, hasPages?: boolean }} [options] hasStore: it also keeps the values as series; hasPages:
 *   it also shows the latest values on a page
 * @returns {Record<string, any>[]}
 */
function tenantFlow({ hasStore = false, hasPages = false } = {}) {
  const node = (
    /** @type {string} */ id,
    /** @type {string} */ type,
    /** @type {object} */ rest,
    /** @type {string[]} */ ...next
  ) => ({ id, type, z: 'tab', x: 200, y: 100, wires: next.length > 0 ? [next] : [], ...rest });
  const code = (/** @type {string} */ func) => ({ func, outputs: 1, libs: [] });
  const pages = [
    node('values', 'http in', { url: '/values', method: 'get' }, 'show'),
    node('show', 'function', code(SHOW), 'answer'),
    node('slow', 'http in', { url: '/slow', method: 'get' }, 'wait'),
    node(
      'wait',
      'delay',
      { pauseType: 'delay', timeout: String(SLOW_MS), timeoutUnits: 'milliseconds' },
      'answer'
    ),
    node('answer', 'http response', {})
  ];
  return [
    { id: 'tab', type: 'tab', label: 'Tenant' },
    { id: ENGINE, type: 'seganet-engine', version: 1, workers: '1' },
    node(
      'in',
      'seganet-mqtt-devices',
      {
        version: 2,
        engine: ENGINE,
        host: '${SEGANET_TENANT_HOST}',
        port: '${SEGANET_TENANT_PORT}',
        login: 'passwords',
        passwordFile: '${SEGANET_TENANT_PASSWORDS}',
        identity: 'user',
        acknowledgeMessages: 'delivered',
        deliveryTimeoutS: DELIVERY_S,
        onDeliveryTimeout: 'refuse'
      },
      'unbatch'
    ),
    node('unbatch', 'seganet-unbatch', { version: 1 }, 'keep', 'line', ...(hasStore ? ['series'] : [])),
    node('keep', 'function', { ...code(KEEP), outputs: 0 }),
    node('line', 'function', code(LINE), 'file'),
    node('file', 'file', {
      filename: 'filename',
      filenameType: 'msg',
      appendNewline: true,
      createDir: false,
      overwriteFile: 'false',
      encoding: 'none'
    }),
    ...(hasStore ? [node('series', 'seganet-series', { version: 1 })] : []),
    ...(hasPages ? pages : [])
  ];
}

module.exports = { frontFlow, tenantFlow, ARRIVED, ENGINE };
