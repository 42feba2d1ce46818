'use strict';
// Where the keeper has its files, and its environment variables.

const fs = require('node:fs');
const path = require('node:path');
const { folderOf, keeperSocket, tenantsFile } = require('../../../../nodes/lib/tenants/file/locations');
const { CliError, EXIT, messageOf } = require('./errors');

/** Longest path of a Unix socket, bytes. */
const MAX_SOCKET_PATH = 107;
const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = fs.constants;

/**
 * @typedef {object} Home
 * @property {string} folder everything of the tenants; 0700
 * @property {string} file the tenants file
 * @property {string} socket of the keeper
 * @property {string} lock of the keeper
 * @property {string} volumes folder with a folder for each tenant's data
 * @property {string} state folder with a folder for each tenant's state: process, password, output
 * @property {string} backups folder of the backups
 */

/** @param {NodeJS.ProcessEnv} env @returns {Home} nothing is made */
function homeOf(env) {
  const folder = folderOf(env);
  const socket = keeperSocket('', env);
  if (Buffer.byteLength(socket) > MAX_SOCKET_PATH) {
    throw new CliError(
      `${socket} is longer than the ${MAX_SOCKET_PATH} bytes of a socket's path. Set SEGANET_TENANTS_SOCKET to a shorter one.`,
      EXIT.CONFIG
    );
  }
  return {
    folder,
    file: tenantsFile('', env),
    socket,
    lock: path.join(folder, 'keeper.lock'),
    volumes: path.join(folder, 'volumes'),
    state: path.join(folder, 'state'),
    backups: path.join(folder, 'backups')
  };
}

/**
 * Makes a folder that only this user can enter.
 * @param {string} folder
 * @throws {CliError} if it belongs to another user, or is a link of another user
 */
function makePrivate(folder) {
  try {
    fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
    const isLink = fs.lstatSync(folder).isSymbolicLink();
    checkOwner(fs.lstatSync(folder));
    // A keeper of root may use a folder of another user, who could replace this one by a link.
    const fd = fs.openSync(folder, O_RDONLY | O_DIRECTORY | (isLink ? 0 : O_NOFOLLOW));
    try {
      const stat = fs.fstatSync(fd);
      checkOwner(stat);
      if ((stat.mode & 0o077) === 0) return;
      if (isLink) throw new Error('it is a link to a folder that others may enter; run "chmod 700" on that');
      fs.fchmodSync(fd, 0o700);
    } finally {
      fs.closeSync(fd);
    }
  } catch (error) {
    throw new CliError(`The folder ${folder} cannot be used: ${messageOf(error)}.`, EXIT.CONFIG);
  }
}

/** @param {fs.Stats} stat */
function checkOwner({ uid }) {
  if (process.getuid && uid !== process.getuid()) throw new Error('it belongs to another user');
}

/** @param {Home} home makes its folders */
function makeHome(home) {
  for (const folder of [home.folder, home.volumes, home.state]) makePrivate(folder);
  // The socket gives the right to start tenants, so its folder must be as private as the socket.
  if (path.dirname(home.socket) !== home.folder) {
    fs.mkdirSync(path.dirname(home.socket), { recursive: true, mode: 0o700 });
  }
}

/**
 * Reads a whole number of the environment.
 * @param {NodeJS.ProcessEnv} env
 * @param {string} name
 * @param {{ standard: number, min: number, max: number }} limits
 * @returns {number}
 * @throws {CliError}
 */
function numberOf(env, name, { standard, min, max }) {
  const text = env[name]?.trim();
  if (!text) return standard;
  const value = Number(text);
  if (/^\d{1,12}$/.test(text) && value >= min && value <= max) return value;
  throw new CliError(`${name} must be a whole number from ${min} to ${max}, not '${text}'.`, EXIT.CONFIG);
}

module.exports = { homeOf, makeHome, makePrivate, numberOf };
