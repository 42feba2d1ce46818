'use strict';
// The test of a Kafka cluster's connection, against a real broker and against servers that are wrong in one way.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const net = require('node:net');
const path = require('node:path');
const tls = require('node:tls');
const { once } = require('node:events');
const { KafkaBroker, kafkaTools } = require('../../../bench/harness/kafka/broker');
const { KafkaClient } = require('../../../bench/harness/kafka/client');
const { freePort } = require('../../../bench/harness/net');
const { needs } = require('../../../bench/harness/tools');
const { Authority } = require('../../fixtures/devices/authority');
const { testCluster } = require('../../../nodes/lib/kafka/cluster-test');

const { describe } = needs(...kafkaTools(), 'openssl');
jest.setTimeout(120000);

const LOGIN = { sasl: 'plain', username: 'gateway' };
const PASSWORD = 'secret-1';
/** The uplink nodes at the cluster. @param {object[]} uplinks */
const flowOf = (uplinks) =>
  uplinks.map((each) => ({ type: 'seganet-kafka-uplink', cluster: 'cluster', ...each }));

/**
 * @param {object} config of the cluster node
 * @param {{ password?: string, tls?: object, uplinks?: object[] }} [options]
 */
async function run(config, { password = PASSWORD, tls: options = {}, uplinks = [] } = {}) {
  const RED = /** @type {any} */ ({
    nodes: { getNode: () => ({ addTLSOptions: () => options }), eachNode: () => {} },
    util: { evaluateNodeProperty: () => '' }
  });
  const steps = await testCluster(RED, {
    node: /** @type {any} */ ({}),
    config: { id: 'cluster', tls: 'tls', connectTimeoutMs: '3000', ...config },
    credentials: { password },
    nodes: flowOf(uplinks),
    gateway: 'plant'
  });
  return steps.map(({ step, ok, isMinor, at, text }) => {
    const place = at ? `${at.split(':')[1]} ` : '';
    return `${place}${step} ${ok ? 'ok' : isMinor ? 'minor' : 'failed'}: ${text}`;
  });
}

/** @param {net.Server} server */
async function listen(server) {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return /** @type {net.AddressInfo} */ (server.address()).port;
}

/**
 * A broker that answers every request as one for metadata, version 8: one broker, at another port.
 * @param {number} advertised
 */
async function listingOnly(advertised) {
  const server = net.createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (request) => {
      const host = Buffer.from('127.0.0.1');
      const body = Buffer.alloc(8 + 8 + 2 + host.length + 4 + 2 + 2 + 4 + 4 + 4);
      request.copy(body, 0, 8, 12);
      body.writeInt32BE(1, 8);
      body.writeInt32BE(1, 12);
      body.writeInt16BE(host.length, 16);
      host.copy(body, 18);
      body.writeInt32BE(advertised, 18 + host.length);
      // No rack, no cluster id.
      body.fill(0xff, 22 + host.length, 26 + host.length);
      const size = Buffer.alloc(4);
      size.writeInt32BE(body.length);
      socket.write(Buffer.concat([size, body]));
    });
  });
  return { port: await listen(server), close: () => server.close() };
}

