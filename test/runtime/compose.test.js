'use strict';
// The Compose files without Docker: what they mount and build exists, and the gateway starts with their settings.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const yaml = require('js-yaml');
const { needs } = require('../../bench/harness/tools');
const { readEnvironment } = require('../../flows/launcher/environment');
const cluster = require('../../flows/cluster.json');
const { ROOT } = require('./process');

const { test: withHaproxy } = needs('haproxy');

const FILES = ['docker/compose.yml', 'docker/cluster/compose.yml', 'docker/mptcp/compose.yml'];
const CLUSTER = path.join(ROOT, 'docker/cluster');
/** What a user has to enter. */
const ENTERED = {
  KAFKA_CLUSTER_ID: 'c2VnYW5ldC1rYWZrYS10ZQ',
  SEGANET_ADMIN_PASSWORD_HASH: '$2b$08$XbjmKnzQk0mhehPYcDAtnOtJRWQUSwMP39siyK6UuquQghWdowd4C'
};

/**
 * Replaces the variables in values, as Compose does.
 * @param {any} value
 * @param {Record<string, string>} env
 * @returns {any}
 */
function interpolate(value, env) {
  if (Array.isArray(value)) return value.map((each) => interpolate(each, env));
  if (value && typeof value === 'object')
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, interpolate(each, env)]));
  if (typeof value !== 'string') return value;
  return value.replace(/\$(?:(\$)|\{(\w+)(?:(:[-?])([^}]*))?\})/g, (_all, dollar, name, form, other) => {
    if (dollar) return '$';
    const set = env[name] ?? '';
    if (set === '' && form === ':?') throw new Error(`${name} is required: ${other}`);
    return set === '' && form === ':-' ? other : set;
  });
}

/** @param {string} file @param {Record<string, string>} env @returns {any} */
const read = (file, env) => interpolate(yaml.safeLoad(fs.readFileSync(path.join(ROOT, file), 'utf8')), env);

/** The variables of .env.example. @returns {Record<string, string>} */
function exampleOf() {
  const lines = fs.readFileSync(path.join(CLUSTER, '.env.example'), 'utf8').split('\n');
  return Object.fromEntries(lines.filter((line) => /^\w+=/.test(line)).map((line) => line.split(/=(.*)/, 2)));
}

/** @param {number} machine @returns {any} its Compose file, with the values of .env.example */
function machineOf(machine) {
  const example = { ...exampleOf(), ...ENTERED };
  return read('docker/cluster/compose.yml', {
    ...example,
    MACHINE: String(machine),
    ADDRESS: example[`HOST_${machine}`]
  });
}

/** @param {any} service @returns {Record<string, string>} */
const environmentOf = ({ environment }) =>
  Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, String(value)]));

test.each(FILES)('%s builds and mounts what exists, and gives containers no rights', (file) => {
  const env = {
    SEGANET_UPLINK_URL: 'mqtts://a.example:8883',
    BROKER: 'a.example:8883',
    ...exampleOf(),
    ...ENTERED
  };
  const { services, volumes = {} } = read(file, env);
  for (const { build, volumes: mounts = [], image, read_only: isFixed, ...service } of Object.values(
    services
  )) {
    const folder = path.dirname(path.join(ROOT, file));
    if (typeof build === 'string') expect(fs.existsSync(path.join(folder, build, 'Dockerfile'))).toBe(true);
    else if (build) expect(fs.existsSync(path.resolve(folder, build.context, build.dockerfile))).toBe(true);
    else expect(image).toMatch(/:\d+(\.\d+)+$/);
    for (const [from] of mounts.map((/** @type {string} */ each) => each.split(':'))) {
      if (from.startsWith('.')) expect(fs.statSync(path.join(folder, from)).isFile()).toBe(true);
      else expect(volumes).toHaveProperty(from);
    }
    expect(service.security_opt).toContain('no-new-privileges:true');
    // The image of Kafka writes its configuration into itself.
    if (!image?.includes('kafka')) expect([isFixed, service.cap_drop]).toEqual([true, ['ALL']]);
  }
});

