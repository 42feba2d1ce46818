'use strict';
// The script of docs/use/cluster.md upgrades three gateways behind HAProxy under load. What it calls on a machine (ssh,
// sudo, systemctl, npm, curl, seganet-gateway) acts on the gateway of that name on this machine.

const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const { once } = require('node:events');
const mqtt = require('mqtt');
const { Child } = require('../../bench/harness/child');
const { startCloud } = require('../../bench/harness/cloud');
const { eventually, freePort, waitForPort } = require('../../bench/harness/net');
const { needs } = require('../../bench/harness/tools');
const { receive } = require('../fixtures/devices/device');
const { ROOT, cleanEnvironment, cleanUp, temporaryFolder } = require('../runtime/process');
const { PATIENCE } = require('../../bench/harness/patience');

const { describe } = needs('mosquitto', 'haproxy', 'bash');

jest.setTimeout(240000);

const NAMES = ['gw-a', 'gw-b', 'gw-c'];
const COUNT = 20;
const LAUNCHER = [path.join(ROOT, 'native/node/run.js')];
const COMMAND = path.join(ROOT, 'flows/cli/seganet-gateway.js');

/** The commands of a machine. $MACHINE is its name, $CONTROL the port of the test. */
const TOOL = `#!/bin/bash
ask() {
  exec 3<>"/dev/tcp/127.0.0.1/$CONTROL"
  printf 'GET /%s HTTP/1.0\\r\\n\\r\\n' "$MACHINE/$1" >&3
  read -r _ status _ <&3
  [[ $status == 200 ]]
}
case $(basename "$0") in
  ssh) MACHINE=$1 exec bash -c "$2" ;;
  sudo) [[ $1 == -u ]] && shift 2; exec "$@" ;;
  seganet-gateway) exec "$NODE" ${LAUNCHER} ${COMMAND} "\${@/#\\/var\\/lib\\/seganet/$HOMES/$MACHINE}" ;;
  curl) url=\${@: -1}; ask "\${url##*/}" ;;
  npm | systemctl) ask "$(basename "$0")/$1" ;;
esac
`;

class Machine {
  /** @type {Child | null} */
  child = null;
  installs = 0;
  /** The installation fails. */
  isBroken = false;
  isAway = false;

  /** @param {string} name @param {NodeJS.ProcessEnv} env */
  constructor(name, env) {
    this.name = name;
    this.env = env;
  }

  start() {
    const program = path.join(ROOT, 'flows/launcher/start.js');
    this.child = new Child(process.execPath, [...LAUNCHER, program], {
      name: this.name,
      cwd: ROOT,
      env: this.env
    });
  }

  async restart() {
    await this.child?.stop('SIGTERM', 30000);
    this.start();
    return true;
  }

  async install() {
    this.installs++;
    return !this.isBroken;
  }

  /** @param {string} query */
  async isReady(query = '') {
    const page = `http://127.0.0.1:${this.env.SEGANET_EDITOR_PORT}/seganet/readyz${query}`;
    return (await fetch(page).catch(() => null))?.ok ?? false;
  }
}

