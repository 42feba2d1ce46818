'use strict';
// Deploys that break a node on the records' path, or give it another broker, while devices publish: acknowledged
// records arrive once the flow is repaired.

const mqtt = require('mqtt');
const { startCloud } = require('../../bench/harness/cloud');
const { startFlow } = require('../fixtures/gateway/deployed');
const { receive } = require('../fixtures/devices/device');
const { freePort, eventually } = require('../../bench/harness/net');
const { needs } = require('../../bench/harness/tools');

const { describe } = needs('mosquitto');

jest.setTimeout(120000);

const PATIENCE = { timeoutMs: 40000 };

/** @type {import('../../bench/harness/cloud').Cloud} */
let cloud;
/** @type {import('../fixtures/devices/device').Receiver} */
let receiver;
/** @type {Awaited<ReturnType<typeof startFlow>>} */
let gateway;
let port = 0;
/** @type {Publisher[]} */
const publishers = [];

/** @param {Record<string, string>} [engine] */
function flow(engine = {}) {
  const at = { z: 'tab', engine: 'e', x: 1, y: 1 };
  return [
    { id: 'tab', type: 'tab', label: 'test' },
    { id: 'e', type: 'seganet-engine', workers: '2', ...engine },
    { id: 'b', type: 'seganet-uplink-broker', name: 'cloud', url: `mqtt://127.0.0.1:${cloud.plainPort}` },
    { id: 'd', type: 'seganet-mqtt-devices', version: 2, host: '127.0.0.1', port: String(port), ...at, wires: [['p']] },
    { id: 'p', type: 'seganet-priority', name: 'rank', ...at, wires: [['ba']] },
    { id: 'ba', type: 'seganet-batch', mode: 'records', name: 'pack', ...at, wires: [['u']] },
    { id: 'u', type: 'seganet-uplink', broker: 'b', recordTopic: '{topic}', ...at, wires: [] }
  ]; // prettier-ignore
}

/** @param {string} id @param {object} changes @returns {(nodes: any[]) => any[]} */
const change = (id, changes) => (nodes) =>
  nodes.map((node) => (node.id === id ? { ...node, ...changes } : node));
/** @param {string} id @returns {(nodes: any[]) => any[]} */
const remove = (id) => (nodes) => nodes.filter((node) => node.id !== id);

/**
 * A device that publishes with QoS 1 all the time, and repeats messages without a PUBACK after each connection. mqtt.js
 * does that itself, except for messages that it got while it repeated others on a connection that closed: it reports an
 * error for them.
 */
