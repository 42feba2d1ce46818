'use strict';
// The overlay network and overlay peers nodes with the control socket of a program, and an uplink broker by overlay.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { eventually } = require('../../bench/harness/net');
const { TestProgram } = require('../fixtures/overlay/program');
const support = require('./support/gateway');
const { helper, tab, engine, node, load, unload, until, errors, warnings, shown, inbox } = support;

const more = ['overlay', 'overlay-peers'].map((name) => require(`../../nodes/seganet-${name}`));
/** @type {TestProgram} */
let program;
beforeAll(() => helper.startServer());
afterAll(() => helper.stopServer());
beforeEach(async () => {
  program = await new TestProgram().open();
});
afterEach(async () => {
  await unload();
  await program.remove();
});

const HUB = { name: 'hub', path: 'relay', reason: 'UDP is blocked here', rttMs: 4 };
/** @param {object} [settings] of the peers node @param {object} [network] */
const flow = (settings, network) => [
  tab,
  { id: 'net', type: 'seganet-overlay', version: 1, folder: program.folder, ...network },
  node('peers', 'seganet-overlay-peers', { overlay: 'net', ...settings }, 'in'),
  node('in', 'helper')
];

test('shows the peers and sends what happens to them', async () => {
  program.status.peers = [HUB, { name: 'b', path: 'direct' }];
  await load(flow({ events: 'path other', everyS: '1' }), {}, more);
  const messages = inbox('in');
  await until(() => shown('peers')?.text === '1 direct, 1 by relay');
  await until(() => program.followers.size === 1);
  program.tell({ event: 'up', peer: HUB });
  program.tell({ event: 'path', peer: HUB, text: 'hub is relayed: UDP is blocked here' });
  program.tell({ event: 'renewed', text: 'The certificate was renewed.' });
  await until(() => messages.some(({ topic }) => topic === 'overlay/node/renewed'));
  expect(messages.map(({ topic }) => topic).filter((topic) => topic !== 'overlay/peers')).toEqual([
    'overlay/node/connected',
    'overlay/hub/path',
    'overlay/node/renewed'
  ]);
  await until(() => messages.some(({ topic }) => topic === 'overlay/peers'));
  expect(messages.find(({ topic }) => topic === 'overlay/peers').payload).toMatchObject({
    node: 'gw.plant.seganet.internal',
    peers: [{ name: 'hub', reason: 'UDP is blocked here' }, { name: 'b' }]
  });
  await program.close();
  await until(() => messages.at(-1).topic === 'overlay/node/lost');
  await until(() => /^overlay: /.test(shown('peers')?.text));
  await program.open();
  await until(
    () => messages.at(-1).topic === 'overlay/node/connected' || messages.at(-1).topic === 'overlay/peers'
  );
});

test('the admin API lists the peers, their paths and reasons, or why it knows none', async () => {
  program.status.peers = [HUB];
  program.status.node = { signalling: true, relay: '192.0.2.1:3478 by udp' };
  await load([...flow(), { id: 'wrong', type: 'seganet-overlay', version: 1, offers: 'x' }], {}, more);
  const get = async (/** @type {string} */ url) => helper.request().get(`/seganet/overlay${url}`);
  await until(() => shown('peers')?.text === '0 direct, 1 by relay');
  expect((await get('/net')).body).toMatchObject({
    id: 'net',
    reason: '',
    fqdn: 'gw.plant.seganet.internal',
    relay: '192.0.2.1:3478 by udp',
    services: { areReached: true, isRevoked: false },
    peers: [{ name: 'hub', path: 'relay', reason: 'UDP is blocked here', rttMs: 4 }],
    peersLeftOut: 0
  });
  expect((await get('')).body).toEqual({
    networks: [
      { id: 'net', name: '', reason: '', fqdn: 'gw.plant.seganet.internal' },
      { id: 'wrong', name: '', reason: expect.stringMatching(/offers nothing/), fqdn: '' }
    ]
  });
  expect(await get('/wrong')).toMatchObject({
    status: 503,
    body: { error: expect.stringMatching(/offers nothing/) }
  });
  expect((await get('/nowhere')).status).toBe(404);
  await program.close();
  await until(() => /^overlay: /.test(shown('peers')?.text));
  expect(await get('/net')).toMatchObject({
    status: 503,
    body: { error: expect.stringMatching(/control socket|answer/) }
  });
});

