'use strict';
// Dead letters that are sent again while the gateway runs: at a broker that accepts them now, in the middle of a
// kill -9, and without the permission.

const { until } = require('../../bench/harness/broker');
const { RefusingSite } = require('../fixtures/gateway/refusing-site');

jest.setTimeout(300000);

const LETTERS = 200;

/** @type {RefusingSite[]} */
const sites = [];
afterEach(async () => {
  for (const site of sites.splice(0)) await site.stop();
});

async function start() {
  const site = await RefusingSite.start();
  sites.push(site);
  return site;
}

const numbers = Array.from({ length: LETTERS }, (_, n) => n);

test('lists refused records, and sends one or all of them again when the broker takes them', async () => {
  const site = await start();
  await site.publish(LETTERS);
  const all = [];
  for (let after = 0; after !== null;) {
    const { letters, next } = await (await site.letters(`?after=${after}&limit=50`)).json();
    all.push(...letters);
    after = next;
  }
  expect(all.reduce((sum, { records }) => sum + records, 0)).toBe(LETTERS);
  expect(all[0]).toMatchObject({
    device: 'pump',
    topic: 'd/pump/large',
    class: 3,
    uplink: expect.any(String)
  });
  expect(all[0].reason).toMatch(/the broker accepts 300/);
  expect(site.arrived).toEqual([]);

  await site.accept();
  const [one] = all;
  expect(await site.send({ rows: [one.row] })).toMatchObject({ sent: 1, records: one.records, failure: '' });
  await until(() => site.arrived.length === one.records, 20000);
  expect(await site.send({ all: true })).toMatchObject({
    sent: all.length - 1,
    records: LETTERS - one.records
  });
  await until(() => site.arrived.length === LETTERS, 30000);
  expect(site.arrived).toEqual(numbers);
  expect(site.mistakenKeys).toEqual([]);

  // The counters reconcile, and nothing is left in the log.
  await until(async () => {
    const { counters, log, storedRecords } = await site.stats();
    return (
      log.dead === 0 && storedRecords.every((/** @type {number} */ n) => n === 0) && counters.recordsSentAgain
    );
  }, 20000);
  const { counters, drops } = await site.stats();
  expect(counters.recordsSentAgain).toBe(LETTERS);
  expect(drops.deadLetter[3]).toBe(LETTERS);
  expect(counters.recordsReceived + counters.recordsSentAgain).toBe(counters.recordsDelivered + LETTERS);
});

test('keeps a dead letter again that the broker refuses again', async () => {
  const site = await start();
  await site.publish(3);
  const before = (await site.stats()).drops.deadLetter[3];
  expect(await site.send({ all: true })).toMatchObject({ records: 3 });
  await until(async () => (await site.stats()).drops.deadLetter[3] === before + 3, 20000);
  await until(async () => (await site.stats()).log.dead > 0, 20000);
  expect(site.arrived).toEqual([]);
});

test('loses nothing when the gateway is killed while it sends them again', async () => {
  const site = await start();
  await site.publish(LETTERS);
  await site.accept();
  for (const delayMs of [0, 5, 20]) {
    const sending = site.send({ all: true }).catch(() => null);
    await new Promise((resolve) => setTimeout(resolve, delayMs));
    await site.gateway?.stop('SIGKILL');
    await sending;
    await site.startGateway();
  }
  await site.send({ all: true });
  await until(() => site.arrived.length === LETTERS, 60000);
  expect([...site.arrived].sort((a, b) => a - b)).toEqual(numbers);
  expect(site.mistakenKeys).toEqual([]);
});

test('refuses a wrong request with a sentence', async () => {
  const site = await start();
  const json = { 'content-type': 'application/json' };
  const post = (/** @type {string} */ body, headers = json) =>
    site.letters('', { method: 'POST', headers, body });
  for (const [response, status, sentence] of /** @type {[Promise<Response>, number, RegExp][]} */ ([
    [site.letters('?limit=51'), 400, /limit must be a number from 1 to 50/],
    [site.letters('?after=-1'), 400, /after must be/],
    [site.letters('?after=1&after=2'), 400, /after must be/],
    [post('{}'), 400, /The body must be/],
    [post('{"all":1}'), 400, /The body must be/],
    [post('{"all":true,"rows":[1]}'), 400, /The body must be/],
    [post('{"rows":[]}'), 400, /The body must be/],
    [post('{"rows":[1.5]}'), 400, /The body must be/],
    [post(`{"rows":[${Array(1001).fill(1)}]}`), 400, /The body must be/],
    [post('all=true', { 'content-type': 'application/x-www-form-urlencoded' }), 400, /Content-Type/]
  ])) {
    const answer = await response;
    expect([answer.status, (await answer.json()).error]).toEqual([status, expect.stringMatching(sentence)]);
  }
  expect(await site.send({ rows: [4711] })).toMatchObject({ sent: 0, gone: 1 });
});
