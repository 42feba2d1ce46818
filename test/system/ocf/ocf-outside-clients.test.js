'use strict';
// Clients that others wrote, against two ocf cloud nodes of one gateway: one over TCP, one over TLS (docs/use/ocf.md).

const { spawn } = require('node:child_process');
const { randomUUID } = require('node:crypto');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const cbor = require('cbor');
const { makeCertificates } = require('../../../bench/harness/certificates');
const { Child } = require('../../../bench/harness/child');
const { eventually, freePort, waitForPort } = require('../../../bench/harness/net');
const { needs } = require('../../../bench/harness/tools');
const { encode } = require('../../../flows/demo/ocf/client');
const { newCode } = require('../../../nodes/lib/ocf/cloud');
const { SqliteStore } = require('../../../nodes/lib/ocf/store');
const { Californium, californiumTools } = require('../../fixtures/devices/californium');
const { startGatewayCloud } = require('../../fixtures/ocf/gateway-cloud');
const { newUser, scenes } = require('../../fixtures/ocf/scenes');

const GO_COAP = process.env.SEGANET_GO_COAP || '/go-coap (SEGANET_GO_COAP=$(.ci/go-coap))';
const CBOR = 60;
const LINKS = 40;
const DI = '6b4f8b5e-13d1-4a11-9e0b-0a1d7c4f2e11';

const withGoCoap = needs('openssl', GO_COAP);
const withLibcoap = needs('openssl', 'coap-client-openssl');
const withCalifornium = needs('openssl', ...californiumTools());
const withDirectory = needs('coap-rd-notls', 'openssl', ...californiumTools());
const canRun = [withGoCoap, withLibcoap, withCalifornium].some(({ missing }) => missing.length === 0);

jest.setTimeout(180000);

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-ocf-'));
/** @type {any} */
let cloud;
/** @type {{ ca: string, cert: string, key: string }} */
let files;
/** The two clouds: URI, host and port, access code for a device of a user. @type {Record<'tcp' | 'tls', any>} */
let clouds;
/** @type {Californium | undefined} */
let shared;

beforeAll(async () => {
  if (!canRun) return;
  files = makeCertificates(folder);
  const port = await freePort();
  const storeFile = path.join(folder, 'tls.db');
  const secure = { id: 'secure', type: 'seganet-ocf-cloud', version: 1, port: String(port), storeFile };
  const tls = { transport: 'tls', tls: 'tls', clientCert: 'wanted' };
  cloud = await startGatewayCloud({
    more: [
      { id: 'tls', type: 'tls-config', ...files, verifyservercert: true },
      { z: 'tab', x: 100, y: 200, engine: 'engine', ...secure, ...tls, wires: [['priority']] }
    ]
  });
  await waitForPort(port, '127.0.0.1', 30000);
  const store = new SqliteStore(storeFile);
  const codeFor = async (/** @type {string} */ user) => (await newCode(store, user)).code;
  clouds = {
    tcp: { uri: `coap+tcp://127.0.0.1:${cloud.port}`, at: `127.0.0.1:${cloud.port}`, codeFor: cloud.codeFor },
    tls: { uri: `coaps+tcp://127.0.0.1:${port}`, at: `127.0.0.1:${port}`, codeFor, store }
  };
});
afterAll(async () => {
  const problems = cloud?.problems();
  await shared?.close();
  await clouds?.tls.store.close();
  await cloud?.stop();
  fs.rmSync(folder, { recursive: true, force: true });
  expect(problems ?? []).toEqual([]);
});
const { connected, lamp } = scenes(() => cloud);

/** A client of Californium that asks for and sends CBOR. @param {string} uri */
async function californium(uri) {
  const client = (shared ??= new Californium());
  await client.use({ ca: files.ca });
  /** @param {string} method @param {string} target @param {any} [body] */
  const ask = async (method, target, body) => {
    const format = body ? { format: CBOR, payload: encode(body) } : {};
    return withValue(await client.ask(method, uri + target, { accept: CBOR, ...format }));
  };
  return { client, ask, notified: () => client.notified().map((payload) => cbor.decodeFirstSync(payload)) };
}

/** @template {{ format?: number, payload: Buffer }} T @param {T} answer */
function withValue(answer) {
  const { format, payload } = answer;
  const value = format === CBOR && payload.length > 0 ? cbor.decodeFirstSync(payload) : undefined;
  return { ...answer, value };
}

