'use strict';
// The mqtt devices node and the login node: settings, listeners, questions and answers.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const tlsConfig = require('@node-red/nodes/core/network/05-tls.js');
const {
  helper,
  tab,
  engine,
  node,
  load,
  unload,
  until,
  errors,
  shown,
  inbox,
  engines,
  fronts,
  calls
} = require('./support/gateway');

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-devices-'));
beforeAll(() => helper.startServer());
afterEach(unload);
afterAll(() => {
  fs.rmSync(folder, { recursive: true, force: true });
  return helper.stopServer();
});

const devices = (properties) =>
  node('devices', 'mqtt-devices', { version: 2, port: '1884', ...properties }, 'sink');
const tls = {
  id: 'tls',
  type: 'tls-config',
  certType: 'files',
  cert: '/none/cert.pem',
  key: '/none/key.pem'
};
const pfx = { id: 'bundle', type: 'tls-config', name: 'mine', certType: 'pfx', p12: '' };
const start = (properties, ...more) =>
  load([tab, engine, devices(properties), node('sink', 'helper'), ...more], {}, [tlsConfig]);
const login = {
  id: 7,
  stage: 1,
  clientId: 'c',
  user: 'u',
  password: Buffer.from('p'),
  address: '192.0.2.1:9'
};
/** The TLS node of these tests reports itself that it has no files. */
const complaints = () => errors().filter(([id]) => id !== 'tls');
const source = () => engines[0].plan.stages.find(({ kind }) => kind === 'source');
const warnings = () =>
  helper
    .log()
    .args.map(([entry]) => entry)
    .filter(({ level }) => level === helper.log().WARN)
    .map(({ msg }) => String(msg));

