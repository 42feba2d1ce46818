'use strict';
// Runs every example as imported. Start it in a separate network namespace because examples have fixed ports: the user
// folder with the palette is the argument; each line on stdout is { example, error }.

const { execFileSync } = require('node:child_process');
const { randomUUID } = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const coap = require('coap');
const mqtt = require('mqtt');
const { startMosquitto } = require('../../../bench/harness/cloud');
const { KafkaBroker } = require('../../../bench/harness/kafka/broker');
const { eventually, waitForPort } = require('../../../bench/harness/net');
const { DtlsDevice } = require('../../fixtures/devices/dtls-device');
const { Client } = require('../../../flows/demo/ocf/client');
const { Authority } = require('../../fixtures/devices/authority');
const { asLamp, LIGHT } = require('../../../flows/demo/ocf/lamp');
const { NodeRed } = require('../../fixtures/gateway/palette');
const { withoutRoute } = require('./no-route');
const { runDemand, runShadow } = require('./demand');
const { runDirectory } = require('./directory');
const { runForecast } = require('./forecast');
const { runOverlay } = require('./overlay');
const { runParquet } = require('./parquet');
const { runTenants } = require('./tenants');

const CLOUD = 'arrived in the cloud';
const [userDir] = process.argv.slice(2);
const PLACES = {
  file: path.join(userDir, 'tenants', 'tenants.json'),
  socket: path.join(userDir, 'tenants', 'keeper.sock')
};
const folder = path.join(userDir, 'node_modules', '@seganet', 'node-red-gateway', 'examples');

/** @typedef {{ nodeRed: NodeRed, flow: any[], idOf: (type: string, name?: string) => string }} Context */

/**
 * A device, connected until the example has ended.
 * @param {object} [options] of mqtt.js
 * @returns {Promise<mqtt.MqttClient>}
 */
async function device(options = {}) {
  await waitForPort(1883);
  const client = mqtt.connect('mqtt://127.0.0.1:1883', {
    clientId: 'pump-7',
    reconnectPeriod: 200,
    ...options
  });
  client.on('error', () => {});
  devices.push(client);
  await eventually(() => client.connected, { timeoutMs: 20000, what: 'the device is connected' });
  return client;
}
/** @type {mqtt.MqttClient[]} */
const devices = [];

/** @param {string} topic @param {string} payload @param {object} [options] */
async function publish(topic, payload, options) {
  const client = await device(options);
  await client.publishAsync(topic, payload, { qos: 1 });
  return client;
}

/**
 * Runs seganet-accounts with the file of an engine's ocf cloud.
 * @param {string} engine id
 * @param {string[]} args
 * @returns {string} what it prints
 */
function accounts(engine, ...args) {
  const store = path.join(userDir, 'seganet-log', engine, 'ocf.db');
  const command = path.join(userDir, 'node_modules', '.bin', 'seganet-accounts');
  const options = /** @type {const} */ ({ encoding: 'utf8' });
  return execFileSync(process.execPath, [command, ...args, '--store', store], options).trim();
}

/**
 * A device of alice, signed in at the cloud of an example.
 * @param {string} engine id of its node
 * @param {string} [di]
 */
async function ocfDevice(engine, di = randomUUID()) {
  await waitForPort(5683, '127.0.0.1', 30000);
  const client = Object.assign(await Client.open({ host: '127.0.0.1', port: 5683 }), { di });
  await client.signUp(accounts(engine, 'code', 'alice'));
  await client.signIn();
  return client;
}

