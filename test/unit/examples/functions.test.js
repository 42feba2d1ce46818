'use strict';
// Functions in examples/devices with input that no device of the documentation sends: hostile, cut off, too much.

const { EdgeNode } = require('../../fixtures/devices/market/edge-node');
const { functionsOf } = require('../../fixtures/devices/example-function');
const { bytes, metric, number } = require('../../fixtures/unbatch/sparkplug-bytes');
const { seeded } = require('../../fixtures/random');

describe('Sparkplug edge nodes', () => {
  /** @param {string} type @param {Buffer} payload @param {string} [device] @param {string} [client] */
  const message = (type, payload, device, client = 'edge-1') => ({
    ...{
      deviceId: client,
      topic: ['spBv1.0/plant', type, 'edge-1', device].filter(Boolean).join('/'),
      payload
    },
    ...{ priority: 3, qos: 0 }
  });
  const start = () => {
    const flow = functionsOf('Sparkplug edge nodes');
    const edge = new EdgeNode({ url: '' });
    /** @type {any[]} what the edge node publishes */
    const published = [];
    edge.client = /** @type {any} */ ({
      publishAsync: async (/** @type {string} */ topic, /** @type {Buffer} */ payload) =>
        void published.push({ ...message('', payload), topic })
    });
    const births = async () => {
      await edge.births();
      return published.splice(0).map((msg) => flow.run('metrics', msg));
    };
    const command = (/** @type {string} */ rest, /** @type {string} */ text, deviceId = 'edge-1.pump') =>
      flow.run('as DCMD or NCMD', { deviceId, payload: Buffer.from(text), command: { rest } });
    return { ...flow, births, command, edge, published };
  };

  test('asks once for the births of an edge node that it does not know, and takes named metrics at once', () => {
    const { run } = start();
    const named = Buffer.concat([metric(bytes(1, 'T'), number(4, 4), number(11, 7)), number(3, 9)]);
    const [record, rebirth] = run('metrics', message('DDATA', named, 'pump'));
    expect(record).toMatchObject({ deviceId: 'edge-1.pump', payload: { T: 7 } });
    expect(rebirth).toMatchObject({ deviceId: 'edge-1', topic: 'spBv1.0/plant/NCMD/edge-1', qos: 0 });
    expect(
      run('metrics', message('DDATA', Buffer.concat([metric(number(2, 1), number(10, 1))]), 'pump'))
    ).toEqual([null, null]);
  });

  test.each([
    ['a field that is cut off', Buffer.from([0x12, 9, 1])],
    ['an endless number', Buffer.alloc(16, 0xff)],
    ['a group', Buffer.from([0x0b])],
    ['a metric that is no message', bytes(2, Buffer.alloc(3, 0xff))]
  ])('passes a payload with %s unchanged, with the reason', (_why, payload) => {
    const { run, reports } = start();
    const msg = message('NDATA', payload);
    expect(run('metrics', msg)).toBe(msg);
    expect(reports).toEqual([expect.stringMatching(/is not Sparkplug B: it /)]);
  });

  test('survives 2,000 births with changed bytes, and reads the next birth', async () => {
    const { run, births, edge, published } = start();
    const { integer } = seeded(1);
    await edge.births();
    const good = published.splice(0);
    for (let i = 0; i < 2000; i++) {
      const { topic, payload, ...rest } = good[i % 2];
      const changed = Buffer.from(payload);
      changed[integer(changed.length)] = integer(256);
      run('metrics', { ...rest, topic, payload: changed });
    }
    const [, [record]] = await births();
    expect(record.payload).toMatchObject({ Temperature: 21.5, Total: -7000000000, online: true });
  });

  test('refuses more devices and metrics than its limit', async () => {
    const { run, births, reports } = start();
    await births();
    const many = Buffer.concat(
      Array.from({ length: 10000 }, (_none, i) => metric(bytes(1, `m${i}`), number(2, i + 1)))
    );
    const msg = message('DBIRTH', many, 'large');
    expect(run('metrics', msg)).toBe(msg);
    expect(reports).toEqual([expect.stringMatching(/more than 10000 devices and metrics/)]);
  });

  test('keeps the members of records that a metric could replace', async () => {
    const { run, births } = start();
    await births();
    const named = (/** @type {string} */ name) => metric(bytes(1, name), number(4, 4), number(11, 7));
    const [record] = run(
      'metrics',
      message('DDATA', Buffer.concat([named('__proto__'), named('T')]), 'pump')
    );
    expect(JSON.stringify(record.payload)).toBe('{"__proto__":7,"T":7}');
  });

  test.each([
    ['Motor/Setpoint', '1.5', /whole number from -2147483648 to 2147483647/],
    ['Motor/Setpoint', '2147483648', /whole number/],
    ['Temperature', '', /must be a number/],
    ['Running', '1', /true or false/],
    ['Speed', '1', /its birth has no metric "Speed"/]
  ])('refuses the command %s with "%s"', async (rest, text, why) => {
    const { births, command, reports } = start();
    await births();
    expect(command(rest, text)).toBe(undefined);
    expect(reports).toEqual([expect.stringMatching(why)]);
  });

  test('refuses a command after the death of the edge node', async () => {
    const { births, command, run, reports } = start();
    await births();
    expect(command('Cabinet', '1', 'edge-1')).toMatchObject({ topic: 'spBv1.0/plant/NCMD/edge-1' });
    run('metrics', message('NDEATH', Buffer.alloc(0)));
    expect(command('Cabinet', '1', 'edge-1')).toBe(undefined);
    expect(reports).toEqual([expect.stringMatching(/not connected, or its birth has not arrived/)]);
  });
});

