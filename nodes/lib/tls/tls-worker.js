'use strict';

// Entry point of the TLS thread: the TLS and WebSocket listeners of one engine. In: {type: 'open', id, stage, options}
// · {type: 'close', id} · {type: 'hold'} · {type: 'stop'} Out: {type: 'opened', id, port} ·
// {type: 'refused', id, code, reason} · {type: 'state', id, …} · {type: 'problem', id, reason}

const net = require('node:net');
const { parentPort, workerData } = require('node:worker_threads');
const { TlsServer } = require('./tls-server');

const STATE_MS = 1000;
const FILES_MS = 5000;

const port = /** @type {import('node:worker_threads').MessagePort} */ (parentPort);
/** @type {typeof import('../../../native/index.js')} */
const native = require(workerData.nativePath);

/** @type {Map<number, TlsServer>} */
const servers = new Map();
/** The last state sent for each server, so that only changes are sent. @type {Map<number, string>} */
const sentStates = new Map();
/** Open sockets to the engine. @type {Set<net.Socket>} */
const nears = new Set();

/** @param {number} stage */
function opener(stage) {
  return (/** @type {import('./tls-server').StreamPeer} */ peer) => {
    const fd = native.openDeviceStream(workerData.token, stage, peer);
    const near = new net.Socket({ fd, readable: true, writable: true, allowHalfOpen: true });
    nears.add(near);
    near.once('close', () => nears.delete(near));
    return near;
  };
}

/**
 * @param {number} id
 * @param {number} stage
 * @param {import('./tls-server').TlsListenerOptions} options
 */
async function open(id, stage, options) {
  const server = new TlsServer(options, opener(stage), native.parseProxyHeader);
  servers.set(id, server);
  server.on('problem', (reason) => port.postMessage({ type: 'problem', id, reason }));
  try {
    const number = await server.listen();
    // Closed while it was being opened.
    if (servers.get(id) !== server) return server.close();
    port.postMessage({ type: 'opened', id, port: number });
  } catch (error) {
    servers.delete(id);
    const { code = '', message } = /** @type {NodeJS.ErrnoException} */ (error);
    port.postMessage({ type: 'refused', id, code, reason: message });
  }
}

/** @param {number} id */
function close(id) {
  servers.get(id)?.close();
  servers.delete(id);
  sentStates.delete(id);
}

function report() {
  for (const [id, { state }] of servers) {
    const text = JSON.stringify(state);
    if (sentStates.get(id) === text) continue;
    sentStates.set(id, text);
    port.postMessage({ type: 'state', id, state });
  }
}

/** Stops after the engine has closed its sockets: pending bytes are written, and then the thread ends. */
function stop() {
  for (const timer of timers) clearInterval(timer);
  for (const server of servers.values()) server.hold();
  if (nears.size === 0) for (const server of servers.values()) server.close();
  port.close();
}

port.on('message', (message) => {
  if (message.type === 'open') open(message.id, message.stage, message.options);
  else if (message.type === 'close') close(message.id);
  else if (message.type === 'hold') for (const server of servers.values()) server.hold();
  else if (message.type === 'stop') stop();
});

const timers = [
  setInterval(report, STATE_MS),
  setInterval(() => servers.forEach((server) => server.checkFiles()), FILES_MS)
];
