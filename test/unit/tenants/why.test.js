'use strict';
// Why records of a tenant wait: the gateway's side, the keeper's, and the command that shows both.

const fs = require('node:fs');
const http = require('node:http');
const os = require('node:os');
const path = require('node:path');
const command = require('../../../docker/tenants/lib/commands/why');
const { whyOf: keeperWhy } = require('../../../docker/tenants/lib/life/why');
const { TestKeeper } = require('../../fixtures/tenants/keeper');
const { fakeKeeper } = require('../../fixtures/tenants/fake-keeper');
const { KeeperClient } = require('../../../nodes/lib/tenants/keeper/keeper-client');
const { TenantsView } = require('../../../nodes/lib/tenants/operator');
const { whyOf } = require('../../../nodes/lib/tenants/operator/why');

/** @param {string} state @param {string} [reason] @returns {any} */
const row = (state, reason = '') => ({ name: 'acme', state, reason });
const waiting = { waitingBytes: 5000, refused: 0 };

/** @param {any} changes */
const seen = (changes) => ({
  name: 'acme',
  isDivided: true,
  isKnown: true,
  front: row('asleep'),
  part: waiting,
  stored: 0,
  ...changes
});

describe('the gateway says', () => {
  test.each([
    [{ isDivided: false }, 'nothing', /no tenants node/],
    [{ isKnown: false }, 'unknown', /no tenant acme.*seganet-tenants add acme/],
    [{ part: undefined }, 'nothing', /not been planned/],
    [{ part: { waitingBytes: 0, refused: 0 } }, 'nothing', /No record of acme waits\.$/],
    [{ part: { waitingBytes: 0, refused: 7 } }, 'nothing', /7 records above its limits were refused/],
    [{ front: row('waiting') }, 'place', /wait \(5 KiB in all\) for a place/],
    [{ front: row('waiting', 'The keeper is away.') }, 'keeper', /: The keeper is away\.$/],
    [
      { front: row('waking'), stored: 3 },
      'waking',
      /3 records in the log, 5 KiB in all\): .*asked the keeper/
    ],
    [{ front: row('connecting', 'ECONNREFUSED') }, 'connecting', /connects to it \(ECONNREFUSED\)\.$/],
    [
      { front: row('failed', 'blue does not start.') },
      'retry',
      /: blue does not start\. The gateway tries again/
    ],
    [{ front: row('leaving') }, 'leaving', /wakes it again/],
    [{ front: row('awake') }, 'sending', /session is open/],
    [{ front: undefined, part: { waitingBytes: 0, refused: 0 }, stored: 1 }, 'asleep', /1 records in the log/]
  ])('%j: %s', (changes, code, text) => {
    expect(whyOf(/** @type {any} */ (seen(changes)))).toEqual({ code, text: expect.stringMatching(text) });
  });
});

describe('the keeper says', () => {
  const known = {
    ...{
      name: 'acme',
      state: /** @type {any} */ ('stopped'),
      reason: '',
      sinceMs: 4200,
      leases: 0,
      failures: 0
    },
    ...{ retryMs: 0, isWaking: false, isHeld: false, awayDriver: '' }
  };
  test.each([
    [{}, 'asleep', /sleeps \(stopped\), and no start was asked for/],
    [{ isHeld: true }, 'restored', /being restored/],
    [{ awayDriver: 'docker' }, 'engine', /engine of docker does not answer/],
    [{ awayDriver: 'docker', state: 'running', leases: 2 }, 'running', /with 2 leases/],
    [
      { state: 'failed', failures: 5, reason: 'exit code 1.' },
      'failed',
      /5 failures \(exit code 1\).*wake acme/
    ],
    [{ state: 'starting', isWaking: true }, 'starting', /starting for 5 s/],
    [{ isWaking: true }, 'turn', /waits until other starts/],
    [{ failures: 2, retryMs: 6100, reason: 'oom' }, 'retry', /failed 2 times in a row \(oom\).*in 7 s/],
    [{ state: 'pausing' }, 'leaving', /being paused/]
  ])('%j: %s', (changes, code, text) => {
    expect(keeperWhy({ ...known, ...changes })).toEqual({ code, text: expect.stringMatching(text) });
  });

  test('what is true of a tenant that starts, runs, and is not known', async () => {
    const world = fakeKeeper();
    try {
      await world.apply({ name: 'acme', idleMs: 10_000 });
      expect(world.keeper.why('acme')).toMatchObject({ name: 'acme', code: 'asleep' });
      const woken = world.keeper.tenant('acme').wake({ by: 'operator' });
      await world.clock.pass(150);
      expect(world.keeper.why('acme')).toMatchObject({ state: 'starting', code: 'starting' });
      await world.clock.pass(1000);
      await woken;
      expect(world.keeper.why('acme')).toMatchObject({ state: 'running', code: 'running' });
      expect(() => world.keeper.why('nobody')).toThrow("There is no tenant 'nobody'.");
    } finally {
      world.close();
    }
  });
});

