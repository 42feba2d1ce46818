'use strict';
// What a tap shows of records: over a native wire, and of messages.

const {
  broker,
  engine,
  helper,
  inbox,
  load,
  node,
  outcomeOf,
  tab,
  unload,
  until
} = require('./support/gateway');

beforeAll((done) => void helper.startServer(done));
afterEach(unload);
afterAll((done) => void helper.stopServer(done));

const JSON_TEXT = '{"t":21.5}';

/** @param {object} properties of the tap @param {string[]} from what leads to it */
const flow = (properties, from) => [
  tab,
  engine,
  broker,
  node('in', 'ingest', {}, 'cloud', ...from),
  node('tap', 'tap', { everyN: '0', perSecond: '0', ...properties }, 'seen'),
  node('seen', 'helper'),
  node('cloud', 'uplink', { broker: 'broker' })
];

test.each([
  ['decoded, if it is JSON', { payload: 'json' }, JSON_TEXT, { t: 21.5 }],
  ['as bytes, if it is no JSON', { payload: 'json' }, '21.5 C', Buffer.from('21.5 C')],
  ['as bytes, if that is chosen', { payload: 'raw' }, JSON_TEXT, Buffer.from(JSON_TEXT)],
  ['as bytes by a node of an older flow', {}, JSON_TEXT, Buffer.from(JSON_TEXT)]
])('shows the payload of a record %s', async (_how, properties, text, shown) => {
  await load(flow(properties, ['tap']));
  const seen = inbox('seen');
  expect(await outcomeOf('in', { deviceId: 'd', topic: 't', payload: text })).toBeUndefined();
  await until(() => seen.length === 1, 'a sample');
  expect(seen[0]).toMatchObject({ deviceId: 'd', topic: 't' });
  expect(seen[0].payload).toEqual(shown);
});

test('decodes the payload of a message, too', async () => {
  await load(flow({ payload: 'json' }, []));
  const seen = inbox('seen');
  expect(
    await outcomeOf('tap', { deviceId: 'd', topic: 't', payload: Buffer.from(JSON_TEXT) })
  ).toBeUndefined();
  await until(() => seen.length === 1, 'the sample');
  expect(seen[0].payload).toEqual({ t: 21.5 });
});
