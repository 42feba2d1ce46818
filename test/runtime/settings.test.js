'use strict';

const fs = require('fs');
const http = require('http');
const path = require('path');
const { TEXTS, flowIn } = require('../../flows/launcher/flow-texts');
const { presetOf } = require('../../flows/launcher/presets');
const { prepareHome, logProblem } = require('../../flows/launcher/home');
const { isOwnRequest } = require('../../flows/launcher/loopback-guard');
const { logLine } = require('../../flows/launcher/log');
const { withoutFigures } = require('../../flows/launcher/watch');
const { freePort } = require('../../bench/harness/net');
const { ROOT, accepts, run, temporaryFolder, cleanEnvironment, cleanUp, until } = require('./process');

afterEach(cleanUp);

/** @param {string} file */
const modeOf = (file) => fs.statSync(file).mode & 0o777;
/** @param {string} file */
const read = (file) => fs.readFileSync(file, 'utf8');

/** Loads settings.js in a separate process and prints them. @param {Record<string, string>} env */
async function loadSettings(env) {
  const script = 'console.log(JSON.stringify(require("./settings.js")))';
  const { code, output } = await run(process.execPath, ['-e', script], { env: cleanEnvironment(env) }).ended;
  return { code, output, settings: code === 0 ? JSON.parse(output) : {} };
}

describe('the home folder', () => {
  test('is made private, with a secret that only its owner can read', () => {
    const home = path.join(temporaryFolder(), 'a', 'b');
    const { secret, flowFile } = prepareHome(home);
    expect(modeOf(home)).toBe(0o700);
    for (const name of ['credential-secret', 'gateway.json', 'gateway_cred.json']) {
      expect(modeOf(path.join(home, name))).toBe(0o600);
    }
    expect(secret).toMatch(/^[0-9a-f]{64}$/);
    expect(prepareHome(home)).toEqual({ secret, flowFile });
  });

  test('gets a secret closed again that others could read', () => {
    const home = temporaryFolder();
    prepareHome(home);
    fs.chmodSync(path.join(home, 'credential-secret'), 0o644);
    prepareHome(home);
    expect(modeOf(path.join(home, 'credential-secret'))).toBe(0o600);
  });

  test('is refused when others may write in it', () => {
    const home = temporaryFolder();
    fs.chmodSync(home, 0o777);
    expect(() => prepareHome(home)).toThrow(/is writable by other users.*chmod 700/);
  });

  test('is refused when it cannot be made, and a damaged secret is not replaced', () => {
    const file = path.join(temporaryFolder(), 'file');
    fs.writeFileSync(file, '');
    expect(() => prepareHome(path.join(file, 'home'))).toThrow(/^SEGANET_HOME .* cannot be used/);
    const home = temporaryFolder();
    fs.writeFileSync(path.join(home, 'credential-secret'), 'torn');
    expect(() => prepareHome(home)).toThrow(/credential-secret is damaged/);
  });

  test('is refused without the secret of its passwords, which a new secret could not decrypt', () => {
    const home = temporaryFolder();
    prepareHome(home);
    const [secret, passwords] = ['credential-secret', 'gateway_cred.json'].map((name) =>
      path.join(home, name)
    );
    fs.unlinkSync(secret);
    expect(() => prepareHome(home)).toThrow(
      /credential-secret is missing, and gateway_cred.json .*Restore it/
    );
    expect(fs.existsSync(secret)).toBe(false);
    // A folder of another Node-RED has the key of its passwords in a file of Node-RED.
    const other = path.join(home, '.config.runtime.json');
    fs.writeFileSync(other, JSON.stringify({ _credentialSecret: 'x' }));
    expect(() => prepareHome(home)).not.toThrow();
    for (const file of [other, secret, passwords]) fs.unlinkSync(file);
    expect(() => prepareHome(home)).not.toThrow();
  });
});