/** What the commands of the script do to the machines. @param {Machine[]} machines */
async function serve(machines) {
  const server = http.createServer(async ({ url = '' }, response) => {
    const { pathname, search } = new URL(url, 'http://localhost');
    const [, name, ...command] = pathname.split('/');
    const machine = /** @type {Machine} */ (machines.find((each) => each.name === name));
    /** @type {Record<string, () => Promise<boolean>>} */
    const actions = {
      readyz: async () => !machine.isAway && (await machine.isReady(search)),
      'npm/install': () => machine.install(),
      'systemctl/restart': () => machine.restart()
    };
    const isDone = await actions[command.join('/')]?.();
    response.writeHead(isDone ? 200 : 500).end();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return server;
}

describe('the script for a rolling upgrade', () => {
  const homes = temporaryFolder();
  /** @type {Machine[]} */
  const machines = [];
  /** @type {(() => unknown)[]} */
  const ends = [];
  /** @type {import('../../bench/harness/cloud').Cloud} */
  let cloud;
  let port = 0;
  let control = 0;

  beforeAll(async () => {
    cloud = await startCloud();
    ends.push(() => cloud.close());
    for (const name of NAMES) {
      const [mqttPort, editorPort] = [await freePort(), await freePort()];
      const env = cleanEnvironment({
        SEGANET_HOME: path.join(homes, name),
        SEGANET_GATEWAY_ID: name,
        SEGANET_MQTT_PORT: String(mqttPort),
        SEGANET_EDITOR_PORT: String(editorPort),
        SEGANET_DEVICE_PROXIES: '127.0.0.0/8',
        SEGANET_ACKNOWLEDGE: 'stored',
        SEGANET_UPLINK_URL: cloud.url,
        SEGANET_UPLINK_CA: cloud.files.ca
      });
      machines.push(new Machine(name, env));
    }
    for (const machine of machines) machine.start();
    ends.push(() => Promise.all(machines.map(({ child }) => child?.stop('SIGKILL'))));
    const server = await serve(machines);
    control = /** @type {import('node:net').AddressInfo} */ (server.address()).port;
    ends.push(() => server.close());
    port = await freePort();
    const list = machines.flatMap(({ env }, i) => [
      [`GATEWAY_${'ABC'[i]}`, `127.0.0.1:${env.SEGANET_MQTT_PORT}`],
      [`STATUS_${'ABC'[i]}`, env.SEGANET_EDITOR_PORT]
    ]);
    const balancer = new Child('haproxy', ['-q', '-f', path.join(ROOT, 'docker/cluster/haproxy.cfg')], {
      env: { ...process.env, LISTEN: `127.0.0.1:${port}`, ...Object.fromEntries(list) }
    });
    ends.push(() => balancer.stop());
    await waitForPort(port, '127.0.0.1', 10000);
    await allReady();
  });

  afterAll(async () => {
    for (const end of ends.reverse()) await end();
    await cleanUp();
  });

  const allReady = () =>
    eventually(async () => (await Promise.all(machines.map((each) => each.isReady()))).every(Boolean), {
      timeoutMs: 60000,
      what: 'all gateways'
    });

  /** Runs the script of the page. */
  async function upgrade() {
    const page = fs.readFileSync(path.join(ROOT, 'docs/use/cluster.md'), 'utf8');
    const [, text] = /```bash\n(#!\/usr\/bin\/env bash\n[^]*?)```/.exec(page) ?? [];
    const bin = temporaryFolder();
    fs.writeFileSync(path.join(bin, 'tool'), TOOL, { mode: 0o755 });
    for (const name of ['ssh', 'sudo', 'systemctl', 'npm', 'curl', 'seganet-gateway'])
      fs.symlinkSync('tool', path.join(bin, name));
    fs.writeFileSync(path.join(bin, 'upgrade.sh'), text);
    const env = {
      ...cleanEnvironment(),
      PATH: `${bin}:${process.env.PATH}`,
      NODE: process.execPath,
      HOMES: homes,
      CONTROL: String(control)
    };
    const child = new Child('bash', [path.join(bin, 'upgrade.sh'), ...NAMES], { env });
    const { code } = await child.exited;
    return { code, output: child.output };
  }

  const pids = () => machines.map(({ child }) => child?.pid);
  const installs = () => machines.map((machine) => machine.installs);

  test('touches no gateway while one is not ready', async () => {
    machines[2].isAway = true;
    const before = pids();
    expect(await upgrade()).toEqual({
      code: 1,
      output: expect.stringMatching(/gw-c is not ready, so gw-a stays as it is\.\n$/)
    });
    expect([pids(), installs()]).toEqual([before, [0, 0, 0]]);
    machines[2].isAway = false;
  });

  test('lets a gateway take its devices again if it cannot be upgraded, and touches no other', async () => {
    machines[0].isBroken = true;
    const before = pids();
    expect(await upgrade()).toEqual({
      code: 1,
      output: expect.stringMatching(/gw-a was not upgraded, and takes its devices again\.\n$/)
    });
    expect([pids().slice(1), installs()]).toEqual([before.slice(1), [1, 0, 0]]);
    machines[0].isBroken = false;
    await allReady();
  });

  test('upgrades one after the other, and loses no record of the devices', async () => {
    const receiver = await receive(cloud);
    ends.push(() => receiver.close());
    /** @type {Set<string>} */
    const acknowledged = new Set();
    let longest = 0;
    let isOver = false;
    const devices = await Promise.all(
      Array.from({ length: COUNT }, async (_, number) => {
        const options = { clientId: `dev-${number}`, reconnectPeriod: 100 };
        const device = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`, options);
        ends.push(() => device.endAsync(true));
        return device;
      })
    );
    ends.push(() => (isOver = true));
    const load = devices.map(async (device, number) => {
      for (let value = 0; !isOver; value++) {
        const since = performance.now();
        await device.publishAsync(`d/dev-${number}/t`, String(value), { qos: 1 });
        longest = Math.max(longest, performance.now() - since);
        acknowledged.add(`dev-${number} ${value}`);
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    });
    const [before, installed] = [pids(), installs()];
    const { code, output } = await upgrade();
    expect([code, output]).toEqual([0, expect.stringMatching(/^gw-a hands .*gw-b hands .*gw-c hands /s)]);
    isOver = true;
    await Promise.all(load);
    expect(installs()).toEqual(installed.map((count) => count + 1));
    expect(pids().filter((pid, i) => pid === before[i])).toEqual([]);
    const arrived = () => new Set(receiver.records().map(({ d, p }) => `${d} ${p}`));
    await eventually(() => acknowledged.difference(arrived()).size === 0, {
      timeoutMs: 20000,
      what: 'all records'
    });
    expect(acknowledged.size).toBeGreaterThan(COUNT * 20);
    // A device is handed over and connects again; it does not wait for its keep-alive.
    expect(longest).toBeLessThan(15000 * PATIENCE);
  });
});