test('.env.example has the variables of the cluster, and no others', () => {
  const text = fs.readFileSync(path.join(CLUSTER, 'compose.yml'), 'utf8');
  const used = new Set([...text.matchAll(/(?<!\$)\$\{(\w+)/g)].map(([, name]) => name));
  expect(Object.keys(exampleOf()).sort()).toEqual([...used].sort());
  for (const name of Object.keys(ENTERED)) expect(() => machineWithout(name)).toThrow(`${name} is required`);
});

/** @param {string} name */
const machineWithout = (name) =>
  read('docker/cluster/compose.yml', { ...exampleOf(), ...ENTERED, [name]: '' });

test.each([
  ['docker/compose.yml', read('docker/compose.yml', { SEGANET_UPLINK_URL: 'mqtts://a.example:8883' })],
  ...[1, 2, 3].map((machine) => [`machine ${machine} of the cluster`, machineOf(machine)]),
  [
    'a machine of a pair',
    read('docker/cluster/pair/machine.yml', {
      ...{ MACHINE: 'a', ADDRESS: '10.0.0.11', A: '10.0.0.11', B: '10.0.0.12', W: '10.0.0.13' },
      ...{ SUPERUSER_PASSWORD: 'a', REPLICATION_PASSWORD: 'b', DATABASE_PASSWORD: 'c' },
      SEGANET_GATEWAY_ID: 'plant',
      SEGANET_UPLINK_URL: 'mqtts://a.example:8883',
      SEGANET_DEVICE_ALLOW_ANONYMOUS: 'yes'
    })
  ]
])('the gateway starts with the settings of %s', (_name, { services }) => {
  const { gateway } = services;
  expect(readEnvironment(environmentOf(gateway)).SEGANET_UPLINK_URL).toMatch(/^mqtts:/);
  expect([gateway.init, gateway.stop_grace_period]).toEqual([true, '30s']);
});

test('the machines of the cluster know each other', () => {
  const machines = [1, 2, 3].map((machine) => machineOf(machine).services);
  const gateways = machines.map(({ gateway }) => environmentOf(gateway));
  expect(new Set(gateways.map(({ SEGANET_GATEWAY_ID: id }) => id)).size).toBe(3);
  const [{ SEGANET_DEVICE_PROXIES: proxies, SEGANET_MQTT_PORT: port, SEGANET_STATUS_PORT: status }] =
    gateways;
  const hosts = gateways.map(({ SEGANET_DEVICE_HOST: host }) => host);
  expect(proxies.split(',')).toEqual(hosts);
  const of = (/** @type {string} */ type) => cluster.find((each) => each.type === type);
  const [uplink, source] = [of('seganet-kafka-uplink'), of('seganet-kafka-source')];
  machines.forEach(({ kafka, haproxy, topics }, i) => {
    const broker = environmentOf(kafka);
    const voters = broker.KAFKA_CONTROLLER_QUORUM_VOTERS.split(',');
    expect(voters[i]).toBe(`${broker.KAFKA_NODE_ID}@${hosts[i]}:9093`);
    expect(broker.KAFKA_LISTENERS).toBe(`PLAINTEXT://${hosts[i]}:9092,CONTROLLER://${hosts[i]}:9093`);
    expect(gateways[i].SEGANET_KAFKA_BROKERS.split(',')[i]).toBe(`${hosts[i]}:9092`);
    expect(topics.command[2]).toContain(`--bootstrap-server ${hosts[i]}:9092`);
    expect(topics.command[2]).toContain(`--topic ${uplink.topic.replace('{class}', '$class')} `);
    expect(Number(broker.KAFKA_GROUP_MIN_SESSION_TIMEOUT_MS)).toBeLessThan(Number(source.sessionTimeoutMs));
    const balancer = environmentOf(haproxy);
    'ABC'.split('').forEach((letter, other) => {
      expect([balancer[`GATEWAY_${letter}`], balancer[`STATUS_${letter}`]]).toEqual([
        `${hosts[other]}:${port}`,
        status
      ]);
    });
  });
});

withHaproxy('HAProxy accepts its configuration with three gateways', () => {
  const env = { ...process.env, ...environmentOf(machineOf(1).services.haproxy) };
  const { status, stderr } = spawnSync('haproxy', ['-c', '-q', '-f', path.join(CLUSTER, 'haproxy.cfg')], {
    env,
    encoding: 'utf8'
  });
  expect([status, stderr]).toEqual([0, '']);
});