describe('the test of a Kafka cluster', () => {
  /** @type {Authority} */
  let authority;
  /** @type {KafkaBroker} */
  let broker;
  /** @type {KafkaClient} */
  let client;
  beforeAll(async () => {
    authority = new Authority();
    const { cert, key } = authority.issue();
    const pem = path.join(authority.folder, 'kafka.pem');
    fs.writeFileSync(pem, key + cert);
    broker = await new KafkaBroker({
      login: { user: 'gateway', password: PASSWORD, mechanism: 'PLAIN' },
      tls: { pem },
      lines: [
        'authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer',
        'super.users=User:ANONYMOUS',
        'allow.everyone.if.no.acl.found=false'
      ]
    }).start();
    client = new KafkaClient(broker.plainAddress);
    await client.createTopics(['seganet.normal', 'closed.normal'], 1);
    await client.allow('gateway', 'seganet.normal', 'WRITE');
    await client.allow('gateway', 'closed.normal', 'DESCRIBE');
  });
  afterAll(async () => {
    await client?.close();
    await broker?.stop();
  });

  const trusted = () => ({ tls: { ca: authority.ca, servername: 'localhost' } });
  const here = () => ({ brokers: `localhost:${broker.port}`, ...LOGIN });

  test('names each step of one that works, and writes nothing', async () => {
    const steps = await run(here(), { ...trusted(), uplinks: [{}, { topic: '{device}' }] });
    expect(steps).toEqual([
      expect.stringMatching(/^name ok: .*127\.0\.0\.1/),
      expect.stringMatching(/^connect ok: .*:\d+$/),
      expect.stringMatching(/^tls ok: TLSv1\.3/),
      'login ok: PLAIN, user gateway',
      `cluster ok: 127.0.0.1:${broker.port}`,
      'topics ok: seganet.normal'
    ]);
    expect(await client.count(['seganet.normal'], 1)).toBe(0);
  });

  test('says which of several brokers does not answer, and goes on with another', async () => {
    const port = await freePort();
    const config = { ...here(), brokers: `127.0.0.1:${port}, ${here().brokers}` };
    const steps = await run(config, { ...trusted(), uplinks: [{}] });
    expect(steps[0]).toBe(
      `${port} connect minor: Nothing listens at 127.0.0.1:${port}. Check the address and the port, and that the broker is running.`
    );
    expect(steps.slice(-2)).toEqual([`cluster ok: 127.0.0.1:${broker.port}`, 'topics ok: seganet.normal']);
  });

  test.each([
    ['that may not be written', { topic: 'closed.{class}' }, /^topics failed: The cluster does not allow this gateway to write to the topic "closed\.normal"\. Allow it \(ACL Write and Describe\)/], // prettier-ignore
    ['that may not be seen', { topic: 'hidden.{class}' }, /^topics failed: The cluster does not allow this gateway to write to the topic "hidden/] // prettier-ignore
  ])('names a topic %s', async (_, uplink, sentence) => {
    expect((await run(here(), { ...trusted(), uplinks: [uplink] })).at(-1)).toMatch(sentence);
  });

  test('names a topic that does not exist, unless the uplink creates it', async () => {
    const plain = { brokers: broker.plainAddress, security: 'plaintext' };
    const missing = { topic: 'missing.{class}' };
    expect((await run(plain, { uplinks: [missing] })).at(-1)).toMatch(
      /^topics failed: The topic "missing\.normal" does not exist in the cluster\. Create it/
    );
    expect((await run(plain, { uplinks: [{ ...missing, createTopics: 'on' }] })).at(-1)).toMatch(
      /^topics ok/
    );
  });

  test('names what is wrong with the topics that gateways share', async () => {
    const plain = { brokers: broker.plainAddress, security: 'plaintext', commands: 'on' };
    const last = async (name) =>
      (await run({ ...plain, commandsTopic: `${name}.c`, devicesTopic: `${name}.d` })).at(-1);
    expect(await last('none')).toMatch(
      /^gateways failed: The topic "none\.c", which gateways share, does not exist\. Create it, compacted/
    );
    const compact = [{ name: 'cleanup.policy', value: 'compact' }];
    const safe = [...compact, { name: 'min.insync.replicas', value: '2' }];
    await client.createTopics(['wide.c', 'wide.d'], 2, safe);
    expect(await last('wide')).toMatch(/^gateways failed: The topic "wide\.c" has 2 partitions\./);
    await client.createTopics(['short.c', 'short.d'], 1);
    expect(await last('short')).toMatch(/^gateways failed: .* Set its cleanup\.policy to compact\./);
    await client.createTopics(['alone.c', 'alone.d'], 1, compact);
    expect(await last('alone')).toMatch(/^gateways failed: .* Set its min\.insync\.replicas to 2\./);
    await client.createTopics(['good.c', 'good.d'], 1, safe);
    expect(await last('good')).toBe('gateways ok: good.c, good.d');
  });

  test('names a wrong password, and a login that is missing', async () => {
    expect((await run(here(), { ...trusted(), password: 'wrong' })).at(-1)).toMatch(
      /^login failed: The Kafka cluster refuses this gateway \(.*\)\. Check the user name, the password and the mechanism/
    );
    expect((await run({ ...here(), sasl: 'none' }, trusted())).at(-1)).toMatch(
      /^login failed: .* does not answer as a Kafka broker \(.*\)\. Check whether the port needs a login/
    );
  });

  test('names a port without TLS, and one with TLS', async () => {
    const withTls = await run({ ...here(), brokers: `localhost:${broker.plainPort}` }, trusted());
    expect(withTls.at(-1)).toMatch(
      /^tls failed: localhost:\d+ does not speak TLS\. Use the cluster's TLS port/
    );
    const without = await run({ ...here(), security: 'plaintext', sasl: 'none' });
    expect(without.at(-1)).toMatch(/^login failed: .*, and whether it needs TLS\.$/);
  });

  test('names certificates that are not trusted or have expired, and TLS that is too old', async () => {
    expect((await run(here())).at(-1)).toMatch(
      /^tls failed: The broker's certificate is signed by an authority that is not trusted here\./
    );
    const expired = tls.createServer(authority.issue({ to: -0.5 }));
    const old = tls.createServer({ ...authority.issue(), maxVersion: 'TLSv1.2' });
    const [first, second] = await Promise.all(
      [expired, old].map(async (server) =>
        run({ ...here(), brokers: `localhost:${await listen(server)}` }, trusted())
      )
    );
    expired.close();
    old.close();
    expect(first.at(-1)).toMatch(/^tls failed: The broker's certificate has expired\. Renew it/);
    expect(second.at(-1)).toMatch(
      /does not speak TLS 1\.3\..* minimum TLS version to 1\.2 in the cluster node/
    );
  });

  test('names a closed port, a silent server, and an address of the cluster that nothing answers', async () => {
    const port = await freePort();
    const closed = await run({ brokers: `127.0.0.1:${port}`, security: 'plaintext' });
    expect(closed).toEqual([expect.stringMatching(/^connect failed: Nothing listens at 127\.0\.0\.1:/)]);
    const mute = net.createServer((socket) => void socket.on('error', () => {}));
    const silent = await run({
      brokers: `127.0.0.1:${await listen(mute)}`,
      security: 'plaintext',
      connectTimeoutMs: '500'
    });
    mute.close();
    expect(silent.at(-1)).toMatch(
      /^login failed: .* does not answer as a Kafka broker \(it does not answer\)/
    );
    const { port: asked, close } = await listingOnly(port);
    const steps = await run({ brokers: `127.0.0.1:${asked}`, security: 'plaintext' });
    close();
    expect(steps.at(-1)).toMatch(
      `cluster failed: The cluster gives the address 127.0.0.1:${port}, which cannot be reached`
    );
  });

  const { test: inNamespace } = needs('unshare');
  inNamespace('names a cluster to which there is no route', () => {
    const script = `
      const { testCluster } = require('./nodes/lib/kafka/cluster-test');
      const RED = { nodes: { getNode: () => null, eachNode() {} }, util: {} };
      const config = { id: 'c', brokers: '10.9.8.7', security: 'plaintext' };
      testCluster(RED, { node: {}, config, credentials: {}, nodes: [], gateway: 'plant' })
        .then((steps) => console.log(JSON.stringify(steps)));`;
    const cwd = path.join(__dirname, '../../..');
    const out = execFileSync('unshare', ['-rn', process.execPath, '-e', script], { cwd, encoding: 'utf8' });
    expect(JSON.parse(out)).toMatchObject([
      { step: 'connect', ok: false, text: 'There is no route to 10.9.8.7. Check the network.' }
    ]);
  });
});
