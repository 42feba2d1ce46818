'use strict';
// Groups of users and invitations, as devices and controllers use them.

const { randomUUID } = require('node:crypto');
const { startControlPlane } = require('../../fixtures/ocf/control-plane');
const { eventually, newUser, scenes } = require('../../fixtures/ocf/scenes');
const { seeded } = require('../../fixtures/random');

let cloud;
beforeAll(async () => {
  cloud = await startControlPlane();
});
afterAll(() => cloud.stop());
const { lamp, signedIn } = scenes(() => cloud);

const GROUP = '/oic/acl/group';
const INVITE = '/oic/acl/invite';
const post = (client, path, body, query = []) => client.request('POST', path, { body, query });
const make = async (client, gname = 'home') => (await post(client, GROUP, { gname })).value.gid;
const invite = (client, gid, ...uids) => post(client, INVITE, { invite: uids.map((mid) => ({ gid, mid })) });
const reply = (client, gid, accept) => post(client, INVITE, { gid, accept });
const remove = (client, path, ...query) => client.request('DELETE', path, { query });
const codeOf = async (answer) => (await answer).code;

test('a user who accepts an invitation finds, reads and observes the devices of the group, until it is deleted', async () => {
  const device = await lamp(newUser());
  const guest = await signedIn(newUser());
  const gid = await make(device, 'Küche');
  const shared = { devices: [device.di], rights: 'r' };
  expect(await codeOf(post(device, GROUP, shared, [`gid=${gid}`]))).toBe('2.04');
  const news = [];
  const first = await guest.request('GET', INVITE, { observe: 0, onNext: ({ value }) => news.push(value) });
  expect(first.value).toEqual({ invited: [], invite: [] });
  expect(await codeOf(invite(device, gid, guest.uid))).toBe('2.04');
  await eventually(() => news.length === 1, 'the notification');
  expect(news[0].invited).toEqual([{ gid, gname: 'Küche', mid: device.uid }]);
  expect((await device.request('GET', INVITE)).value.invite).toEqual([{ gid, mid: guest.uid }]);
  expect(await codeOf(guest.request('GET', device.href))).toBe('4.03');
  const verify = async () =>
    (await guest.request('GET', '/oic/acl/verify', { query: [`di=${device.di}`] })).value;
  expect(await verify()).toEqual({ gp: 'Denied', rights: '' });
  expect(await codeOf(reply(guest, gid, true))).toBe('2.04');
  expect(await verify()).toEqual({ gp: 'Allowed', rights: 'r' });
  await eventually(() => news.length === 2, 'the second notification');
  expect(news[1]).toEqual({ invited: [], invite: [] });
  const ends = [];
  const observed = await guest.request('GET', device.href, {
    observe: 0,
    onNext: ({ code }) => ends.push(code)
  });
  expect([observed.code, await codeOf(post(guest, device.href, { on: true }))]).toEqual(['2.05', '4.03']);
  expect((await guest.request('GET', '/oic/res')).value.map(({ anchor }) => anchor)).toContain(
    `ocf://${device.di}`
  );
  const [group] = (await guest.request('GET', GROUP)).value.grouplist;
  expect(group).toEqual({
    gid,
    gname: 'Küche',
    owner: device.uid,
    members: [device.uid, guest.uid].sort(),
    devices: [{ di: device.di, rights: 'r' }]
  });
  expect((await guest.request('GET', GROUP, { query: [`gid=${gid}`] })).value).toEqual(group);
  shared.rights = 'rw';
  await post(device, GROUP, shared, [`gid=${gid}`]);
  expect(await codeOf(post(guest, device.href, { on: true }))).toBe('2.04');
  expect(await codeOf(remove(guest, GROUP, `gid=${gid}`))).toBe('4.03');
  expect(await codeOf(remove(device, GROUP, `gid=${gid}`))).toBe('2.02');
  await eventually(() => ends.at(-1) === '4.03', 'the end of the observation');
  expect(await codeOf(guest.request('GET', device.href))).toBe('4.03');
  expect((await guest.request('GET', GROUP)).value).toEqual({ grouplist: [] });
});

