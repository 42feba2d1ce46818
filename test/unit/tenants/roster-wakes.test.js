'use strict';
// What ends the wait of a tenant that failed, besides time: the keeper's reports, and the watchdog.

const { KeeperError } = require('../../../nodes/lib/tenants/keeper/keeper-error');
const { LOOK_MS, Watchdog } = require('../../../nodes/lib/tenants/uplink/watchdog');
const { Lab, turn } = require('../../fixtures/tenants/roster-lab');

/** @param {number} [retryMs] @returns {Promise<Lab>} a lab whose tenant a has failed for the keeper */
async function failedLab(retryMs = 300000) {
  const lab = new Lab().add('a');
  lab.ring(1);
  lab.keeper.asked.shift()?.reject(new KeeperError('It crashed.', { code: 'failed', retryMs }));
  await turn();
  await lab.pass(500);
  expect(lab.roster.tenants.get('a')).toMatchObject({ state: 'failed', reason: 'It crashed.' });
  return lab;
}

test.each([
  ['is ready, whoever woke it', { event: 'ready', tenant: 'a' }],
  ['has a changed entry', { event: 'changed', tenant: 'a' }],
  ['has its engine back', { event: 'engine', tenant: '', ok: true }]
])('tries a tenant that failed at once when the keeper reports that it %s', async (_what, event) => {
  const lab = await failedLab();
  for (const other of ['waking', 'crashed', 'failed', 'stopped', 'backup'])
    lab.roster.onKeeperEvent({ at: 0, tenant: 'a', event: other });
  lab.roster.onKeeperEvent({ at: 0, tenant: 'b', event: 'ready' });
  lab.roster.onKeeperEvent({ at: 0, tenant: '', event: 'engine', ok: false });
  expect(lab.keeper.asked).toEqual([]);
  lab.roster.onKeeperEvent({ at: 0, ...event });
  expect(lab.keeper.asked).toMatchObject([{ name: 'a' }]);
  expect(lab.roster.tenants.get('a')).toMatchObject({ state: 'waking', reason: '' });
  await lab.wake();
  expect(lab.state('a')).toBe('awake');
});

test('tries a tenant that failed at once when the stream of events is open again', async () => {
  const lab = await failedLab();
  lab.roster.retryAll();
  expect(lab.keeper.asked).toMatchObject([{ name: 'a' }]);
});

test('takes the report of a ready tenant while its session is still ending', async () => {
  const lab = new Lab().add('a');
  lab.ring(1);
  const { session } = await lab.wake();
  let end = () => {};
  session.stop = () => new Promise((resolve) => (end = () => resolve(lab.bells.delete(1))));
  session.down('ECONNRESET');
  await turn();
  lab.roster.onKeeperEvent({ at: 0, tenant: 'a', event: 'ready' });
  expect(lab.keeper.asked).toEqual([]);
  end();
  await lab.pass(500);
  expect(lab.keeper.asked).toMatchObject([{ name: 'a' }]);
});

test('asks a keeper that is away at once when its stream of events is open', async () => {
  const lab = new Lab().add('a');
  lab.keeper.isAway = true;
  lab.ring(1);
  await lab.pass(20000);
  lab.keeper.isAway = false;
  lab.roster.retryAll();
  expect(lab.keeper.asked).toMatchObject([{ name: 'a' }]);
});

test('waits 30 s at most, whatever the keeper says', async () => {
  const lab = await failedLab();
  await lab.pass(30000);
  expect(lab.keeper.asked).toMatchObject([{ name: 'a' }]);
});

test('the watchdog tries tenants that wait although the keeper would wake them, and counts them', async () => {
  const lab = await failedLab();
  /** @type {string[]} */
  const found = [];
  let state = 'failed';
  let lists = 0;
  const keeper = { tenants: async () => (lists++, [{ name: 'a', state, failures: 1 }]) };
  const parts = { keeper, roster: lab.roster, now: () => lab.now };
  const watchdog = new Watchdog({ ...parts, found: (name, what) => found.push(`${name}: ${what}`) });
  lab.now += LOOK_MS;
  await watchdog.tick();
  await watchdog.tick();
  expect({ lists, found, asked: lab.keeper.asked }).toEqual({ lists: 1, found: [], asked: [] });
  state = 'running';
  lab.now += LOOK_MS;
  await watchdog.tick();
  expect(found).toEqual([expect.stringMatching(/^a: its records waited although/)]);
  expect(lab.keeper.asked).toMatchObject([{ name: 'a' }]);
  expect(lab.roster.tenants.get('a')?.view()).toMatchObject({ state: 'waking', rescues: 1 });
  // No tenant waits for the keeper's word any more.
  lab.now += LOOK_MS;
  await watchdog.tick();
  expect(lists).toBe(2);
});

test('the watchdog finds a tenant whose bell was lost', async () => {
  const lab = new Lab().add('a', 'b');
  lab.work[2] = 3;
  /** @type {string[]} */
  const found = [];
  const keeper = { tenants: async () => [] };
  const parts = { keeper, roster: lab.roster, now: () => lab.now };
  const watchdog = new Watchdog({ ...parts, found: (name) => found.push(name) });
  lab.now += LOOK_MS;
  await watchdog.tick();
  expect(found).toEqual(['b']);
  expect(lab.keeper.asked).toMatchObject([{ name: 'b', class: 3 }]);
});