describe('Home Assistant', () => {
  const record = (/** @type {string} */ deviceId, /** @type {unknown} */ payload, topic = 't') => ({
    ...{
      deviceId,
      topic,
      payload: Buffer.from(typeof payload === 'string' ? payload : JSON.stringify(payload))
    }
  });

  test('gives two devices different topics, whatever their ids are', () => {
    const { run } = functionsOf('Home Assistant');
    const ids = ['a/b', 'a-2fb', 'a#', 'ä', '+'];
    const topics = ids.map((id) => run('announce', record(id, 7))[0][0].topic);
    expect(new Set(topics).size).toBe(ids.length);
    for (const topic of topics) expect(topic).toMatch(/^homeassistant\/device\/[a-zA-Z0-9_-]+\/config$/);
  });

  test('announces a device once, and again when it has a new value', () => {
    const { run } = functionsOf('Home Assistant');
    const sent = (/** @type {unknown} */ payload) => run('announce', record('d', payload))[0].length;
    expect([{ t: 1 }, { t: 2 }, { t: 3, open: true }, { open: false }].map(sent)).toEqual([3, 1, 3, 1]);
  });

  test('keeps a value at its position, and its name out of templates', () => {
    const { run } = functionsOf('Home Assistant');
    const payload = JSON.parse('{"b":1,"0":2,"__proto__":3,"}}{{ x":4}');
    const [[{ payload: config }, , { payload: state }]] = run('announce', record('d', payload));
    const byName = Object.values(config.components).map(({ name, value_template: at }) => [name, at]);
    for (const [name, template] of byName) {
      const [, index] = /^\{\{ value_json\.values\[(\d+)\] \}\}$/.exec(template) ?? [];
      expect([name, state.values[Number(index)]]).toEqual([
        name,
        Object.entries(payload).find(([key]) => key === name)?.[1]
      ]);
    }
    expect(byName).toHaveLength(4);
  });

  test('leaves out values and devices beyond its limits', () => {
    const { run, reports } = functionsOf('Home Assistant');
    const many = Object.fromEntries(Array.from({ length: 100 }, (_none, i) => [`v${i}`, i]));
    const [messages] = run('announce', record('d', many));
    expect(Object.keys(messages[0].payload.components)).toHaveLength(64);
    for (let i = 0; i < 1001; i++) run('announce', record(`d${i}`, 1));
    expect(reports).toEqual(['Home Assistant gets the first 1000 devices, not d999.']);
  });

  test.each(['', 'text', 'null', '{"a":"x"}', `${'['.repeat(5000)}1${']'.repeat(5000)}`])(
    'announces nothing for %.20j',
    (payload) => expect(functionsOf('Home Assistant').run('announce', record('d', payload))).toBe(null)
  );

  test('takes commands only for devices that it has announced, and no retained ones', () => {
    const { run } = functionsOf('Home Assistant');
    run('announce', record('a/b', 1));
    const switched = (/** @type {string} */ id, retain = false) =>
      run('the device', { topic: `seganet/${id}/set/relay/0`, payload: 'ON', retain });
    expect(switched('a-2fb')).toEqual({ deviceId: 'a/b', topic: 'relay/0', payload: 'ON' });
    expect([switched('a-2fb', true), switched('other')]).toEqual([null, null]);
  });
});

