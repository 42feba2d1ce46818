'use strict';
// Acknowledge messages: delivered, with each kind of node that Node-RED has between a device and the uplink.

const coap = require('coap');
const flows = require('./support/delivery-flow');

const { DeliveryFlow, ended, func, helper, hooks, host, node, publish, turns, until } = flows;

/** @type {InstanceType<typeof DeliveryFlow>} */
let gateway;

beforeAll(() => helper.startServer());
beforeEach(async () => {
  gateway = new DeliveryFlow();
  await gateway.prepare();
});
afterEach(() => gateway.end());
afterAll(() => helper.stopServer());

const devices = (properties, ...wires) => gateway.source('mqtt-devices', properties, ...wires);

/** Publishes one record; it must wait until the cloud has it, and then be acknowledged. */
async function isHeldUntilSafe(count = 1) {
  gateway.cloud.isOpen = false;
  const result = publish(await gateway.device());
  await until(() => gateway.cloud.arrived.length === count, `${count} records in the cloud`);
  await turns();
  expect(result.outcome).toBe('waits');
  gateway.cloud.open();
  await ended(result);
  expect(result.outcome).toBe('acknowledged');
  expect(host().engine.stats().deferredRecords).toBe(0);
}

test('acknowledges a record when it has come back from a function node and is safe', async () => {
  await gateway.start(devices({}, 'f'), func('f', 'return msg;', 1, 'cloud'));
  await isHeldUntilSafe();
});

test('follows a function that returns a new object, and one that is asynchronous', async () => {
  const code = 'setTimeout(() => { node.send({ ...made }); node.done(); }, 20);';
  await gateway.start(
    devices({}, 'f'),
    func('f', 'return { payload: "new", deviceId: msg.deviceId, topic: "x" };', 1, 'g'),
    func('g', `const made = msg; ${code}`, 1, 'cloud')
  );
  await isHeldUntilSafe();
});

test('waits behind ingest, priority and batch nodes too', async () => {
  await gateway.start(
    devices({}, 'f'),
    func('f', 'return msg;', 1, 'in'),
    node('in', 'ingest', {}, 'rank'),
    node('rank', 'priority', { rules: [] }, 'g'),
    func('g', 'return msg;', 1, 'pack'),
    node('pack', 'batch', { mode: 'off', minDevices: '0', maxBytes: '100', maxDelayMs: '10' }, 'cloud')
  );
  await isHeldUntilSafe();
});

test('takes a tap that samples, beside the uplink, for no error', async () => {
  await gateway.start(
    devices({}, 'f'),
    func('f', 'return msg;', 1, 'rank'),
    node('rank', 'priority', { rules: [] }, 'cloud', 'look'),
    node('look', 'tap', { everyN: '100', perSecond: '1' }, 'seen'),
    node('seen', 'helper', {})
  );
  await isHeldUntilSafe();
});

test('acknowledges a record that a function drops on purpose', async () => {
  await gateway.start(devices({}, 'f'), func('f', 'return null;', 1, 'cloud'));
  const result = publish(await gateway.device());
  await ended(result);
  expect(result.outcome).toBe('acknowledged');
  expect(gateway.cloud.arrived).toEqual([]);
});