describe('the flow', () => {
  /** A shipped flow, and a home that has a copy of it. */
  function copied() {
    const folder = temporaryFolder();
    const shipped = path.join(folder, 'shipped.json');
    const home = path.join(folder, 'home');
    fs.writeFileSync(shipped, '[]');
    const { flowFile } = prepareHome(home, 'en', shipped);
    return { shipped, home, flowFile };
  }

  test('is copied at the first start', () => {
    expect(read(copied().flowFile)).toBe('[]');
  });

  test('is updated with the shipped one while the user has not changed it', () => {
    const { shipped, home, flowFile } = copied();
    for (const version of ['[ ]', '[  ]']) {
      fs.writeFileSync(shipped, version);
      prepareHome(home, 'en', shipped);
      expect(read(flowFile)).toBe(version);
    }
  });

  test('is updated again after a power cut between the two files of an update', () => {
    const { shipped, home, flowFile } = copied();
    fs.writeFileSync(shipped, '[ ]');
    prepareHome(home, 'en', shipped);
    // The record is written, the flow is not.
    fs.writeFileSync(flowFile, '[]');
    prepareHome(home, 'en', shipped);
    expect(read(flowFile)).toBe('[ ]');
    fs.writeFileSync(shipped, '[  ]');
    prepareHome(home, 'en', shipped);
    expect(read(flowFile)).toBe('[  ]');
  });

  test('is that of the preset, and changes with it until the user has changed it', () => {
    const home = path.join(temporaryFolder(), 'home');
    const { flowFile } = prepareHome(home, 'en', presetOf('cluster').flow);
    const types = () => JSON.parse(read(flowFile)).map(({ type }) => type);
    expect(types()).toEqual(expect.arrayContaining(['seganet-kafka-uplink', 'seganet-kafka-source']));
    prepareHome(home, 'en', presetOf('single').flow);
    expect(types()).not.toContain('seganet-kafka-uplink');
  });

  test('stays as the user has changed it, whatever is shipped', () => {
    const { shipped, home, flowFile } = copied();
    fs.writeFileSync(flowFile, '[{"mine":1}]');
    fs.writeFileSync(shipped, '[ ]');
    prepareHome(home, 'en', shipped);
    expect(read(flowFile)).toBe('[{"mine":1}]');
  });
});

describe('the flow in German', () => {
  const shipped = read(path.join(ROOT, 'flows', 'gateway.json'));
  const nodes = (/** @type {string} */ text) => JSON.parse(text);

  test('differs from the shipped ones only in names, notes and comments, and has words for each', () => {
    const all = [shipped, read(path.join(ROOT, 'flows', 'cluster.json'))];
    const written = all
      .flatMap(nodes)
      .flatMap((/** @type {any} */ { name, info }) => [name, info].filter(Boolean));
    const { name: names, info: infos } = TEXTS.de;
    expect([...Object.keys(names), ...Object.keys(infos)].sort()).toEqual([...new Set(written)].sort());
    const unnamed = (/** @type {any[]} */ flow) => flow.map(({ name: _name, info: _info, ...rest }) => rest);
    for (const text of all) {
      const german = nodes(flowIn(text, 'de'));
      expect(unnamed(german)).toEqual(unnamed(nodes(text)));
      expect(german.find(({ type }) => type === 'seganet-mqtt-devices').name).toBe('Geräte');
      expect(flowIn(text, 'en')).toBe(text);
    }
  });

  test('follows the language until the user has changed it', () => {
    const home = path.join(temporaryFolder(), 'home');
    const { flowFile } = prepareHome(home, 'de');
    expect(read(flowFile)).toBe(flowIn(shipped, 'de'));
    prepareHome(home, 'en');
    expect(read(flowFile)).toBe(shipped);
    fs.appendFileSync(flowFile, '\n');
    prepareHome(home, 'de');
    expect(read(flowFile)).toBe(`${shipped}\n`);
  });
});

describe('settings.js', () => {
  test('listens on loopback, installs nothing, sends no telemetry', async () => {
    const { settings } = await loadSettings({ SEGANET_HOME: path.join(temporaryFolder(), 'home') });
    expect(settings).toMatchObject({
      uiHost: '127.0.0.1',
      uiPort: 1880,
      nodesDir: [ROOT],
      externalModules: { autoInstall: false, palette: { allowInstall: false, allowUpload: false } },
      functionExternalModules: false,
      telemetry: { enabled: false },
      editorTheme: { tours: false, projects: { enabled: false }, header: { title: 'SegaNet Gateway' } }
    });
    expect(settings.flowFile.startsWith(settings.userDir)).toBe(true);
    expect(settings.credentialSecret).toHaveLength(64);
  });

  test('opens no HTTP server when the editor is off', async () => {
    const { settings } = await loadSettings({ SEGANET_HOME: temporaryFolder(), SEGANET_EDITOR_PORT: 'off' });
    expect(settings).toMatchObject({ httpAdminRoot: false, httpNodeRoot: false, disableEditor: true });
  });

  test('ends the process with a sentence for an editor on the network without a password, before it creates anything', async () => {
    const home = path.join(temporaryFolder(), 'home');
    const env = cleanEnvironment({ SEGANET_HOME: home, SEGANET_EDITOR_HOST: '0.0.0.0' });
    const args = ['node_modules/node-red/red.js', '-s', 'settings.js'];
    const { code, output } = await run(process.execPath, args, { env }).ended;
    expect(code).not.toBe(0);
    expect(output).toMatch(
      /SEGANET_EDITOR_HOST 0\.0\.0\.0 would open the editor to the network without a password/
    );
    expect(fs.existsSync(home)).toBe(false);
  });

  test('asks for a login everywhere when one is configured', async () => {
    const hash = '$2b$08$wuAqPiKJlVN27eF5qJp.RuQYuy6ZYONW7a/UWYxDTtwKFCdB8F19y';
    const { settings } = await loadSettings({
      SEGANET_HOME: temporaryFolder(),
      SEGANET_EDITOR_HOST: '0.0.0.0',
      SEGANET_ADMIN_USER: 'admin',
      SEGANET_ADMIN_PASSWORD_HASH: hash
    });
    expect(settings.uiHost).toBe('0.0.0.0');
    expect(settings.adminAuth.users).toEqual([{ username: 'admin', password: hash, permissions: '*' }]);
  });
});

