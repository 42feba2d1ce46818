'use strict';
// The ocf cloud node over TLS, with certificates of devices requested.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const tls = require('node:tls');
const { makeCertificates } = require('../../../bench/harness/certificates');
const { needs } = require('../../../bench/harness/tools');
const { Client } = require('../../../flows/demo/ocf/client');
const { startGatewayCloud } = require('../../fixtures/ocf/gateway-cloud');
const { newUser, LIGHT } = require('../../fixtures/ocf/scenes');

const { test } = needs('openssl');

jest.setTimeout(120000);

test('signs a device in over TLS without a certificate, and names coaps+tcp in its links', async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-ocf-'));
  const { ca, cert, key } = makeCertificates(folder);
  const files = { id: 'tls', type: 'tls-config', cert, key, ca, verifyservercert: true };
  const cloud = await startGatewayCloud({
    node: { transport: 'tls', tls: 'tls', clientCert: 'wanted' },
    more: [files]
  });
  const socket = tls.connect({
    host: '127.0.0.1',
    port: cloud.port,
    ca: fs.readFileSync(ca),
    ALPNProtocols: ['coap']
  });
  try {
    await new Promise((resolve, reject) => socket.once('secureConnect', resolve).once('error', reject));
    const client = new Client(socket);
    expect((await client.signUp(await cloud.codeFor(newUser()))).code).toBe('2.04');
    expect((await client.signIn()).code).toBe('2.04');
    expect((await client.publish([LIGHT])).code).toBe('2.04');
    const { value } = await client.request('GET', '/oic/res');
    expect(value[0].eps[0].ep).toBe(`coaps+tcp://127.0.0.1:${cloud.port}`);
  } finally {
    socket.destroy();
    await cloud.stop();
    fs.rmSync(folder, { recursive: true, force: true });
  }
});
