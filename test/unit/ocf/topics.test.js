'use strict';

const { FORMAT } = require('../../../nodes/lib/ocf/cloud/coap');
const { SqliteStore } = require('../../../nodes/lib/ocf/store');
const { LIMITS, Topics } = require('../../../nodes/lib/ocf/cloud/topics');
const { startControlPlane } = require('../../fixtures/ocf/control-plane');
const { eventually, newUser, scenes } = require('../../fixtures/ocf/scenes');

/** Topics whose desk names `latest.post` as the latest post of each topic. */
function make() {
  let ids = 0;
  const latest = { post: /** @type {{ number: number, payload: Buffer } | null} */ (null) };
  const topics = {
    openTopic: () => ++ids,
    followTopic: () => {},
    closeTopic: () => {},
    latestPost: (id) => Promise.resolve(id > 0 ? (posts.get(id) ?? latest.post) : null)
  };
  /** By id. @type {Map<number, { number: number, payload: Buffer }>} */
  const posts = new Map();
  const sessions = { checkSignedIn: () => {} };
  const answers = [];
  const answer = (_request, code) => answers.push(code);
  const answerAll = (requests, code) => requests.forEach((request) => answer(request, code));
  const cloud = { desk: { topics }, options: { recordClass: 0 }, sessions, answer, answerAll };
  return { topics: new Topics(/** @type {any} */ (cloud)), latest, posts, answers };
}

/** @param {Topics} topics @param {string} method @param {string} name */
function answerOf(topics, method, name, { uid = 'alice', observe = -1 } = {}) {
  const request = {
    method,
    path: ['oic', 'ps', name],
    query: [],
    options: observe < 0 ? [] : [[6, Buffer.from([observe])]],
    payload: Buffer.alloc(0),
    token: Buffer.from(name)
  };
  const relations = { check: () => {}, add: (_token, drop) => drop, end: () => {} };
  return topics.answer(/** @type {any} */ ({ uid, relations }), /** @type {any} */ (request), FORMAT.CBOR);
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

describe('when the cloud has as many topics as it may', () => {
  const namesOf = async (topics, uid) => {
    const request = { method: 'GET', path: ['oic', 'ps'], query: [], options: [], payload: Buffer.alloc(0) };
    const { body } = await topics.answer(
      /** @type {any} */ ({ uid }),
      /** @type {any} */ (request),
      FORMAT.CBOR
    );
    return body.topiclist.map((name) => name.slice('/oic/ps/'.length));
  };
  /** @param {ReturnType<typeof make>} parts */
  async function fill({ topics }) {
    for (let user = 0; user < LIMITS.topics / LIMITS.topicsOfUser; user++)
      for (let i = 0; i < LIMITS.topicsOfUser; i++)
        expect((await answerOf(topics, 'PUT', `t${i}`, { uid: `u${user}` })).code).toBe('2.01');
    expect(topics.size).toBe(LIMITS.topics);
  }

  test('a user with fewer gets the room of one with the most: no posts and no subscribers first, then the oldest', async () => {
    const parts = make();
    const { topics, posts, answers } = parts;
    await fill(parts);
    // Of u0, which was the first with the most: t0 has a subscriber, t1 and t2 have posts.
    expect((await answerOf(topics, 'GET', 't0', { uid: 'u0', observe: 0 })).code).toBe('2.05');
    for (const id of [2, 3]) posts.set(id, { number: 1, payload: Buffer.from('a post') });
    const put = async (name, uid = 'victim') => (await answerOf(topics, 'PUT', name, { uid })).code;
    expect(await put('a')).toBe('2.01');
    const left = await namesOf(topics, 'u0');
    expect([left.length, left.slice(0, 4)]).toEqual([1023, ['t0', 't1', 't2', 't4']]);
    for (let i = 0; i < 900; i++) expect(await put(`more${i}`)).toBe('2.01');
    expect(topics.size).toBe(LIMITS.topics);
    expect(await namesOf(topics, 'victim')).toHaveLength(901);
    const sizes = await Promise.all(
      Array.from({ length: 16 }, async (_, i) => (await namesOf(topics, `u${i}`)).length)
    );
    // Each of the 16 gave about as many.
    expect([Math.min(...sizes), Math.max(...sizes)]).toEqual([967, 968]);
    expect(await namesOf(topics, 'u0')).toEqual(expect.arrayContaining(['t0', 't1', 't2']));
    expect(answers).toEqual([]);
    // All have the same share: nobody takes more.
    for (let i = 0; i < 80; i++) await put(`last${i}`).catch(() => {});
    await expect(put('x')).rejects.toMatchObject({ code: '5.03' });
  });

  test('requests at the same time do not exceed it', async () => {
    const parts = make();
    await fill(parts);
    const put = (i) => answerOf(parts.topics, 'PUT', `n${i}`, { uid: `new${i % 7}` });
    const codes = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        put(i).then(
          ({ code }) => code,
          ({ code }) => code
        )
      )
    );
    expect(parts.topics.size).toBe(LIMITS.topics);
    expect(codes.filter((code) => code === '2.01').length).toBeGreaterThan(0);
    expect(codes.every((code) => code === '2.01' || code === '5.03')).toBe(true);
  });
});

describe('the topics of a deleted user', () => {
  let cloud;
  beforeAll(async () => (cloud = await startControlPlane()));
  afterAll(() => cloud.stop());
  const { signedIn } = scenes(() => cloud);

  test('go with the user, also if another process deletes it; those of others stay', async () => {
    const [gone, other] = [await signedIn(newUser()), await signedIn(newUser())];
    for (const client of [gone, other])
      expect((await client.request('PUT', '/oic/ps/rooms')).code).toBe('2.01');
    expect(cloud.cloud.topics.size).toBe(2);
    const store = new SqliteStore(cloud.file);
    await store.write('removeUser', { uid: gone.uid });
    await store.close();
    await eventually(() => cloud.cloud.topics.size === 1, 'the end of the topics');
    expect((await other.request('GET', '/oic/ps/rooms')).code).toBe('2.05');
  });
});
