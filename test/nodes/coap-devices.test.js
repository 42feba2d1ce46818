'use strict';
// The settings of the coap devices node and their effect.

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

test.each([
  ['a path with / at its end', { path: 'r/' }, /"path" must be a path without/],
  ['the same path for both', { path: 'x', commandPath: 'x' }, /different paths/],
  ['.well-known', { path: '.well-known' }, /different paths/],
  ['an unknown transport', { transport: 'dtls' }, /"transport" must be one of udp, tcp, tls/],
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
