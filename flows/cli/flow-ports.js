'use strict';
// The ports that a gateway opens: those of its flow, and the editor's.

const { resolved } = require('../../nodes/lib/base/variable-reference');
const { readFlow } = require('../launcher/flow-file');
const { runningNodes } = require('../service/running-nodes');

/** Nodes with a port for devices. */
const TYPES = ['seganet-mqtt-devices', 'seganet-http-devices', 'seganet-coap-devices', 'seganet-ocf-cloud'];

/** @typedef {{ host: string, port: number, protocol: 'tcp' | 'udp', what: string }} Wanted */

/**
 * @param {any[]} flow
 * @param {NodeJS.ProcessEnv} env with the value of every variable
 * @returns {Wanted[]} fixed ports; 0 = any free one is not listed
 */
function wantedPorts(flow, env) {
  const nodes = runningNodes(flow);
  /** @type {Wanted[]} */
  const wanted = nodes
    .filter(({ type }) => TYPES.includes(type))
    .map(({ type, id, name, host, port, transport }) => ({
      host: resolved(host, env),
      port: Number(resolved(port, env)),
      protocol:
        type === 'seganet-coap-devices' && !/^(tcp|tls)$/.test(resolved(transport, env)) ? 'udp' : 'tcp',
      what: `the node ${name || id}`
    }));
  for (const { type, id, name, httpHost, httpPort } of nodes) {
    if (type !== 'seganet-ocf-cloud' || !httpPort) continue;
    const what = `HTTP of the node ${name || id}`;
    wanted.push({
      host: resolved(httpHost, env),
      port: Number(resolved(httpPort, env)),
      protocol: 'tcp',
      what
    });
  }
  if (env.SEGANET_EDITOR_PORT !== 'off') {
    const [host, port] = [env.SEGANET_EDITOR_HOST ?? '', Number(env.SEGANET_EDITOR_PORT)];
    wanted.push({ host, port, protocol: 'tcp', what: 'the editor' });
  }
  if ((env.SEGANET_STATUS_PORT ?? 'off') !== 'off') {
    const [host, port] = [env.SEGANET_STATUS_HOST ?? '', Number(env.SEGANET_STATUS_PORT)];
    wanted.push({ host, port, protocol: 'tcp', what: 'the status page' });
  }
  return wanted.filter(({ port }) => port > 0 && port < 65536);
}

/** @param {string} file @returns {any[]} the nodes of a flow, none if it cannot be read */
function nodesOf(file) {
  try {
    return readFlow(file);
  } catch {
    return [];
  }
}

module.exports = { nodesOf, wantedPorts };
