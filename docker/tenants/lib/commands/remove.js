'use strict';

const { tellKeeper } = require('../api/reload');
const { CliError } = require('../base/errors');
const { changeTenants, readTenants } = require('../file/tenants-file');

/** Time for an orderly end when no keeper runs. */
const GRACE_MS = 30_000;

/** @type {import('./index').Command} */
module.exports = {
  name: 'remove',
  summary: 'stops a tenant and removes it from the tenants file and the engine',
  more: 'Its data stay, unless --delete-data is given.',
  usage: 'NAME [options]',
  options: { 'delete-data': { type: 'boolean', help: 'delete its data, too' } },
  async run({ values, operands, home, isJson, print, note, driver }) {
    const [name] = operands;
    const spec = readTenants(home.file).find((each) => each.name === name);
    if (!spec) throw new CliError(`There is no tenant '${name}' in ${home.file}.`);
    const engine = driver(spec.driver);
    // Without its engine, its container would stay, and no command would know it.
    await engine.check();
    /** @type {any[]} */
    let removed = [];
    changeTenants(home.file, (tenants) => {
      removed = tenants.filter((each) => each.name === name);
      return tenants.filter((each) => each.name !== name);
    });
    const hasData = Boolean(values['delete-data']);
    try {
      await tellKeeper(home.socket, note);
      await engine.stop(spec, GRACE_MS);
      await engine.remove(spec, { hasData });
    } catch (error) {
      // The command can be repeated.
      changeTenants(home.file, (tenants) => [...tenants, ...removed]);
      // Otherwise the keeper would not watch a tenant that may still run.
      await tellKeeper(home.socket, note).catch(({ message }) => note(message));
      throw error;
    }
    if (isJson) return print(JSON.stringify({ removed: name, data: hasData ? 'deleted' : 'kept' }));
    print(`removed ${name}; its data are ${hasData ? 'deleted' : 'kept'}`);
  }
};
