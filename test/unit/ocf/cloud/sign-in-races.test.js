'use strict';
// Sign-ins whose checks end late: each device is announced as on once, and as off only after that.

const { startControlPlane } = require('../../../fixtures/ocf/control-plane');
const { eventually, newUser, scenes } = require('../../../fixtures/ocf/scenes');

jest.setTimeout(60000);

let cloud;
beforeAll(async () => {
  cloud = await startControlPlane({ accessSeconds: -1 });
});
afterAll(() => cloud?.stop());
afterEach(() => jest.restoreAllMocks());
const { connected, signedIn } = scenes(() => cloud);

/** Holds the next two checks of who owns a device: those of two sign-ins. @param {string} di */
function holdChecks(di) {
  const { grants } = cloud.cloud;
  const real = grants.of.bind(grants);
  /** @type {(() => void)[]} */
  const held = [];
  jest.spyOn(grants, 'of').mockImplementation(async (each) => {
    if (each === di && held.length < 2) {
      await new Promise((resolve) => held.push(() => resolve(undefined)));
    }
    return real(each);
  });
  return held;
}

/** A device without a session, and a controller of its user that watches it. */
async function scene() {
  const user = newUser();
  const device = await connected();
  expect((await device.signUp(await cloud.codeFor(user))).code).toBe('2.04');
  const watcher = await signedIn(user);
  const [seen, others] = [[], []];
  const onNext = ({ value }) => {
    const [{ di, state }] = value.prslist;
    if (di === device.di) seen.push(state);
    else others.push(di);
  };
  await watcher.request('GET', '/oic/prs', { observe: 0, onNext });
  const events = () =>
    cloud.events.presence
      .filter(({ di }) => di === device.di)
      .map(({ state, reason }) => `${state} ${reason}`);
  /** Resolves when the watcher has got what was announced before: that of another device follows. */
  const settled = async () => {
    const last = await signedIn(user);
    await eventually(() => others.includes(last.di), 'what was announced later');
  };
  return { device, seen, events, settled };
}

test('a connection that ends while its sign-in is checked announces nothing, and the next one announces once', async () => {
  const { device, seen, events, settled } = await scene();
  const held = holdChecks(device.di);
  device.signIn().catch(() => {});
  await eventually(() => held.length === 1, 'the check of the first sign-in');
  device.destroy();
  await eventually(() => !cloud.cloud.sessions.of(device.di), 'the end of the first connection');
  const second = (await connected()).as(device);
  const signIn = second.signIn();
  await eventually(() => held.length === 2, 'the check of the second sign-in');
  held[1]();
  expect((await signIn).code).toBe('2.04');
  held[0]();
  await settled();
  expect(events()).toEqual(['on signedIn']);
  expect(seen).toEqual(['on']);
  second.destroy();
  await eventually(() => events().length === 2, 'the end');
  await settled();
  expect(events()).toEqual(['on signedIn', 'off closed']);
  expect(seen).toEqual(['on', 'off']);
});

test('a sign-in that replaces one whose check is late is announced once', async () => {
  const { device, seen, events, settled } = await scene();
  const held = holdChecks(device.di);
  device.signIn().catch(() => {});
  await eventually(() => held.length === 1, 'the check of the first sign-in');
  const second = (await connected()).as(device);
  const signIn = second.signIn();
  await eventually(() => held.length === 2, 'the check of the second sign-in');
  held[0]();
  held[1]();
  expect((await signIn).code).toBe('2.04');
  await settled();
  expect(events()).toEqual(['on signedIn']);
  expect(seen).toEqual(['on']);
});

test('a refused sign-in that replaces an earlier one turns the device off once', async () => {
  const { device, seen, events, settled } = await scene();
  expect((await device.signIn()).code).toBe('2.04');
  jest.spyOn(cloud.cloud.grants, 'of').mockRejectedValueOnce(new Error('The store does not answer.'));
  const second = (await connected()).as(device);
  expect((await second.signIn()).code).toBe('5.03');
  await settled();
  expect(events()).toEqual(['on signedIn', 'off refused']);
  expect(seen).toEqual(['on', 'off']);
  expect(
    cloud
      .problems()
      .splice(0)
      .map(({ message }) => message)
  ).toEqual(['The store does not answer.']);
});
