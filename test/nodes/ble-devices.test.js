'use strict';
// The ble devices node between a fake radio and the engine.

const { EventEmitter } = require('node:events');

/** @type {any[]} */
const mockRadios = [];
jest.mock('../../nodes/lib/sources/ble/ble-process', () => ({
  BleProcess: class extends require('node:events').EventEmitter {
    constructor(settings) {
      super();
      Object.assign(this, { settings, state: 'starting', view: { connected: 0, seen: 0, valuesDropped: 0 } });
      this.stop = jest.fn(async () => {});
      this.write = jest.fn(async () => 'taken');
      mockRadios.push(this);
    }
  }
}));

const { carryCommands } = require('../../nodes/lib/sources/ble/ble-commands');
const ble = require('../../nodes/seganet-ble-devices');
const gateway = require('./support/gateway');
const { helper, tab, engine, broker, node, unload, until, errors, shown, engines } = gateway;

beforeAll(() => helper.startServer());
afterEach(() => unload());
afterAll(() => helper.stopServer());

const flow = (properties = {}, ...more) => [
  tab,
  engine,
  broker,
  node('ble', 'seganet-ble-devices', properties, 'cloud'),
  node('cloud', 'uplink', { broker: 'broker' }),
  ...more
];
async function load(...args) {
  mockRadios.length = 0;
  await gateway.load(flow(...args), {}, [ble]);
}
const record = (seq) => ({ deviceId: 'aa', topic: 'ble/aa/x', payload: Buffer.from(String(seq)), ts: seq });
/** Statuses are shown once a second. */
const tick = () => helper.getNode('engine').host.upkeep.tick();
const warnings = () => {
  const spy = helper.log();
  return spy.args
    .map(([entry]) => entry)
    .flatMap(({ level, msg }) => (level === spy.WARN ? [String(msg)] : []));
};

test('enters records into its own stage in order, with its class, and returns their credit', async () => {
  await load({ class: '2' });
  const [radio] = mockRadios;
  const taken = jest.fn();
  for (let seq = 1; seq <= 3; seq++) radio.emit('record', record(seq), taken);
  expect(engines[0].plan.stages.find(({ kind }) => kind === 'source')).toMatchObject({ protocol: 'pushed' });
  const pushes = engines[0].pushes.map(({ payload, cls, ts, deviceId }) => [payload, cls, ts, deviceId]);
  expect(pushes).toEqual([
    ['1', 2, 1, 'aa'],
    ['2', 2, 2, 'aa'],
    ['3', 2, 3, 'aa']
  ]);
  expect(taken).toHaveBeenCalledTimes(3);
});

test('queues records without room in the engine, and gives them no credit', async () => {
  await load();
  const [radio] = mockRadios;
  engines[0].full = 1;
  const taken = jest.fn();
  radio.emit('record', record(1), taken);
  expect(taken).not.toHaveBeenCalled();
  engines[0].doorbell();
  await until(() => taken.mock.calls.length === 1);
  expect(engines[0].pushes).toHaveLength(1);
});

test('warns of a record that is too large, once a minute', async () => {
  await load();
  const [radio] = mockRadios;
  const taken = jest.fn();
  const large = { ...record(1), payload: Buffer.alloc(1 << 20) };
  for (let i = 0; i < 3; i++) radio.emit('record', large, taken);
  expect(taken).toHaveBeenCalledTimes(3);
  expect(warnings().filter((text) => text.includes('A record of aa was not accepted'))).toHaveLength(1);
});

test.each([
  ['missing', 'red', 'noble is not installed', /npm install @stoprocent\/noble/],
  ['unauthorized', 'red', 'no permission for Bluetooth', /setcap cap_net_raw/],
  ['unsupported', 'red', 'no Bluetooth adapter', /rfkill/],
  ['poweredOff', 'red', 'Bluetooth is off', /bluetoothctl power on/],
  ['died', 'red', 'Bluetooth process ended', /restarts\. \(because\)/]
])('shows on the canvas and in a sentence that the adapter is %s', async (state, fill, text, sentence) => {
  await load();
  const [radio] = mockRadios;
  radio.state = state;
  radio.emit('state', { state, reason: 'because' });
  radio.emit('state', { state, reason: 'because' });
  expect(warnings().filter((each) => sentence.test(each))).toHaveLength(1);
  tick();
  await until(() => shown('ble')?.text === text);
  expect(shown('ble').fill).toBe(fill);
});

test('shows connected and received devices, and dropped values', async () => {
  await load();
  const [radio] = mockRadios;
  radio.state = 'poweredOn';
  radio.view = { connected: 2, seen: 12345, valuesDropped: 0 };
  tick();
  await until(() => shown('ble')?.text === '2 connected · 12.3 k heard');
  radio.view = { ...radio.view, valuesDropped: 3 };
  await until(() => shown('ble')?.text === '3 values dropped');
  expect(shown('ble').fill).toBe('yellow');
});

test('starts no radio with a wrong setting', async () => {
  await load({ adapter: 'eth0' });
  expect(mockRadios).toEqual([]);
  expect(errors()).toEqual([['ble', expect.stringMatching(/"adapter" must be hci0/)]]);
});

test('allows one node per adapter, which is free again after a deploy', async () => {
  await load({}, node('second', 'seganet-ble-devices', { adapter: 'hci0' }, 'cloud'));
  expect(mockRadios).toHaveLength(1);
  expect(errors()).toEqual([['second', expect.stringMatching(/Another ble devices node uses this adapter/)]]);
  const [before] = mockRadios;
  await unload();
  expect(before.stop).toHaveBeenCalled();
  await load();
  expect(mockRadios).toHaveLength(1);
  expect(errors()).toEqual([]);
});

test('sends commands to devices while they are connected', async () => {
  const carried = new Map();
  const commands = { carry: (device, fn) => (carried.set(device, fn), () => carried.delete(device)) };
  const radio = Object.assign(new EventEmitter(), { write: jest.fn(async () => 'taken') });
  carryCommands({ commands }, radio);
  radio.emit('linked', 'aa', true);
  expect(await carried.get('aa')({ rest: '180d/2a39', payload: Buffer.from([1]) })).toBe('taken');
  expect(radio.write).toHaveBeenCalledWith('aa', '180d/2a39', Buffer.from([1]));
  radio.emit('linked', 'aa', false);
  expect([...carried]).toEqual([]);
  // An engine without commands.
  carryCommands({}, radio);
});

test('lets the radio write a command of the engine, and holds it while the device is away', async () => {
  await load();
  const [radio] = mockRadios;
  const { commands } = helper.getNode('engine').host;
  const statuses = [];
  const topic = 'cmd/aa/180d/2a39';
  const command = { device: 'aa', topic, payload: Buffer.from([1]), qos: 1 };
  commands.send(command, (status) => statuses.push(status));
  expect(radio.write).not.toHaveBeenCalled();
  radio.emit('linked', 'aa', true);
  await until(() => statuses.at(-1) === 'taken');
  expect(radio.write.mock.calls).toEqual([['aa', '180d/2a39', Buffer.from([1])]]);
});
