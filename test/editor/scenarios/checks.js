'use strict';

// What the comment of each scenario claims. `before` runs with the simulated cloud of the import, `after` with a real
// broker in its place.

const coap = require('coap');
const { eventually, waitForPort } = require('../../../bench/harness/net');

/** @typedef {import('./world').World} World */
/** @typedef {import('../../fixtures/devices/ble-bench').BleBench} BleBench */
/** @typedef {{ before: (world: World) => Promise<unknown>, after: (world: World, bench?: BleBench) => Promise<unknown> }} Check */

const CLOUD = 'arrived in the cloud';

/** @param {boolean} holds @param {string} what */
function expectThat(holds, what) {
  if (!holds) throw new Error(what);
}

/** Posts a record over CoAP. @param {string} pathname @param {object} value @returns {Promise<string>} the code */
function post(pathname, value) {
  return new Promise((resolve) => {
    const request = coap.request({ host: '127.0.0.1', port: 5683, pathname, method: 'POST' });
    request.on('response', ({ code }) => resolve(code));
    request.on('error', (error) => resolve(error.message));
    request.end(JSON.stringify(value));
  });
}

/** Observes the commands of a device over CoAP. @param {string} device */
function observe(device) {
  /** @type {string[]} */
  const got = [];
  const request = coap.request({ host: '127.0.0.1', port: 5683, pathname: `/cmd/${device}`, observe: true });
  request.on('error', () => {});
  request.on('response', (/** @type {any} */ response) => {
    response.on('data', (/** @type {Buffer} */ data) => data.length > 0 && got.push(String(data)));
    response.on('error', () => {});
  });
  request.end();
  return got;
}

