'use strict';

// Filters and conditions in a running engine: what is acknowledged, what is counted, and what arrives.

const coap = require('coap');
const mqtt = require('mqtt');
const { Engine, UplinkSource } = require('../../native');
const { until } = require('./support/addon');

const stage = { source: 1, ingest: 2, filter: 3, uplink: 4 };

/** @type {(() => unknown)[]} */
const ends = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** @param {object} filter @param {import('../../native').EngineOptions} [options] */
function start(filter, options = {}) {
  const engine = new Engine({ workers: 2, ...options }, () => {});
  ends.push(() => engine.close());
  const next = [stage.filter];
  engine.applyPlan({
    stages: [
      { id: stage.source, kind: 'source', next, messages: false },
      { id: stage.ingest, kind: 'ingest', next, messages: false },
      { id: stage.filter, kind: 'filter', next: [stage.uplink], messages: false, ...filter },
      { id: stage.uplink, kind: 'uplink', uplink: 0, next: [], messages: false }
    ]
  });
  const source = new UplinkSource(engine.token, 0, () => {});
  ends.push(() => source.close());
  return { engine, source };
}

/** @param {Engine} engine @param {string} clientId */
async function device(engine, clientId) {
  const port = engine.listen(stage.source, { host: '127.0.0.1', port: 0 });
  const client = await mqtt.connectAsync({ host: '127.0.0.1', port, clientId, reconnectPeriod: 0 });
  ends.push(() => client.endAsync(true));
  return client;
}

/** Takes and acknowledges a batch. Returns its payload, null = none. @param {UplinkSource} source */
function take(source) {
  const into = Buffer.alloc(4096);
  const meta = new Float64Array(16);
  const length = source.take(into, meta);
  if (length < 0) return null;
  source.release(meta[0]);
  return into.toString('utf8', meta[10] + meta[11], length);
}

const filteredBy = (engine) => engine.stats().stages.find(({ id }) => id === stage.filter).filtered;

test('acknowledges a filtered record at once, and counts it as filtered, not dropped', async () => {
  const { engine, source } = start({ mode: 'pass', when: 'value > 80' }, { acknowledge: 'safe' });
  const client = await device(engine, 'd');
  await client.publishAsync('t', '{"value":80}', { qos: 1 });
  expect(take(source)).toBeNull();
  const { counters, drops, heldRecords } = engine.stats();
  expect(counters).toMatchObject({ recordsReceived: 1, recordsFiltered: 1 });
  expect(filteredBy(engine)).toBe(1);
  expect(Object.values(drops).flat()).toEqual(Object.values(drops).flat().fill(0));
  expect(heldRecords.every((count) => count === 0)).toBe(true);
});

test('acknowledges in order: a filtered record after one that is not safe yet', async () => {
  const { engine, source } = start({ mode: 'change' }, { acknowledge: 'safe' });
  const client = await device(engine, 'd');
  /** @type {string[]} */
  const acknowledged = [];
  const publish = (name, payload) =>
    client.publishAsync('t', payload, { qos: 1 }).then(() => acknowledged.push(name));
  const all = [publish('first', '21.5'), publish('same', '21.5'), publish('other', '22')];
  await until(() => engine.stats().counters.recordsReceived === 3, 'three records');
  expect(filteredBy(engine)).toBe(1);
  expect(acknowledged).toEqual([]);
  await until(() => take(source), 'the first');
  await until(() => acknowledged.length >= 2, 'two acknowledgements');
  expect(acknowledged).toEqual(['first', 'same']);
  await until(() => take(source), 'the other');
  await Promise.all(all);
  expect(acknowledged).toEqual(['first', 'same', 'other']);
});

test('completes the ticket of a filtered record', async () => {
  const { engine } = start({ mode: 'rate', records: 1, periodS: 60 }, { acknowledge: 'safe' });
  for (const ticket of [1, 2]) engine.push(stage.ingest, 'd', 't', Buffer.from('1'), 0, 0, 0, -1, ticket);
  /** @type {number[]} */
  const pairs = [];
  await until(() => pairs.push(...engine.takeCompletions()) && pairs.length, 'a completion');
  expect(pairs).toEqual([2, 1]);
});

test('answers a CoAP device whose record is filtered', async () => {
  const { engine } = start({ mode: 'block', when: 'exists($)' }, { acknowledge: 'safe' });
  engine.applyPlan({
    stages: [
      { id: stage.source, kind: 'source', protocol: 'coap', next: [stage.filter], messages: false },
      {
        id: stage.filter,
        kind: 'filter',
        mode: 'block',
        when: 'exists($)',
        next: [stage.uplink],
        messages: false
      },
      { id: stage.uplink, kind: 'uplink', uplink: 0, next: [], messages: false }
    ]
  });
  const port = engine.listen(stage.source, { host: '127.0.0.1', port: 0, transport: 'udp' });
  const agent = new coap.Agent({ type: 'udp4' });
  ends.push(() => void agent.close());
  const code = await new Promise((resolve, reject) => {
    const request = coap.request({ host: '127.0.0.1', port, pathname: '/r/d/t', method: 'POST', agent });
    request.on('response', (response) => resolve(response.code));
    request.on('error', reject);
    request.end('{"value":1}');
  });
  expect(code).toBe('2.04');
  expect(filteredBy(engine)).toBe(1);
});

test.each([
  [{ mode: 'some' }, "mode 'some' is not one of pass, block, change, rate, range"],
  [{ mode: 'pass' }, 'stage 3: condition: column 1: expected a comparison'],
  [{ mode: 'pass', when: 'x'.repeat(1025) }, 'when must be at most 1024 bytes'],
  [{ mode: 'change', path: '.' }, 'stage 3: path: column 1: expected a value of the payload, such as $.temp'],
  [{ mode: 'change', band: NaN }, 'stage 3: dead band must be a number from 0'],
  [{ mode: 'change', band: '1' }, 'band must be a number'],
  [{ mode: 'change', everyS: -1 }, /everyS must be/],
  [{ mode: 'rate', records: 0 }, /records must be/],
  [{ mode: 'range', low: 1, high: 0 }, "stage 3: the range's low end must not exceed its high end"]
])('refuses %j', (filter, message) => expect(() => start(filter)).toThrow(message));

test('refuses a rule with a wrong condition, and names it', () => {
  const engine = new Engine({ workers: 1 }, () => {});
  ends.push(() => engine.close());
  const rules = [{ class: /** @type {const} */ (1), when: 'a > ' }];
  const stages = [{ id: 1, kind: /** @type {const} */ ('priority'), rules, defaultClass: /** @type {const} */ (0), next: [], messages: false }]; // prettier-ignore
  expect(() => engine.applyPlan({ stages })).toThrow(
    'rule 1: column 5: expected a number or a string after >'
  );
});
