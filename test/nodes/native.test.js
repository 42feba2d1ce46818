'use strict';
// The nodes with the real engine. The uplink is read in this thread, so that the published data can be compared.

const { helper, tab, engine, broker, node, load, inbox, until, errors, parts } = require('./support/gateway');
const { replaceModules } = require('../../nodes/lib/engine/modules');
const { native, Puller, lines } = require('./support/puller');

beforeAll(() => helper.startServer());
beforeEach(() => lines.splice(0));
afterEach(async () => {
  await helper.unload();
  replaceModules();
});
afterAll(() => helper.stopServer());

const batching = { minDevices: '0', maxBytes: '65536', maxDelayMs: '60000' };
const rules = [{ topic: 'alarm/#', class: '1' }];
const path = (fastPath, middle) => [
  tab,
  { ...engine, fastPath, workers: '1', acknowledge: 'received' },
  broker,
  node('in', 'ingest', {}, 'rank'),
  node('rank', 'priority', { rules }, middle),
  node('middle', 'helper', {}, 'batch'),
  node('batch', 'batch', batching, 'cloud'),
  node('cloud', 'uplink', { broker: 'broker' })
];

/** Sends 200 records of four devices, every tenth an alarm; returns the records that reached the uplink. */
async function run(fastPath, middle) {
  const real = () => replaceModules({ native, uplink: { ...parts.uplink, UplinkThread: Puller } });
  await load(path(fastPath, middle), {}, [real]);
  const through = helper.getNode('middle');
  through.on('input', (msg) => through.send(msg));
  for (let i = 0; i < 200; i++) {
    const topic = i % 10 === 0 ? `alarm/${i}` : 'temp';
    helper.getNode('in').receive({ deviceId: `d${i % 4}`, topic, payload: { i } });
  }
  const { engine: running } = helper.getNode('engine').host;
  await until(() => {
    running.flush(0);
    return lines.length >= 200;
  }, '200 records at the uplink');
  expect(errors()).toEqual([]);
  return [...lines];
}

describe('with the native engine (needs npm run build)', () => {
  test('delivers the same records whichever way wires carry them', async () => {
    const order = (list) => [...list].sort((a, b) => a[4].i - b[4].i);
    const results = [];
    for (const [fastPath, middle] of [
      ['auto', 'batch'],
      ['off', 'batch'],
      ['auto', 'middle']
    ]) {
      lines.splice(0);
      results.push(order(await run(fastPath, middle)));
      await helper.unload();
    }
    expect(results[0]).toHaveLength(200);
    expect(results[1]).toEqual(results[0]);
    expect(results[2]).toEqual(results[0]);
    expect(results[0][10].slice(0, 3)).toEqual([1, 'd2', 'alarm/10']);
  });

  test('delivers the records of a device and class in order', async () => {
    for (const [fastPath, middle] of [
      ['auto', 'batch'],
      ['off', 'middle']
    ]) {
      lines.splice(0);
      const arrived = await run(fastPath, middle);
      for (const key of ['1 d0', '3 d0', '3 d1', '3 d2', '3 d3']) {
        const numbers = arrived
          .filter(([cls, device]) => `${cls} ${device}` === key)
          .map(([, , , seq]) => seq);
        expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
      }
      await helper.unload();
    }
  });

  test('sends each record to a debug node beside a native wire', async () => {
    const real = () => replaceModules({ native, uplink: { ...parts.uplink, UplinkThread: Puller } });
    const flow = path('auto', 'batch').map((item) =>
      item.id === 'rank' ? { ...item, wires: [['batch', 'middle']] } : item
    );
    const beside = flow.map((item) => (item.id === 'middle' ? { ...item, wires: [] } : item));
    await load(beside, {}, [real]);
    const seen = inbox('middle');
    for (let i = 0; i < 50; i++)
      helper.getNode('in').receive({ deviceId: 'd', topic: 'alarm/x', payload: String(i) });
    await until(() => seen.length === 50);
    expect(seen.map(({ payload, priority, seq }) => [String(payload), priority, seq])).toEqual(
      Array.from({ length: 50 }, (_, i) => [String(i), 1, i])
    );
  });

  test('classifies a message that comes before the first plan by the rules of the plan', async () => {
    const real = () => replaceModules({ native, uplink: { ...parts.uplink, UplinkThread: Puller } });
    const ended = [];
    const early = (i) => ({ deviceId: 'd', topic: i % 2 ? 'alarm/x' : 'temp', payload: { i } });
    // Node-RED delivers what a function node, which the deploy did not touch, sends to the new node.
    helper._events.prependOnceListener('flows:started', () => {
      const rank = helper.getNode('rank');
      rank._complete = (msg, error) => ended.push([msg.payload.i, error?.code]);
      for (let i = 0; i < 1003; i++) rank.receive(early(i));
    });
    await load(path('auto', 'batch'), {}, [real]);
    const { engine: running } = helper.getNode('engine').host;
    await until(() => {
      running.flush(0);
      return lines.length >= 1000;
    }, '1000 records at the uplink');
    const taken = [...lines].sort((a, b) => a[4].i - b[4].i).map(([cls, , , , { i }]) => [cls, i]);
    expect(taken).toEqual(Array.from({ length: 1000 }, (_, i) => [i % 2 ? 1 : 3, i]));
    expect(ended.filter(([, code]) => code)).toEqual([1000, 1001, 1002].map((i) => [i, 'SEGANET_FULL']));
  });

  test('ends messages that came before the first plan when the node closes first', async () => {
    const real = () => replaceModules({ native, uplink: { ...parts.uplink, UplinkThread: Puller } });
    let ended = '';
    let closed = Promise.resolve();
    helper._events.prependOnceListener('flows:started', () => {
      const rank = helper.getNode('rank');
      rank._complete = (_msg, error) => (ended = error?.code ?? 'done');
      rank.receive({ deviceId: 'd', topic: 'temp', payload: 'x' });
      closed = rank.close();
    });
    await load(path('auto', 'batch'), {}, [real]);
    await closed;
    expect(ended).toBe('SEGANET_CLOSED');
  });
});
