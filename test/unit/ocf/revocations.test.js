'use strict';
// Revoked rights end although reads of the store fail after the change.

const { startControlPlane } = require('../../fixtures/ocf/control-plane');
const { SqliteStore } = require('../../../nodes/lib/ocf/store');
const { eventually, newUser, scenes } = require('../../fixtures/ocf/scenes');

let cloud;
let isUp = true;
/** Holds the answer of the next read of rights. @type {Promise<void> | null} */
let gate = null;
/** @type {string[]} users whose grant the desk took back */
let revoked = [];
beforeAll(async () => {
  const wrap = (store) => ({
    read: async (name, input) => {
      if (!isUp && name === 'access') throw new Error('No access.');
      const held = name === 'access' ? gate : null;
      if (held) gate = null;
      const answer = await store.read(name, input);
      await held;
      return answer;
    },
    write: (name, input) => store.write(name, input),
    takeChanges: () => store.takeChanges()
  });
  const prepareDesk = (desk) => {
    desk.grant = () => {};
    desk.revoke = (_connection, uid) => revoked.push(uid);
  };
  cloud = await startControlPlane({}, { wrap, prepareDesk });
});
afterAll(() => cloud.stop());
beforeEach(() => {
  isUp = true;
  revoked = [];
  cloud.problems().length = 0;
});
const { lamp, signedIn } = scenes(() => cloud);

/** A device, and a guest who observes it. */
async function observed() {
  const device = await lamp(newUser());
  const guest = await signedIn(newUser());
  await cloud.cloud.share(device.di, guest.uid, 'r');
  const ends = [];
  const first = await guest.request('GET', device.href, {
    observe: 0,
    onNext: ({ code }) => ends.push(code)
  });
  expect(first.code).toBe('2.05');
  return { device, guest, ends };
}
const failed = () => cloud.problems().some(({ message }) => message === 'No access.');

test('a change by another process is applied when the store can be read again', async () => {
  const { device, guest, ends } = await observed();
  isUp = false;
  const other = new SqliteStore(cloud.file);
  await other.write('share', { di: device.di, uid: guest.uid, rights: '' });
  await other.close();
  await eventually(failed, 'the failed read');
  expect((await guest.request('GET', device.href)).code).toBe('5.03');
  isUp = true;
  await eventually(() => ends.at(-1) === '4.03', 'the end of the observation');
  expect(revoked).toEqual([guest.uid]);
  expect((await guest.request('GET', device.href)).code).toBe('4.03');
});

test('a client gets the success of a change that is in the store, and it is applied later', async () => {
  const { device, guest, ends } = await observed();
  await cloud.cloud.share(device.di, guest.uid, '');
  await eventually(() => ends.at(-1) === '4.03', 'the end of the observation');
  const { gid } = (await device.request('POST', '/oic/acl/group', { body: { gname: 'home' } })).value;
  await cloud.store.write('addMember', { gid, mid: guest.uid, most: { members: 9, groups: 9 } });
  const body = { devices: [device.di], rights: 'r' };
  await device.request('POST', '/oic/acl/group', { query: [`gid=${gid}`], body });
  await guest.request('GET', device.href, { observe: 0, onNext: ({ code }) => ends.push(code) });
  ends.length = revoked.length = 0;
  isUp = false;
  const query = [`gid=${gid}`, `mid=${guest.uid}`];
  expect((await device.request('DELETE', '/oic/acl/group', { query })).code).toBe('2.02');
  expect(failed()).toBe(true);
  isUp = true;
  await eventually(() => ends.at(-1) === '4.03', 'the end of the observation');
  expect(revoked).toEqual([guest.uid]);
});

test('an observation does not start with rights that ended while they were read', async () => {
  const { device, guest } = await observed();
  const ends = [];
  let open = () => {};
  gate = new Promise((resolve) => (open = resolve));
  cloud.cloud.grants.forget(device.di);
  const first = guest.request('GET', device.href, { observe: 0, onNext: ({ code }) => ends.push(code) });
  await eventually(() => gate === null, 'the read of the rights');
  // The observation is not there yet, so the end of the share does not find it.
  await cloud.cloud.share(device.di, guest.uid, '');
  open();
  const { code } = await first;
  if (code !== '4.03') await eventually(() => ends.at(-1) === '4.03', 'the end of the observation');
  expect(cloud.cloud.route.observations).toBe(0);
});

test('an observation of a deleted device ends although its check failed', async () => {
  const { device, ends } = await observed();
  const viewers = await cloud.cloud.grants.viewers(device.di);
  await cloud.store.write('removeDevice', { di: device.di });
  isUp = false;
  cloud.cloud.dropDevice(device.di, viewers);
  await eventually(failed, 'the failed check');
  isUp = true;
  await eventually(() => ['4.04', '5.03'].includes(ends.at(-1)), 'the end of the observation');
});

test('one check that fails keeps no other observation open', async () => {
  const { guest, device, ends } = await observed();
  const second = await observed();
  const { grants } = cloud.cloud;
  const rights = grants.rights.bind(grants);
  grants.rights = async (di, uid) => {
    if (uid === guest.uid) throw new Error('No access.');
    return uid === second.guest.uid ? '' : rights(di, uid);
  };
  try {
    await expect(cloud.cloud.route.recheck()).rejects.toThrow('No access.');
  } finally {
    grants.rights = rights;
  }
  await eventually(() => second.ends.at(-1) === '4.03', 'the end of the other observation');
  expect(ends).toEqual([]);
  expect((await guest.request('GET', device.href)).code).toBe('2.05');
});