describe('both sides', () => {
  /** @type {string} */
  let folder;
  /** @type {TestKeeper} */
  let keeper;
  /** @type {http.Server} */
  let gateway;
  beforeEach(async () => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'why-'));
    fs.mkdirSync(path.join(folder, 'tenants'));
    keeper = await new TestKeeper({ socket: path.join(folder, 'tenants', 'keeper.sock') }).open();
    keeper.answer = ({ path: asked }) =>
      asked === '/v1/tenants/acme/why'
        ? { status: 200, body: { code: 'asleep', text: 'acme sleeps.' } }
        : null;
    gateway = http.createServer((request, response) => {
      const answers = [{ code: 'place', text: `${request.url} waits for a place.` }];
      response.end(JSON.stringify({ answers }));
    });
  });
  afterEach(async () => {
    gateway.close();
    await keeper.remove();
    fs.rmSync(folder, { recursive: true, force: true });
  });

  /** @param {boolean} [isJson] @returns {Promise<string[]>} */
  async function why(isJson = false) {
    /** @type {string[]} */
    const lines = [];
    const context = {
      ...{ values: {}, operands: ['acme'], env: { SEGANET_HOME: folder }, isJson, note: () => {} },
      ...{ home: { socket: keeper.socket }, print: (/** @type {string} */ line) => lines.push(line) }
    };
    await command.run(/** @type {any} */ (context));
    return lines;
  }

  test('are joined by the view of a tenants node, also while the keeper is away', async () => {
    const front = {
      known: () => ({
        front: new Map([['acme', row('waiting')]]),
        parts: new Map([['acme', waiting]]),
        perS: () => null,
        names: ['acme']
      }),
      stored: async () => [{ name: 'acme', classes: { 1: 2, 3: 4 } }],
      problem: () => ''
    };
    const view = new TenantsView({ id: 'n1', keeper: new KeeperClient({ socket: keeper.socket }), front });
    expect(await view.why('acme')).toEqual({
      tenant: 'acme',
      code: 'place',
      text: expect.stringMatching(/6 records in the log/),
      keeper: { code: 'asleep', text: 'acme sleeps.' }
    });
    await keeper.close();
    expect(await view.why('acme')).toMatchObject({
      code: 'place',
      keeper: { text: expect.stringMatching(/keeper/) }
    });
    const alone = new TenantsView({ id: '-', keeper: new KeeperClient({ socket: keeper.socket }) });
    expect(await alone.why('acme')).toMatchObject({ code: 'nothing' });
  });

  test('are printed by the command, as far as they answer', async () => {
    await new Promise((resolve) =>
      gateway.listen(path.join(folder, 'gateway.sock'), () => resolve(undefined))
    );
    expect(await why()).toEqual(['gateway: /why/acme waits for a place.', 'keeper:  acme sleeps.']);
    expect(JSON.parse((await why(true))[0])).toMatchObject({
      gateway: [{ code: 'place' }],
      keeper: { code: 'asleep' }
    });
    await keeper.close();
    expect(await why()).toEqual([
      'gateway: /why/acme waits for a place.',
      expect.stringMatching(/No keeper runs/)
    ]);
    gateway.close();
    await expect(why()).rejects.toThrow(/No gateway answers.*No keeper runs/);
  });
});