/** Longer than the time between two looks at the gateway. */
const looked = (/** @type {() => any} */ condition) =>
  eventually(condition, { timeoutMs: 20000, everyMs: 50, what: String(condition) });

test('another program with the identity of this node is an event, which says when the node is suspended', async () => {
  program.status.usedTwice = new Date().toISOString();
  await load([...flow({}, { name: 'plant' }), engine], {}, more);
  const happened = async () => {
    const { body } = await helper.request().get('/seganet/events').expect(200);
    return body.events.find(({ kind }) => kind === 'identity');
  };
  await looked(async () => (await happened())?.until === null);
  await looked(() => shown('peers')?.text === 'identity used twice');
  expect(await happened()).toMatchObject({
    subject: 'plant',
    severity: 'error',
    sentence:
      'Another program uses the identity of this gateway in the overlay network plant (gw.plant.seganet.internal).'
  });
  program.status.servicesError = 'wss://o refuses the connection: This node is suspended, because of that.';
  await looked(async () => /have suspended this gateway/.test((await happened()).sentence));
  await looked(() => shown('peers')?.text === 'suspended: identity used twice');
  program.status.node = { signalling: true };
  delete program.status.usedTwice;
  await looked(async () => typeof (await happened()).until === 'number');
});

test('only the chosen peer is followed', async () => {
  await load(flow({ peer: 'hub' }), {}, more);
  const messages = inbox('in');
  await until(() => program.followers.size === 1);
  program.tell({ event: 'up', peer: { name: 'b' } });
  program.tell({ event: 'up', peer: { name: 'hub.plant.seganet.internal' } });
  await until(() => messages.some(({ topic }) => topic === 'overlay/hub.plant.seganet.internal/up'));
  expect(messages.some(({ topic }) => topic === 'overlay/b/up')).toBe(false);
});

test.each([
  [{ overlay: 'gone' }, {}, 'no overlay network', /No overlay network is chosen/],
  [{ events: 'up, flown' }, {}, 'wrong setting', /a list of up, down/],
  [{}, { offers: 'broker' }, 'overlay not started', /offers nothing.*broker=tcp/],
  [{}, { offers: 'mqtts://u:secret/x@h:1' }, 'overlay not started', /^"mqtts:\/\/…@h:1" offers nothing/],
  [{}, { address: 'https://overlay.example.com' }, 'overlay not started', /enter all three/],
  [{}, { root: 'sha256:1' }, 'overlay not started', /fingerprint/]
])('a wrong setting is explained: %j %j', async (settings, network, text, sentence) => {
  await load(flow(settings, network), {}, more);
  await until(() => shown('peers')?.text === text);
  expect(
    errors()
      .map(([, error]) => String(error))
      .join()
  ).toMatch(sentence);
});

test('starts the program, joins with the token, and ends it with the node', async () => {
  await program.close();
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'overlay-'));
  const file = path.join(folder, 'seganet-overlay');
  fs.writeFileSync(
    file,
    `#!${process.execPath}
const fs = require('node:fs');
const [, , command, , state] = process.argv;
fs.appendFileSync(${JSON.stringify(path.join(folder, 'calls'))}, process.argv.slice(2).join(' ') + ' token=' + (process.env.SEGANET_OVERLAY_TOKEN ?? '') + '\\n');
if (command === 'join') fs.writeFileSync(state + '/membership.json', '{}');
else {
  require('node:net').createServer((c) => c.on('data', (text) => {
    for (const line of String(text).split('\\n').filter(Boolean))
      c.write(JSON.stringify({ id: JSON.parse(line).id, result: { fqdn: 'gw.p.seganet.internal', peers: [] } }) + '\\n');
  })).listen(state + '/control.sock');
  process.on('SIGTERM', () => { fs.appendFileSync(${JSON.stringify(path.join(folder, 'calls'))}, 'ended\\n'); process.exit(0); });
}
`,
    { mode: 0o755 }
  );
  const before = process.env.SEGANET_OVERLAY;
  process.env.SEGANET_OVERLAY = file;
  try {
    const settings = {
      program: 'start',
      address: 'https://o.example.com',
      root: `sha256:${'0'.repeat(64)}`,
      token: 'secret'
    };
    await load(flow({}, { ...settings, folder, offers: 'broker=tcp/1883@127.0.0.1:1883' }), {}, more);
    await until(() => shown('peers')?.text === 'no peer in use');
    await unload();
    expect(fs.readFileSync(path.join(folder, 'calls'), 'utf8').split('\n')).toEqual([
      `join --state ${folder} --url https://o.example.com --root sha256:${'0'.repeat(64)} token=secret`,
      `node --state ${folder} --until-eof --offer broker=tcp/1883@127.0.0.1:1883 token=`,
      'ended',
      ''
    ]);
  } finally {
    if (before === undefined) delete process.env.SEGANET_OVERLAY;
    else process.env.SEGANET_OVERLAY = before;
    fs.rmSync(folder, { recursive: true, force: true });
  }
});