describe('when a function throws', () => {
  const throws = func('f', 'throw new Error("no");', 1, 'cloud');

  test('sends 0x83 to an MQTT 5 device and keeps its connection', async () => {
    await gateway.start(devices({}, 'f'), throws);
    const client = await gateway.device();
    const result = publish(client);
    await ended(result);
    expect(result.outcome).toBe(0x83);
    expect(client.connected).toBe(true);
  });

  test('closes the connection of an MQTT 3.1.1 device', async () => {
    await gateway.start(devices({}, 'f'), throws);
    const result = publish(await gateway.device({ protocolVersion: 4 }));
    await ended(result);
    expect(result.outcome).toBe('closed');
  });

  test('acknowledges if a Catch node leads to the uplink', async () => {
    await gateway.start(
      devices({}, 'f'),
      throws,
      node('c', 'catch', { scope: null, uncaught: false }, 'cloud')
    );
    await isHeldUntilSafe();
  });

  test('refuses if a Catch node leads only to a log', async () => {
    const catcher = node('c', 'catch', { scope: null, uncaught: false }, 'l');
    await gateway.start(devices({}, 'f'), throws, catcher, func('l', 'return null;', 1));
    const result = publish(await gateway.device());
    await ended(result);
    expect(result.outcome).toBe(0x83);
  });

  test('acknowledges if another branch delivers', async () => {
    const fine = func('g', 'setTimeout(() => { node.send(msg); node.done(); }, 50);', 1, 'cloud');
    await gateway.start(devices({}, 'f', 'g'), throws, fine);
    await isHeldUntilSafe();
  });
});

test('acknowledges when one output of a switch delivers and the other ends', async () => {
  const rules = [{ t: 'gte', v: '0', vt: 'num' }, { t: 'else' }];
  await gateway.start(
    devices({}, 's', 'end'),
    node('s', 'switch', { property: 'payload', propertyType: 'msg', rules, checkall: 'true', outputs: 2, wires: [['cloud'], ['end']] }), // prettier-ignore
    func('end', 'return null;', 1)
  );
  await isHeldUntilSafe();
});

test('follows several messages of one function, and the parts of a split node', async () => {
  const split = node('s', 'split', { splt: ',', spltType: 'str', arraySplt: 1, arraySpltType: 'len', property: 'payload' }, 'cloud'); // prettier-ignore
  await gateway.start(
    devices({}, 'f'),
    func('f', 'msg.payload = "a,b"; return [[msg, { ...msg }]];', 1, 's'),
    split
  );
  await isHeldUntilSafe(4);
});

test('acknowledges all records of a join when the joined message is safe', async () => {
  const join = node('j', 'join', { mode: 'custom', build: 'array', property: 'payload', propertyType: 'msg', count: '3', joiner: '\\n', joinerType: 'str', timeout: '' }, 'cloud'); // prettier-ignore
  await gateway.start(devices({}, 'j'), join);
  gateway.cloud.isOpen = false;
  const results = [];
  for (const payload of ['1', '2', '3']) {
    results.push(publish(await gateway.device(), payload));
    await turns(20);
  }
  await until(() => gateway.cloud.arrived.length === 1);
  await turns();
  expect(results.map(({ outcome }) => outcome)).toEqual(['waits', 'waits', 'waits']);
  gateway.cloud.open();
  await until(() => results.every(({ outcome }) => outcome === 'acknowledged'));
});

test('follows delay, junction, link and link call nodes', async () => {
  await gateway.start(
    devices({}, 'wait'),
    node('wait', 'delay', { pauseType: 'delay', timeout: '0.05', timeoutUnits: 'seconds', rate: '1', nbRateUnits: '1', rateUnits: 'second', randomFirst: '1', randomLast: '5', randomUnits: 'seconds', drop: false, outputs: 1 }, 'junction'), // prettier-ignore
    node('junction', 'junction', {}, 'call'),
    node('call', 'link call', { links: ['sub'], linkType: 'static', timeout: '5' }, 'out'),
    node('sub', 'link in', { links: [] }, 'g'),
    func('g', 'return msg;', 1, 'back'),
    node('back', 'link out', { mode: 'return', links: [] }),
    node('out', 'link out', { mode: 'link', links: ['in'] }),
    node('in', 'link in', { links: ['out'] }, 'cloud')
  );
  await isHeldUntilSafe();
});

