'use strict';
// seganet-gateway as an operator runs it, with a real gateway.

const fs = require('node:fs');
const path = require('node:path');
const mqtt = require('mqtt');
const { startLocalBroker } = require('../../bench/harness/local-broker');
const { freePort } = require('../../bench/harness/net');
const { needs } = require('../../bench/harness/tools');
const { ROOT, run, until, temporaryFolder, cleanEnvironment, cleanUp } = require('./process');

const COMMAND = path.join(ROOT, 'flows/cli/seganet-gateway.js');
const { test: withBroker } = needs('mosquitto');

/** A gateway starts within this time, also on a machine that does other things. */
const START_MS = 60000;

jest.setTimeout(240000);
/** @type {mqtt.MqttClient[]} */
const clients = [];
/** @type {import('../../bench/harness/child').Child[]} */
const brokers = [];
afterEach(async () => {
  for (const client of clients.splice(0)) await client.endAsync(true);
  for (const broker of brokers.splice(0)) await broker.stop('SIGKILL');
  await cleanUp();
});

/** @param {string[]} args @param {Record<string, string>} [env] */
const start = (args, env) => run(process.execPath, [COMMAND, ...args], { env: cleanEnvironment(env) });

/** @param {string[]} args @param {Record<string, string>} [env] */
const command = (args, env) => start(args, env).ended;

/** @param {string} home @param {Record<string, string | number>} settings */
const configure = (home, settings) =>
  fs.appendFileSync(
    path.join(home, 'gateway.env'),
    Object.entries(settings)
      .map(([name, value]) => `${name}='${value}'\n`)
      .join('')
  );

/** @param {string} home */
async function state(home) {
  const { code, output } = await command(['status', '--json', '--home', home]);
  return { code, ...JSON.parse(output) };
}

/** A gateway's folder with free ports, without an editor. @param {Record<string, string | number>} [settings] */
async function newHome(settings = {}) {
  const home = path.join(temporaryFolder(), 'gateway');
  expect(await command(['init', '--home', home])).toMatchObject({ code: 0 });
  const port = await freePort();
  configure(home, {
    SEGANET_GATEWAY_ID: 'plant-7',
    SEGANET_MQTT_PORT: port,
    SEGANET_EDITOR_PORT: 'off',
    SEGANET_UPLINK_URL: 'mqtt://127.0.0.1:1',
    SEGANET_LOG_MIB: 64,
    ...settings
  });
  return { home, port };
}

describe('init', () => {
  test('creates a private folder that passes the check, and overwrites nothing', async () => {
    const { home } = await newHome();
    const files = ['gateway.json', 'gateway_cred.json', 'credential-secret', 'gateway.env'];
    for (const name of files) expect(fs.statSync(path.join(home, name)).mode & 0o777).toBe(0o600);
    expect(fs.statSync(path.join(home, 'seganet-log')).mode & 0o777).toBe(0o700);
    fs.writeFileSync(path.join(home, 'gateway.json'), '[{"id":"mine","type":"seganet-engine"}]');
    const before = files.map((name) => fs.readFileSync(path.join(home, name), 'utf8'));
    expect(await command(['init', '--home', home])).toMatchObject({
      code: 0,
      output: expect.stringMatching(/^kept +\S+gateway.json$/m)
    });
    expect(files.map((name) => fs.readFileSync(path.join(home, name), 'utf8'))).toEqual(before);
    expect(await command(['check', '--home', home])).toMatchObject({ code: 0 });
  });

  test('documents every variable in gateway.env, and each commented line is one that check accepts', async () => {
    const { home } = await newHome();
    const file = path.join(home, 'gateway.env');
    const { VARIABLES } = require('../../flows/launcher/variables');
    const names = VARIABLES.map(({ name }) => name).filter((name) => name !== 'SEGANET_HOME');
    const text = fs.readFileSync(file, 'utf8');
    for (const name of names) expect(text).toMatch(new RegExp(`^#${name}=`, 'm'));
    fs.writeFileSync(file, `${text.replace(/^#(?=SEGANET_)/gm, '').replace(/^SEGANET_UPLINK_URL=$/m, '')}`);
    const { output } = await command(['check', '--home', home]);
    expect(output).toMatch(/^note +settings +SEGANET_UPLINK_URL is not set|^ok +settings/m);
  });

  test('writes the flow of a cluster in German, and says what it lacks', async () => {
    const home = path.join(temporaryFolder(), 'gateway');
    const init = (/** @type {string[]} */ ...more) => command(['init', '--home', home, ...more]);
    expect(await init('--preset', 'pairs')).toMatchObject({
      code: 2,
      output: expect.stringMatching(/--preset takes one of single, cluster\./)
    });
    expect(await init('--preset', 'cluster', '--language', 'de')).toMatchObject({
      code: 0,
      output: expect.stringMatching(/Set SEGANET_UPLINK_URL and SEGANET_KAFKA_BROKERS/)
    });
    expect(fs.readFileSync(path.join(home, 'gateway.json'), 'utf8')).toMatch('"name": "zur Cloud"');
    expect(fs.readFileSync(path.join(home, 'gateway.env'), 'utf8')).toMatch(/^SEGANET_PRESET=cluster$/m);
    const check = await command(['check', '--home', home]);
    expect(check).toMatchObject({ code: 78, output: expect.stringMatching(/Set SEGANET_KAFKA_BROKERS/) });
    expect(await init('--preset', 'single')).toMatchObject({
      code: 3,
      output: expect.stringMatching(/Set SEGANET_PRESET=single in it/)
    });
  });

  test('writes the flow in German, and refuses a language it lacks or settings that exist', async () => {
    const home = path.join(temporaryFolder(), 'gateway');
    const init = (/** @type {string} */ language) =>
      command(['init', '--home', home, '--language', language]);
    expect(await init('fr')).toMatchObject({
      code: 2,
      output: expect.stringMatching(/takes one of en, de\./)
    });
    expect(await init('de')).toMatchObject({ code: 0 });
    expect(fs.readFileSync(path.join(home, 'gateway.json'), 'utf8')).toMatch('"name": "Geräte"');
    expect(fs.readFileSync(path.join(home, 'gateway.env'), 'utf8')).toMatch(/^SEGANET_LANGUAGE=de$/m);
    expect(await init('en')).toMatchObject({
      code: 3,
      output: expect.stringMatching(/Set SEGANET_LANGUAGE=en/)
    });
  });

  test('fails with a sentence where it may not write', async () => {
    const ended = await command(['init', '--home', '/proc/seganet']);
    expect(ended).toMatchObject({ code: 3, output: expect.stringMatching(/\/proc\/seganet cannot be/) });
  });
});

