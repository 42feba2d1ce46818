'use strict';
// HTTP devices of tenants: whose device a request is, and the answers of tenants that are full or unknown.

const { CODES } = require('../../../nodes/lib/engine/inbox');
const { openDoor } = require('../../fixtures/devices/http-bench');

/** @type {Awaited<ReturnType<typeof openDoor>>} */
let door;
afterEach(() => door.server.close());

/** @param {string[]} names tokens, each for devices cam-* */
const tokens = (...names) => ({
  find: (authorization = '') => {
    const name = names.find((each) => authorization === `Bearer ${each}`);
    return name ? { name, allows: (device) => device.startsWith('cam-') } : null;
  }
});
const as = (name) => ({ Authorization: `Bearer ${name}` });
const USER = { from: 'user', name: '' };

test('takes the tenant from the name of the token', async () => {
  door = await openDoor({ login: 'tokens' }, { tokens: tokens('acme/a', 'other/a'), tenant: USER });
  expect((await door.post('/r/cam-1/t', '1', as('acme/a'))).status).toBe(200);
  expect((await door.post('/r/cam-1/t', '2', as('other/a'))).status).toBe(200);
  expect((await door.post('/r/other:cam-1', '3', as('acme/a'))).status).toBe(403);
  expect((await door.post('/r/cam-1:other', '4', as('acme/a'))).status).toBe(200);
  const list = JSON.stringify([{ deviceId: 'cam-2', payload: 5 }, { deviceId: 'cam-3', payload: 6 }]); // prettier-ignore
  const type = { 'Content-Type': 'application/json' };
  expect((await door.post('/r', list, { ...as('acme/a'), ...type })).status).toBe(200);
  expect(door.engine.taken.map(({ deviceId, topic, payload }) => [deviceId, topic, payload])).toEqual([
    ['acme:cam-1', 'r/cam-1/t', '1'],
    ['other:cam-1', 'r/cam-1/t', '2'],
    ['acme:cam-1:other', 'r/cam-1:other', '4'],
    ['acme:cam-2', 'r/cam-2', '5'],
    ['acme:cam-3', 'r/cam-3', '6']
  ]);
});

test('refuses a token without a tenant before it reads the body', async () => {
  door = await openDoor({ login: 'tokens' }, { tokens: tokens('plain', 'Acme/a', '/a'), tenant: USER });
  for (const name of ['plain', 'Acme/a', '/a']) {
    expect(await door.post('/r/cam-1', '1', as(name))).toMatchObject({
      status: 403,
      body: { error: expect.stringMatching(/no tenant/) }
    });
  }
  expect(door.engine.taken).toEqual([]);
});

test('puts every device of a port into its tenant, and limits each id', async () => {
  door = await openDoor({ rate: '1', burst: '1' }, { tenant: { from: 'port', name: 'acme' }, now: () => 0 });
  expect((await door.post('/r/other:x', '1')).status).toBe(200);
  expect((await door.post('/r/other:x', '1')).status).toBe(429);
  expect((await door.post('/r/x', '1')).status).toBe(200);
  expect((await door.post(`/r/${'x'.repeat(252)}`, '1')).status).toBe(400);
  expect(door.engine.taken.map(({ deviceId }) => deviceId)).toEqual(['acme:other:x', 'acme:x']);
});

test.each([
  [CODES.NO_PART, 403, null],
  [CODES.PART_FULL, 429, '5'],
  [CODES.WITHHELD, 503, '5']
])('answers %s with %d', async (code, status, retry) => {
  door = await openDoor({}, { tenant: { from: 'port', name: 'acme' } });
  door.engine.put = (_args, done) => done(Object.assign(new Error('Not taken.'), { code }));
  const answer = await door.post('/r/x', '1');
  expect(answer).toMatchObject({ status, body: { error: 'Not taken.', accepted: 0 } });
  expect(answer.headers.get('retry-after')).toBe(retry);
});
