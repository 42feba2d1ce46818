'use strict';
// The command `remove` beside a keeper: what the keeper is told, and what the tenants file then has.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { homeOf } = require('../../../docker/tenants/lib/base/home');
const remove = require('../../../docker/tenants/lib/commands/remove');
const { readTenants } = require('../../../docker/tenants/lib/file/tenants-file');
const { TestKeeper } = require('../../fixtures/tenants/keeper');

/** @type {ReturnType<typeof homeOf>} */
let home;
/** @type {TestKeeper} */
let keeper;
/** Requests to the keeper, with the names in the tenants file at that time. @type {[string, ...string[]][]} */
let asked;
/** @type {string[]} */
let notes;
/** Answers of the keeper, in their order; then 200. @type {{ status: number, body: any }[]} */
let answers;

beforeEach(async () => {
  const base = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-remove-'));
  home = homeOf({ SEGANET_HOME: base });
  fs.mkdirSync(home.folder, { mode: 0o700 });
  const tenants = ['acme', 'blue'].map((name) => ({ name, driver: 'process', command: ['true'] }));
  fs.writeFileSync(home.file, JSON.stringify({ version: 1, tenants }), { mode: 0o600 });
  [asked, notes, answers] = [[], [], []];
  keeper = await new TestKeeper({ socket: home.socket }).open();
  keeper.answer = ({ method, path: url }) => {
    asked.push([`${method} ${url}`, ...readTenants(home.file).map(({ name }) => name)]);
    return answers.shift() ?? { status: 200, body: {} };
  };
});
afterEach(async () => {
  await keeper.close();
  fs.rmSync(path.dirname(home.folder), { recursive: true, force: true });
});

/** Removes acme. @param {object} [faults] methods of the engine */
const removeAcme = (faults) => {
  const engine = { check: async () => '', stop: async () => {}, remove: async () => {}, ...faults };
  const context = {
    ...{ values: {}, operands: ['acme'], positionals: ['acme'], home, env: {}, isJson: false },
    print: () => {},
    note: (/** @type {string} */ line) => void notes.push(line),
    driver: () => engine
  };
  return remove.run(/** @type {any} */ (context));
};

const RELOAD = 'POST /v1/reload';
const fails = async () => {
  throw new Error('it does not end');
};

test('reads the file again in the keeper once the tenant has left it', async () => {
  await removeAcme();
  expect(asked).toEqual([[RELOAD, 'blue']]);
  expect(notes).toEqual([]);
});

test.each(['stop', 'remove'])(
  'gives the tenant back to the keeper when the %s of the engine fails',
  async (fault) => {
    await expect(removeAcme({ [fault]: fails })).rejects.toThrow('it does not end');
    expect(asked).toEqual([
      [RELOAD, 'blue'],
      [RELOAD, 'blue', 'acme']
    ]);
    expect(notes).toEqual([]);
  }
);

test('gives the tenant back when the keeper does not take the file over, and fails with the first reason', async () => {
  answers = ['the first', 'the second'].map((error) => ({ status: 500, body: { error } }));
  let stops = 0;
  const stop = async () => void stops++;
  await expect(removeAcme({ stop })).rejects.toThrow(/did not take it over: the first$/);
  expect(stops).toBe(0);
  expect(asked).toEqual([
    [RELOAD, 'blue'],
    [RELOAD, 'blue', 'acme']
  ]);
  expect(notes).toEqual([expect.stringMatching(/did not take it over: the second$/)]);
});

test('changes nothing while the engine does not answer', async () => {
  await expect(removeAcme({ check: fails })).rejects.toThrow('it does not end');
  expect(asked).toEqual([]);
  expect(readTenants(home.file).map(({ name }) => name)).toEqual(['acme', 'blue']);
});