class Publisher {
  /** @param {string} id */
  constructor(id) {
    this.sent = 0;
    this.closes = 0;
    /** @type {Set<string>} */
    this.acknowledged = new Set();
    this.client = mqtt.connect(`mqtt://127.0.0.1:${port}`, {
      clientId: id,
      protocolVersion: 4,
      clean: false,
      reconnectPeriod: 100
    });
    this.client.on('close', () => this.closes++);
    this.client.on('error', () => {});
    this.timer = setInterval(() => this.#publish(`${id}-${++this.sent}`), 5);
    publishers.push(this);
  }

  /** @param {string} payload */
  #publish(payload) {
    this.client.publish(`d/${payload.split('-')[0]}`, payload, { qos: 1 }, (error) => {
      if (!error) this.acknowledged.add(payload);
      else if (!this.client.disconnecting) setTimeout(() => this.#publish(payload), 50);
    });
  }

  /** Sends this many more, with an acknowledgement where `waits`. @param {number} count */
  async goesOn(count) {
    const { sent } = this;
    await eventually(() => this.sent >= sent + count, { ...PATIENCE, what: 'publishing' });
  }

  /** @param {number} count */
  async isAcknowledged(count) {
    const before = this.acknowledged.size;
    const what = `${count} acknowledgements`;
    await eventually(() => this.acknowledged.size >= before + count, { ...PATIENCE, what });
  }

  async stop() {
    clearInterval(this.timer);
    const what = () => `all acknowledged: ${this.acknowledged.size} of ${this.sent}`;
    await eventually(() => this.acknowledged.size === this.sent, { ...PATIENCE, what: what() });
    await this.client.endAsync(true);
  }
}

/** @param {Publisher} publisher @param {import('../fixtures/devices/device').Receiver[]} [receivers] */
function missing(publisher, receivers = [receiver]) {
  const arrived = new Set(
    receivers.flatMap(({ arrivals }) => arrivals.map(({ payload }) => String(payload)))
  );
  return [...publisher.acknowledged].filter((payload) => !arrived.has(payload));
}

/** @param {Publisher} publisher @param {import('../fixtures/devices/device').Receiver[]} [receivers] */
async function expectAllArrived(publisher, receivers) {
  await eventually(() => missing(publisher, receivers).length === 0, PATIENCE).catch(() => {});
  expect(missing(publisher, receivers)).toEqual([]);
}

async function drops() {
  const { drops: all } = await gateway.stats('e');
  const sums = Object.entries(all).map(([name, counts]) => [
    name,
    counts.reduce((/** @type {number} */ a, /** @type {number} */ b) => a + b, 0)
  ]);
  return Object.fromEntries(sums.filter(([, count]) => count > 0));
}

afterEach(async () => {
  for (const { client, timer } of publishers.splice(0)) {
    clearInterval(timer);
    await client.endAsync(true);
  }
});

describe('with the log', () => {
  beforeAll(async () => {
    cloud = await startCloud();
    port = await freePort();
    receiver = await receive(cloud, 'd/#');
    gateway = await startFlow(flow());
  });
  afterAll(async () => {
    await receiver?.close();
    if (gateway) expect(await gateway.stop()).toMatchObject({ code: 0 });
    await cloud?.close();
  });

  /** Breaks the flow under load, and repairs it. */
  async function breakAndRepair(
    /** @type {(nodes: any[]) => any[]} */ breaks,
    /** @type {(publisher: Publisher) => Promise<unknown>} */ whileBroken,
    /** @type {'nodes' | 'flows' | 'full'} */ type = 'nodes'
  ) {
    receiver.clear();
    const publisher = new Publisher(`dev${Math.random().toString(36).slice(2, 8)}`);
    await publisher.isAcknowledged(20);
    await gateway.deploy(breaks(flow()), type);
    await whileBroken(publisher);
    await gateway.deploy(flow(), type);
    await publisher.isAcknowledged(20);
    await publisher.stop();
    await expectAllArrived(publisher);
    // A full deploy starts with new counters.
    expect(await drops()).toEqual({});
  }

  test.each([
    [
      'the address of its broker is wrong',
      change('b', { url: 'mqtts:/broker.example.com' }),
      /address of the uplink broker must name a host/
    ],
    ['its broker is disabled', change('b', { d: true }), /No uplink broker is chosen, or it is disabled/],
    ['its broker is deleted', remove('b'), /No uplink broker is chosen, or it is disabled/],
    ['its topic is wrong', change('u', { topic: 'a/#' }), /topic/]
  ])('keeps records at an uplink node while %s', async (_why, breaks, sentence) => {
    const from = gateway.output.length;
    await breakAndRepair(breaks, async (publisher) => {
      await publisher.isAcknowledged(50);
      const { storedRecords } = await gateway.stats('e');
      expect(
        storedRecords.reduce((/** @type {number} */ a, /** @type {number} */ b) => a + b)
      ).toBeGreaterThan(0);
      expect(publisher.closes).toBe(0);
    });
    expect(gateway.output.slice(from)).toMatch(sentence);
  });

  test.each([
    [
      'a rule is wrong',
      change('p', { rulesJson: '[{"topic":"a/#/b","class":1}]' }),
      /"rank" in their path cannot take them/
    ],
    [
      'a value of the batch node is wrong',
      change('ba', { minDevices: '-3' }),
      /"pack" in their path cannot take them/
    ],
    [
      'the uplink node has no engine',
      change('u', { engine: '' }),
      /in their path cannot take them \(no engine/
    ],
    ['the uplink node is disabled', change('u', { d: true }), /nothing would take them/],
    ['the uplink node is deleted', remove('u'), /nothing would take them/],
    ['the batch node is deleted', remove('ba'), /nothing would take them/],
    ['the priority node is disabled', change('p', { d: true }), /nothing would take them/],
    ['the devices node is wired to nothing', change('d', { wires: [[]] }), /wired to nothing/]
  ])('turns devices away while %s', async (_why, breaks, sentence) => {
    const from = gateway.output.length;
    await breakAndRepair(breaks, async (publisher) => {
      await eventually(() => publisher.closes > 1, { ...PATIENCE, what: 'the device is turned away' });
      const before = publisher.acknowledged.size;
      await publisher.goesOn(20);
      expect(publisher.acknowledged.size).toBe(before);
    });
    expect(gateway.output.slice(from)).toMatch(sentence);
  });

  test.each(['full', 'flows'])(
    'loses nothing in a deploy of kind %s that breaks the broker',
    async (type) => {
      await breakAndRepair(
        change('b', { url: 'mqtts:/broker.example.com' }),
        (publisher) => publisher.isAcknowledged(50),
        /** @type {'full' | 'flows'} */ (type)
      );
    }
  );

  test('answers 503 with the reason to requests of http devices meanwhile', async () => {
    const web = await freePort();
    const at = { z: 'tab', engine: 'e', x: 1, y: 1, wires: [['p']] };
    const door = { id: 'h', type: 'seganet-http-devices', host: '127.0.0.1', port: String(web), ...at };
    const post = async () => {
      const url = `http://127.0.0.1:${web}/r/web1/t`;
      const answer = await fetch(url, { method: 'POST', body: '1', signal: AbortSignal.timeout(10000) });
      return { status: answer.status, text: await answer.text() };
    };
    await gateway.deploy([...flow(), door]);
    /** @param {number} status */
    const answers = (status) =>
      eventually(
        async () => {
          const answer = await post().catch(() => null);
          return answer?.status === status && answer;
        },
        { ...PATIENCE, what: `status ${status}` }
      );
    await answers(200);
    await gateway.deploy([...change('ba', { minDevices: '-3' })(flow()), door]);
    expect((await answers(503)).text).toMatch(/pack.* in their path/);
    await gateway.deploy([...flow(), door]);
    await answers(200);
    await gateway.deploy(flow());
  });

  test('passes messages while the flows cannot start because a node type is missing', async () => {
    receiver.clear();
    const code = {
      id: 'f',
      type: 'function',
      z: 'tab',
      func: 'return msg;',
      outputs: 1,
      x: 1,
      y: 1,
      wires: [['p']]
    };
    const byMessage = [...change('d', { wires: [['f']] })(flow()), code];
    await gateway.deploy(byMessage);
    const publisher = new Publisher('message');
    const arrivesNow = async () => {
      const before = receiver.arrivals.length;
      await eventually(() => receiver.arrivals.length > before + 20, PATIENCE);
    };
    await arrivesNow();
    const from = gateway.output.length;
    const unknown = { id: 'zz', type: 'not-installed', z: 'tab', x: 1, y: 1, wires: [] };
    await gateway.deploy([...byMessage, unknown]);
    await arrivesNow();
    expect(gateway.output.slice(from)).toMatch(/The flows did not start .* still run continue/);
    await gateway.deploy(byMessage);
    await arrivesNow();
    await publisher.stop();
    await gateway.deploy(flow());
  });

  test('leaves records of a deleted uplink node on disk, and the log reports it', async () => {
    receiver.clear();
    const publisher = new Publisher('backlog');
    // The broker is away: all records wait.
    await gateway.deploy(change('b', { url: 'mqtt://127.0.0.1:1' })(flow()));
    await publisher.isAcknowledged(100);
    const from = gateway.output.length;
    await gateway.deploy(remove('u')(change('b', { url: 'mqtt://127.0.0.1:1' })(flow())));
    await eventually(() => /records in the log belong to uplink nodes that are not in the flow.*: u \(\d+\)/.test(gateway.output.slice(from)), PATIENCE); // prettier-ignore
    await gateway.deploy(flow());
    await publisher.isAcknowledged(20);
    await publisher.stop();
    await expectAllArrived(publisher);
    expect(await drops()).toEqual({});
  });
});

describe.each([['safe'], ['received']])('with acknowledge = %s', (acknowledge) => {
  test('keeps the waiting records of an uplink node that gets another broker', async () => {
    cloud = await startCloud();
    const second = await startCloud();
    const other = await receive(second, 'd/#');
    receiver = await receive(cloud, 'd/#');
    port = await freePort();
    gateway = await startFlow(flow({ acknowledge }));
    try {
      const publisher = new Publisher('mover');
      await publisher.isAcknowledged(20);
      // From now on the first broker is silent: some records are in flight, others wait.
      const { pid = 0 } = cloud.child ?? {};
      process.kill(pid, 'SIGSTOP');
      await publisher.goesOn(100);
      await gateway.deploy(
        change('b', { url: `mqtt://127.0.0.1:${second.plainPort}` })(flow({ acknowledge }))
      );
      await publisher.goesOn(20);
      const more = { id: 'b2', type: 'seganet-uplink-broker', url: `mqtt://127.0.0.1:${second.plainPort}` };
      await gateway.deploy([...change('u', { broker: 'b2' })(flow({ acknowledge })), more]);
      await publisher.isAcknowledged(100);
      await publisher.stop();
      process.kill(pid, 'SIGCONT');
      await expectAllArrived(publisher, [receiver, other]);
      expect(await drops()).toEqual({});
    } finally {
      await other.close();
      await receiver.close();
      expect(await gateway.stop()).toMatchObject({ code: 0 });
      await second.close();
      await cloud.close();
    }
  });
});
