'use strict';

const path = require('node:path');
const { table } = require('../../../../nodes/lib/base/cli/cli-output');
const { CliError, EXIT, messageOf } = require('../base/errors');
const { makeHome } = require('../base/home');
const { checkTemplate } = require('../../../../nodes/lib/tenants/file/schema');
const { changeFile, readFile } = require('../file/tenants-file');
const { filesOf } = require('../templates/flow');
const { numberIn } = require('./common');
const { OPTIONS, entryOf } = require('./tenant-settings');

/** @typedef {import('./index').Context} Context */

/** @param {Context} context @param {string} name @param {string[]} command */
async function add(context, name, command) {
  const { values, home, isJson, print } = context;
  const entry = {
    ...(await entryOf(context, command)),
    ...(values.flow && { flow: path.resolve(values.flow) }),
    ...(values.most && { most: numberIn(values.most, '--most', 0, 1000) })
  };
  try {
    checkTemplate(name, entry);
  } catch (error) {
    throw new CliError(messageOf(error), EXIT.USAGE);
  }
  if (entry.flow) filesOf(entry.flow);
  makeHome(home);
  let isNew = true;
  changeFile(home.file, ({ templates = {} }) => {
    isNew = !Object.hasOwn(templates, name);
    return { templates: { ...templates, [name]: entry } };
  });
  print(isJson ? JSON.stringify(entry) : `${isNew ? 'added' : 'changed'} the template ${name}`);
}

/** @param {Context} context @param {string} name */
function remove({ home, isJson, print }, name) {
  changeFile(home.file, ({ templates = {} }) => {
    if (!Object.hasOwn(templates, name)) throw new CliError(`There is no template '${name.slice(0, 64)}'.`);
    return { templates: Object.fromEntries(Object.entries(templates).filter(([each]) => each !== name)) };
  });
  print(isJson ? JSON.stringify({ removed: name }) : `removed the template ${name}; its tenants stay`);
}

/** @param {Context} context */
function list({ home, isJson, print }) {
  const { tenants, templates } = readFile(home.file);
  const rows = templates.map(({ name, entry, spec, flow, most }) => {
    const own = tenants.filter((each) => each.template === name);
    const byApi = own.filter((each) => each.byApi).length;
    return { name, ...entry, flow, most, driver: spec.driver, tenants: own.length, byApi };
  });
  if (isJson) return print(JSON.stringify({ templates: rows }));
  const head = ['template', 'driver', 'tenants', 'by page or API', 'flow'];
  const cells = rows.map(({ name, driver, tenants: count, byApi, most, flow }) => [
    ...[name, driver, String(count), `${byApi} of ${most}`, flow || '–']
  ]);
  for (const line of table(head, cells)) print(line);
}

/** @type {import('./index').Command} */
module.exports = {
  name: 'template',
  summary: 'adds, changes, lists and removes templates, which tenants are made of',
  more: `seganet-tenants template add NAME [options] [-- COMMAND ...]   adds it, or replaces all settings of it
seganet-tenants template remove NAME                           its tenants stay
seganet-tenants template list

A tenant gets the settings that its template has when it is made. To give its tenants a new flow: rollout.`,
  usage: 'ACTION [options]',
  operands: [1, 66],
  options: {
    flow: { type: 'string', value: 'PATH', help: 'flow file, or folder with gateway.json and its settings' },
    most: { type: 'string', value: 'N', help: 'tenants that pages and the API make of it; default 0' },
    ...OPTIONS
  },
  async run(context) {
    const { values, operands } = context;
    const [action, name, ...command] = operands;
    const isBare = command.length === 0 && Object.keys(values).every((each) => each === 'json');
    if (action === 'add' && name !== undefined) return add(context, name, command);
    if (action === 'remove' && name !== undefined && isBare) return remove(context, name);
    if (action === 'list' && name === undefined && isBare) return list(context);
    throw new CliError('Use add NAME, remove NAME or list. See seganet-tenants template --help.', EXIT.USAGE);
  }
};
