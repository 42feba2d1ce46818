'use strict';
// A foreign client as a controller of the ocf cloud node, and settings that do not fit its store.

const { execFile } = require('node:child_process');
const { randomUUID } = require('node:crypto');
const { promisify } = require('node:util');
const { eventually } = require('../../../bench/harness/net');
const { needs, python } = require('../../../bench/harness/tools');
const { encode } = require('../../../flows/demo/ocf/client');
const { startGatewayCloud } = require('../../fixtures/ocf/gateway-cloud');
const { newUser, scenes } = require('../../fixtures/ocf/scenes');

jest.setTimeout(240000);

let cloud;
beforeAll(async () => {
  cloud = await startGatewayCloud();
});
afterAll(() => cloud?.stop());
const { connected, lamp } = scenes(() => cloud);

const CONTROLLER = [
  'import asyncio, sys',
  'from aiocoap import *',
  'async def main():',
  '    context = await Context.create_client_context()',
  '    base, body, href = sys.argv[1:4]',
  '    login = Message(code=POST, uri=base + "/oic/sec/session", payload=bytes.fromhex(body), content_format=60)',
  '    for each in (login, Message(code=GET, uri=base + "/oic/res"), Message(code=GET, uri=base + href, accept=60)):',
  '        answer = await context.request(each).response',
  '        print(answer.code, answer.payload.hex())',
  '    await context.shutdown()',
  'asyncio.run(main())'
].join('\n');

const outside = needs('python:aiocoap');
outside.test('aiocoap signs in, finds the links, and reads a device', async () => {
  const user = newUser();
  const device = await lamp(user);
  const known = await connected();
  expect((await known.signUp(await cloud.codeFor(user))).code).toBe('2.04');
  const body = encode({ di: known.di, uid: known.uid, accesstoken: known.access, login: true });
  const args = ['-c', CONTROLLER, `coap+tcp://127.0.0.1:${cloud.port}`, body.toString('hex'), device.href];
  const { stdout } = await promisify(execFile)(python(), args, { timeout: 60000 });
  const lines = stdout.trim().split('\n');
  expect(lines.map((line) => line.slice(0, 4))).toEqual(['2.04', '2.05', '2.05']);
  expect(Buffer.from(lines[1].split(' ').pop(), 'hex').toString()).toContain(device.href);
  expect(Buffer.from(lines[2].split(' ').pop(), 'hex').toString('latin1')).toContain('on');
});

test('refuses another cloud id for a store with devices, names the right one, and opens with it', async () => {
  await lamp(newUser());
  const sid = await cloud.store.read('cloudId');
  const { flow, gateway } = cloud;
  const withId = (id) => flow.map((node) => (node.id === 'cloud' ? { ...node, sid: id } : node));
  await gateway.deploy(withId(randomUUID()));
  const sentence = `belongs to the cloud ${sid}`;
  await eventually(() => gateway.output.includes(sentence), { timeoutMs: 30000, what: 'the reason' });
  await expect(connected()).rejects.toThrow();
  await gateway.deploy(withId(sid));
  await eventually(() => connected().then(Boolean, () => false), { timeoutMs: 30000, what: 'the cloud' });
});

test('says why it cannot work, and keeps the rest of the gateway running', async () => {
  const { flow, gateway } = cloud;
  const wrong = { sid: 'none', accessSeconds: '0' };
  await gateway.deploy(flow.map((node) => (node.id === 'cloud' ? { ...node, ...wrong } : node)));
  await eventually(() => /sid.* must be a UUID/.test(gateway.output), {
    timeoutMs: 30000,
    what: 'the reason'
  });
  expect(await gateway.stats('engine')).toBeTruthy();
});