test('follows a subflow', async () => {
  const subflow = {
    id: 'sub',
    type: 'subflow',
    name: '',
    in: [{ x: 1, y: 1, wires: [{ id: 'inner' }] }],
    out: [{ x: 1, y: 1, wires: [{ id: 'inner', port: 0 }] }]
  };
  const inner = { ...func('inner', 'return msg;', 1), z: 'sub', wires: [[]] };
  const instance = { ...node('instance', 'subflow:sub', {}, 'cloud'), engine: undefined };
  await gateway.start(subflow, inner, devices({}, 'instance'), instance);
  await isHeldUntilSafe();
});

test('ends with the last node of a subflow without output', async () => {
  const subflow = { id: 'sub', type: 'subflow', name: '', in: [{ x: 1, y: 1, wires: [{ id: 'inner' }] }], out: [] }; // prettier-ignore
  const inner = { ...func('inner', 'return null;', 1), z: 'sub', wires: [[]] };
  await gateway.start(subflow, inner, devices({}, 'i'), node('i', 'subflow:sub', {}));
  const result = publish(await gateway.device());
  await ended(result);
  expect(result.outcome).toBe('acknowledged');
});

describe('when the time is over', () => {
  // A node in the manner of Node-RED 0.x, which has no done().
  const silent = node('old', 'helper', {});
  const swallow = () => helper.getNode('old').on('input', (_msg) => {});

  test('refuses', async () => {
    await gateway.start(devices({ deliveryTimeoutS: '1' }, 'old'), silent);
    swallow();
    const result = publish(await gateway.device());
    await turns(500);
    expect(result.outcome).toBe('waits');
    await turns(1800);
    expect(result.outcome).toBe(0x83);
    expect(host().deliveries.counters.timedOut).toBe(1);
  });

  test('acknowledges if the node is configured to', async () => {
    await gateway.start(devices({ deliveryTimeoutS: '1', onDeliveryTimeout: 'acknowledge' }, 'old'), silent);
    swallow();
    const result = publish(await gateway.device());
    await turns(2300);
    expect(result.outcome).toBe('acknowledged');
  });
});

describe('a deploy', () => {
  const wait = (seconds) =>
    node('wait', 'delay', { pauseType: 'delay', timeout: seconds, timeoutUnits: 'seconds', rate: '1', nbRateUnits: '1', rateUnits: 'second', randomFirst: '1', randomLast: '5', randomUnits: 'seconds', drop: false, outputs: 1 }, 'cloud'); // prettier-ignore
  const beside = node('beside', 'helper', {});

  test('closes the connection of a device whose record was in a node that is replaced', async () => {
    const nodes = [devices({}, 'wait'), wait('30')];
    await gateway.start(...nodes);
    const flow = gateway.flow(...nodes);
    const result = publish(await gateway.device());
    await until(() => host().deliveries.size === 1);
    const changed = flow.map((each) => (each.id === 'wait' ? wait('31') : each));
    await helper.setFlows(changed, 'nodes');
    await ended(result);
    expect(result.outcome).toBe('closed');
    expect(host().deliveries.counters).toMatchObject({ withheld: 1, delivered: 0 });
  });

  test('leaves a record alone whose nodes stay', async () => {
    const nodes = [devices({}, 'wait'), wait('1'), beside];
    await gateway.start(...nodes);
    const flow = gateway.flow(...nodes);
    const result = publish(await gateway.device());
    await until(() => host().deliveries.size === 1);
    await helper.setFlows([...flow, node('more', 'helper', {})], 'nodes');
    // A second in the delay node, and the time of the disk.
    for (let i = 0; i < 500 && result.outcome === 'waits'; i++) await turns(20);
    expect(result.outcome).toBe('acknowledged');
  });
});

