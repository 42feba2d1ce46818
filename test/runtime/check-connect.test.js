'use strict';
// seganet-gateway check --connect, with a real broker.

const fs = require('node:fs');
const path = require('node:path');
const { Broker } = require('../../bench/harness/broker');
const { needs } = require('../../bench/harness/tools');
const { ROOT, run, temporaryFolder, cleanEnvironment, cleanUp } = require('./process');

const COMMAND = path.join(ROOT, 'flows/cli/seganet-gateway.js');
const { describe } = needs('mosquitto', 'openssl');
jest.setTimeout(60000);

describe('check --connect', () => {
  /** @type {Broker} */
  let broker;
  let home = '';
  beforeAll(async () => {
    broker = await Broker.start();
    home = path.join(temporaryFolder(), 'gateway');
    await command('init', '--home', home);
    configure({ SEGANET_GATEWAY_ID: 'plant-7', SEGANET_EDITOR_PORT: 'off', SEGANET_MQTT_PORT: '0' });
  });
  afterAll(async () => {
    await broker.remove();
    await cleanUp();
  });

  /** @param {...string} args */
  const command = (...args) => run(process.execPath, [COMMAND, ...args], { env: cleanEnvironment() }).ended;

  /** @param {Record<string, string>} settings */
  const configure = (settings) =>
    fs.appendFileSync(
      path.join(home, 'gateway.env'),
      Object.entries(settings)
        .map(([name, value]) => `${name}='${value}'\n`)
        .join('')
    );

  /** The findings about the connection. */
  async function connect() {
    const { code, output } = await command('check', '--connect', '--json', '--home', home);
    const { findings } = JSON.parse(output);
    return {
      code,
      steps: findings
        .filter((/** @type {any} */ { about }) => about === 'connect')
        .map((/** @type {any} */ { result, text }) => `${result} ${text}`)
    };
  }

  test('notes that no address is set', async () => {
    const { steps } = await connect();
    expect(steps).toEqual([
      expect.stringMatching(/^note SEGANET_UPLINK_URL, the address of the uplink broker, is not set/)
    ]);
  });

  test('connects with the settings of gateway.env, and names each step', async () => {
    configure({ SEGANET_UPLINK_URL: broker.url, SEGANET_UPLINK_CA: broker.certificates.caFile });
    const { code, steps } = await connect();
    expect(steps).toEqual([
      expect.stringMatching(/^ok cloud, name: .*127\.0\.0\.1/),
      expect.stringMatching(/^ok cloud, connect: \S+:\d+$/),
      expect.stringMatching(/^ok cloud, tls: TLSv1\.3/),
      'ok cloud, login: MQTT 5, client id plant-7-test',
      'ok cloud, publish: gw/plant-7/normal'
    ]);
    expect(code).toBe(0);
    expect(broker.received('plant-7-test')).toMatchObject([{ topic: 'gw/plant-7/normal', bytes: 0 }]);
  });

  test('tries each URL of a list, also after one that fails', async () => {
    configure({ SEGANET_UPLINK_URL: `mqtts://127.0.0.1:1,${broker.url}` });
    const { code, steps } = await connect();
    expect(steps.map((/** @type {string} */ step) => step.replace(/: .*/, ''))).toEqual([
      'problem cloud, 127.0.0.1:1, connect',
      ...['name', 'connect', 'tls', 'login', 'publish'].map(
        (step) => `ok cloud, localhost:${broker.port}, ${step}`
      )
    ]);
    expect(code).toBe(78);
    configure({ SEGANET_UPLINK_URL: broker.url });
  });

  test('names the step that fails, which a plain check does not try', async () => {
    configure({ SEGANET_UPLINK_CA: '' });
    const { code, steps } = await connect();
    expect(steps.at(-1)).toMatch(/^problem cloud, tls: The broker's certificate is signed by an authority/);
    expect(code).toBe(78);
    expect(await command('check', '--home', home)).toMatchObject({ code: 0 });
  });
});