/** The body of a sign-up. @param {string} di @param {string} accesstoken @returns {Buffer} */
const signUpBody = (di, accesstoken) =>
  encode({ di, authprovider: 'seganet', accesstoken, devicetype: 'device' });

for (const transport of /** @type {const} */ (['tcp', 'tls'])) {
  withGoCoap.test(`a controller of go-coap uses a device of go-coap over ${transport}`, async () => {
    const { at, codeFor } = clouds[transport];
    const user = newUser();
    const args = async (/** @type {string} */ role) => [
      ...[role, '-cloud', at, '-code', await codeFor(user)],
      ...(transport === 'tls' ? ['-ca', files.ca] : [])
    ];
    const device = spawn(GO_COAP, await args('device'), { stdio: ['pipe', 'pipe', 'inherit'] });
    const exited = new Promise((resolve) => device.once('exit', resolve));
    let output = '';
    device.stdout.on('data', (text) => (output += text));
    const steps = (/** @type {string} */ text) =>
      text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
    try {
      await eventually(() => output.includes('"ready"'), { timeoutMs: 30000, what: 'the device' });
      const controller = new Child(GO_COAP, await args('controller'));
      await controller.exited;
      const seen = steps(controller.output);
      const [{ di }] = steps(output);
      expect(seen.map(({ step, code = '' }) => `${step} ${code}`.trim())).toEqual([
        ...['pong', 'outside 4.01', 'empty 4.00', 'signUp 2.04', 'signIn 2.04', 'discover 2.05', 'read 2.05'],
        ...['observed', 'change 2.04', 'notified', 'ended', 'delete 2.02', 'nowhere 4.04']
      ]);
      const value = (/** @type {string} */ wanted) => seen.find(({ step }) => step === wanted).value;
      expect(value('discover')).toEqual([
        {
          anchor: `ocf://${di}`,
          eps: [{ ep: clouds[transport].uri, pri: 1 }],
          href: `/oic/route/${di}/light/1`,
          if: ['oic.if.rw', 'oic.if.baseline'],
          ins: expect.any(Number),
          p: { bm: 3 },
          rt: ['core.light']
        }
      ]);
      expect([value('read'), value('observed')]).toEqual(Array(2).fill({ state: false, power: 0 }));
      expect([value('change'), value('notified')]).toEqual(Array(2).fill({ state: true, power: 7 }));
      device.stdin.end();
      await exited;
      expect(
        steps(output)
          .filter(({ step }) => step !== 'asked')
          .map(({ step, code = '' }) => `${step} ${code}`.trim())
      ).toEqual([
        ...['signUp 2.04', 'signIn 2.04', 'publish 2.04', 'ready', 'refresh 2.04', 'signIn 2.04'],
        ...['unpublish 2.02', 'signOut 2.04', 'outside 4.01', 'leave 2.02']
      ]);
      expect(steps(output).filter(({ step }) => step === 'asked')[0]).toMatchObject({
        path: '/light/1',
        queries: ['if=oic.if.baseline']
      });
    } finally {
      device.kill('SIGKILL');
    }
  });

  // It opens a connection for each request, so it cannot stay signed in.
  withLibcoap.test(`libcoap signs up and in over ${transport}, and sees refusals`, async () => {
    const { uri, codeFor } = clouds[transport];
    const out = path.join(folder, 'answer');
    const body = path.join(folder, 'body');
    const secure = transport === 'tls' ? ['-R', files.ca] : [];
    /** @param {string} target @param {Buffer | null} bytes @param {string[]} args @returns {Promise<string>} */
    const ask = async (target, bytes, ...args) => {
      if (bytes) fs.writeFileSync(body, bytes);
      const post = bytes ? ['-m', 'post', '-f', body] : [];
      const child = new Child('coap-client-openssl', [
        ...['-B', '20', '-v', '6', '-o', out, ...secure, ...post, ...args, uri + target]
      ]);
      await child.exited;
      const [, code] = /c:([245]\.\d\d) /.exec(child.output) ?? ['', child.output];
      return code;
    };
    const cborText = ['-t', String(CBOR), '-A', String(CBOR)];
    const ocf = ['-t', '10000', '-A', '10000', '-O', '2049,0x0800', '-O', '2053,0x0800'];
    const sec = '/oic/sec';
    expect(await ask('/oic/res', null)).toBe('4.01');
    expect(await ask('/oic/ps/rooms?rt=room', null, '-m', 'put')).toBe('4.01');
    expect(await ask(`${sec}/account`, encode({}), ...cborText)).toBe('4.00');
    expect(await ask(`${sec}/account`, signUpBody(DI, 'wrong'), ...ocf)).toBe('4.01');
    expect(await ask(`${sec}/account`, Buffer.from('{}'), '-t', '50')).toBe('4.15');
    expect(await ask('/.well-known/core', null, '-O', '2051,0x01')).toBe('4.02');
    expect(await ask('/.well-known/core', null, '-A', '50')).toBe('4.06');
    expect(await ask('/.well-known/core', null, '-X', '1152')).toBe('2.05');
    expect(fs.readFileSync(out, 'utf8')).toContain('</oic/res>;rt="oic.wk.res"');
    expect(await ask(`${sec}/account`, signUpBody(DI, await codeFor(newUser())), ...cborText)).toBe('2.04');
    const { accesstoken, uid, expiresin } = cbor.decodeFirstSync(fs.readFileSync(out));
    expect([accesstoken.length, expiresin]).toEqual([43, 3600]);
    const login = encode({ di: DI, uid, accesstoken, login: true });
    expect(await ask(`${sec}/session`, login, ...cborText)).toBe('2.04');
    expect(cbor.decodeFirstSync(fs.readFileSync(out)).expiresin).toBeGreaterThan(3000);
  });

  withCalifornium.test(`Californium signs up and in over ${transport}, without a CSM`, async () => {
    const { uri, codeFor } = clouds[transport];
    const user = newUser();
    const { ask, notified } = await californium(uri);
    expect((await ask('GET', '/oic/res')).code).toBe('4.01');
    const accesstoken = await codeFor(user);
    const account = { di: randomUUID(), authprovider: 'seganet', devicetype: 'device', accesstoken };
    const up = await ask('POST', '/oic/sec/account', account);
    expect(up.code).toBe('2.04');
    const login = { di: account.di, uid: up.value.uid, accesstoken: up.value.accesstoken, login: true };
    expect((await ask('POST', '/oic/sec/session', login)).code).toBe('2.04');
    expect(await ask('GET', '/oic/res')).toMatchObject({ code: '2.05', value: [] });
    if (transport === 'tls') return;
    const device = await lamp(user);
    expect((await ask('GET', '/oic/res?rt=core.light')).value[0].di).toBe(device.di);
    expect(await ask('OBSERVE', device.href)).toMatchObject({ code: '2.05', value: { on: false } });
    expect(await ask('POST', device.href, { on: true })).toMatchObject({
      code: '2.04',
      value: { on: true }
    });
    await eventually(() => notified().some(({ on }) => on), { timeoutMs: 20000, what: 'the notification' });
  });
}

