'use strict';
// `seganet-tenants remove` while a keeper runs: the requests that the keeper receives, and the contents of the tenants
// file at each of them.

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
/** Requests that the keeper received, each with the tenants in the file at that time. @type {[string, ...string[]][]} */
let asked;
/** @type {string[]} */
let notes;
/** The keeper's next answers; after them it answers 200. @type {{ status: number, body: any }[]} */
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

/** @type {string[]} */
let printed;
/** Removes acme. @param {object} [faults] methods of the engine that fail @param {object} [values] options */
const removeAcme = (faults, values = {}) => {
  printed = [];
  const engine = { check: async () => '', stop: async () => {}, remove: async () => {}, ...faults };
  const context = {
    values,
    operands: ['acme'],
    home,
    env: {},
    isJson: false,
    print: (/** @type {string} */ line) => void printed.push(line),
    note: (/** @type {string} */ line) => void notes.push(line),
    driver: () => engine
  };
  return remove.run(/** @type {any} */ (context));
};

const RELOAD = 'POST /v1/reload';
const fails = async () => {
  throw new Error('it does not end');
};

test('makes the keeper reload the file without the tenant', async () => {
  await removeAcme();
  expect(asked).toEqual([[RELOAD, 'blue']]);
  expect(notes).toEqual([]);
});

test.each(['stop', 'remove'])(
  'puts the tenant back into the file when the engine fails to %s it',
  async (fault) => {
    await expect(removeAcme({ [fault]: fails })).rejects.toThrow('it does not end');
    expect(asked).toEqual([
      [RELOAD, 'blue'],
      [RELOAD, 'blue', 'acme']
    ]);
    expect(notes).toEqual([]);
  }
);

test('puts the tenant back when the keeper refuses the file, and reports the first reason', async () => {
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

test('changes nothing if the engine does not answer', async () => {
  await expect(removeAcme({ check: fails })).rejects.toThrow('it does not end');
  expect(asked).toEqual([]);
  expect(readTenants(home.file).map(({ name }) => name)).toEqual(['acme', 'blue']);
});

describe('says what stays, and with --delete-data removes the volumes that restores set aside', () => {
  const OLD = 'acme.before-20261123T020000000Z';
  beforeEach(() => {
    for (const name of ['acme', OLD, 'blue.before-20261123T020000000Z', 'acme.before-notes'])
      fs.mkdirSync(path.join(home.volumes, name, 'sub'), { recursive: true });
    fs.mkdirSync(home.backups);
    for (const name of ['acme-20261123T021500123Z.tar.zst', 'blue-20261123T021500123Z.tar.zst'])
      fs.writeFileSync(path.join(home.backups, name), '');
  });
  const asides = () => fs.readdirSync(home.volumes).filter((name) => name.includes('before'));

  test('with the data', async () => {
    await removeAcme({}, { 'delete-data': true });
    expect(printed).toEqual([`removed acme; its data are deleted; what stays: 1 backup in ${home.backups}`]);
    expect(asides()).toEqual(['acme.before-notes', 'blue.before-20261123T020000000Z']);
  });

  test('without the data', async () => {
    await removeAcme();
    expect(printed).toEqual([
      `removed acme; its data are kept; what stays: ${path.join(home.volumes, OLD)}, 1 backup in ${home.backups}`
    ]);
    expect(asides()).toHaveLength(3);
  });

  test('in a cluster', async () => {
    const tenants = [{ name: 'acme', driver: 'kubernetes' }];
    fs.writeFileSync(home.file, JSON.stringify({ version: 1, tenants }));
    fs.rmSync(home.backups, { recursive: true });
    await removeAcme({}, { 'delete-data': true });
    expect(printed).toEqual([
      'removed acme; its data are kept; what stays: the volume claim data-seganet-tenant-acme-0 of its cluster'
    ]);
  });
});