test('users decline, withdraw, leave and are removed', async () => {
  const [owner, member, other] = await Promise.all([1, 2, 3].map(() => signedIn(newUser())));
  const gid = await make(owner);
  await invite(owner, gid, member.uid, other.uid);
  expect(await codeOf(reply(other, gid, false))).toBe('2.04');
  expect(await codeOf(reply(other, gid, false))).toBe('4.04');
  expect(await codeOf(reply(member, gid, true))).toBe('2.04');
  expect(await codeOf(invite(member, gid, other.uid))).toBe('2.04');
  expect(await codeOf(remove(other, INVITE, `gid=${gid}`, `mid=${member.uid}`))).toBe('4.04');
  expect(await codeOf(remove(owner, INVITE, `gid=${gid}`, `mid=${other.uid}`))).toBe('2.02');
  expect(await codeOf(invite(owner, gid, member.uid))).toBe('4.03');
  expect(await codeOf(remove(member, GROUP, `gid=${gid}`, `mid=${owner.uid}`))).toBe('4.03');
  expect(await codeOf(remove(owner, GROUP, `gid=${gid}`, `mid=${owner.uid}`))).toBe('4.03');
  expect(await codeOf(remove(member, GROUP, `gid=${gid}`, `mid=${member.uid}`))).toBe('2.02');
  expect(await codeOf(remove(owner, GROUP, `gid=${gid}`, `mid=${member.uid}`))).toBe('4.04');
  // A group does not exist for others.
  for (const answer of [
    member.request('GET', GROUP, { query: [`gid=${gid}`] }),
    remove(member, GROUP, `gid=${gid}`),
    invite(member, gid, other.uid),
    post(member, GROUP, { devices: [member.di], rights: 'r' }, [`gid=${gid}`])
  ]) {
    expect(await codeOf(answer)).toBe('4.04');
  }
  expect(await codeOf(post(owner, GROUP, { devices: [other.di], rights: 'r' }, [`gid=${gid}`]))).toBe('4.03');
});

test('an invitation ends with the membership of the inviter, and its user gets a notification', async () => {
  const [owner, member, other] = await Promise.all([1, 2, 3].map(() => signedIn(newUser())));
  const gid = await make(owner);
  await invite(owner, gid, member.uid);
  await reply(member, gid, true);
  await invite(member, gid, other.uid);
  const news = [];
  const first = await other.request('GET', INVITE, { observe: 0, onNext: ({ value }) => news.push(value) });
  expect(first.value.invited).toHaveLength(1);
  expect(await codeOf(remove(owner, GROUP, `gid=${gid}`, `mid=${member.uid}`))).toBe('2.02');
  await eventually(() => news.length > 0, 'the notification');
  expect(news).toEqual([{ invited: [], invite: [] }]);
  expect(await codeOf(reply(other, gid, true))).toBe('4.04');
});

test('what is malformed is 4.00 with a sentence', async () => {
  const client = await signedIn(newUser());
  const gid = await make(client);
  const [id, query] = [randomUUID(), [`gid=${gid}`]];
  const cases = [
    [GROUP, {}],
    [GROUP, { gname: 'x'.repeat(65) }],
    [GROUP, { gname: 'a\0b' }],
    [GROUP, { gname: 'a\nb' }],
    [GROUP, { devices: [], rights: 'r' }, query],
    [GROUP, { devices: ['x'], rights: 'r' }, query],
    [GROUP, { devices: [7], rights: 'r' }, query],
    [GROUP, { devices: Array(257).fill(id), rights: 'r' }, query],
    [GROUP, { devices: [id], rights: 'x' }, query],
    [GROUP, { devices: [id] }, query],
    [GROUP, { gname: 'a' }, ['gid=x']],
    [GROUP, { gname: 'a' }, [`gid=${id}`, `gid=${id}`]],
    [INVITE, {}],
    [INVITE, { gid }],
    [INVITE, { gid, accept: 1 }],
    [INVITE, { invite: [] }],
    [INVITE, { invite: [null] }],
    [INVITE, { invite: [{ gid }] }],
    [INVITE, { invite: Array(17).fill({ gid, mid: id }) }]
  ];
  for (const [path, body, more] of cases) {
    const { code, value } = await post(client, path, body, more);
    expect([JSON.stringify(body), code]).toEqual([JSON.stringify(body), '4.00']);
    expect(value).toMatch(/^[^]+\.$/);
  }
  expect(await codeOf(remove(client, GROUP))).toBe('4.00');
  expect(await codeOf(remove(client, GROUP, ...query, `di=${id}`, `mid=${id}`))).toBe('4.00');
  expect(await codeOf(remove(client, INVITE))).toBe('4.00');
  expect(await codeOf(client.request('GET', '/oic/acl/verify'))).toBe('4.00');
  expect(await codeOf(client.request('PUT', GROUP))).toBe('4.05');
  expect(cloud.problems()).toEqual([]);
});