// coap-rd 4.3.1 has no lookups, needs no name of an endpoint, and crashes at a DELETE.
withDirectory.test("registers as libcoap's directory does", async () => {
  const port = await freePort();
  const rd = new Child('coap-rd-notls', ['-A', '127.0.0.1', '-p', String(port)]);
  const { client, ask } = await californium(clouds.tcp.uri);
  /** @param {string} base @returns {Promise<any[]>} what the RFC fixes */
  const seen = async (base) => {
    /** @param {string} method @param {string} target @param {string} [payload] */
    const link = (method, target, payload) =>
      client.ask(method, base + target, payload === undefined ? {} : { format: LINKS, payload });
    const core = await link('GET', '/.well-known/core?rt=core.rd');
    const [, rdPath] = /^<(\/[^>]*)>[^,]*;rt="?core\.rd"?(;|,|$)/.exec(String(core.payload)) ?? [];
    const registered = await link('POST', `${rdPath}?ep=a&lt=120&base=coap://b.example`, '</t>;rt="t"');
    const isInside = `/${registered.location}`.startsWith(`${rdPath}/`);
    return [core.code, core.format, rdPath, registered.code, isInside];
  };
  try {
    const { di, uid, access: accesstoken } = await knownDevice(newUser());
    expect((await ask('POST', '/oic/sec/session', { di, uid, accesstoken, login: true })).code).toBe('2.04');
    const ours = await seen(clouds.tcp.uri);
    expect(ours).toEqual(['2.05', LINKS, '/rd', '2.01', true]);
    expect(await seen(`coap://127.0.0.1:${port}`)).toEqual(ours);
  } finally {
    await rd.stop();
  }
});

/** A device that has signed up. @param {string} user */
async function knownDevice(user) {
  const known = await connected();
  expect((await known.signUp(await cloud.codeFor(user))).code).toBe('2.04');
  return known;
}