describe('check', () => {
  test('names every problem at once, with code 78', async () => {
    const { home, port } = await newHome({ SEGANET_WORKERS: 99, SEGANET_TYPO: 'x' });
    fs.writeFileSync(path.join(home, 'credential-secret'), `${'0'.repeat(64)}\n`);
    const other = require('node:net').createServer();
    await new Promise((resolve) => other.listen(port, '127.0.0.1', () => resolve(undefined)));
    const { code, output } = await command(['check', '--json', '--home', home], {
      SEGANET_NATIVE: '/bin/true'
    });
    other.close();
    expect(code).toBe(78);
    const { ok, findings } = JSON.parse(output);
    expect(ok).toBe(false);
    const problems = findings.filter(({ result }) => result === 'problem').map(({ text }) => text);
    expect(problems).toEqual([
      expect.stringMatching(/^SEGANET_TYPO is not a variable/),
      expect.stringMatching(/^SEGANET_WORKERS must be a whole number/),
      expect.stringMatching(/^The passwords of the flow cannot be decrypted/),
      expect.stringMatching(
        new RegExp(`^Port ${port}/tcp \\(the node devices\\) is used by another program`)
      ),
      expect.stringMatching(/^The native engine cannot be loaded/)
    ]);
  });

  test.each([
    ['the flow is no JSON', '[{', /gateway.json cannot be read/],
    ['the flow is no list', '{}', /is not a list of nodes/],
    ['the flow has a node without a type', '[null]', /is not a list of nodes/],
    ['the flow has no engine', '\uFEFF[]', /has no enabled engine/],
    [
      'the flow is from another version',
      '[{"id":"a","type":"seganet-nothing"}]',
      /needs seganet-nothing, which this version does not have/
    ]
  ])('reports that %s', async (_what, flow, reason) => {
    const { home } = await newHome();
    fs.writeFileSync(path.join(home, 'gateway.json'), flow);
    expect(await command(['check', '--home', home])).toMatchObject({
      code: 78,
      output: expect.stringMatching(reason)
    });
  });

  test('reports a line of gateway.env that sets nothing, as start does, and a file that others can read', async () => {
    const { home } = await newHome();
    const file = path.join(home, 'gateway.env');
    fs.appendFileSync(file, 'SEGANET_WORKERS 2\n');
    fs.chmodSync(file, 0o644);
    const line = fs.readFileSync(file, 'utf8').split('\n').indexOf('SEGANET_WORKERS 2') + 1;
    const reason = new RegExp(`Line ${line} of \\S+gateway.env is not NAME=value`);
    const checked = await command(['check', '--home', home]);
    expect(checked).toMatchObject({ code: 78, output: expect.stringMatching(reason) });
    expect(checked.output).toMatch(/^note +settings +\S+ is accessible to other users/m);
    expect(await command(['start', '--home', home])).toMatchObject({
      code: 78,
      output: expect.stringMatching(reason)
    });
  });

  test('reports a named folder that does not exist, as start does, which creates nothing', async () => {
    const { home } = await newHome();
    const typo = `${home}-typo`;
    const reason = new RegExp(
      `${typo} does not exist. Correct the name, or create it: seganet-gateway init --home`
    );
    for (const name of ['check', 'start']) {
      const ended = await command([name, '--home', typo]);
      expect(ended).toMatchObject({ code: 78, output: expect.stringMatching(reason) });
    }
    expect(fs.existsSync(typo)).toBe(false);
  });

  test('reports passwords without their secret, as start does, which makes no other one', async () => {
    const { home } = await newHome();
    const secret = path.join(home, 'credential-secret');
    fs.unlinkSync(secret);
    for (const name of ['check', 'start']) {
      const ended = await command([name, '--home', home]);
      expect(ended).toMatchObject({ code: 78, output: expect.stringMatching(`${secret} is missing`) });
    }
    expect(fs.existsSync(secret)).toBe(false);
  });

  test('reports a folder that others may write to', async () => {
    const { home } = await newHome();
    fs.chmodSync(home, 0o777);
    const ended = await command(['check', '--home', home]);
    expect(ended).toMatchObject({ code: 78, output: expect.stringMatching(/is writable by other users/) });
  });
});

