'use strict';

const fs = require('node:fs');
const { CliError } = require('../../base/cli/cli-error');
const { plural, table } = require('../../base/cli/cli-output');
const { workAsOwnerOfFile } = require('../../base/cli/rights');
const { databaseFault } = require('../../base/files/database-files');
const { ISSUER, newCode, userProblem } = require('../cloud/access-codes');
const { asUuid } = require('../cloud/bodies');
const { PostgresStore, SqliteStore, isPostgresUrl } = require('../store');
const { MOST_TOKENS, newUserToken } = require('../cloud/user-tokens');
const { group, groups } = require('./group-commands');
const { EXIT, usage } = require('./usage');
const { otherUserNote, userNamed } = require('./users');

/** @typedef {import('./usage').Input} Input */
/** @typedef {import('../../base/cli/cli-output').Output} Output */
/** @typedef {import('../store/operations').Store} Store */

/**
 * Runs a command with the open database.
 * @param {string} command
 * @param {Input} input
 * @param {Output} output
 * @returns {Promise<number>} exit code
 */
async function execute(command, input, output) {
  const store = await open(input.store);
  try {
    return await commands[command](store, input, output);
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new CliError(`${input.store} cannot be used: ${/** @type {Error} */ (error).message}`, EXIT.CANNOT);
  } finally {
    await store.close();
  }
}

/** @param {string} file path or URL @returns {Promise<Store>} */
async function open(file) {
  if (isPostgresUrl(file)) {
    return PostgresStore.open(file, { creates: false }).catch((error) => {
      throw new CliError(error.message, EXIT.CANNOT);
    });
  }
  workAsOwnerOfFile(file, { isDatabase: true });
  if (!fs.existsSync(file)) {
    throw new CliError(
      `There is no database ${file}. The gateway creates it when an OCF cloud is deployed. Set its path with --store.`,
      EXIT.CANNOT
    );
  }
  const fault = databaseFault(file);
  if (fault) throw new CliError(fault, EXIT.CANNOT);
  try {
    return new SqliteStore(file);
  } catch (error) {
    throw new CliError(`${file} cannot be opened: ${/** @type {Error} */ (error).message}`, EXIT.CANNOT);
  }
}

/**
 * Checks the name of a user for whom something is made.
 * @param {Store} store
 * @param {string} name
 * @param {string} issuer '' = a user of access codes
 * @param {Output} output gets a note if the user may not be the one that is meant
 * @returns {Promise<{ issuer?: string }>}
 */
async function ownerOf(store, name, issuer, output) {
  const problem = userProblem(name, issuer || undefined);
  if (problem) throw usage(`The user name ${problem}.`);
  const note = issuer ? '' : otherUserNote(await store.read('users'), name);
  if (note) await output.note(note);
  return issuer ? { issuer } : {};
}