describe('connection without a login', () => {
  test.each([
    [{ host: '127.0.0.1' }],
    [{ host: '::1' }],
    [{ host: 'localhost' }],
    [{ host: '0.0.0.0', allowAnonymous: true }],
    [{ host: '0.0.0.0', allowAnonymous: 'yes' }],
    [{ host: '0.0.0.0', login: 'flow' }],
    [{ host: '0.0.0.0', transport: 'tls', tls: 'tls', clientCert: 'required' }]
  ])('listens with %j', async (properties) => {
    await start(properties, tls);
    // A host name is resolved first.
    await until(() => calls.includes('listen'), 'listen');
    expect(complaints()).toEqual([]);
  });

  test.each([
    [{ host: '0.0.0.0' }, /On 0\.0\.0\.0, any client .* Choose a login/],
    [{ host: '::' }, /any client/],
    [{ host: '192.0.2.1', allowAnonymous: 'no' }, /any client/],
    [{ host: '0.0.0.0', transport: 'tls', tls: 'tls', clientCert: 'wanted' }, /any client/],
    [{ login: 'certificate' }, /require TLS/],
    [{ login: 'psk', transport: 'tls' }, /The file of pre-shared keys is missing/],
    [{ login: 'psk', transport: 'tls', pskFile: '/x', clientCert: 'required' }, /carries no certificate/],
    [{ clientCert: 'required' }, /require TLS/],
    [{ login: 'passwords' }, /The password file is missing/],
    [{ login: 'passwords', passwordFile: '/none/x' }, /\/none\/x cannot be read \(ENOENT\)/],
    [{ login: 'maybe' }, /must be one of none, passwords/],
    [{ transport: 'tls', tls: 'bundle' }, /contains a PFX file, which device listeners do not support/],
    [{ transport: 'tls', tls: 'gone' }, /TLS node of the devices is missing/],
    [{ wsPath: 'mqtt' }, /a path such as/],
    [{ allowAnonymous: 'perhaps' }, /must be yes or no/],
    [{ presenceTopic: 'a/#' }, /without \+ and #/],
    [{ bridges: 'zigbee2mqtt=zigbee2mqtt/+' }, /Devices behind a bridge: .* one whole level/],
    [{ permissions: [{ device: '', publish: [] }] }, /Permission 1 has no device/],
    [{ permissions: [{ device: 'a', publish: ['x#'] }] }, /topic filter "x#"/],
    [{ permissionsJson: '{' }, /not valid JSON/],
    [{ rate: '-1' }, /whole number/]
  ])('refuses %j with a sentence', async (properties, reason) => {
    await start(properties, tls, pfx);
    expect(complaints()).toEqual([['devices', expect.stringMatching(reason)]]);
    expect(calls).not.toContain('listen');
  });

  test('keeps a node of an older flow running unchanged, and reports what to do', async () => {
    await start({ version: undefined, host: '0.0.0.0' });
    expect(calls).toContain('listen');
    expect(warnings().at(-1)).toMatch(/as in the version that created this flow\. Open the node/);
  });
});

test('does not listen where a tenant in a container would reach it', async () => {
  const file = path.join(folder, 'tenants.json');
  const tenant = { name: 'acme', driver: 'docker', image: `sha256:${'0'.repeat(64)}` };
  fs.writeFileSync(file, JSON.stringify({ version: 1, tenants: [tenant] }));
  process.env.SEGANET_TENANTS = file;
  try {
    await start({ host: '192.0.2.1', allowAnonymous: true });
    expect(calls).not.toContain('listen');
    expect(complaints()).toEqual([
      ['devices', expect.stringMatching(/^At 192\.0\.2\.1, the tenants in containers/)]
    ]);
    await unload();
    await start({ host: '127.0.0.1' });
    expect(calls).toContain('listen');
  } finally {
    delete process.env.SEGANET_TENANTS;
  }
});

test('passes devices behind a bridge to the stage, and warns once of those it cannot speak for', async () => {
  await start({ bridges: 'z2m=zigbee2mqtt/{device}/#, gw*=payload.mac' });
  expect(source().bridges).toEqual([
    { device: 'z2m', topic: 'zigbee2mqtt/{device}/#' },
    { device: 'gw*', member: '$.mac' }
  ]);
  const stats = engines[0].stats.bind(engines[0]);
  let notSpokenFor = 5;
  let looks = 0;
  engines[0].stats = () => {
    looks++;
    return { ...stats(), counters: { notSpokenFor } };
  };
  const told = () => warnings().filter((text) => text.includes('it cannot speak for'));
  await until(() => looks > 1, 'a status');
  expect(told()).toEqual([]);
  notSpokenFor = 6;
  await until(() => told().length > 0, 'the warning');
  const then = looks;
  notSpokenFor = 7;
  await until(() => looks > then + 1, 'another status');
  expect(told()).toHaveLength(1);
});

test('passes settings to the stage', async () => {
  const permissions = [{ device: '*', publish: 'd/# e', subscribe: ['cmd/+/set'] }];
  await start({ permissions, presenceTopic: 'p/{device}', rate: '5', burst: '10', keepAliveMaxS: '60', classProperty: 'c', receiveMaximum: '9', sessionExpiryMaxS: '0' }); // prettier-ignore
  expect(source()).toMatchObject({
    permissions: [{ device: '*', publish: ['d/#', 'e'], subscribe: ['cmd/+/set'] }],
    presenceTopic: 'p/{device}',
    rate: 5,
    burst: 10,
    keepAliveMaxS: 60,
    classProperty: 'c',
    receiveMaximum: 9,
    sessionExpiryMaxS: 0
  });
  expect(engines[0].listened).toMatchObject({
    host: '127.0.0.1',
    port: 1884,
    transport: 'tcp',
    login: 'open'
  });
});

describe('TLS and WebSocket', () => {
  const secure = { transport: 'wss', tls: 'tls', wsOrigins: 'https://A.example https://b.example' };

  test('listens on the port in the TLS server, and the engine takes streams', async () => {
    await start({ ...secure, clientCert: 'wanted', minTls: 'TLSv1.3' }, tls);
    expect(engines[0].listened).toMatchObject({ port: 0, transport: 'streams', login: 'open' });
    expect(fronts[0]).toMatchObject({
      stage: 1,
      options: {
        transport: 'wss',
        host: '127.0.0.1',
        port: 1884,
        minTls: 'TLSv1.3',
        tlsFiles: { cert: '/none/cert.pem', key: '/none/key.pem' },
        clientCert: 'wanted',
        certIsLogin: true,
        webSocket: {
          path: '/mqtt',
          origins: ['https://a.example', 'https://b.example'],
          maxFrameBytes: 1 << 20
        }
      }
    });
    fronts[0].resolve(1884);
    await until(() => shown('devices')?.text.startsWith('1884 ·'), 'status');
  });

  test('reports a refusal once, retries it each second, and gives it up with the node', async () => {
    await start(secure, tls);
    const refuse = () =>
      fronts.at(-1).reject(new Error('The certificate for devices x cannot be read (ENOENT). Put it there.'));
    refuse();
    await until(() => shown('devices')?.text === 'certificate or key', 'status');
    await until(() => fronts.length === 2, 'second try');
    refuse();
    await until(() => calls.filter((call) => call === 'unlisten').length === 2, 'unlisten');
    expect(complaints()).toEqual([['devices', 'Devices cannot connect. The certificate for devices x cannot be read (ENOENT). Put it there.']]); // prettier-ignore
  });

  test('replaces a thread that dies', async () => {
    await start(secure, tls);
    fronts[0].resolve(1884);
    await fronts[0].opened;
    fronts[0].hooks.onLost(new Error('The thread ended unexpectedly (x).'));
    await until(() => fronts.length === 2, 'second thread');
    fronts[1].resolve(1884);
    await until(() => shown('devices')?.text.startsWith('1884 ·'), 'status');
  });

  test('closes the TLS server last when the engine closes: devices get acknowledgements meanwhile', async () => {
    await start(secure, tls);
    fronts[0].resolve(1884);
    await fronts[0].opened;
    await unload();
    expect(calls.filter((call) => /front|stopReading|engine.close|unlisten/.test(call))).toEqual([
      'front.open',
      'front.hold',
      'stopReading',
      'engine.close',
      'front.stop'
    ]);
  });
});

describe('logins', () => {
  test('lets no device in by a flow without a login node', async () => {
    await start({ login: 'flow' });
    expect(engines[0].listened.login).toBe('ask');
    engines[0].logins.push(login);
    engines[0].doorbell();
    await until(() => engines[0].logins.length === 0, 'the question');
    await new Promise((resolve) => setImmediate(resolve));
    // A refusal is final for many clients, but a client without an answer tries again.
    expect(engines[0].answers).toEqual([]);
  });

  test('asks a flow, and takes its answer', async () => {
    await start({ login: 'flow' }, node('login', 'login', {}, 'ask'), node('ask', 'helper'));
    const questions = inbox('ask');
    engines[0].logins.push(login, { ...login, id: 8 });
    engines[0].doorbell();
    await until(() => questions.length === 2, 'questions');
    expect(questions[0]).toMatchObject({ clientId: 'c', user: 'u', password: 'p', address: '192.0.2.1:9', source: { protocol: 'mqtt', nodeId: 'devices' } }); // prettier-ignore
    helper.getNode('login').receive({ ...questions[1], allowed: false });
    helper.getNode('login').receive({ ...questions[0], allowed: true, deviceId: 'pump' });
    await until(() => engines[0].answers.length === 2, 'answers');
    expect(engines[0].answers).toEqual([
      [8, null],
      [7, 'pump']
    ]);
  });

  test('allows one login node in an engine', async () => {
    await start({ login: 'flow' }, node('login', 'login'), node('second', 'login'));
    expect(complaints()).toEqual([['second', expect.stringMatching(/already has a login node/)]]);
  });

  test('asks for passwords, and takes the user as the device', async () => {
    const { hashPassword } = require('../../nodes/lib/login/password-hash');
    const file = path.join(folder, 'passwords');
    fs.writeFileSync(file, `u:${await hashPassword(Buffer.from('p'), { ln: 10, r: 8, p: 1 })}\n`, {
      mode: 0o600
    });
    await start({ login: 'passwords', passwordFile: file });
    engines[0].logins.push(login, { ...login, id: 8, password: null });
    engines[0].doorbell();
    await until(() => engines[0].answers.length === 2, 'answers');
    expect(engines[0].answers).toEqual([
      [8, null],
      [7, 'u']
    ]);
  });
});