describe('the command line', () => {
  test.each([
    [[], /The command is missing/],
    [['chek'], /There is no command 'chek'/],
    [['status', '--jsn'], /Unknown option '--jsn'/],
    [['status', 'x', 'y'], /./],
    [['backup'], /FILE is missing/],
    [['backup', 'a', 'b'], /'b' is one argument too many/],
    [['shadow'], /VERB is missing/],
    [['shadow', 'put'], /shadow takes list, get, set, delete, not 'put'/],
    [['shadow', 'set', 'a'], /DESIRED is missing/],
    [['shadow', 'get', 'a', '{}'], /'\{\}' is one argument too many/],
    [['shadow', 'get', 'a', '--if-version', '1'], /shadow get has no option --if-version/],
    [['shadow', 'list', '--limit', '1001'], /--limit takes a whole number from 1 to 1000/],
    [['check', '--home', ''], /--home takes a folder/],
    [['install-service', '--user', 'a b'], /--user takes the name/]
  ])('%j ends with code 2 and a hint', async (args, reason) => {
    const { code, output } = await command(args);
    expect(code).toBe(2);
    expect(output).toMatch(reason);
    expect(output).toMatch(/See seganet-gateway --help\.\n$/);
  });

  test('--version is that of the package', async () => {
    const { version } = require('../../package.json');
    expect(await command(['--version'])).toMatchObject({ code: 0, output: `${version}\n` });
  });
});

