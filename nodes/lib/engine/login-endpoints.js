'use strict';
// Admin endpoints of the logins of devices: the users of the password files that listeners use, new ones, and their
// end.

const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const { readRegular } = require('../base/files/regular-file');
const { needsWrite } = require('../base/permission');
const { filesInUse } = require('../login/files-in-use');
const { linesOf, putLines } = require('../login/lines');
const { parsePasswords, passwordProblem, userProblem } = require('../login/password-file');
const { hashPassword } = require('../login/password-hash');

/** Users of a file in an answer; the file may have more. */
const MAX_SHOWN = 1000;
/** A password that the gateway makes, bytes: 144 bits. */
const RANDOM_BYTES = 18;
/** Changes that wait. Each computes a hash. */
const MAX_WAITING = 20;

/**
 * Adds GET /seganet/logins, POST /seganet/logins/add and POST /seganet/logins/revoke.
 * @param {import('node-red').NodeAPI} RED
 */
function addLoginEndpoints(RED) {
  const home = RED.settings.userDir ?? '';
  const mayWrite = needsWrite(RED);
  RED.httpAdmin.get(
    '/seganet/logins',
    mayWrite,
    (/** @type {any} */ request, /** @type {any} */ response) => {
      // Of one tenant: acme/
      const { prefix = '' } = request.query;
      if (typeof prefix !== 'string')
        return response.status(400).json({ error: 'prefix must be given once.' });
      // Names of logins must not stay in a cache.
      response.setHeader('Cache-Control', 'no-store');
      response.json({ files: [...filesInUse()].map(([file, uses]) => fileView(file, uses, home, prefix)) });
    }
  );
  // One change at a time: each reads the file and replaces it.
  let last = Promise.resolve();
  let waiting = 0;
  /** @param {string} event @param {(file: string, name: string, body: any) => Promise<object>} work */
  const change = (event, work) => async (/** @type {any} */ request, /** @type {any} */ response) => {
    const refuse = (/** @type {number} */ status, /** @type {string} */ error) =>
      response.status(status).json({ error });
    // A page of another site can post a form without asking first, but no JSON.
    if (!request.is('application/json')) return refuse(400, 'Content-Type must be application/json.');
    if (waiting >= MAX_WAITING)
      return refuse(503, 'Other logins are being changed. Try again in some seconds.');
    waiting++;
    const turn = last;
    let done = () => {};
    last = new Promise((resolve) => (done = () => resolve(undefined)));
    try {
      await turn;
      const { file, name } = request.body ?? {};
      const result = await work(changeable(file, name, home), name, request.body);
      RED.log.audit(/** @type {any} */ ({ event, file, name }), request);
      response.setHeader('Cache-Control', 'no-store');
      response.json(result);
    } catch (error) {
      refuse(error instanceof RangeError ? 400 : 503, /** @type {Error} */ (error).message);
    } finally {
      waiting--;
      done();
    }
  };
  RED.httpAdmin.post('/seganet/logins/add', mayWrite, change('seganet.logins.add', add));
  RED.httpAdmin.post('/seganet/logins/revoke', mayWrite, change('seganet.logins.revoke', revoke));
}

/**
 * @param {string} file
 * @param {string} name
 * @param {{ password?: unknown }} body blank password: a random one, which only this answer shows
 */
async function add(file, name, { password: given = '' }) {
  if (typeof given !== 'string') throw new RangeError('The password must be text.');
  const password = given || crypto.randomBytes(RANDOM_BYTES).toString('base64url');
  const problem = passwordProblem(Buffer.from(password));
  if (problem) throw new RangeError(`The password ${problem}.`);
  const hash = await hashPassword(Buffer.from(password));
  const replaced = putLines(file, name, [`${name}:${hash}`]) > 0;
  await refresh(file);
  // Connections that the old password opened.
  const ended = replaced ? endOf(file, name) : 0;
  return { name, replaced, ended, ...(given ? {} : { password }) };
}

/** @param {string} file @param {string} name */
async function revoke(file, name) {
  if (linesOf(file, name).length === 0) throw new RangeError(`There is no login ${name} in this file.`);
  putLines(file, name, []);
  await refresh(file);
  return { name, ended: endOf(file, name) };
}

/** Makes the listeners of a file read it now. @param {string} file */
const refresh = (file) => Promise.all((filesInUse().get(file) ?? []).map((use) => use.refresh()));

/** @param {string} file @param {string} name @returns {number} connections that ended */
const endOf = (file, name) => (filesInUse().get(file) ?? []).reduce((sum, use) => sum + use.end(name), 0);

/**
 * @param {unknown} file
 * @param {unknown} name
 * @param {string} home
 * @returns {string} the file
 * @throws {RangeError} with a sentence, if it or the name may not be changed
 */
function changeable(file, name, home) {
  if (typeof file !== 'string' || !filesInUse().has(file))
    throw new RangeError('No open listener uses this password file.');
  const why = typeof name === 'string' ? userProblem(name) : 'must be text';
  if (why) throw new RangeError(`The name ${why}.`);
  const reason = readOnly(file, home);
  if (reason) throw new RangeError(reason);
  return file;
}

/** @param {string} file @param {string} home @returns {string} why the gateway does not change it, '' = it may */
function readOnly(file, home) {
  const change = 'Change it with seganet-passwd, or move it into that folder.';
  try {
    const [real, folder] = [fs.realpathSync(file), fs.realpathSync(home || '/nonexistent')];
    if (!real.startsWith(folder + path.sep)) return `The file is outside the gateway's folder. ${change}`;
    fs.accessSync(real, fs.constants.W_OK);
    fs.accessSync(path.dirname(real), fs.constants.W_OK);
    return '';
  } catch (error) {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
    return `The file cannot be changed (${code ?? message}). ${change}`;
  }
}

/**
 * @param {string} file
 * @param {import('../login/files-in-use').Use[]} uses
 * @param {string} home
 * @param {string} prefix of the names that are shown
 */
function fileView(file, uses, home, prefix) {
  const hasTenants = uses.some((use) => use.hasTenants);
  const view = { file, nodes: uses.map(({ node }) => node), hasTenants, readOnly: readOnly(file, home) };
  try {
    const all = [...parsePasswords(readRegular(file)).users.keys()];
    const names = all.filter((name) => name.startsWith(prefix));
    return { ...view, users: names.slice(0, MAX_SHOWN), more: Math.max(0, names.length - MAX_SHOWN) };
  } catch (error) {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
    return { ...view, users: [], more: 0, readOnly: `The file cannot be read (${code ?? message}).` };
  }
}

module.exports = { addLoginEndpoints };