test('writes private files with node-red -s settings.js, and "http in" nodes answer to no page of another name', async () => {
  const home = temporaryFolder();
  const flow = [
    { id: 'tab', type: 'tab', label: 'own' },
    { id: 'in', z: 'tab', type: 'http in', url: '/hello', method: 'get', x: 1, y: 1, wires: [['out']] },
    { id: 'out', z: 'tab', type: 'http response', statusCode: '200', x: 2, y: 1, wires: [] }
  ];
  const flowFile = path.join(home, 'gateway.json');
  fs.writeFileSync(flowFile, JSON.stringify(flow), { mode: 0o644 });
  const port = await freePort();
  const env = cleanEnvironment({ SEGANET_HOME: home, SEGANET_EDITOR_PORT: String(port) });
  const before = process.umask(0o022);
  run(process.execPath, ['node_modules/node-red/red.js', '-s', 'settings.js'], { env });
  process.umask(before);
  await until(() => accepts(port), { what: 'the editor' });
  const ask = (host, more = {}, url = '/hello') =>
    new Promise((resolve, reject) => {
      const headers = { host, ...more };
      const request = http.get({ port, host: '127.0.0.1', path: url, headers }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      request.once('error', reject);
    });
  await until(async () => (await ask(`localhost:${port}`)) === 200, { what: 'the flow' });
  expect(await ask('evil.example')).toBe(403);
  // An image or a link of another site.
  const image = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' };
  const link = {
    'sec-fetch-site': 'cross-site',
    'sec-fetch-mode': 'navigate',
    'sec-fetch-dest': 'document'
  };
  for (const headers of [image, link]) expect(await ask(`localhost:${port}`, headers)).toBe(403);
  expect(await ask(`localhost:${port}`, { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate' })).toBe(
    200
  );
  for (const url of ['/', '/seganet/']) {
    expect([url, await ask(`localhost:${port}`, image, url)]).toEqual([url, 403]);
    expect([url, await ask(`localhost:${port}`, link, url)]).toEqual([url, 200]);
    const frame = { ...link, 'sec-fetch-dest': 'iframe' };
    expect([url, await ask(`localhost:${port}`, frame, url)]).toEqual([url, 403]);
  }
  const changed = [{ ...flow[0], label: 'changed' }, flow[1], flow[2]];
  const deployed = await fetch(`http://127.0.0.1:${port}/flows`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(changed)
  });
  expect(deployed.status).toBe(204);
  await until(() => read(flowFile).includes('changed'), { what: 'the flow on disk' });
  expect(modeOf(flowFile)).toBe(0o600);
}, 60000);

describe('an editor without a password', () => {
  /** @param {import('http').IncomingHttpHeaders} headers */
  const isOwn = (headers, url = '/', method = 'GET') =>
    isOwnRequest(/** @type {any} */ ({ headers, url, method }));
  const host = '127.0.0.1:1880';

  test('answers the browser and tools of this machine', () => {
    expect(isOwn({ host: '127.0.0.1:1880' })).toBe(true);
    expect(isOwn({ host: 'localhost:1880', origin: 'http://localhost:1880' })).toBe(true);
    expect(isOwn({ host: '[::1]:1880' })).toBe(true);
  });

  test('answers no page of another name or origin, and no malformed request', () => {
    expect(isOwn({ host: 'evil.example:1880' })).toBe(false);
    expect(isOwn({ host: '127.0.0.1.evil.example' })).toBe(false);
    expect(isOwn({ host: '127.0.0.1:1880', origin: 'http://evil.example' })).toBe(false);
    expect(isOwn({ host: '127.0.0.1:1880', origin: 'null' })).toBe(false);
    expect(isOwn({ host: '127.0.0.1:1880', origin: 'http://127.0.0.1:9999' })).toBe(false);
    expect(isOwn({ host: '' })).toBe(false);
    expect(isOwn({ host: '[' })).toBe(false);
    expect(isOwn({})).toBe(false);
  });

  test('answers pages of its own and what the user opens, whatever the path', () => {
    for (const site of ['same-origin', 'none'])
      for (const url of ['/', '/valve/open', '/seganet/q?q=open', '/red/red.min.js'])
        expect([
          site,
          url,
          isOwn({ host, 'sec-fetch-site': site, 'sec-fetch-mode': 'no-cors' }, url)
        ]).toEqual([site, url, true]);
    // A WebSocket: to its scheme, browsers may see another site.
    const socket = { host, origin: `http://${host}`, 'sec-fetch-mode': 'websocket' };
    expect(isOwn({ ...socket, 'sec-fetch-site': 'cross-site' }, '/comms')).toBe(true);
  });

  test.each(['cross-site', 'same-site', 'same-origin, cross-site', ''])(
    'answers a page of another site, without Origin, only when it links to a page: %s',
    (site) => {
      const link = {
        host,
        'sec-fetch-site': site,
        'sec-fetch-mode': 'navigate',
        'sec-fetch-dest': 'document'
      };
      for (const url of ['/', '/?x', '/seganet', '/seganet/', '/seganet/directory.html'])
        expect([url, isOwn(link, url)]).toEqual([url, true]);
      for (const url of [
        '/valve/open',
        '/seganet/q?q=open',
        '/seganet/live',
        '/seganet/directory',
        '//',
        '/flows'
      ])
        expect([url, isOwn(link, url)]).toEqual([url, false]);
      for (const mode of ['no-cors', 'cors', 'same-origin', 'websocket', undefined])
        expect([mode, isOwn({ ...link, 'sec-fetch-mode': mode })]).toEqual([mode, false]);
      expect(isOwn({ ...link, 'sec-fetch-dest': 'iframe' })).toBe(false);
      expect(isOwn(link, '/', 'POST')).toBe(false);
      expect(isOwn({ ...link, origin: 'null' })).toBe(false);
    }
  );
});

test('writes one line an entry and omits routine entries', () => {
  const written = jest.spyOn(console, 'error').mockImplementation(() => {});
  logLine({ level: 30, msg: 'Projects disabled : editorTheme.projects.enabled=false' });
  logLine({ level: 30, type: 'debug', id: 'x1', msg: 'careful' });
  logLine({ level: 20, msg: new Error('broken') });
  logLine({ level: 20, msg: Object.create(null) });
  expect(written.mock.calls).toEqual([
    ['warning: [debug:x1] careful'],
    ['error: broken'],
    ['error: [Object: null prototype] {}']
  ]);
  written.mockRestore();
});

test('logs informational entries of the engines only', () => {
  const logged = jest.spyOn(console, 'log').mockImplementation(() => {});
  logLine({ level: 40, msg: 'Starting flows' });
  logLine({
    level: 40,
    type: 'seganet-engine',
    id: 'x1',
    name: 'plant',
    msg: 'The log in /log is writable again.'
  });
  expect(logged.mock.calls).toEqual([['plant: The log in /log is writable again.']]);
  logged.mockRestore();
});

test('logs a status without figures so that it is not logged at each change of them', () => {
  expect(withoutFigures('connected · critical 2 ms · backlog 12.3 k')).toBe('connected');
  expect(withoutFigures('stalled 7 s · 12.3 k kept')).toBe('stalled');
  expect(withoutFigures('nothing listens there · 12.3 k kept')).toBe('nothing listens there');
  expect(withoutFigures('port 1883 in use')).toBe('port 1883 in use');
});

describe('the log folder', () => {
  test('is in SEGANET_HOME, private, and left empty', () => {
    const home = temporaryFolder();
    expect(logProblem({ SEGANET_ACKNOWLEDGE: 'safe', SEGANET_LOG_DIR: '', SEGANET_HOME: home })).toBe('');
    const folder = path.join(home, 'seganet-log');
    expect(fs.statSync(folder).mode & 0o777).toBe(0o700);
    expect(fs.readdirSync(folder)).toEqual([]);
  });

  test('reports a system that makes none, and does not delay the start', () => {
    const env = {
      SEGANET_ACKNOWLEDGE: 'stored',
      SEGANET_LOG_DIR: '/proc/none/log',
      SEGANET_HOME: '/nowhere'
    };
    expect(logProblem(env)).toMatch(
      /^the log folder \/proc\/none\/log is not writable \(ENOENT\): until it is, devices wait\./
    );
  });

  test('reports one that cannot be written, with a remedy', () => {
    const file = path.join(temporaryFolder(), 'file');
    fs.writeFileSync(file, '');
    const env = { SEGANET_LOG_DIR: path.join(file, 'log'), SEGANET_HOME: '/nowhere' };
    const logged = logProblem({ ...env, SEGANET_ACKNOWLEDGE: 'safe' });
    expect(logged).toMatch(
      /file\/log is not writable \(ENOTDIR\): until it is, devices wait whenever the cloud does not/
    );
    expect(logged).toMatch(/Make it writable .* another folder in SEGANET_LOG_DIR\.$/);
    expect(logProblem({ ...env, SEGANET_ACKNOWLEDGE: 'received' })).toBe('');
  });
});
