'use strict';
// The flow of a template, and its way into the volume of a tenant.
//
// A tenant may have left anything in its volume, links included, so nothing there is opened: entries are renamed as a
// whole, beside the volume, while the tenant does not run.
//   volumes/NAME.flow-new     the copy that is about to be put in
//   volumes/NAME.flow-old     what the last rollout replaced
//   state/NAME.flow.json      { entries: [{ name, had }] }: a rollout is under way, and can be undone

const fs = require('node:fs');
const path = require('node:path');
const { CliError, messageOf } = require('../base/errors');
const { replaceFile, syncFolder } = require('../../../../nodes/lib/base/replace-file');

const FLOW = 'gateway.json';
const CREDENTIALS = 'gateway_cred.json';
const SECRET = 'credential-secret';
/** What a gateway keeps in its folder beside its flow and settings: a rollout would replace it. */
const DATA = /^(seganet-.*|context|tenants|gateway\.sock)$/;
const MAX_FILES = 1000;
const MAX_BYTES = 64 << 20;

/**
 * @typedef {Pick<import('../base/home').Home, 'volumes' | 'state'>} Places
 * @typedef {{ name: string, had: boolean }} Entry of the volume's root; had: the tenant had one before
 */

/** @param {Places} places @param {string} name */
const placesOf = ({ volumes, state }, name) => ({
  volume: path.join(volumes, name),
  fresh: path.join(volumes, `${name}.flow-new`),
  old: path.join(volumes, `${name}.flow-old`),
  record: path.join(state, `${name}.flow.json`)
});

/**
 * Lists the files of a flow.
 * @param {string} flow path of a flow file, or of a folder
 * @returns {Map<string, string>} path of the source, by path in the volume
 * @throws {CliError}
 */
function filesOf(flow) {
  /** @type {Map<string, string>} */
  const files = new Map();
  let bytes = 0;
  /** @param {string} source @param {string} name in the volume */
  const add = (source, name) => {
    const stat = fs.lstatSync(source);
    if (stat.isDirectory()) {
      for (const each of fs.readdirSync(source)) add(path.join(source, each), path.join(name, each));
      return;
    }
    if (!stat.isFile()) throw new Error(`${source} is neither a file nor a folder`);
    bytes += stat.size;
    files.set(name, source);
    if (files.size > MAX_FILES || bytes > MAX_BYTES)
      throw new Error(`it has more than ${MAX_FILES} files or ${MAX_BYTES >> 20} MiB`);
  };
  try {
    if (!fs.statSync(flow).isDirectory()) add(fs.realpathSync(flow), FLOW);
    else for (const name of fs.readdirSync(flow)) add(path.join(flow, name), name);
    const data = [...files.keys()].map((name) => name.split(path.sep)[0]).find((name) => DATA.test(name));
    if (data) throw new Error(`${data} holds data of a gateway; remove it from the folder`);
    if (!files.has(FLOW)) throw new Error(`it has no ${FLOW}`);
    if (files.has(CREDENTIALS) && !files.has(SECRET))
      throw new Error(`${CREDENTIALS} cannot be read without the file ${SECRET} beside it`);
    if (!Array.isArray(JSON.parse(fs.readFileSync(files.get(FLOW) ?? '', 'utf8'))))
      throw new Error(`${FLOW} is no list of nodes`);
    return files;
  } catch (error) {
    throw new CliError(`The flow ${flow} cannot be used: ${messageOf(error)}.`);
  }
}

/**
 * @param {Map<string, string>} files
 * @param {string} folder which is new, and gets their owner
 * @param {{ uid: number, gid: number }} owner of the volume
 */
function copyFiles(files, folder, { uid, gid }) {
  const own = (/** @type {string} */ target) => {
    if (process.getuid?.() === 0) fs.lchownSync(target, uid, gid);
  };
  fs.mkdirSync(folder, { mode: 0o700 });
  own(folder);
  for (const [name, source] of files) {
    const parts = name.split(path.sep).slice(0, -1);
    for (const [i] of parts.entries()) {
      const below = path.join(folder, ...parts.slice(0, i + 1));
      if (fs.existsSync(below)) continue;
      fs.mkdirSync(below, { mode: 0o700 });
      own(below);
    }
    const target = path.join(folder, name);
    const fd = fs.openSync(target, 'wx', 0o600);
    try {
      fs.writeFileSync(fd, fs.readFileSync(source));
      fs.fsyncSync(fd);
    } finally {
      fs.closeSync(fd);
    }
    own(target);
  }
}

