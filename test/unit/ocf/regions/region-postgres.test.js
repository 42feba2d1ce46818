'use strict';
// Two regions whose accounts are in one PostgreSQL database, each with connections of its own.

const { needs } = require('../../../../bench/harness/tools');
const { newCode } = require('../../../../nodes/lib/ocf/cloud/access-codes');
const { PostgresStore } = require('../../../../nodes/lib/ocf/store');
const { PASSWORD, TOOLS, startPostgres } = require('../../../fixtures/ocf/postgres-server');
const { RegionRig } = require('../../../fixtures/ocf/region-rig');
const { asLamp, eventually, newUser, scenes } = require('../../../fixtures/ocf/scenes');

const { describe } = needs('openssl', ...TOOLS);

jest.setTimeout(120000);

describe('regions with PostgreSQL', () => {
  let server, url, rig, a, b;
  const here = scenes(() => a);
  const there = scenes(() => b);
  const startRegion = async (/** @type {object} */ parts = {}) =>
    rig.start({ ...parts, store: await PostgresStore.open(url, { password: PASSWORD }) });

  beforeAll(async () => {
    server = await startPostgres();
    url = await server.newDatabase();
    rig = new RegionRig();
    [a, b] = [await startRegion(), await startRegion()];
  });
  afterAll(async () => {
    await rig?.stop();
    await server?.end();
  });

  /** @param {any} client @param {string} href @param {string} code */
  const answers = (client, href, code) =>
    eventually(async () => (await client.request('GET', href)).code === code, `${code} from ${href}`, 30000);

  test('a controller finds, reads and observes at the other region what was published here', async () => {
    const user = newUser();
    const device = await here.lamp(user);
    const controller = await there.signedIn(user);
    expect(controller.uid).toBe(device.uid);
    await answers(controller, device.href, '2.05');
    const { value: links } = await controller.request('GET', '/oic/res', { query: ['rt=core.light'] });
    expect(links.map(({ href }) => href)).toEqual([device.href]);
    const seen = [];
    const onNext = ({ value }) => seen.push(value.on);
    expect((await controller.request('GET', device.href, { observe: 0, onNext })).code).toBe('2.05');
    expect((await controller.request('POST', device.href, { body: { on: true } })).code).toBe('2.04');
    await eventually(() => seen.at(-1) === true, 'the notification');
  });

  test('a code of one region serves at the other one, once; a share takes effect at both', async () => {
    const user = newUser();
    const device = await here.lamp(user);
    const guest = await there.connected();
    const { code } = await newCode(a.store, newUser(), { now: a.cloud.now() });
    expect((await guest.signUp(code)).code).toBe('2.04');
    expect((await guest.signIn()).code).toBe('2.04');
    expect((await (await here.connected()).signUp(code)).code).toBe('4.01');
    await eventually(() => b.cloud.stateOf(device.di) === 'on', 'region b knows the device');
    expect((await guest.request('GET', device.href)).code).toBe('4.03');
    await a.cloud.share(device.di, guest.uid, 'r');
    await answers(guest, device.href, '2.05');
    await a.cloud.share(device.di, guest.uid, '');
    await answers(guest, device.href, '4.03');
  });

  test('a device moves with its tokens; a refresh at one region counts at the other', async () => {
    const user = newUser();
    const device = await here.lamp(user);
    const controller = await here.signedIn(user);
    await eventually(() => b.cloud.stateOf(device.di) === 'on', 'region b knows the device');
    const moved = asLamp(await there.connected()).as(device);
    expect((await moved.refresh()).code).toBe('2.04');
    expect((await moved.signIn()).code).toBe('2.04');
    await device.closed;
    await answers(controller, device.href, '2.05');
    expect(moved.requests.some(({ method }) => method === 'GET')).toBe(true);
    expect((await (await here.connected()).as({ ...device, refreshToken: 'x' }).refresh()).code).toBe('4.01');
  });

  test('a deletion at one region ends the session at the other', async () => {
    const user = newUser();
    const device = await here.lamp(user);
    const controller = await there.signedIn(user);
    await answers(controller, device.href, '2.05');
    expect(await b.cloud.deleteDevice(device.di)).toBe(true);
    await device.closed;
    expect((await controller.request('GET', device.href)).code).toBe('4.04');
    await eventually(() => !b.cloud.elsewhere.table.get(device.di), 'region b forgets it');
  });

  test('while the database is away, requests of known users continue; a new sign-in is 5.03, never 4.01', async () => {
    const user = newUser();
    const device = await here.lamp(user);
    const controller = await there.signedIn(user);
    await answers(controller, device.href, '2.05');
    await server.stop('SIGKILL');
    expect((await controller.request('GET', device.href)).code).toMatch(/2\.05|5\.03/);
    const other = (await there.connected()).as(controller);
    expect((await other.signIn()).code).toBe('5.03');
    await server.start();
    await eventually(async () => (await other.signIn()).code === '2.04', 'the sign-in afterwards', 60000);
    await answers(other, device.href, '2.05');
    for (const { cloud, problems } of [a, b]) {
      expect(cloud.isClosed).toBe(false);
      problems().splice(0);
    }
  });
});