test('groups of a user, and open invitations of a group, are limited', async () => {
  const owner = await signedIn(newUser());
  const made = [];
  for (let i = 0; i < 33; i++) made.push(await codeOf(post(owner, GROUP, { gname: `g${i}` })));
  expect([new Set(made.slice(0, 32)), made[32]]).toEqual([new Set(['2.04']), '5.03']);
  const { gid } = (await owner.request('GET', GROUP)).value.grouplist[0];
  const many = (n) => Array.from({ length: n }, () => randomUUID());
  expect(await codeOf(invite(owner, gid, ...many(16)))).toBe('2.04');
  expect(await codeOf(invite(owner, gid, ...many(16)))).toBe('2.04');
  expect(await codeOf(invite(owner, gid, randomUUID()))).toBe('5.03');
});

test('any sequence leaves the rights that the groups give, and nothing else', async () => {
  const seed = Number(process.env.SEGANET_SEED ?? Date.now() % 1e6);
  const { integer } = seeded(seed);
  const users = await Promise.all([1, 2, 3, 4].map(() => signedIn(newUser())));
  const gids = [];
  const any = (list) => list[integer(list.length)];
  for (let i = 0; i < 150; i++) {
    const [one, two, gid] = [any(users), any(users), any(gids) ?? randomUUID()];
    const step = integer(9);
    if (step === 0 && gids.length < 4) gids.push(await make(one));
    if (step === 1) await remove(one, GROUP, `gid=${gid}`, `mid=${two.uid}`);
    if (step === 2 && integer(4) === 0) await remove(one, GROUP, `gid=${gid}`);
    if (step === 3) await remove(one, GROUP, `gid=${gid}`, `di=${one.di}`);
    if (step === 4) await post(one, GROUP, { devices: [one.di], rights: any(['r', 'rw']) }, [`gid=${gid}`]);
    if (step === 5) await cloud.cloud.share(one.di, two.uid, any(['', 'r', 'rw']));
    if (step > 5) {
      await invite(one, gid, two.uid);
      await reply(two, gid, integer(5) > 0);
    }
  }
  const groups = await cloud.store.read('groups', {});
  for (const device of users) {
    const expected = new Map();
    const direct = new Map();
    for (const user of users) {
      if (user === device) continue;
      const given = groups
        .filter(({ members }) => members.includes(user.uid))
        .flatMap(({ devices }) => devices.filter(({ di }) => di === device.di).map(({ rights }) => rights));
      expected.set(user.uid, given);
      direct.set(user.uid, (await cloud.cloud.grants.rights(device.di, user.uid)) ?? '');
    }
    const { shares } = await cloud.store.read('access', { di: device.di });
    for (const [uid, given] of expected) {
      const stored = shares.find((row) => row.uid === uid)?.rights ?? '';
      expect([seed, direct.get(uid)]).toEqual([seed, stored]);
      if (given.includes('rw')) expect([seed, stored]).toEqual([seed, 'rw']);
      else if (given.length > 0) expect([seed, ['r', 'rw'].includes(stored)]).toEqual([seed, true]);
    }
  }
  for (const user of users) for (const other of users) await cloud.cloud.share(user.di, other.uid, '');
  for (const { gid, uid } of groups) await cloud.store.write('removeGroup', { gid, uid });
  for (const { di } of users) expect((await cloud.store.read('access', { di })).shares).toEqual([]);
});