/**
 * Puts a flow into the volume of a tenant, and keeps what it replaces. REQUIRES: the tenant does not run and cannot
 * start.
 * @param {Places} places
 * @param {string} name of the tenant
 * @param {Map<string, string>} files of filesOf()
 * @throws {Error} the volume is then as it was
 */
function putFlow(places, name, files) {
  const { volume, fresh, old, record } = placesOf(places, name);
  try {
    fs.rmSync(fresh, { recursive: true, force: true });
    copyFiles(files, fresh, fs.statSync(volume));
    const entries = fs
      .readdirSync(fresh)
      .map((each) => ({ name: each, had: isThere(path.join(volume, each)) }));
    fs.rmSync(old, { recursive: true, force: true });
    fs.mkdirSync(old, { mode: 0o700 });
    replaceFile(record, JSON.stringify({ entries }));
    for (const { name: each, had } of entries) {
      if (had) fs.renameSync(path.join(volume, each), path.join(old, each));
      fs.renameSync(path.join(fresh, each), path.join(volume, each));
    }
    for (const folder of [old, volume]) syncFolder(folder);
  } catch (error) {
    restoreFlow(places, name);
    throw error;
  } finally {
    fs.rmSync(fresh, { recursive: true, force: true });
  }
}

/**
 * The flow stays: it can no longer be undone. What it replaced is kept until the next one.
 * @param {Places} places
 * @param {string} name
 */
function keepFlow(places, name) {
  const { record, old } = placesOf(places, name);
  fs.rmSync(record, { force: true });
  if (fs.existsSync(old) && fs.readdirSync(old).length === 0) fs.rmdirSync(old);
}

/**
 * Puts back what a flow replaced, as far as it was put in. REQUIRES: as putFlow.
 * @param {Places} places
 * @param {string} name
 */
function restoreFlow(places, name) {
  const { volume, fresh, old, record } = placesOf(places, name);
  if (!fs.existsSync(record)) return;
  /** @type {{ entries: Entry[] }} */
  const { entries } = JSON.parse(fs.readFileSync(record, 'utf8'));
  for (const { name: each, had } of entries) {
    const [now, before] = [path.join(volume, each), path.join(old, each)];
    if (had && !isThere(before)) continue;
    fs.rmSync(now, { recursive: true, force: true });
    if (had) fs.renameSync(before, now);
  }
  syncFolder(volume);
  for (const folder of [fresh, old]) fs.rmSync(folder, { recursive: true, force: true });
  fs.rmSync(record, { force: true });
}

/**
 * Puts back the flows whose rollout was cut off, for example by a kill of the keeper.
 * @param {Places} places
 * @returns {{ name: string, problem: string }[]} the tenants; problem: '' = it has its old flow again
 */
function recoverFlows(places) {
  const names = fs
    .readdirSync(places.state)
    .flatMap((file) => /^([a-z0-9-]+)\.flow\.json$/.exec(file)?.[1] ?? []);
  return names.map((name) => {
    try {
      restoreFlow(places, name);
      return { name, problem: '' };
    } catch (error) {
      return { name, problem: messageOf(error) };
    }
  });
}

/** Deletes what a rollout has kept. @param {Places} places @param {string} name */
function removeOldFlow(places, name) {
  const { old, record } = placesOf(places, name);
  fs.rmSync(old, { recursive: true, force: true });
  fs.rmSync(record, { force: true });
}

/** @param {string} file @returns {boolean} also for a link that leads nowhere */
const isThere = (file) => fs.lstatSync(file, { throwIfNoEntry: false }) !== undefined;

module.exports = { filesOf, keepFlow, putFlow, recoverFlows, removeOldFlow, restoreFlow };