/** @type {Record<string, (context: Context) => Promise<unknown>>} */
const examples = {
  '01': async ({ nodeRed }) => {
    await publish('alarm/fire', '{"mark":1}');
    await nodeRed.shows(CLOUD, /"?mark/);
  },
  '02': async ({ nodeRed }) => {
    const client = await publish('t/x', '{"mark":2}');
    await nodeRed.shows(CLOUD, /mark/);
    // The tap lets one in a hundred pass.
    for (let i = 0; i < 200; i++) client.publish('t/x', '{"mark":2}', { qos: 1 });
    await nodeRed.shows('samples', /t\/x/);
  },
  '03': async ({ nodeRed }) => {
    await publish('t/x', '{"value":212,"unit":"F"}');
    await nodeRed.shows(CLOUD, /100.*unit.*C/s);
  },
  '04': async ({ nodeRed, idOf }) => {
    await nodeRed.inject(idOf('inject', 'alarm'));
    await nodeRed.shows(CLOUD, /fire/);
    await nodeRed.inject(idOf('inject', 'temperature'));
    await nodeRed.shows(CLOUD, /room-1/);
  },
  '05': async ({ nodeRed, idOf }) => {
    const client = await device();
    for (const mark of [1, 2, 3]) await client.publishAsync('t/x', `{"mark":${mark}}`, { qos: 0 });
    await nodeRed.inject(idOf('inject', 'flush'));
    await nodeRed.shows(CLOUD, /mark/);
    await nodeRed.shows('delivered', /./);
    await eventually(() => /mark/.test(fs.readFileSync(path.join(userDir, 'records.ndjson'), 'utf8')));
  },
  '06': async ({ nodeRed }) => {
    await nodeRed.shows('counters', /counters/, 30000);
    await nodeRed.shows(CLOUD, /lastProblem/, 30000);
  },
  '07': async ({ nodeRed }) => {
    await nodeRed.shows('live', /room/, 30000);
  },
  '08': async ({ nodeRed }) => {
    await publish('alarm/fire', '{"mark":8}');
    await nodeRed.shows(CLOUD, /mark/);
    await nodeRed.shows('sessions and network', /sessions/, 30000);
  },
  '09': async ({ nodeRed, flow }) => {
    // The step of its comment: the node is red until the file exists, and reports it.
    const command = path.join(userDir, 'node_modules', '.bin', 'seganet-passwd');
    const password = path.join(userDir, 'first-line');
    fs.writeFileSync(password, 'secret-1\n', { mode: 0o600 });
    execFileSync(
      process.execPath,
      [command, 'add', 'seganet-passwords', 'pump-1', '--password-file', password],
      {
        cwd: userDir
      }
    );
    await nodeRed.deploy(flow);
    await publish('d/pump-1/t', '{"mark":9}', { username: 'pump-1', password: 'secret-1' });
    await nodeRed.shows(CLOUD, /mark/);
  },
  10: async ({ nodeRed }) => {
    await eventually(
      () =>
        new Promise((resolve) => {
          const request = coap.request({
            host: '127.0.0.1',
            port: 5683,
            pathname: '/r/pump-1/temperature',
            method: 'POST'
          });
          request.on('response', ({ code }) => resolve(code === '2.04'));
          request.on('error', () => resolve(false));
          request.end('{"mark":10}');
        }),
      { timeoutMs: 20000, everyMs: 200, what: 'the CoAP device gets 2.04' }
    );
    await nodeRed.shows(CLOUD, /mark/);
  },
  11: async ({ nodeRed }) => {
    await waitForPort(8080);
    const { status } = await fetch('http://127.0.0.1:8080/r/pump-1/temperature', {
      method: 'POST',
      body: '{"mark":11}'
    });
    if (status !== 200) throw new Error(`the request got ${status}`);
    await nodeRed.shows(CLOUD, /mark/);
  },
  12: async ({ nodeRed }) => {
    // The example that reads from a broker needs one.
    const broker = startMosquitto(userDir, 'local', ['listener 1883 127.0.0.1']);
    try {
      await waitForPort(1883);
      const client = await device({ clientId: 'press' });
      const text = () => nodeRed.shown.some(({ msg }) => /mark/.test(msg));
      await eventually(
        async () => {
          await client.publishAsync('machines/press-4/pressure', '{"mark":12}', { qos: 1 });
          return text();
        },
        { timeoutMs: 30000, everyMs: 500, what: "the broker's messages arrive in the cloud" }
      );
    } finally {
      await broker.stop();
    }
  },
  13: async ({ nodeRed, idOf }) => {
    // Without an adapter it reports that, and continues.
    const id = idOf('seganet-ble-devices');
    const status = await eventually(() => nodeRed.statuses.get(id)?.text, {
      timeoutMs: 30000,
      what: 'a status'
    });
    if (/wrong setting|engine/.test(status)) throw new Error(`the status is "${status}"`);
  },
  14: async ({ nodeRed, idOf }) => {
    const server = coap.createServer((/** @type {any} */ request, /** @type {any} */ response) => {
      if (request.headers.Observe === 0) return response.write(`{"mark":"${request.url}"}`);
      response.end(`{"mark":"${request.url}"}`);
    });
    await new Promise((resolve) => server.listen(5683, '127.0.0.1', () => resolve(undefined)));
    try {
      await nodeRed.shows(CLOUD, /temperature/, 40000);
      await nodeRed.inject(idOf('inject'));
      await nodeRed.shows(CLOUD, /humidity/);
    } finally {
      server.close();
    }
  },
  15: async ({ nodeRed, idOf }) => {
    const client = await publish('t/x', '{"mark":15}');
    await nodeRed.shows(CLOUD, /mark/);
    /** @type {string[]} */
    const got = [];
    client.on('message', (topic) => got.push(topic));
    await client.subscribeAsync('cmd/pump-7/#', { qos: 1 });
    await nodeRed.inject(idOf('inject'));
    await eventually(() => got.includes('cmd/pump-7/valve'), { what: 'the device gets its command' });
    await nodeRed.shows('result', /./);
  },
  16: async ({ nodeRed }) => {
    await publish('d/pump-1/t', '{"mark":16}', { username: 'pump-1', password: 'secret-1' });
    await nodeRed.shows(CLOUD, /mark/);
  },
  17: async ({ nodeRed }) => {
    const client = await publish('t/x', '{"temp":20,"mark":"first"}');
    await nodeRed.shows(CLOUD, /first/);
    // The second value is the same, so only the alarm after it arrives.
    await client.publishAsync('t/x', '{"temp":20.5,"mark":"same"}', { qos: 1 });
    await client.publishAsync('t/x', '{"temp":91,"mark":"alarm"}', { qos: 1 });
    await client.publishAsync('t/x', '{"temp":21,"mark":"last"}', { qos: 1 });
    await nodeRed.shows(CLOUD, /alarm/);
    await nodeRed.shows(CLOUD, /last/);
    if (nodeRed.shown.some(({ msg }) => /same/.test(msg))) throw new Error('a filtered record arrived');
  },
  18: async ({ nodeRed }) => {
    const client = await publish('t/x', '{"temp":20,"pressure":1013,"mark":"calm"}');
    await client.publishAsync('t/x', '{"temp":91,"mark":"alarm"}', { qos: 1 });
    await client.publishAsync('t/x', '{"mark":"other"}', { qos: 1 });
    await nodeRed.shows(CLOUD, /alarm/);
    await nodeRed.shows(CLOUD, /other/);
    await nodeRed.shows(CLOUD, /pressure.*mean.*1013/, 20000);
    if (nodeRed.shown.some(({ msg }) => /calm/.test(msg))) throw new Error('a record of a window arrived');
  },
  19: async ({ nodeRed, idOf }) => {
    // Without a broker it reports that, and continues.
    const status = () => nodeRed.statuses.get(idOf('seganet-kafka-uplink'))?.text;
    await eventually(() => /nothing listens there/.test(status() ?? ''), {
      timeoutMs: 60000,
      what: 'the reason'
    });
    if (!process.env.SEGANET_KAFKA) return;
    const lines = ['auto.create.topics.enable=true', 'num.partitions=2'];
    const broker = await new KafkaBroker({ port: 9092, lines }).start();
    try {
      await nodeRed.inject(idOf('inject', 'alarm'));
      await nodeRed.inject(idOf('inject', 'temperature'));
      await nodeRed.shows('arrived in Kafka', /fire/, 90000);
      await nodeRed.shows('arrived in Kafka', /room-1/, 60000);
    } finally {
      await broker.stop();
    }
  },
  20: async ({ nodeRed, flow }) => {
    // The step of its comment: the node is red until the file exists, and reports it.
    const key = '0123456789abcdef0123456789abcdef';
    fs.writeFileSync(path.join(userDir, 'seganet-keys'), `pump-1:${key}\n`, { mode: 0o600 });
    await nodeRed.deploy(flow);
    await eventually(
      async () => {
        const pump = new DtlsDevice(5684, ['-cipher', 'PSK', '-psk_identity', 'pump-1', '-psk', key]);
        const code = await pump.post('r/pump-1/temperature', '{"mark":20}');
        await pump.close();
        return code === '2.04';
      },
      { timeoutMs: 20000, everyMs: 200, what: 'the DTLS device gets 2.04' }
    );
    await nodeRed.shows(CLOUD, /mark/);
  },
  21: async ({ nodeRed }) => {
    const client = await ocfDevice('a21e000000000000');
    try {
      await client.request('PUT', '/oic/ps/room');
      const { code: answer } = await client.request('POST', '/oic/ps/room', { body: { mark: 20 } });
      if (answer !== '2.04') throw new Error(`the post got ${answer}`);
    } finally {
      client.destroy();
    }
    await nodeRed.shows(CLOUD, /ps\/room/);
  },
  22: async ({ nodeRed, flow, idOf }) => {
    const di = randomUUID();
    const inject = idOf('inject');
    flow.find(({ id }) => id === inject).props.find(({ p }) => p === 'deviceId').v = di;
    await nodeRed.deploy(flow);
    const lamp = asLamp(await ocfDevice('a22e000000000000', di));
    try {
      await lamp.publish([LIGHT]);
      await nodeRed.inject(inject);
      await nodeRed.shows('answers', /on/);
    } finally {
      lamp.destroy();
    }
  },
  23: async ({ nodeRed, flow, idOf }) => {
    // The steps of its comment.
    await waitForPort(5683, '127.0.0.1', 30000);
    const di = randomUUID();
    const token = accounts('a23e000000000000', 'token', 'alice');
    const text = JSON.stringify(flow).replaceAll('Bearer TOKEN"', `Bearer ${token}"`);
    await nodeRed.deploy(JSON.parse(text.replaceAll('/hc/DEVICE/light/1"', `/hc/${di}/light/1"`)));
    await waitForPort(8086, '127.0.0.1', 30000);
    const lamp = asLamp(await ocfDevice('a23e000000000000', di));
    try {
      await nodeRed.inject(idOf('inject', 'now'));
      await nodeRed.shows('answer', /on/);
    } finally {
      lamp.destroy();
    }
  },
  24: async ({ nodeRed, flow, idOf }) => {
    // The steps of its comment.
    const authority = new Authority();
    try {
      const { certFile, keyFile } = authority.issue({ san: 'IP:127.0.0.1' });
      fs.copyFileSync(authority.caFile, path.join(userDir, 'region-ca.pem'));
      fs.copyFileSync(certFile, path.join(userDir, 'region.pem'));
      fs.copyFileSync(keyFile, path.join(userDir, 'region.key'));
    } finally {
      authority.remove();
    }
    await nodeRed.deploy(flow);
    const lamp = asLamp(await ocfDevice('a24e000000000000'));
    try {
      // Without a broker it reports that, and serves its own devices.
      await waitForPort(5685, '127.0.0.1', 30000);
      const status = () => nodeRed.statuses.get(idOf('seganet-ocf-cloud'))?.text;
      await eventually(() => /regions: presence/.test(status() ?? ''), {
        timeoutMs: 60000,
        what: 'the reason'
      });
      await lamp.publish([LIGHT]);
      const { code: answer } = await lamp.request('GET', lamp.href);
      if (answer !== '2.05') throw new Error(`the request got ${answer}`);
    } finally {
      lamp.destroy();
    }
  },
  25: (context) => runTenants(context, PLACES),
  26: async ({ nodeRed, flow, idOf }) => {
    const text = JSON.stringify(flow).replaceAll('127.0.0.1:1880', nodeRed.address);
    await nodeRed.deploy(JSON.parse(text));
    await publish('d/pump-7', '{"temp":26.5}');
    await nodeRed.shows('on disk', /26.5/);
    await nodeRed.inject(idOf('inject', 'ask'));
    await nodeRed.shows('latest values', /pump-7.*temp.*26.5/s);
  },
  27: (context) => runDirectory(context, publish),
  29: (context) => examples['07'](context),
  28: (context) => runOverlay(context, publish),
  // test/system/cluster runs its flow, which is the preset's, with three brokers. Without them it gives the reason.
  30: async ({ nodeRed, idOf }) => {
    for (const type of ['seganet-kafka-uplink', 'seganet-kafka-source']) {
      await eventually(() => /nothing listens there/.test(nodeRed.statuses.get(idOf(type))?.text ?? ''), {
        timeoutMs: 60000,
        what: `the reason at ${type}`
      });
    }
  },
  31: (context) => runDemand(context, publish),
  32: (context) => runForecast(context, CLOUD),
  33: (context) => runShadow(context, publish),
  34: (context) => runParquet(context, userDir)
};

/** @param {NodeRed} nodeRed @param {string} name @returns {Promise<string>} the error, '' when it ran */
async function runOne(nodeRed, name) {
  const flow = JSON.parse(fs.readFileSync(path.join(folder, name), 'utf8'));
  const idOf = (/** @type {string} */ type, /** @type {string | undefined} */ wanted) => {
    const found = flow.find(
      (/** @type {any} */ each) => each.type === type && (!wanted || each.name === wanted)
    );
    if (!found) throw new Error(`the example has no ${type} node ${wanted ?? ''}`);
    return found.id;
  };
  const run = examples[name.slice(0, 2)];
  if (!run) return 'the test does not know it: add it';
  try {
    await nodeRed.deploy(flow);
    await run({ nodeRed, flow, idOf });
    const red = () =>
      [...nodeRed.statuses].filter(([, { text = '' }]) => /wrong setting|no engine|not loaded/.test(text));
    await eventually(() => red().length === 0, { what: 'no red node' }).catch(() => {});
    return red().length > 0 ? `red nodes: ${JSON.stringify(red())}` : '';
  } catch (error) {
    return String(/** @type {Error} */ (error).message);
  } finally {
    for (const client of devices.splice(0)) client.end(true);
  }
}

async function main() {
  // A namespace begins with its loopback down.
  execFileSync('ip', ['link', 'set', 'lo', 'up']);
  const only = process.env.EXAMPLES_ONLY?.split(',');
  const nodeRed = await NodeRed.start(userDir, {
    env: { SEGANET_TENANTS: PLACES.file, SEGANET_TENANTS_SOCKET: PLACES.socket }
  });
  for (const name of fs.readdirSync(folder).sort()) {
    if (!name.endsWith('.json') || (only && !only.includes(name.slice(0, 2)))) continue;
    console.log(JSON.stringify({ example: name, error: await runOne(nodeRed, name) }));
  }
  console.log(
    JSON.stringify({ example: 'no route', error: await withoutRoute(nodeRed).then(() => '', String) })
  );
  const { code } = await nodeRed.stop();
  console.log(
    JSON.stringify({ example: 'the end of Node-RED', error: code === 0 ? '' : `exit code ${code}` })
  );
  process.exit(0);
}

main().catch((error) => {
  console.log(JSON.stringify({ example: 'the start of Node-RED', error: String(error.stack) }));
  process.exit(1);
});
