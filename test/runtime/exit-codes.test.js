'use strict';

// Exit codes of a start that cannot serve any device. Supervisors see only the exit code.

const fs = require('fs');
const os = require('os');
const path = require('path');
const { ROOT, run, temporaryFolder, cleanEnvironment, cleanUp } = require('./process');

const tenantsFolder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-x-'));
afterEach(cleanUp);
afterAll(() => fs.rmSync(tenantsFolder, { recursive: true }));

const shipped = () => JSON.parse(fs.readFileSync(path.join(ROOT, 'flows', 'gateway.json'), 'utf8'));

/** The shipped flow with another engine. @param {object} more */
const withEngine = (more) =>
  JSON.stringify(
    shipped().map((/** @type {any} */ node) => (node.type === 'seganet-engine' ? { ...node, ...more } : node))
  );

/** @returns {string} a tenants file with a tenant in a container */
function withContainer() {
  const file = path.join(tenantsFolder, 'tenants.json');
  const tenant = { name: 'acme', driver: 'docker', image: `sha256:${'0'.repeat(64)}` };
  fs.writeFileSync(file, JSON.stringify({ version: 1, tenants: [tenant] }));
  return file;
}

/** @param {Record<string, string>} env @param {string} [flow] */
function start(env, flow) {
  const home = temporaryFolder();
  if (flow) fs.writeFileSync(path.join(home, 'gateway.json'), flow);
  return run(process.execPath, ['flows/launcher/start.js'], {
    env: cleanEnvironment({
      SEGANET_HOME: home,
      SEGANET_MQTT_PORT: '0',
      SEGANET_EDITOR_PORT: 'off',
      SEGANET_UPLINK_URL: 'mqtts://127.0.0.1:1',
      ...env
    })
  });
}

/** @type {[string, number, RegExp, Record<string, string>, string?][]} */
const CASES = [
  [
    'the addon is missing',
    1,
    /engine cannot be loaded .*No engine is running/s,
    { SEGANET_NATIVE: '/nowhere.node' }
  ],
  [
    'the addon is another binary',
    1,
    /engine cannot be loaded .*No engine is running/s,
    { SEGANET_NATIVE: '/bin/true' }
  ],
  [
    'a variable is out of range',
    78,
    /^SEGANET_WORKERS must be a whole number from 0 to 64/,
    { SEGANET_WORKERS: '65' }
  ],
  [
    'a tenant in a container would reach the listener',
    78,
    /^SEGANET_DEVICE_HOST: At 0\.0\.0\.0, the tenants in containers .*Run "seganet-tenants net apply" as root/,
    {
      SEGANET_DEVICE_HOST: '0.0.0.0',
      SEGANET_DEVICE_ALLOW_ANONYMOUS: 'yes',
      SEGANET_TENANTS: withContainer()
    }
  ],
  [
    'Sparkplug has no group',
    78,
    /^SEGANET_BATCH_FORMAT sparkplug needs a group id of Sparkplug\. Set SEGANET_SPARKPLUG_GROUP\./,
    { SEGANET_BATCH_FORMAT: 'sparkplug' }
  ],
  [
    'the folder of the log is a file',
    78,
    /^SEGANET_LOG_DIR names \S+, which is no folder\. Set a folder/,
    { SEGANET_LOG_DIR: __filename }
  ],
  ['the flow names a missing core', 78, /"cpus" names core 1023/, {}, withEngine({ cpus: '1023' })],
  ['the flow is no JSON', 78, /^The flow \S+gateway.json cannot be read \(.*\)\. Restore it/, {}, '[{'],
  ['the flow is no list', 78, /^The flow \S+gateway.json is not a list of nodes\./, {}, '{}'],
  ['the flow has a node without a type', 78, /is not a list of nodes\./, {}, '[null]'],
  ['the flow is empty', 78, /Nothing in the flow .* keeps the gateway running/, {}, '\uFEFF[]'],
  ['the engine is disabled', 78, /it has no enabled engine/, {}, withEngine({ d: true })],
  [
    'the flow needs a node that is not installed',
    78,
    /Nothing was started: the flow \S+ needs no-such-node, which is not installed/,
    {},
    JSON.stringify([...shipped(), { id: 'n', type: 'no-such-node', z: 'seganet-tab', wires: [] }])
  ],
  ['SEGANET_HOME is a file', 78, /^SEGANET_HOME .* cannot be used/, { SEGANET_HOME: __filename }]
];

describe('without an editor', () => {
  test.each(CASES)(
    'ends with a code and a sentence when %s: code %i',
    async (...[, code, sentence, env, flow = '']) => {
      const ended = await start(env, flow).ended;
      expect(ended).toMatchObject({ code, signal: null });
      expect(ended.output).toMatch(sentence);
      expect(ended.output).not.toMatch(/^\s+at /m);
    },
    60000
  );
});

describe('with an editor', () => {
  test('keeps the process running without an engine, and logs the reason', async () => {
    const gateway = start({ SEGANET_NATIVE: '/nowhere.node', SEGANET_EDITOR_PORT: '0' });
    await gateway.says(/editor: http/);
    await gateway.says(/The engine did not start: The native engine cannot be loaded/);
    const [, editor] = await gateway.says(/editor: (\S+)/);
    expect((await fetch(`${editor}flows`)).status).toBe(200);
    gateway.child.kill('SIGTERM');
    expect(await gateway.ended).toMatchObject({ code: 0 });
  }, 60000);

  test('names a flow that cannot be read, and opens the editor', async () => {
    const gateway = start({ SEGANET_EDITOR_PORT: '0' }, '[{');
    await gateway.says(/^error: The flow \S+ cannot be read/m);
    await gateway.says(/editor: http/);
  }, 60000);
});
