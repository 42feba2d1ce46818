'use strict';
// The settings of the coap devices node and their effect.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const {
  helper,
  tab,
  engine,
  broker,
  node,
  load,
  unload,
  errors,
  shown,
  engines
} = require('./support/gateway');

beforeAll(() => helper.startServer());
afterEach(() => unload());
afterAll(() => helper.stopServer());

const flow = (/** @type {object} */ devices) => [
  tab,
  engine,
  broker,
  node('devices', 'coap-devices', devices, 'cloud'),
  node('cloud', 'uplink', { broker: 'broker' })
];
const source = () => engines[0].plan.stages.find((/** @type {any} */ { kind }) => kind === 'source');

test('uses UDP on loopback and the usual port without settings', async () => {
  await load(flow({}));
  expect(errors()).toEqual([]);
  expect(engines[0].listened).toMatchObject({
    host: '127.0.0.1',
    port: 5683,
    transport: 'udp',
    login: 'open'
  });
  expect(source()).toMatchObject({
    protocol: 'coap',
    path: 'r',
    commandPath: 'cmd',
    maxBodyBytes: 262144,
    classProperty: 'c',
    rate: 0,
    burst: 0
  });
});

test('passes its settings to the engine', async () => {
  await load(
    flow({
      transport: 'tcp',
      port: '6000',
      path: 'in/records',
      commandPath: 'in/commands',
      maxBodyKiB: '1024',
      classProperty: 'prio',
      rate: '5',
      burst: '9',
      presenceTopic: 'presence/{device}',
      devices: [{ device: 'pump-*', class: 2 }],
      permissions: [{ device: 'pump-*', publish: ['in/records/{device}/#'], subscribe: [] }]
    })
  );
  expect(errors()).toEqual([]);
  expect(engines[0].listened).toMatchObject({ port: 6000, transport: 'tcp' });
  expect(source()).toMatchObject({
    path: 'in/records',
    commandPath: 'in/commands',
    maxBodyBytes: 1048576,
    classProperty: 'prio',
    rate: 5,
    burst: 9,
    presenceTopic: 'presence/{device}',
    devices: [{ device: 'pump-*', class: 2 }],
    permissions: [{ device: 'pump-*', publish: ['in/records/{device}/#'], subscribe: [] }]
  });
});

describe('with DTLS', () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-test-'));
  const pskFile = path.join(folder, 'keys');
  beforeEach(() => fs.writeFileSync(pskFile, `pump-1:${'ab'.repeat(16)}\n`, { mode: 0o600 }));
  afterEach(() => fs.rmSync(pskFile, { force: true }));
  afterAll(() => fs.rmSync(folder, { recursive: true }));
  const keys = { transport: 'dtls', login: 'psk', pskFile, port: '', sessionIdleS: '3600' };

  test('gives the engine the keys of the file and asks it for no login', async () => {
    await load(flow(keys));
    expect(errors()).toEqual([]);
    expect(engines[0].listened).toMatchObject({
      host: '127.0.0.1',
      port: 5684,
      transport: 'dtls',
      sessionIdleS: 3600,
      dtls: { identities: ['pump-1'], keys: [Buffer.alloc(16, 0xab)], deviceCertificate: 'no', idFrom: 'cn' }
    });
    expect(engines[0].listened.login).toBeUndefined();
  });

  test('refuses a missing key file with a sentence', async () => {
    fs.rmSync(pskFile);
    await load(flow(keys));
    expect(errors()).toEqual([
      [
        'devices',
        expect.stringMatching(/Devices cannot connect\. The file of pre-shared keys .* cannot be read/)
      ]
    ]);
  });
});

test.each([
  ['a path with / at its end', { path: 'r/' }, /"path" must be a path without/],
  ['the same path for both', { path: 'x', commandPath: 'x' }, /different paths/],
  ['.well-known', { path: '.well-known' }, /different paths/],
  ['an unknown transport', { transport: 'quic' }, /"transport" must be one of udp, tcp, tls, dtls/],
  ['a session that ends at once', { sessionIdleS: '1' }, /"sessionIdleS" must be a whole number from 60/],
  [
    'DTLS with keys but no key file',
    { transport: 'dtls', login: 'psk' },
    /file of pre-shared keys is missing/
  ],
  ['DTLS on the network without a login', { transport: 'dtls', host: '0.0.0.0' }, /any client that reaches/],
  ['passwords', { login: 'passwords', passwordFile: '/x' }, /cannot log in with a user and password/],
  ['keys without TLS', { login: 'psk', pskFile: '/x' }, /require TLS/],
  ['the network without a login', { host: '0.0.0.0' }, /any client that reaches this port/],
  ['a body of nothing', { maxBodyKiB: '0' }, /"maxBodyKiB" must be a whole number from 1/],
  ['a wildcard in the presence topic', { presenceTopic: 'a/#' }, /"presenceTopic" must be a topic/],
  ['a class parameter with =', { classProperty: 'a=b' }, /"classProperty" must be the name/],
  ['a negative rate', { rate: '-1' }, /"rate" must be a whole number/],
  ['a long path', { path: 'x'.repeat(129) }, /exceeds 128 bytes/]
])('refuses %s with a sentence', async (_name, properties, sentence) => {
  await load(flow(properties));
  expect(errors()).toEqual([['devices', expect.stringMatching(sentence)]]);
  expect(shown('devices')).toMatchObject({ fill: 'red' });
});