/** @type {Record<string, Check>} */
const checks = {
  Farm: {
    before: async (world) => {
      await world.press('bed 3 is dry');
      await world.nodeRed.shows(CLOUD, /soil-3/);
    },
    after: async (world) => {
      const [cloud] = await world.realCloud();
      await eventually(async () => (await post('/r/soil-1/soil', { moisture: 40 })) === '2.04', {
        timeoutMs: 20000,
        what: 'a sensor gets 2.04'
      });
      for (const moisture of [40.5, 42, 9]) {
        expectThat((await post('/r/soil-1/soil', { moisture })) === '2.04', 'each reading gets 2.04');
      }
      await cloud.record(({ p }) => p.moisture === 42, 'a reading that has changed');
      const dry = await cloud.record(({ p }) => p.moisture === 9, 'a very dry bed');
      expectThat(dry.c === 1, 'a very dry bed is class 1');
      expectThat(!cloud.records.some(({ p }) => p.moisture === 40.5), 'a change of 0.5 stays here');
      const refused = await post('/r/valve-1/x', { by: 'another' });
      expectThat(refused === '2.04', 'a valve may post, too');
      expectThat((await post('/r/stranger/x', {})) === '4.03', 'an unknown kind of device gets 4.03');

      const got = observe('valve-1');
      await eventually(() => got.includes('{"minutes":10}'), {
        timeoutMs: 20000,
        what: 'the flow opens the valve'
      });
      cloud.client?.publish('cmd/farm-1/valve-1/open', '{"minutes":3}', { qos: 1 });
      await eventually(() => got.includes('{"minutes":3}'), {
        timeoutMs: 20000,
        what: 'the cloud opens the valve'
      });
      await cloud.arrives(
        ({ topic, payload }) => topic === 'cmd-report/farm-1/valve-1/open' && /"taken"/.test(String(payload)),
        'the report'
      );
    }
  },
  'Heart rate over BLE': {
    before: async (world) => {
      await world.press('190 per minute');
      await world.nodeRed.shows(CLOUD, /belt-1/);
    },
    after: async (world, bench) => {
      const [cloud] = await world.realCloud();
      if (!bench) return;
      await world.status('belts', /1 connected/, 30000);
      await bench.order('beats 45');
      const rate =
        (/** @type {number} */ heartRate) =>
        (/** @type {any} */ { p }) =>
          p?.heartRate === heartRate;
      const low = await cloud.record(rate(1), 'the first rate');
      expectThat(low.c === 1 && low.d === 'f0:f1:f2:f3:f4:f5', 'a rate below 40 is class 1, of the belt');
      const usual = await cloud.record(({ p }) => p?.heartRate >= 40, 'a usual rate');
      expectThat(usual.c === 3, 'a usual rate is class 3');
      expectThat(!cloud.records.some(rate(2)), 'a rate that differs by 1 stays here');
      await world.nodeRed.shows('belts', /heartRate/);
    }
  },
  'Room climate over BLE': {
    before: async (world) => {
      await world.press('31.5 °C');
      await world.nodeRed.shows(CLOUD, /room-2/);
    },
    after: async (world, bench) => {
      const [cloud] = await world.realCloud();
      if (!bench) return;
      await world.status('rooms and beacons', /1 connected/, 30000);
      await bench.order('climate 5');
      await cloud.record(({ p, t }) => /temperature$/.test(t) && 'temperatureC' in p, 'a temperature');
      await cloud.record(({ p }) => p?.humidityPercent === 45.67, 'the humidity');
      const beacon = await cloud.record(({ t }) => /advertisement$/.test(t), 'an advertisement');
      expectThat(beacon.c === 4, 'an advertisement is class 4');
    }
  },
  'Camera stills': {
    before: async (world) => {
      await world.press('a tiny GIF');
      await world.nodeRed.shows(CLOUD, /GIF89a/);
      await world.press('an alarm');
      await world.nodeRed.shows(CLOUD, /motion/);
    },
    after: cameras
  },
  'Modbus bridge': {
    before: async (world) => {
      await world.nodeRed.shows(CLOUD, /powerW.*energyWh.*voltageV.*230.4.*frequencyHz.*50.01/);
    },
    after: async (world) => {
      const [cloud] = await world.realCloud();
      const is = (/** @type {any} */ { d, p }) => d === 'meter-1' && p.powerW >= 1200 && p.voltageV === 230.4;
      await cloud.record(is, 'the meter');
      const first = cloud.records.length;
      await eventually(() => cloud.records.length > first, {
        timeoutMs: 25000,
        what: 'the next power arrives'
      });
      const powers = cloud.records.map(({ p }) => p.powerW);
      const isNew = powers.every((power, i) => i === 0 || power !== powers[i - 1]);
      expectThat(isNew, `a power that has not changed stays here: ${powers}`);
    }
  },
  'Outage drill': {
    before: (world) => world.nodeRed.shows(CLOUD, /number/),
    after: outage
  },
  'Two clouds': {
    before: async (world) => {
      const client = await world.device('pump-1');
      await client.publishAsync('pump/state', '{"level":9}', { qos: 1 });
      await world.nodeRed.shows('arrived in cloud A', /level/);
      await world.nodeRed.shows('arrived in cloud B', /level/);
    },
    after: twoClouds
  },
  'Cloud to device': {
    before: async (world) => {
      await world.status('cmd/lamp-1/#', /connected/);
      await world.press('lamp on');
      await world.status('the lamp', /^on$/, 30000);
      await world.nodeRed.shows(CLOUD, /"taken/);
      await world.nodeRed.shows(CLOUD, /lamp-1\/state/);
      await world.press('for modbus-1');
      await world.nodeRed.shows('command for modbus-…', /on/);
    },
    after: cloudToDevice
  }
};

/** @param {World} world */
async function cameras(world) {
  const [cloud] = await world.realCloud();
  await waitForPort(8080);
  const still = Buffer.alloc(1000000, () => Math.floor(Math.random() * 256));
  const camera = await world.device('cam-2');
  const ends = Array.from({ length: 6 }, async () => {
    const answer = await fetch('http://127.0.0.1:8080/r/cam-1/still', { method: 'POST', body: still });
    expectThat(answer.status === 200, `a picture got ${answer.status}`);
  });
  await camera.publishAsync('r/cam-2/still', still, { qos: 1 });
  await fetch('http://127.0.0.1:8080/r/cam-1/alarm', { method: 'POST', body: 'motion' });
  await Promise.all(ends);
  const isStill = (/** @type {{ topic: string }} */ { topic }) => /^site-1\/r\/cam-[12]\/still$/.test(topic);
  await eventually(() => cloud.arrivals.filter(isStill).length === 7, {
    timeoutMs: 30000,
    what: 'all pictures arrive'
  });
  const stills = cloud.arrivals.filter(isStill);
  expectThat(
    stills.every(({ payload }) => payload.equals(still)),
    'the pictures arrive byte for byte'
  );
  const place = cloud.arrivals.findIndex(({ topic }) => topic === 'site-1/r/cam-1/alarm');
  expectThat(
    place >= 0 && place < cloud.arrivals.length - 1,
    `the alarm arrives before the last picture, not as ${place}`
  );
  // The server may close the connection before the whole body is sent; fetch then has no status.
  const large = { method: 'POST', body: Buffer.alloc(4001 * 1024) };
  const status = await fetch('http://127.0.0.1:8080/r/cam-1/still', large).then(
    (answer) => answer.status,
    () => 'closed'
  );
  expectThat(
    [413, 'closed'].includes(status),
    `a picture over 4,000 KiB is refused, not answered by ${status}`
  );
}

/** @param {World} world */
async function outage(world) {
  const [cloud] = await world.realCloud();
  const numbers = () =>
    cloud.records
      .concat(singles())
      .map(({ p }) => p.number)
      .filter(Boolean);
  const singles = () =>
    cloud.arrivals
      .filter(({ topic }) => topic === 'drill/number')
      .map(({ topic, payload, properties }) => ({
        topic,
        p: JSON.parse(String(payload)),
        history: properties?.userProperties?.['seganet-history'] === '1'
      }));
  await eventually(() => numbers().length >= 2, { timeoutMs: 20000, what: 'numbers arrive' });
  await world.press('cut');
  await world.nodeRed.shows('what waits where', /[2-9] on disk/, 30000);
  await world.press('an alarm');
  await world.press('plug in');
  await cloud.arrives(({ topic }) => topic === 'drill/alarm', 'the alarm');
  await eventually(() => singles().some(({ history }) => history), {
    timeoutMs: 30000,
    what: 'the backlog arrives'
  });
  await world.nodeRed.shows('what waits where', /^connected · \d+ in memory · 0 on disk · 0 dropped/, 30000);

  await world.press('silence');
  const last = Math.max(...numbers());
  // The connection still looks healthy; only the missing answers end it.
  await world.status('what waits where', /^(?!connected)/, 30000);
  await world.press('plug in');
  await eventually(() => Math.max(...numbers()) > last + 5, {
    timeoutMs: 30000,
    what: 'numbers arrive again'
  });
  const highest = Math.max(...numbers());
  const lowest = Math.min(...numbers());
  const complete = () => {
    const seen = new Set(numbers());
    return Array.from({ length: highest - lowest + 1 }, (_none, i) => lowest + i).every((one) =>
      seen.has(one)
    );
  };
  await eventually(complete, { timeoutMs: 30000, what: `every number from ${lowest} to ${highest} arrives` });
}

/** @param {World} world */
async function twoClouds(world) {
  const [a, b, spare] = await world.realCloud(['1884 127.0.0.1'], ['1886 127.0.0.1'], ['1887 127.0.0.1']);
  const pump = await world.device('pump-1');
  await pump.publishAsync('pump/state', '{"level":3}', { qos: 1 });
  await pump.publishAsync('pump/state', '{"level":9}', { qos: 1 });
  await a.record(({ p }) => p.level === 3, 'a level in cloud A');
  await a.record(({ p, c }) => p.level === 9 && c === 1, 'an alarm in cloud A');
  const copy = await b.arrives(({ topic }) => topic === 'hub/pump-1/pump/state', 'an alarm in cloud B');
  expectThat(String(copy.payload) === '{"level":9}', 'cloud B gets only the alarm');
  // Cloud B is away: cloud A gets its copies all the same, and cloud B gets them later.
  await b.stop();
  await pump.publishAsync('pump/state', '{"level":10}', { qos: 1 });
  await a.record(({ p }) => p.level === 10, 'the next alarm in cloud A');
  const back = await world.cloud('1886 127.0.0.1');
  await back.arrives(
    ({ payload }) => String(payload) === '{"level":10}',
    'the alarm that waited for cloud B',
    30000
  );

  const meter = await world.device('meter-1', { port: 1888 });
  await meter.publishAsync('meter/kWh', '{"kWh":7}', { qos: 1 });
  await spare.record(({ p }) => p.kWh === 7, 'a total at the first address');
  await spare.stop();
  const other = await world.cloud('1887 ::1');
  await meter.publishAsync('meter/kWh', '{"kWh":8}', { qos: 1 });
  await other.record(({ p }) => p.kWh === 8, 'a total at the second address', 30000);
}

/** @param {World} world */
async function cloudToDevice(world) {
  const [cloud] = await world.realCloud();
  const send = (/** @type {string} */ device, /** @type {string} */ payload) =>
    cloud.client?.publish(`cmd/building-7/${device}/set`, payload, {
      qos: 1,
      properties: { responseTopic: `answers/${device}`, correlationData: Buffer.from('order-7') }
    });
  const report = (/** @type {string} */ device, /** @type {string} */ status) =>
    cloud.arrives(
      ({ topic, payload, properties }) =>
        topic === `answers/${device}` &&
        JSON.parse(String(payload)).status === status &&
        String(properties?.correlationData) === 'order-7',
      `the report "${status}" about ${device}`,
      30000
    );
  await world.status('cmd/lamp-1/#', /connected/);
  // The broker keeps commands only for a session that has subscribed.
  const subscribed = () => cloud.broker.output.includes('Sending SUBACK to building-7-cmd');
  await eventually(subscribed, { timeoutMs: 20000, what: 'the gateway has subscribed to commands' });
  send('lamp-1', '{"on":true}');
  await report('lamp-1', 'taken');
  await cloud.record(({ t, p }) => t === 'lamp-1/state' && p.on === true, "the lamp's answer");

  send('lamp-2', '{"on":true}');
  await report('lamp-2', 'queued');
  const lamp = await world.device('lamp-2');
  /** @type {string[]} */
  const got = [];
  lamp.on('message', (topic, payload) => got.push(`${topic} ${payload}`));
  await lamp.subscribeAsync('cmd/lamp-2/#', { qos: 1 });
  await report('lamp-2', 'taken');
  expectThat(got.join() === 'cmd/lamp-2/set {"on":true}', `lamp-2 got ${got}`);
}

module.exports = { checks };