describe('Modbus meters', () => {
  const METER = { id: 'inverter-1', unit: 1, map: 'sunspec' };

  test('gives up a chain of models that does not end, and one that leaves the registers', () => {
    const { run, reports } = functionsOf('Modbus meters');
    const first = { meter: METER, step: 'begin', base: 0, payload: [0x5375, 0x6e53, 9, 0] };
    let [request] = run('what to read', first);
    let steps = 0;
    for (; request?.step === 'walk'; steps++)
      [request] = run('what to read', { ...request, payload: [9, 0] });
    expect(steps).toBe(64);
    [request] = run('what to read', { ...first, payload: [0x5375, 0x6e53, 9, 65535] });
    expect(request).toBe(null);
    expect(reports).toHaveLength(2);
    for (const report of reports) expect(report).toMatch(/none of the SunSpec models/);
  });

  test('tries the three bases, and then tells that there is no SunSpec', () => {
    const { run, reports } = functionsOf('Modbus meters');
    let [request] = run('what to read', { meter: METER, step: 'begin', base: 0, payload: [0, 0, 0, 0] });
    expect(request.payload.address).toBe(50000);
    const exception = new Error('Modbus exception 2: Illegal data address');
    [request] = run('what to read', { ...request, payload: '', error: exception });
    expect(request.payload.address).toBe(0);
    expect(run('what to read', { ...request, payload: '', error: new Error('Timed out') })).toBe(null);
    expect(reports).toEqual([]);
    expect(run('what to read', { ...request, payload: [0, 0, 0, 0] })).toBe(null);
    expect(reports).toEqual([expect.stringMatching(/does not speak SunSpec/)]);
  });

  test.each([
    ['inverter-1', 'limit', '101', /0 to 100 percent/],
    ['inverter-1', 'limit', '', /0 to 100 percent/],
    ['inverter-1', 'off', '1', /only command is limit/],
    ['meter-1', 'limit', '50', /no SunSpec model 123/],
    ['unknown', 'limit', '50', /no SunSpec model 123/]
  ])('refuses the command of %s: %s with "%s"', (deviceId, rest, text, why) => {
    const { run, reports } = functionsOf('Modbus meters');
    expect(run('what to read', { deviceId, payload: Buffer.from(text), command: { rest } })).toBe(undefined);
    expect(reports).toEqual([expect.stringMatching(why)]);
  });
});

describe('OPC UA', () => {
  test('asks a server that does not answer once in 30 s', () => {
    const { run } = functionsOf('OPC UA');
    expect(run('variables', {})).toMatchObject({ topic: 'readmultiple' });
    expect(run('variables', {})).toBe(null);
  });

  test.each([
    ['setpointBar', 'x', /must be a number/],
    ['setpointBar', '', /must be a number/],
    ['pressureBar', '1', /not in the list/],
    ['__proto__', '1', /not in the list/]
  ])('refuses to write %s with "%s"', (rest, text, why) => {
    const { run, reports } = functionsOf('OPC UA');
    expect(run('as a value', { deviceId: 'press-1', payload: Buffer.from(text), command: { rest } })).toBe(
      undefined
    );
    expect(reports).toEqual([expect.stringMatching(why)]);
  });
});
