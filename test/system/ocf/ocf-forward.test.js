'use strict';
// Requests to /oic/route that the engine forwards without JavaScript, with the ocf cloud node in a gateway.

const { startGatewayCloud } = require('../../fixtures/ocf/gateway-cloud');
const { eventually, newUser, scenes } = require('../../fixtures/ocf/scenes');

jest.setTimeout(60000);

describe('a request that the engine forwards', () => {
  let cloud;
  const { signedIn, lamp } = scenes(() => cloud);
  const forwarded = async () => (await cloud.gateway.stats('engine')).counters.requestsForwarded;

  beforeAll(async () => {
    cloud = await startGatewayCloud({ node: { requestTimeoutMs: '700' } });
  });
  afterAll(() => cloud?.stop());

  test('gets the answer of the device: 2.05, 2.04 and 2.02', async () => {
    const user = newUser();
    const device = await lamp(user);
    const controller = await signedIn(user);
    const before = await forwarded();
    expect(await controller.request('GET', device.href)).toMatchObject({
      code: '2.05',
      value: { on: false }
    });
    expect(await controller.request('POST', device.href, { body: { on: true } })).toMatchObject({
      code: '2.04',
      value: { on: true }
    });
    expect((await controller.request('DELETE', device.href)).code).toBe('2.02');
    expect(await forwarded()).toBe(before + 3);
    expect(device.requests.map(({ method }) => method)).toEqual(['GET', 'POST', 'DELETE']);
  });

  test('is 4.03 for another user, until the device is shared and after that', async () => {
    const [owner, guest] = [newUser(), newUser()];
    const device = await lamp(owner);
    const controller = await signedIn(guest);
    const before = await forwarded();
    expect((await controller.request('GET', device.href)).code).toBe('4.03');
    expect(await forwarded()).toBe(before);
    const share = (rights) => cloud.store.write('share', { di: device.di, uid: controller.uid, rights });
    expect(await share('r')).toBe('');
    // The cloud notices it within some seconds.
    await eventually(
      async () =>
        (await controller.request('GET', device.href)).code === '2.05' && (await forwarded()) > before,
      'forwarded GET of a guest'
    );
    const after = await forwarded();
    expect((await controller.request('POST', device.href, { body: { on: true } })).code).toBe('4.03');
    expect(await forwarded()).toBe(after);
    expect(await share('')).toBe('');
    await eventually(
      async () => (await controller.request('GET', device.href)).code === '4.03',
      'the end of the share'
    );
  });

  test('is 5.04 if the device is silent, and 5.03 if it leaves or is away', async () => {
    const user = newUser();
    const device = await lamp(user);
    const controller = await signedIn(user);
    const before = await forwarded();
    const { serve } = device;
    device.serve = () => undefined;
    expect((await controller.request('GET', device.href)).code).toBe('5.04');
    const [{ token }] = device.requests;
    device.respond(token, { body: { late: true } });
    device.serve = serve;
    expect(await controller.request('GET', device.href)).toMatchObject({
      code: '2.05',
      value: { on: false }
    });
    device.serve = () => undefined;
    const open = controller.request('GET', device.href);
    await eventually(() => device.requests.length === 3, 'a third request');
    device.destroy();
    expect((await open).code).toBe('5.03');
    expect(await forwarded()).toBe(before + 3);
    await eventually(
      async () => (await controller.request('GET', device.href)).value === 'The device is offline.',
      'that JavaScript answers for a device without a session'
    );
    expect((await controller.request('GET', device.href)).code).toBe('5.03');
    expect(await forwarded()).toBe(before + 3);
  });

  test('does not overtake requests that JavaScript passes on', async () => {
    const user = newUser();
    const device = await lamp(user);
    const controller = await signedIn(user);
    const answers = [];
    const before = await forwarded();
    // Fewer than a device may have open.
    for (let mark = 0; mark < 30; mark++) {
      // Each third request is one that the engine does not forward.
      const observe = mark % 3 === 0 ? 1 : undefined;
      answers.push(controller.request('GET', device.href, { observe, query: [`mark=${mark}`] }));
    }
    for (const { code } of await Promise.all(answers)) expect(code).toBe('2.05');
    expect(device.requests.map(({ query }) => query[0])).toEqual(
      answers.map((_none, mark) => `mark=${mark}`)
    );
    expect(await forwarded()).toBe(before + 20);
  });

  test('ends with the session: 4.01 after a sign-out, and nothing to a deleted device', async () => {
    const user = newUser();
    const device = await lamp(user);
    const controller = await signedIn(user);
    expect((await controller.request('GET', device.href)).code).toBe('2.05');
    const before = await forwarded();
    const out = { body: { login: false } };
    expect((await controller.request('POST', '/oic/sec/session', out)).code).toBe('2.04');
    expect((await controller.request('GET', device.href)).code).toBe('4.01');
    expect((await controller.signIn()).code).toBe('2.04');
    expect((await controller.request('GET', device.href)).code).toBe('2.05');
    const seen = device.requests.length;
    const gone = { query: [`di=${device.di}`] };
    expect((await device.request('DELETE', '/oic/sec/account', gone)).code).toBe('2.02');
    expect((await controller.request('GET', device.href)).code).toBe('4.04');
    expect(device.requests.length).toBe(seen);
    expect(await forwarded()).toBe(before + 1);
    expect(cloud.problems()).toEqual([]);
  });
});
