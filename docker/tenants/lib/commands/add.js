'use strict';

const { notifyKeeper } = require('../api/reload');
const { CliError, EXIT, messageOf } = require('../base/errors');
const { makeHome } = require('../base/home');
const { checkTenant } = require('../../../../nodes/lib/tenants/file/schema');
const { changeTenants, readTenants } = require('../file/tenants-file');
const { makeTenant } = require('../templates/make');
const { OPTIONS, entryOf } = require('./tenant-settings');

/** @param {import('./index').Context} context @returns {Promise<Record<string, unknown>>} the entry */
async function addOfTemplate({ values: { template, ...others }, operands, home, driver }) {
  const [name, ...command] = operands;
  const rest = Object.keys(others).filter((each) => each in OPTIONS);
  if (command.length > 0 || rest.length > 0)
    throw new CliError(
      `--template has all settings: leave out ${rest.length > 0 ? `--${rest.join(', --')}` : 'the command'}.`,
      EXIT.USAGE
    );
  makeHome(home);
  return makeTenant({ home, driver }, { name, template, byApi: false });
}

/** @param {import('./index').Context} context @returns {Promise<Record<string, unknown>>} the entry */
async function addOfOptions(context) {
  const { operands, home, driver } = context;
  const [name, ...command] = operands;
  const entry = { name, ...(await entryOf(context, command)) };
  let spec;
  try {
    spec = checkTenant(entry);
  } catch (error) {
    throw new CliError(messageOf(error), EXIT.USAGE);
  }
  makeHome(home);
  if (readTenants(home.file).some((each) => each.name === name)) {
    throw new CliError(`There is a tenant '${name}' already.`);
  }
  // What a cluster needs is its operator's, who needs the entry first (manifest).
  if (spec.driver !== 'kubernetes') await driver(spec.driver).create(spec);
  changeTenants(home.file, (tenants) => [...tenants, entry]);
  return entry;
}

/** @type {import('./index').Command} */
module.exports = {
  name: 'add',
  summary: 'adds a tenant to the tenants file, and makes what it needs',
  more: `COMMAND is what runs in the tenant; default: that of the image, or, with the driver process, a gateway of this package.
An image is kept by its digest: a name with a tag is looked up now, in the images that the engine has.`,
  usage: 'NAME [options] [-- COMMAND ...]',
  operands: [1, 65],
  options: {
    template: { type: 'string', value: 'TEMPLATE', help: 'make it of this template; excludes the others' },
    ...OPTIONS
  },
  async run(context) {
    const { values, home, isJson, print, note } = context;
    const entry = await (values.template === undefined ? addOfOptions : addOfTemplate)(context);
    await notifyKeeper(home.socket, note);
    print(isJson ? JSON.stringify(entry) : `added ${entry.name} (${entry.driver})`);
  }
};
