'use strict';

const { notifyKeeper } = require('../api/reload');
const { request } = require('../api/client');
const { CliError, EXIT, messageOf } = require('../base/errors');
const { checkTenant } = require('../../../../nodes/lib/tenants/file/schema');
const { changeTenants } = require('../file/tenants-file');
const { numberIn, tenantOf } = require('./common');

const WATCH_S = { standard: 10, min: 0, max: 3600 };
const LOOK_MS = 200;

/** @typedef {import('./index').Context} Context */
/** @typedef {{ image?: string, command?: string[] }} Program what runs in a tenant */

/**
 * @param {Context} context
 * @param {string} name
 * @param {Program} program undefined: none
 */
async function use({ home, note }, name, program) {
  changeTenants(home.file, (tenants) =>
    tenants.map((each) => (each.name === name ? JSON.parse(JSON.stringify({ ...each, ...program })) : each))
  );
  await notifyKeeper(home.socket, note);
}

/** @param {Context} context @param {string} name @returns {Promise<any>} its row of the keeper's list */
async function rowOf({ home }, name) {
  const { tenants } = await request(home.socket, 'GET', '/v1/tenants');
  return tenants.find((/** @type {any} */ row) => row.name === name) ?? {};
}

/** Stops the tenant, and starts it as the tenants file says now. @param {Context} context @param {string} name */
async function restart({ home }, name) {
  await request(home.socket, 'POST', `/v1/tenants/${name}/sleep`, { force: true });
  await request(home.socket, 'POST', `/v1/tenants/${name}/wake`, {});
}

/**
 * @param {Context} context
 * @param {string} name
 * @param {number} seconds
 * @throws {Error} if the tenant ends within this time
 */
async function watch(context, name, seconds) {
  const end = performance.now() + seconds * 1000;
  while (performance.now() < end) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    const { failures, reason } = await rowOf(context, name);
    if (failures > 0) throw new CliError(`it ended soon after its start: ${reason}`);
  }
}

/** @param {Context} context @returns {Promise<Program>} */
async function wanted(
  { values, operands, driver },
  /** @type {import('../../../../nodes/lib/tenants/file/schema').Spec} */ spec
) {
  const [, ...command] = operands;
  let { image } = values;
  const { digestOf } = image ? driver(spec.driver) : {};
  if (digestOf) image = await digestOf(image);
  const program = { ...(image && { image }), ...(command.length > 0 && { command }) };
  if (Object.keys(program).length === 0) throw new CliError('Name an --image or a COMMAND.', EXIT.USAGE);
  return program;
}

/** @type {import('./index').Command} */
module.exports = {
  name: 'update',
  summary: 'runs a tenant with another image or command, or again with the old one',
  more: `Restarts the tenant with its data. If it does not accept connections in the keeper's time for a start (60 s), or ends soon
afterwards, it gets its old image and command back. Its data stay in either case, so make a backup first if the new
version changes their form. Records of its devices wait meanwhile. Needs a running keeper.`,
  usage: 'NAME [options] [-- COMMAND ...]',
  operands: [1, 65],
  options: {
    image: { type: 'string', value: 'IMAGE', help: 'image of the container' },
    watch: { type: 'string', value: 'S', help: `seconds that it must run; default ${WATCH_S.standard}` }
  },
  async run(context) {
    const { values, operands, home, isJson, print } = context;
    const [name] = operands;
    const seconds = numberIn(values.watch ?? String(WATCH_S.standard), '--watch', WATCH_S.min, WATCH_S.max);
    const spec = tenantOf(home, name);
    if (spec.driver === 'kubernetes')
      throw new CliError(`${name} is updated by its cluster: change its StatefulSet.`);
    const program = await wanted(context, spec);
    /** @type {any} */
    let entry;
    changeTenants(home.file, (tenants) => {
      entry = tenants.find((each) => each.name === name);
      return tenants;
    });
    try {
      checkTenant({ ...entry, ...program });
    } catch (error) {
      throw new CliError(messageOf(error), EXIT.USAGE);
    }
    const before = await rowOf(context, name);
    try {
      await use(context, name, program);
      await restart(context, name);
      await watch(context, name, seconds);
    } catch (error) {
      await use(context, name, { image: entry.image, command: entry.command });
      const outcome = await restart(context, name).then(
        () => 'It runs as before',
        (problem) => `Its old version does not start either: ${messageOf(problem)}`
      );
      throw new CliError(`${name} was not updated: ${messageOf(error)} ${outcome}.`);
    }
    if (!['running', 'paused'].includes(before.state)) {
      // Somebody may use it by now.
      await request(home.socket, 'POST', `/v1/tenants/${name}/sleep`, {}).catch(() => {});
    }
    print(isJson ? JSON.stringify({ updated: name, ...program }) : `updated ${name}`);
  }
};
