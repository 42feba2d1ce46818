'use strict';
// npm run overlay, for real: services, two gateways, their nodes, a broker and a device in processes and on sockets.

const fs = require('node:fs');
const net = require('node:net');
const { NEEDED } = require('../fixtures/overlay/two-gateways');
const { freePort } = require('../../bench/harness/net');
const { needs } = require('../../bench/harness/tools');
const { childrenOf, cleanEnvironment, cleanUp, isAlive, run, temporaryFolder, until } = require('./process');

jest.setTimeout(120000);
afterEach(cleanUp);

const MAIN = 'flows/demo/overlay/main.js';
const START_MS = 60000;
const { test: withProgram } = needs(NEEDED);
const { test: withNetworks } = needs(
  NEEDED,
  ...['ip', 'nft', 'nsenter', 'unshare', 'setpriv'],
  ...(process.getuid?.() === 0 ? [] : ['root'])
);

/** @param {string[]} args @param {Record<string, string>} [env] */
function overlay(args, env) {
  return run(process.execPath, [MAIN, ...args], {
    env: cleanEnvironment({ SEGANET_OVERLAY: NEEDED, ...env })
  });
}

/** All descendants of a process. @param {number} pid @returns {number[]} */
const family = (pid) => childrenOf(pid).flatMap((child) => [child, ...family(child)]);

/** Options with free ports. @returns {Promise<string[]>} */
async function freePorts() {
  const names = ['port', 'editor-port', 'hub-editor-port', 'services-port', 'relay-port'];
  const options = [];
  for (const name of names) options.push(`--${name}`, `${await freePort()}`);
  return options;
}

test('prints its help', async () => {
  const { code, output } = await overlay(['--help']).ended;
  expect(code).toBe(0);
  expect(output).toMatch(/--nat A,B .*\n(.*\n)*.*--services-port N/);
});

test.each([
  [['--port', '0'], /--port takes a whole number from 1 to 65535/],
  [['--seconds', '3601'], /--seconds takes a whole number from 1 to 3600/],
  [['--nat', 'port'], /--nat takes two kinds such as port,symmetric/],
  [['--nat=port,cone'], /--nat takes two kinds/],
  [['--nat'], /--nat takes two kinds/],
  [['--speed', '1'], /--speed/],
  [['--port', '5000', '--relay-port', '5000'], /must differ/]
])('refuses %j', async (args, sentence) => {
  const { code, output } = await overlay(args).ended;
  expect(code).toBe(2);
  expect(output).toMatch(sentence);
});

test('says how to get the program if it is missing', async () => {
  const { code, output } = await overlay([], { SEGANET_OVERLAY: '/nowhere/seganet-overlay' }).ended;
  expect(code).toBe(1);
  expect(output).toMatch(
    /seganet-overlay is missing: run "npm install @seganet\/overlay-.*npm run overlay:build/
  );
});

withProgram('says which port is taken', async () => {
  const other = net.createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => other.once('listening', resolve));
  const { port } = /** @type {net.AddressInfo} */ (other.address());
  try {
    const { code, output } = await overlay([...(await freePorts()), '--services-port', `${port}`]).ended;
    expect(code).toBe(1);
    expect(output).toMatch(`Port ${port} is taken`);
  } finally {
    other.close();
  }
});

/** The figures of each part. */
const FIGURES = String.raw`\s+longest time without a record at the broker: \d+ ms; round trip gw-hub: [\d.]+ ms\s+`;

withProgram('shows the direct path, the relay and the direct path again, and ends with code 0', async () => {
  const folder = temporaryFolder();
  const { says, child, ended } = overlay([...(await freePorts()), '--seconds', '1'], { TMPDIR: folder });
  await says(/the first record is at hub's broker, [\d.]+ s after the start/, START_MS);
  await says(
    new RegExp(
      `direct \\S+${FIGURES}\\S+ direct paths are switched off at gw's node\\s+\\S+ relay after [\\d.]+ s${FIGURES}` +
        `\\S+ direct paths are switched on again\\s+\\S+ direct \\S+ after [\\d.]+ s${FIGURES}`
    ),
    START_MS
  );
  await says(/\d+ records were sent, \d+ have arrived: 0 lost, 0 twice, over one MQTT connection/);
  const [, state] = await says(/status --state (\S+)/);
  expect(fs.statSync(`${state}/control.sock`).mode & 0o777).toBe(0o600);
  const all = family(Number(child.pid));
  // The services, two gateways with their nodes, the broker and the device.
  expect(all.length).toBeGreaterThanOrEqual(7);
  child.kill('SIGINT');
  expect((await ended).code).toBe(0);
  expect(all.filter(isAlive)).toEqual([]);
  expect(fs.readdirSync(folder)).toEqual([]);
});

withProgram('leaves no process behind, even after kill -9', async () => {
  const { says, child } = overlay(await freePorts(), { TMPDIR: temporaryFolder() });
  await says(/the first record is at hub's broker/, START_MS);
  const all = family(Number(child.pid));
  child.kill('SIGKILL');
  await until(() => !all.some(isAlive), { within: 60000, what: 'the end of all processes' });
});

withNetworks('finds a direct path through NATs, and the relay when the NAT cuts it', async () => {
  const args = ['--nat', 'port,address', '--seconds', '1'];
  const { says, child, ended } = overlay(args, { TMPDIR: temporaryFolder() });
  await says(/direct 10\.77\.0\.12:\d+/, START_MS);
  await says(/drops the packets of the direct path\s+\S+ relay after [\d.]+ s/, START_MS);
  await says(/lets them pass again\s+\S+ direct 10\.77\.0\.12:\d+ after/, START_MS);
  await says(/: 0 lost, 0 twice/, START_MS);
  const all = family(Number(child.pid));
  child.kill('SIGTERM');
  expect((await ended).code).toBe(0);
  expect(all.filter(isAlive)).toEqual([]);
});
