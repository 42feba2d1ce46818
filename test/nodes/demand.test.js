'use strict';
// The demand node and its admin API, with the engine in memory: which devices get which command, and what a wrong
// question is answered.

const coap = require('coap');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const demand = require('../../nodes/seganet-demand');
const observe = require('../../nodes/seganet-coap-observe');
const gateway = require('./support/gateway');
const { helper, tab, engine, broker, node, unload, until, errors, inbox, outcomeOf, shown, engines } =
  gateway;

/** @type {string} */
let folder;
beforeAll(() => helper.startServer());
afterAll(() => helper.stopServer());
beforeEach(() => (folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-demand-'))));
afterEach(async () => {
  await unload();
  fs.rmSync(folder, { recursive: true });
});

const flow = (settings, ...more) => [
  tab,
  { ...engine, logDir: folder },
  broker,
  node('devices', 'ingest', {}, 'up'),
  node('up', 'uplink', { broker: 'broker' }),
  ...(settings ? [node('demand', 'seganet-demand', settings, 'out')] : []),
  node('out', 'helper'),
  ...more
];
const load = (...args) => gateway.load(flow(...args), {}, [demand, observe]);
const ask = (question) => outcomeOf('demand', { payload: question });
const sent = () => engines[0].commands.map(({ deviceId, topic, payload }) => [deviceId, topic, payload]);
const http = () => helper.request();
const QUESTION = { device: 'pump-7', everyMs: 200, forS: 60 };

test('sends the command, completes the message, and outputs the states', async () => {
  await load({
    topic: 'plant/{device}/set',
    payload: '{"period":{everyS},"left":{forS},"id":"{device}","x":{}}'
  });
  const out = inbox('out');
  engines[0].takers.add('pump-7');
  expect(await ask(QUESTION)).toBeUndefined();
  expect(sent()).toEqual([['pump-7', 'plant/pump-7/set', '{"period":0.2,"left":60,"id":"pump-7","x":{}}']]);
  expect(await ask({ device: 'pump-7', forS: 0 })).toBeUndefined();
  await until(() => out.length === 4);
  expect(out.map(({ deviceId, payload: { state, everyMs } }) => [deviceId, state, everyMs])).toEqual([
    ['pump-7', 'waiting', 200],
    ['pump-7', 'on', 200],
    ['pump-7', 'restoring', 0],
    ['pump-7', 'normal', 0]
  ]);
  expect(sent()[1]).toEqual(['pump-7', 'plant/pump-7/set', '{"everyMs":0}']);
  await until(() => shown('demand')?.text === 'no question');
});

test.each([
  ['pump', /^The question must be an object such as/],
  [[QUESTION], /^The question must be an object such as/],
  [{ ...QUESTION, device: '' }, /^device must be a device id of 1 to 256 bytes/],
  [{ ...QUESTION, device: 'a#' }, /^device must be a device id/],
  [{ ...QUESTION, device: 'ä'.repeat(129) }, /^device must be a device id/],
  [{ ...QUESTION, everyMs: '100' }, /^everyMs must be a whole number from 1 to 86400000, not "100"/],
  [{ ...QUESTION, everyMs: 99 }, /^everyMs must be at least 100/],
  [{ ...QUESTION, forS: -1 }, /^forS must be a whole number from 1 to 86400/],
  [{ ...QUESTION, forS: 3601 }, /^forS must be at most 3600/],
  [{ ...QUESTION, forS: Infinity }, /^forS must be a whole number/],
  [{ ...QUESTION, by: 'a\nb' }, /^by must be a name of 1 to 128 characters/],
  [{ ...QUESTION, device: 'fan' }, /^No demand node is responsible for this device/],
  [{ device: 'pump-7', forS: 0 }, /^There is no question of this asker about the device/]
])('fails the question %j with a sentence', async (question, sentence) => {
  await load({ devices: 'pump-*' });
  expect((await ask(question)).message).toMatch(sentence);
  expect([sent(), fs.existsSync(path.join(folder, 'demand.db'))]).toEqual([[], false]);
});

test.each([
  [{ topic: 'rate/+' }, /"topic" contains \+ or #/],
  [{ topic: 'rate/{id}' }, /"topic" has an unknown placeholder/],
  [{ restorePayload: 'x'.repeat(4097) }, /"restorePayload" must have at most 4096 characters/],
  [{ minEveryMs: '5' }, /"minEveryMs" must be a whole number from 10/]
])('stops the node with the settings %j', async (settings, sentence) => {
  await load(settings);
  expect(errors()).toEqual([['demand', expect.stringMatching(sentence)]]);
});

test('answers questions over HTTP, and refuses wrong ones', async () => {
  await load({});
  engines[0].takers.add('pump 7/ä');
  const question = { ...QUESTION, device: 'pump 7/ä', by: 'ann' };
  const { body } = await http().post('/seganet/demand').send(question).expect(200);
  expect(body).toEqual({ device: 'pump 7/ä', state: 'on', by: 'command', everyMs: 200, endsAt: expect.any(Number), askers: ['ann'], reason: '' }); // prettier-ignore
  expect((await http().get('/seganet/demand').expect(200)).body).toEqual({
    questions: 1,
    devices: [{ ...body, endsAt: expect.any(Number) }],
    next: null
  });
  expect((await http().get('/seganet/demand').query({ device: 'pump 7/ä' })).body).toMatchObject({
    state: 'on'
  });
  const page = await http().get('/seganet/demand?limit=1');
  expect(page.body.next).toBe('pump 7/ä');
  const place = `/seganet/demand/${encodeURIComponent('pump 7/ä')}`;
  await http().delete(place).expect(404);
  expect((await http().delete(`${place}?by=ann`).expect(200)).body).toMatchObject({
    state: 'restoring',
    everyMs: 0
  });
  await until(() => sent().length === 2);
  for (const [status, request] of [
    [400, http().post('/seganet/demand').type('form').send(question)],
    [400, http().post('/seganet/demand').send([question])],
    [
      400,
      http()
        .post('/seganet/demand')
        .send({ ...question, forS: 1e9 })
    ],
    [
      404,
      http()
        .post('/seganet/demand')
        .send({ ...question, engine: 'other' })
    ],
    [400, http().get('/seganet/demand?limit=0')],
    [400, http().get('/seganet/demand?after[]=a')],
    [400, http().get('/seganet/demand?device=a&device=b')],
    [404, http().get('/seganet/demand?device=none')]
  ]) {
    const answer = await request;
    expect([answer.status, answer.body.error]).toEqual([status, expect.stringMatching(/^[A-Zadebfl].*\.$/)]);
  }
});

test('restores a device after the engine has stopped, although the node was removed', async () => {
  await load({});
  engines[0].takers.add('pump-7');
  await ask(QUESTION);
  engines[0].takers.clear();
  await unload();
  await load(null);
  await until(() => engines[0].commands.length > 0);
  engines[0].arrive('pump-7');
  await until(() => engines[0].commands.length > 1);
  expect(sent().at(-1)).toEqual(['pump-7', 'cmd/pump-7/rate', '{"everyMs":0}']);
});

test('is part of the metrics only while it is used', async () => {
  await load(null);
  expect((await http().get('/seganet/metrics')).text).not.toMatch(/seganet_demand/);
  await unload();
  await load({});
  await ask(QUESTION);
  const { text } = await http().get('/seganet/metrics');
  expect(text).toMatch(/^seganet_demand_open_questions\{engine="engine"\} 1$/m);
  expect(text).toMatch(/^seganet_demand_devices\{engine="engine",state="waiting"\} 1$/m);
});

test('reads a resource of a coap observe node more often, for as long as somebody asks', async () => {
  let requests = 0;
  const server = coap.createServer((_request, response) => response.end(String(++requests)));
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `coap://127.0.0.1:${server._sock.address().port}/temp`;
  const resources = [{ url, mode: 'poll', intervalS: '3600', device: 'pump-7' }];
  try {
    await load({ minEveryMs: '20' }, node('observe', 'seganet-coap-observe', { resources }, 'up'));
    await until(() => engines[0].pushes.length === 1);
    expect(await ask({ device: 'pump-7', everyMs: 20, forS: 60 })).toBeUndefined();
    await until(() => engines[0].pushes.length > 5);
    expect(engines[0].pushes.at(-1)).toMatchObject({ deviceId: 'pump-7', topic: 'coap/pump-7/temp' });
    await ask({ device: 'pump-7', forS: 0 });
    await until(() => /^1 read/.test(shown('observe')?.text));
    expect(sent()).toEqual([]);
  } finally {
    await unload();
    await new Promise((resolve) => server.close(resolve));
  }
});
