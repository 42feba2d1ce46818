'use strict';
// Sparkplug from devices over a gateway and a broker to an unbatch node, and to the host of Eclipse Tahu.

const mqtt = require('mqtt');
const { startCloud } = require('../../bench/harness/cloud');
const { startGateway } = require('../../bench/harness/gateway');
const { eventually } = require('../../bench/harness/net');
const { needs } = require('../../bench/harness/tools');
const { readPayload } = require('../../nodes/lib/base/sparkplug-payload');
const { SparkplugMessages } = require('../../nodes/lib/unbatch/sparkplug-messages');
const { connectDevice } = require('../fixtures/devices/device');
const { TahuHost, tahuTools } = require('../fixtures/devices/tahu');

const { test } = needs('mosquitto');
const tahu = needs('mosquitto', ...tahuTools());
jest.setTimeout(120000);

const BASE = 'spBv1.0/plant';

/** @type {(() => unknown)[]} */
const cleanups = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** @param {Record<string, string>} [more] */
async function start(more = {}) {
  const cloud = await startCloud();
  cleanups.push(() => cloud.close());
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${cloud.plainPort}`, { protocolVersion: 5 });
  cleanups.push(() => client.endAsync(true));
  /** @type {{ topic: string, payload: Buffer, qos: number, userProperties?: any }[]} */
  const messages = [];
  client.on('message', (topic, payload, { qos, properties }) =>
    messages.push({ topic, payload, qos, userProperties: properties?.userProperties })
  );
  await client.subscribeAsync('spBv1.0/#', { qos: 1 });
  const env = {
    SEGANET_BATCH_FORMAT: 'sparkplug',
    SEGANET_SPARKPLUG_GROUP: 'plant',
    SEGANET_SPARKPLUG_NODE: 'edge',
    SEGANET_SESSIONS: 'all',
    ...more
  };
  const gateway = await startGateway(cloud, { env });
  cleanups.push(() => gateway.stop());
  const types = () => messages.map(({ topic }) => topic.slice(BASE.length + 1));
  return { client, messages, gateway, types };
}

/** NCMD with Node Control/Rebirth = true. */
const REBIRTH = Buffer.concat([
  Buffer.from([0x12, 24, 0x0a, 20]),
  Buffer.from('Node Control/Rebirth'),
  Buffer.from([0x70, 1])
]);

test.each(['4', '5'])('records arrive as data of devices with MQTT version %s', async (version) => {
  const { client, messages, gateway, types } = await start({ SEGANET_UPLINK_PROTOCOL: version });
  await eventually(() => types().includes('NBIRTH/edge'), { what: 'the birth of the edge node' });
  const pump = await connectDevice(gateway, 'pump-1');
  cleanups.push(() => pump.endAsync(true));
  const sent = ['{"temp":21.37,"on":true}', '{"temp":22,"on":false}', 'not JSON', '"text"', '[1,{}]'];
  for (const payload of sent) await pump.publishAsync('hall/pump', payload, { qos: 1 });
  const lamp = await connectDevice(gateway, 'lamp/2');
  cleanups.push(() => lamp.endAsync(true));
  await lamp.publishAsync('lamp', '7', { qos: 1 });
  const read = () => {
    const unbatch = new SparkplugMessages();
    return messages
      .map((message) => unbatch.open(message))
      .flatMap((each) => (each && each !== 'consumed' ? [each] : []));
  };
  const records = () => read().flatMap(({ envelope }) => envelope?.records ?? []);
  await eventually(() => records().length >= 6, { what: 'the records' });
  const got = records().map(({ deviceId, topic, seq, payload }) => [deviceId, topic, seq, payload]);
  expect(got.filter(([device]) => device === 'pump-1').map(([, , , payload]) => payload)).toEqual([
    { temp: 21.37, on: true },
    { temp: 22, on: false },
    Buffer.from('not JSON'),
    'text',
    [1, {}]
  ]);
  expect(got.filter(([device]) => device === 'lamp/2')).toEqual([['lamp/2', 'lamp', expect.any(Number), 7]]);
  expect(read().every(({ key }) => key !== null)).toBe(true);
  const data = messages.filter(({ topic }) => topic.includes('/DDATA/'));
  expect(data.every(({ qos }) => qos === 1)).toBe(true);
  expect(messages.filter((each) => !data.includes(each)).every(({ qos }) => qos === 0)).toBe(true);
  const numbers = messages.map(({ payload }) => readPayload(payload).seq);
  expect(numbers).toEqual(numbers.map((_, i) => i));

  const before = messages.length;
  await client.publishAsync(`${BASE}/NCMD/edge`, REBIRTH, { qos: 0 });
  const births = () =>
    types()
      .slice(before)
      .filter((type) => !type.startsWith('NCMD'));
  await eventually(() => births().length >= 3, { what: 'all births' });
  expect(births()).toEqual(['NBIRTH/edge', 'DBIRTH/edge/lamp%2F2', 'DBIRTH/edge/pump-1']);
  const [birth] = messages.slice(before).filter(({ topic }) => topic.includes('NBIRTH'));
  const bdSeq = readPayload(birth.payload).metrics[0].value;

  await gateway.stop();
  await eventually(() => types().includes('NDEATH/edge'), { what: 'the death of the edge node' });
  const deaths = messages.filter(({ topic }) => topic.includes('NDEATH'));
  expect(deaths.map(({ payload }) => readPayload(payload).metrics[0].value)).toEqual([bdSeq]);
});

test('the broker publishes the death of a gateway that is killed, and the next birth has another bdSeq', async () => {
  const { messages, gateway, types } = await start({ SEGANET_SESSIONS: '1,2/3,4' });
  const births = ['NBIRTH/edge-1', 'NBIRTH/edge-2'];
  await eventually(() => births.every((each) => types().includes(each)), { what: 'two births' });
  const bdSeqs = () =>
    messages
      .filter(({ topic }) => topic.endsWith('/edge-1'))
      .map(({ topic, payload }) => [topic.split('/')[2], readPayload(payload).metrics[0].value]);
  await gateway.child.stop('SIGKILL', 5000);
  await eventually(() => types().includes('NDEATH/edge-1'), { what: 'the death' });
  const [[, first]] = bdSeqs();
  expect(bdSeqs()).toEqual([
    ['NBIRTH', first],
    ['NDEATH', first]
  ]);
});

tahu.test('the host of Eclipse Tahu reads births and data, and asks for births that it missed', async () => {
  const { client, messages, gateway, types } = await start();
  const pump = await connectDevice(gateway, 'pump-1');
  cleanups.push(() => pump.endAsync(true));
  const publish = (/** @type {string} */ payload) => pump.publishAsync('hall', payload, { qos: 1 });
  await publish('{"temp":21,"on":true,"name":"größe","inner":{"n":-7}}');
  await publish('{"temp":21.5,"on":false,"name":null,"inner":{"n":9007199254740993}}');
  await eventually(() => types().filter((type) => type.startsWith('DDATA')).length >= 1, { what: 'data' });
  const host = new TahuHost();
  cleanups.push(() => host.stop());
  let given = 0;
  /** Gives what arrived to the host, until it has reported what the test waits for. */
  const reports = async (/** @type {(all: any[]) => boolean} */ isDone, what = 'the reports of the host') => {
    /** @type {Awaited<ReturnType<TahuHost['take']>>} */
    const all = [];
    await eventually(
      async () => {
        const fresh = messages.slice(given);
        given = messages.length;
        if (fresh.length > 0) all.push(...(await host.take(fresh)));
        return isDone(all);
      },
      { what, timeoutMs: 60000 }
    );
    return all;
  };
  const values = (/** @type {any[]} */ all, /** @type {string} */ name) =>
    all.filter((each) => each.what === 'DATA' && each.name === name).map(({ value }) => value);
  const all = await reports((each) => values(each, 'hall/on').length >= 2);
  expect(all.filter(({ what }) => what === 'BORN').map(({ at }) => at)).toEqual(
    expect.arrayContaining(['plant/edge', 'plant/edge/pump-1'])
  );
  expect(all.filter(({ what }) => what === 'COMMAND')).toEqual([]);
  expect(values(all, 'hall/temp').map(Number)).toEqual([21, 21.5]);
  expect(values(all, 'hall/on')).toEqual(['true', 'false']);
  expect(values(all, 'hall/name')).toEqual(['größe', null]);
  expect(values(all, 'hall/inner/n')).toEqual(['-7', '9007199254740993']);

  // A new metric: the device is born again, and the host has nothing to complain about.
  await publish('{"temp":"warm","more":1}');
  const more = await reports((each) => values(each, 'hall/more').length >= 1);
  expect(values(more, 'hall/temp')).toEqual(['"warm"']);
  expect(more.filter(({ what }) => what === 'COMMAND')).toEqual([]);

  // A host that begins later asks for births.
  const late = new TahuHost();
  cleanups.push(() => late.stop());
  await publish('{"temp":"hot","more":2}');
  await eventually(() => types().filter((type) => type.startsWith('DDATA')).length >= 2, {
    what: 'more data'
  });
  await reports((each) => values(each, 'hall/more').length >= 1);
  const missed = messages.filter(({ topic }) => topic.includes('/DDATA/')).slice(-1);
  const [command] = (await late.take(missed)).filter(({ what }) => what === 'COMMAND');
  expect(command.at).toBe(`${BASE}/NCMD/edge`);
  const before = messages.length;
  await client.publishAsync(command.at, /** @type {Buffer} */ (command.payload));
  await eventually(() => types().slice(before).includes('DBIRTH/edge/pump-1'), { what: 'the births' });
  const births = await late.take(messages.slice(before));
  expect(births.filter(({ what }) => what === 'BORN').map(({ at }) => at)).toEqual([
    'plant/edge',
    'plant/edge/pump-1'
  ]);
});
