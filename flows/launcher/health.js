'use strict';

// Asks the gateway of this machine whether it is well: node flows/launcher/health.js
// For health checks of containers. It prints the reason and ends with 0 if the gateway is healthy, else with 1. It
// reads SEGANET_EDITOR_HOST and SEGANET_EDITOR_PORT. Without an editor, which answers the question, it tests only
// whether the port for devices is open.

const http = require('http');
const net = require('net');

const TIMEOUT_MS = 5000;
const MOST_BYTES = 65536;
const HEALTHY = 'healthy';

/** An address to listen on as an address to connect to. @param {string} [host] */
const reachable = (host = '') =>
  host === '' || host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;

/** @param {string} text @param {number} code */
function end(text, code) {
  console.log(text);
  process.exit(code);
}

/** @param {string} body of the answer @returns {string | null} null if it is not the gateway's */
function reasonIn(body) {
  try {
    const { ok, reason } = JSON.parse(body);
    return ok === true ? HEALTHY : typeof reason === 'string' ? reason : null;
  } catch {
    return null;
  }
}

/** @param {string} host @param {number} port */
function askEditor(host, port) {
  const headers = { host: 'localhost' };
  const options = { host, port, path: '/seganet/healthz', headers, timeout: TIMEOUT_MS };
  const request = http.get(options, (response) => {
    let body = '';
    response.setEncoding('utf8').on('data', (text) => {
      if (body.length < MOST_BYTES) body += text;
    });
    response.on('end', () => {
      const reason = reasonIn(body);
      end(reason ?? `The editor answers ${response.statusCode}.`, reason === HEALTHY ? 0 : 1);
    });
  });
  request.on('timeout', () => request.destroy(new Error(`no answer within ${TIMEOUT_MS / 1000} s`)));
  request.on('error', (error) => end(`The gateway does not answer: ${error.message}.`, 1));
}

/** @param {string} host @param {number} port */
function tryDevices(host, port) {
  const socket = net.connect({ host, port, timeout: TIMEOUT_MS });
  socket.on('connect', () =>
    end('The port for devices is open. No editor runs, so nothing else was tested.', 0)
  );
  socket.on('timeout', () => socket.destroy(new Error(`no answer within ${TIMEOUT_MS / 1000} s`)));
  socket.on('error', (error) => end(`The port for devices is not open: ${error.message}.`, 1));
}

const { env } = process;
const editor = env.SEGANET_EDITOR_PORT || '1880';
if (editor === 'off') tryDevices(reachable(env.SEGANET_DEVICE_HOST), Number(env.SEGANET_MQTT_PORT || '1883'));
else askEditor(reachable(env.SEGANET_EDITOR_HOST), Number(editor));