test('an uplink broker needs a network that is there, and no paths of its own', async () => {
  const broker = { type: 'seganet-uplink-broker', version: 1, url: 'mqtt://hub:1883' };
  await load(
    [
      ...flow(),
      { ...broker, id: 'good', overlay: 'net' },
      { ...broker, id: 'gone', overlay: 'nowhere' },
      { ...broker, id: 'both', overlay: 'net', paths: 'lo' }
    ],
    {},
    more
  );
  expect(/** @type {any} */ (helper.getNode('good')).failure).toBeUndefined();
  expect(/** @type {any} */ (helper.getNode('gone')).failure).toMatch(/missing, disabled or not started/);
  expect(/** @type {any} */ (helper.getNode('both')).failure).toMatch(
    /either by an overlay network or over several paths/
  );
});

describe('a listener that is offered', () => {
  const consent = { allowAnonymous: true };
  const offered = (/** @type {object} */ settings) => [
    ...flow(),
    engine,
    support.broker,
    node('mqtt', 'mqtt-devices', { version: 2, port: '1883', overlay: 'net', ...settings }, 'cloud'),
    node('cloud', 'uplink', { broker: 'broker' })
  ];

  test('is a service of the overlay until the node is closed', async () => {
    await load(
      [
        ...offered(consent),
        node(
          'named',
          'mqtt-devices',
          { version: 2, port: '1884', overlay: 'net', overlayName: 'pumps', ...consent },
          'cloud'
        ),
        node('coap', 'coap-devices', { port: '5683', overlay: 'net', host: '0.0.0.0', ...consent }, 'cloud'),
        node('http', 'http-devices', { port: '0', overlay: 'net', ...consent }, 'cloud')
      ],
      {},
      more
    );
    await until(() => {
      /** @type {any} */ (helper.getNode('engine')).host.upkeep.tick();
      return program.services.length === 4;
    });
    expect(program.services).toEqual(
      expect.arrayContaining([
        { name: 'mqtt-1883', proto: 'tcp', port: 1883, target: '127.0.0.1:1883' },
        { name: 'pumps', proto: 'tcp', port: 1884, target: '127.0.0.1:1884' },
        { name: 'coap-5683', proto: 'udp', port: 5683, target: '127.0.0.1:5683' },
        expect.objectContaining({ name: expect.stringMatching(/^http-\d+$/), proto: 'tcp' })
      ])
    );
    expect(warnings().filter(([, text]) => /overlay/.test(text))).toEqual([]);
    await unload();
    await until(() => program.services.length === 0);
  });

  test('reports a service that the program refuses, and listens nevertheless', async () => {
    program.answer = ({ id, method }) =>
      method === 'offer' ? { id, error: { text: 'Port 1883 is offered already.' } } : null;
    await load(offered(consent), {}, more);
    await until(() => warnings().some(([id]) => id === 'mqtt'));
    expect(warnings().filter(([id]) => id === 'mqtt')).toEqual([
      ['mqtt', 'The overlay does not offer the service "mqtt-1883": Port 1883 is offered already.']
    ]);
    await until(() => /^1883 /.test(shown('mqtt')?.text));
  });

  test('needs a login or a consent, also on loopback', async () => {
    await load(
      [...offered({}), node('http', 'http-devices', { port: '0', overlay: 'net' }, 'cloud')],
      {},
      more
    );
    await until(() => errors().length === 2);
    expect(Object.fromEntries(errors())).toEqual({
      mqtt: expect.stringMatching(
        /^By the overlay, any client that reaches this port could pose as any device/
      ),
      http: expect.stringMatching(/^Any peer of the overlay that its policy allows could send records/)
    });
    expect(program.services).toEqual([]);
  });

  test('listens without the overlay network that is missing', async () => {
    await load(offered({ ...consent, overlay: 'gone' }), {}, more);
    await until(() => /^1883 /.test(shown('mqtt')?.text));
    expect(errors()).toEqual([['mqtt', expect.stringMatching(/so no peer of the overlay can reach it/)]]);
  });
});