describe('a running gateway', () => {
  withBroker(
    'loses nothing that was acknowledged before a backup, although it is killed and restored elsewhere',
    async () => {
      const { home, port } = await newHome({ SEGANET_ACKNOWLEDGE: 'stored', SEGANET_BATCH_MODE: 'records' });
      expect(await state(home)).toMatchObject({ code: 2, status: 'not running' });
      const gateway = start(['start', '--home', home]);
      await gateway.says(/devices: MQTT listener/, START_MS);

      // The cloud does not answer: every acknowledged record is in the log.
      const device = mqtt.connect(`mqtt://127.0.0.1:${port}`, { clientId: 'pump-1', reconnectPeriod: 0 });
      clients.push(device);
      device.on('error', () => {});
      await new Promise((resolve) => device.once('connect', resolve));
      /** @type {Set<number>} */
      const acknowledged = new Set();
      let isOver = false;
      const publisher = (async () => {
        for (let n = 0; !isOver && device.connected; n++) {
          device.publish('d/pump-1/data', JSON.stringify({ n }), { qos: 1 }, (error) => {
            if (!error) acknowledged.add(n);
          });
          if (n % 10 === 9) await new Promise((resolve) => setTimeout(resolve, 2));
        }
      })();
      await until(() => acknowledged.size > 500, { what: 'acknowledgements' });

      const outage = await until(async () => {
        const found = await state(home);
        return found.problems.some((each) => /Nothing listens at/.test(each)) && found;
      });
      expect(outage).toMatchObject({ code: 1, status: 'degraded', ready: true });
      expect(outage.problems).toEqual([
        expect.stringMatching(/^The uplink cloud is disconnected: Nothing listens at 127\.0\.0\.1:1\. /)
      ]);
      expect(outage.engines[0]).toMatchObject({
        running: true,
        devices: 1,
        log: { state: 'ready', dead: 0 }
      });
      expect(outage.engines[0].records.stored).toBeGreaterThan(100);
      expect(await command(['status', '--home', home])).toMatchObject({
        code: 1,
        output: expect.stringMatching(
          /^ {2}records: 0 delivered since the start, \d{3,} wait \(\d{3,} of them safe on disk\), /m
        )
      });

      const file = path.join(path.dirname(home), 'a.backup');
      const before = new Set(acknowledged);
      expect(await command(['backup', file, '--home', home])).toMatchObject({
        code: 0,
        output: expect.stringMatching(/: \d+ files, 1 log, [\s\S]*^SHA-256 [0-9a-f]{64}$/m)
      });
      const during = acknowledged.size - before.size;
      expect(during).toBeGreaterThan(0);
      expect(
        fs
          .readdirSync(path.join(home, 'seganet-log', 'seganet-engine-1'))
          .filter((each) => /backup/.test(each))
      ).toEqual([]);

      // A running gateway is never replaced.
      expect(await command(['restore', file, '--home', home, '--force'])).toMatchObject({
        code: 3,
        output: expect.stringMatching(/is running\. Stop it/)
      });
      expect(await command(['check', '--home', home])).toMatchObject({
        code: 0,
        output: expect.stringMatching(/The running gateway has its ports/)
      });

      gateway.child.kill('SIGKILL');
      await gateway.ended;
      isOver = true;
      await publisher;
      expect(await state(home)).toMatchObject({ code: 2 });

      const elsewhere = path.join(temporaryFolder(), 'gateway');
      expect(await command(['restore', file, '--home', elsewhere])).toMatchObject({ code: 0 });
      // Left by a gateway that was killed during a backup.
      const stale = path.join(elsewhere, 'seganet-log', 'seganet-engine-1', 'backup-0123456789ab.db');
      fs.writeFileSync(stale, 'x');
      const cloudPort = await freePort();
      brokers.push(await startLocalBroker(temporaryFolder(), cloudPort, {}));
      const arrived = new Set();
      const cloud = mqtt.connect(`mqtt://127.0.0.1:${cloudPort}`);
      clients.push(cloud);
      cloud.on('message', (_topic, payload) => arrived.add(JSON.parse(payload.toString()).n));
      await cloud.subscribeAsync('#', { qos: 1 });
      configure(elsewhere, { SEGANET_UPLINK_URL: `mqtt://127.0.0.1:${cloudPort}` });
      const restored = start(['start', '--home', elsewhere]);
      const missing = () => [...before].filter((n) => !arrived.has(n));
      await until(() => missing().length === 0, {
        within: 2 * START_MS,
        what: () => `${missing().length} records missing; ${restored.output}`
      });
      const well = await until(async () => {
        const found = await state(elsewhere);
        return found.code === 0 && found.engines[0].records.backlog === 0 && found;
      });
      expect(well).toMatchObject({
        status: 'ok',
        problems: [],
        engines: [{ uplinks: [{ state: 'connected' }] }]
      });
      expect(fs.existsSync(stale)).toBe(false);
      restored.child.kill('SIGTERM');
      expect(await restored.ended).toMatchObject({ code: 0 });
      // It ended in order, so its socket is gone.
      expect(fs.existsSync(path.join(elsewhere, 'gateway.sock'))).toBe(false);
    }
  );

  test('ends with code 78 and a sentence when a setting is wrong', async () => {
    const { home } = await newHome({ SEGANET_WORKERS: 99 });
    expect(await command(['start', '--home', home])).toMatchObject({
      code: 78,
      output: expect.stringMatching(/^SEGANET_WORKERS must be/)
    });
  });

  test('is set by the environment where that and gateway.env differ', async () => {
    const { home } = await newHome({ SEGANET_WORKERS: 99 });
    const gateway = start(['start', '--home', home], { SEGANET_WORKERS: '1' });
    await gateway.says(/devices: MQTT listener/, START_MS);
  });

  test('is degraded while an uplink node has no broker', async () => {
    const { home } = await newHome();
    const file = path.join(home, 'gateway.json');
    const flow = JSON.parse(fs.readFileSync(file, 'utf8'));
    fs.writeFileSync(file, JSON.stringify(flow.filter(({ type }) => type !== 'seganet-uplink-broker')));
    const gateway = start(['start', '--home', home]);
    await gateway.says(/uplink: no broker/, START_MS);
    expect(await state(home)).toMatchObject({
      code: 1,
      problems: ['The uplink node seganet-uplink-1 sends nothing: no broker.']
    });
  });

  test('leaves the socket to the first of two gateways in the same folder', async () => {
    const { home } = await newHome();
    const first = start(['start', '--home', home]);
    await first.says(/devices: MQTT listener/, START_MS);
    const second = start(['start', '--home', home], { SEGANET_MQTT_PORT: '0' });
    await second.says(/warning: Another gateway uses /, START_MS);
    expect((await state(home)).pid).toBe(first.child.pid);
    second.child.kill('SIGTERM');
    await second.ended;
    expect((await state(home)).pid).toBe(first.child.pid);
  });
});
