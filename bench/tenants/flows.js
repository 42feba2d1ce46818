'use strict';
// The flows of the front and of the tenants of the chapter: those of npm run tenants, and what the measurement adds.

const demo = require('../../flows/demo/tenants/flows');

const ENGINE = 'engine';
/** In a tenant's volume: a line of JSON for each record that the tenant has. */
const ARRIVED = 'arrived.ndjson';
/** How long a slow page takes, ms. */
const SLOW_MS = 5000;
/**
 * Time until a record is written to disk, if nothing acknowledges it: a tenant that sleeps does not. The engine's
 * standard is 50 ms (10 ms for class 1), which a device then waits for its PUBACK.
 */
const LINGER = { lingerMs: '2', lingerUrgentMs: '1' };
/** Bounds a message that the tenant's flow does not complete. */
const DELIVERY_S = '30';

const LINE = `msg.filename = env.get('SEGANET_HOME') + '/${ARRIVED}';
msg.payload = JSON.stringify({ at: Date.now(), d: msg.deviceId });
return msg;`;

/**
 * @param {Parameters<typeof demo.frontFlow>[0]} places
 * @param {{ idleS?: number, mostAwake?: number }} [options] idleS: seconds until the front gives a lease back
 * @returns {Record<string, any>[]}
 */
function frontFlow(places, { idleS = 1, mostAwake = 64 } = {}) {
  return demo.frontFlow(places).map((node) => {
    if (node.type === 'seganet-engine') return { ...node, acknowledge: 'safe', ...LINGER };
    if (node.type !== 'seganet-tenants') return node;
    return { ...node, idleS: String(idleS), mostAwake: String(mostAwake) };
  });
}

/**
 * The flow of a tenant: it writes a line for each record before it acknowledges it.
 * @param {{ hasStore?: boolean }} [options] hasStore: it also keeps the values as series
 * @returns {Record<string, any>[]}
 */
function tenantFlow({ hasStore = false } = {}) {
  const [{ id: tab }] = demo.tenantFlow();
  const node = (/** @type {string} */ id, /** @type {string} */ type, /** @type {object} */ rest) => ({
    ...{ id, type, z: tab, x: 200, y: 300, wires: [] },
    ...rest
  });
  const flow = demo.tenantFlow().map((each) => {
    if (each.id === 'unbatch') return { ...each, wires: [['keep', 'line', ...(hasStore ? ['series'] : [])]] };
    if (each.id === 'front') return { ...each, deliveryTimeoutS: DELIVERY_S, onDeliveryTimeout: 'refuse' };
    return each;
  });
  return [
    ...flow,
    node('line', 'function', { func: LINE, outputs: 1, libs: [], wires: [['file']] }),
    node('file', 'file', {
      ...{ filename: 'filename', filenameType: 'msg', appendNewline: true },
      ...{ createDir: false, overwriteFile: 'false', encoding: 'none', wires: [[]] }
    }),
    node('slow', 'http in', { url: '/slow', method: 'get', wires: [['wait']] }),
    node('wait', 'delay', {
      ...{ pauseType: 'delay', timeout: String(SLOW_MS), timeoutUnits: 'milliseconds', wires: [['answer']] }
    }),
    ...(hasStore ? [node('series', 'seganet-series', { version: 1, wires: [[]] })] : [])
  ];
}

module.exports = { frontFlow, tenantFlow, ARRIVED, ENGINE, SLOW_MS };
