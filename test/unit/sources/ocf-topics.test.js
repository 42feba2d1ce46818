'use strict';

const { Topics } = require('../../../nodes/lib/sources/ocf/topics');
const { FORMAT } = require('../../../nodes/lib/sources/ocf/coap');

/** Topics whose desk names `latest.post` as the latest post of each topic. */
function make() {
  let ids = 0;
  const latest = { post: /** @type {{ number: number, payload: Buffer } | null} */ (null) };
  const topics = {
    openTopic: () => ++ids,
    followTopic: () => {},
    latestPost: () => Promise.resolve(latest.post)
  };
  const cloud = { desk: { topics }, options: { recordClass: 0 } };
  return { topics: new Topics(/** @type {any} */ (cloud)), latest };
}

/** @param {Topics} topics @param {string} method @param {string} name */
function answerOf(topics, method, name) {
  const request = { method, path: ['oic', 'ps', name], query: [], options: [], payload: Buffer.alloc(0) };
  return topics.answer(/** @type {any} */ ({ uid: 'alice' }), /** @type {any} */ (request), FORMAT.CBOR);
}

test('the latest value is that of the desk if there was no room for it here', async () => {
  const { topics, latest } = make();
  for (const name of ['large', 'small'])
    expect(await answerOf(topics, 'PUT', name)).toMatchObject({ code: '2.01' });
  // All of the room that values have.
  topics.posted(1, 1, Buffer.alloc((32 << 20) - 1));
  const payload = Buffer.from('a value');
  topics.posted(2, 2, payload);
  latest.post = { number: 2, payload };
  expect(await answerOf(topics, 'GET', 'small')).toMatchObject({ encoded: payload });
});

test('the latest value is that of a notification if the desk has an earlier one', async () => {
  const { topics, latest } = make();
  await answerOf(topics, 'PUT', 'a');
  const payload = Buffer.from('a value');
  topics.posted(1, 2, payload);
  latest.post = { number: 1, payload: Buffer.from('earlier') };
  expect(await answerOf(topics, 'GET', 'a')).toMatchObject({ encoded: payload });
  latest.post = null;
  expect(await answerOf(topics, 'GET', 'a')).toMatchObject({ encoded: payload });
});