describe('the other sources', () => {
  const fails = func(
    'f',
    'if (msg.payload.toString() === "no") throw new Error("no"); return msg;',
    1,
    'cloud'
  );
  test('http devices answers 200 when the flow has delivered, 503 when it failed', async () => {
    const { port } = gateway;
    await gateway.start(gateway.source('http-devices', {}, 'f'), fails);
    const post = (/** @type {string} */ body) =>
      fetch(`http://127.0.0.1:${port}/r/pump/t`, { method: 'POST', body }).then(({ status }) => status);
    let answer = await post('x').catch(() => 0);
    for (let i = 0; i < 100 && answer === 0; i++) {
      await turns(20);
      answer = await post('x').catch(() => 0);
    }
    expect([answer, await post('no')]).toEqual([200, 503]);
    gateway.cloud.isOpen = false;
    let status = 0;
    const waiting = post('y').then((/** @type {number} */ code) => (status = code));
    await until(() => gateway.cloud.arrived.includes('y'));
    await turns();
    expect(status).toBe(0);
    gateway.cloud.open();
    expect(await waiting).toBe(200);
  });

  test('coap devices answers 2.04 when the flow has delivered, 5.03 when it failed', async () => {
    await gateway.start(gateway.source('coap-devices', {}, 'f'), fails);
    const { port } = gateway;
    const post = (/** @type {string} */ body) =>
      new Promise((resolve) => {
        const request = coap.request({ host: '127.0.0.1', port, method: 'POST', pathname: '/r/pump/t' });
        request.on('response', ({ code }) => resolve(code));
        request.end(body);
      });
    expect(await post('no')).toBe('5.03');
    gateway.cloud.isOpen = false;
    let code = '';
    const waiting = post('y').then((/** @type {any} */ answer) => (code = answer));
    await until(() => gateway.cloud.arrived.includes('y'));
    await turns();
    expect(code).toBe('');
    gateway.cloud.open();
    expect(await waiting).toBe('2.04');
  });
});

test('has hooks in Node-RED only while a source needs them', async () => {
  const nodes = (how) => [devices({ acknowledgeMessages: how }, 'f'), func('f', 'return msg;', 1, 'cloud')];
  await gateway.start(...nodes('handedOver'));
  expect(hooks.has('preDeliver')).toBe(false);
  await helper.setFlows(gateway.flow(...nodes('delivered')), 'nodes');
  await until(() => hooks.has('preDeliver'));
  await helper.setFlows(gateway.flow(...nodes('handedOver')), 'nodes');
  await until(() => !hooks.has('preDeliver'));
});

describe('an envelope behind unbatch', () => {
  const envelope = `${JSON.stringify({ k: 'front/mdl3k2x1q/3/1', d: 'm-7', t: 'hall', ts: 5, s: 1, c: 3, p: 1 })}\n`;
  const unbatch = node('un', 'unbatch', { engine: undefined }, 'f');

  test('passes again if the flow has failed, and no more when it was delivered', async () => {
    const code =
      "const n = (flow.get('n') ?? 0) + 1; flow.set('n', n); if (n === 1) throw new Error('full'); return null;";
    await gateway.start(devices({}, 'un'), unbatch, func('f', code, 1, 'cloud'));
    const client = await gateway.device();
    const outcomes = [];
    for (let i = 0; i < 3; i++) {
      const result = publish(client, envelope);
      await ended(result);
      outcomes.push(result.outcome);
    }
    expect(outcomes).toEqual([0x83, 'acknowledged', 'acknowledged']);
    expect(helper.getNode('f').context().flow.get('n')).toBe(2);
  });

  test('a copy is acknowledged when the first one is', async () => {
    const code = 'flow.set("end", () => node.done());';
    await gateway.start(devices({}, 'un'), unbatch, func('f', code, 1, 'cloud'));
    const client = await gateway.device();
    const results = [publish(client, envelope), publish(client, envelope)];
    await until(() => helper.getNode('f').context().flow.get('end'));
    await turns();
    expect(results.map(({ outcome }) => outcome)).toEqual(['waits', 'waits']);
    helper.getNode('f').context().flow.get('end')();
    await Promise.all(results.map(ended));
    expect(results.map(({ outcome }) => outcome)).toEqual(['acknowledged', 'acknowledged']);
  });
});