/** @type {Record<string, (store: Store, input: Input, output: Output) => Promise<number>>} */
const commands = {
  group,
  groups,

  async code(store, { names: [name], issuer, minutes }, output) {
    const of = await ownerOf(store, name, issuer, output);
    const { code } = await newCode(store, name, { minutes, ...of });
    await output.note(
      `One device can sign up as ${name} with this code in the next ${plural(minutes, 'minute')}:`
    );
    await output.line(code);
    return EXIT.OK;
  },

  async token(store, { names: [name], issuer, days }, output) {
    const of = await ownerOf(store, name, issuer, output);
    const made = await newUserToken(store, name, { days, ...of });
    if (!made) throw new CliError(`${name} has ${MOST_TOKENS} tokens already. Revoke one.`, EXIT.NO);
    await output.note(
      `${name} can reach devices over HTTP with this token for ${plural(days, 'day')} (its id is ${made.id}):`
    );
    await output.line(made.token);
    return EXIT.OK;
  },

  async tokens(store, { names: [name], issuer, json }, output) {
    const users = await store.read('users');
    const uid = name === undefined ? undefined : userNamed(users, name, issuer).uid;
    const names = new Map(users.map((user) => [user.uid, user.sub]));
    const all = await store.read('userTokens', { now: Date.now() });
    const tokens = all
      .filter((each) => uid === undefined || each.uid === uid)
      .map(({ id, uid: owner, expires }) => ({
        id,
        user: names.get(owner) ?? owner,
        expires: new Date(Number(expires)).toISOString()
      }));
    if (json) {
      await output.line(JSON.stringify({ tokens }));
    } else {
      const rows = tokens.map(({ id, user, expires }) => [id, user, expires]);
      for (const line of table(['token', 'user', 'expires'], rows)) await output.line(line);
    }
    return EXIT.OK;
  },

  async revoke(store, { names: [id] }, output) {
    if (!(await store.write('removeUserToken', { id: id.toLowerCase() }))) {
      throw new CliError(`There is no token with the id ${id}. List them with 'tokens'.`, EXIT.NO);
    }
    await output.note(`The token ${id} was revoked.`);
    return EXIT.OK;
  },

  async users(store, { json }, output) {
    const users = (await store.read('users')).map((user) => ({ ...user, name: user.sub }));
    if (json) {
      const shown = users.map(({ name, uid, issuer, devices }) => ({ name, uid, issuer, devices }));
      await output.line(JSON.stringify({ users: shown }));
    } else {
      const hasProvider = users.some(({ issuer }) => issuer !== ISSUER);
      const rows = users.map(({ name, devices, uid, issuer }) => [
        ...[name, String(devices), uid],
        ...(hasProvider ? [issuer === ISSUER ? '-' : issuer] : [])
      ]);
      const columns = ['user', 'devices', 'id', ...(hasProvider ? ['issuer'] : [])];
      for (const line of table(columns, rows)) await output.line(line);
    }
    return EXIT.OK;
  },

  async devices(store, { names: [name], issuer, json }, output) {
    const users = await store.read('users');
    const uid = name === undefined ? undefined : userNamed(users, name, issuer).uid;
    const names = new Map(users.map((user) => [user.uid, user.sub]));
    const devices = (await store.read('devices', { uid })).map((device) => ({
      di: device.di,
      user: names.get(device.uid) ?? device.uid,
      links: Number(device.links),
      name: device.name
    }));
    if (json) {
      await output.line(JSON.stringify({ devices }));
    } else {
      const rows = devices.map((device) => [device.di, device.user, String(device.links), device.name]);
      for (const line of table(['device', 'user', 'links', 'name'], rows)) await output.line(line);
    }
    return EXIT.OK;
  },

  async share(store, { names: [device, name, rights], issuer }, output) {
    const given = { r: 'r', rw: 'rw', none: '' }[rights];
    if (given === undefined) throw usage(`The rights are r, rw or none, not '${rights}'.`);
    const { uid } = userNamed(await store.read('users'), name, issuer);
    const di = asUuid(device);
    const problem = await store.write('share', { di, uid, rights: /** @type {'' | 'r' | 'rw'} */ (given) });
    if (problem === 'device') throw new CliError(`There is no device ${device}.`, EXIT.NO);
    if (problem === 'owner') throw usage(`${name} owns the device.`);
    await output.note(given ? `${name} has the rights ${given}.` : `${name} has no rights.`);
    return EXIT.OK;
  },

  async delete(store, { names: [name], issuer }, output) {
    const di = asUuid(name);
    if (di && (await store.write('removeDevice', { di }))) {
      await output.note(`The device ${di} was deleted.`);
      return EXIT.OK;
    }
    const { uid } = userNamed(await store.read('users'), name, issuer);
    const { devices } = await store.write('removeUser', { uid });
    await output.note(`${name} was deleted, with ${plural(devices.length, 'device')}.`);
    return EXIT.OK;
  }
};

exports.execute = execute;
