'use strict';
// The bridge of plgd's device library: one bridged device over TLS 1.3, with certificates of both sides.

const { randomUUID } = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const cbor = require('cbor');
const coap = require('coap');
const { Child } = require('../../../bench/harness/child');
const { eventually, freePort } = require('../../../bench/harness/net');
const { encode } = require('../../../flows/demo/ocf/client');
const { Authority } = require('../../fixtures/devices/authority');
const { startGatewayCloud } = require('../../fixtures/ocf/gateway-cloud');
const { WAIT, demand, findLink, observeAndChange, presence, read, signedIn } = require('./controller');

const USER = 'alice';
const BOTH = 'serverAuth, clientAuth';

/**
 * Sends a request to the bridge itself, over UDP.
 * @param {number} port @param {'GET' | 'POST'} method @param {string} pathname @param {object} [body]
 * @returns {Promise<{ code: string, value: any }>}
 */
function ask(port, method, pathname, body) {
  return new Promise((resolve, reject) => {
    const [name, query] = pathname.split('?');
    const request = coap.request({ hostname: '127.0.0.1', port, method, pathname: name, query });
    request.setOption('Accept', Buffer.from([0x27, 0x10]));
    if (body) request.setOption('Content-Format', Buffer.from([0x27, 0x10]));
    request.on('error', reject);
    request.on('response', ({ code, payload }) => {
      resolve({ code, value: payload.length > 0 && code < '3' ? cbor.decodeFirstSync(payload) : undefined });
    });
    request.end(body && encode(body));
  });
}

/**
 * @param {string} program
 * @param {string} folder for files
 * @param {import('./run').Report} report
 */
async function bridge(program, folder, report) {
  report.part('device of plgd over TLS 1.3');
  const authority = new Authority();
  const sid = randomUUID();
  const port = await freePort();
  const own = authority.issue({ name: `uuid:${sid}`, usage: BOTH });
  const its = authority.issue({ name: `uuid:${randomUUID()}`, usage: BOTH });
  const tls = { id: 'tls', type: 'tls-config', cert: own.certFile, key: own.keyFile, ca: authority.caFile };
  const cloud = await startGatewayCloud({
    node: { sid, transport: 'tls', tls: 'tls', clientCert: 'required' },
    more: [{ ...tls, verifyservercert: true }]
  });
  const config = path.join(folder, 'bridge.yaml');
  const lines = [
    ...['apis:', '  coap:', `    id: ${randomUUID()}`, '    name: bridge', '    externalAddresses:'],
    ...[`      - "127.0.0.1:${port}"`, '    maxMessageSize: 2097152', 'log:', '  level: info'],
    ...['cloud:', '  enabled: true', `  cloudID: ${sid}`, '  tls:', `    caPoolPath: ${authority.caFile}`],
    ...[`    keyPath: ${its.keyFile}`, `    certPath: ${its.certFile}`, 'credential:', '  enabled: false'],
    ...['thingDescription:', '  enabled: false', 'numGeneratedBridgedDevices: 1', 'numResourcesPerDevice: 2']
  ];
  fs.writeFileSync(config, `${lines.join('\n')}\n`);
  const child = new Child(program, ['-config', config], { name: 'bridge-device', cwd: folder });
  try {
    const links = await eventually(
      () =>
        ask(port, 'GET', '/oic/res').then(
          ({ value }) => value,
          () => null
        ),
      {
        ...WAIT,
        what: 'the bridge'
      }
    );
    const [{ di }] = links;
    const code = await cloud.codeFor(USER);
    const cis = `coaps+tcp://127.0.0.1:${cloud.port}`;
    await report.step('takes the address of the cloud and an access code', async () => {
      const target = `/CoapCloudConfResURI?di=${di}`;
      const answer = await ask(port, 'POST', target, { apn: 'seganet', cis, at: code, sid });
      demand(answer.code === '2.04', `the answer is ${answer.code}`);
    });
    const client = await signedIn(cloud, USER, { ca: authority.ca, cert: its.cert, key: its.key });
    const isOf = (/** @type {any} */ link) => link.anchor === `ocf://${di}`;
    const link = await report.step('5, 8, 10, 12: signs up and in over TLS, publishes, and is found', () =>
      findLink(client, (each) => isOf(each) && /\/test/.test(each.href))
    );
    if (!link) return;
    await report.step('13: href', async () => link.href);
    await report.step('14: is read', () => read(client, link.href));
    await report.step('15 to 17: is observed, changed, and notifies', () =>
      observeAndChange(client, link.href, { name: 'changed' })
    );
    await report.step('24: on', async () => {
      demand((await presence(client, di)) === 'on', 'it is off');
    });
    client.destroy();
  } finally {
    if (process.env.SEGANET_SHOW) console.log(child.output.slice(-3000), cloud.gateway.output.slice(-2000));
    await child.stop('SIGKILL');
    await cloud.stop();
    authority.remove();
  }
}

module.exports = { bridge };
