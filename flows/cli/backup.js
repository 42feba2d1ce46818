'use strict';

const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const { CliError } = require('../../nodes/lib/base/cli/cli-error');
const { plural, size } = require('../../nodes/lib/base/cli/cli-output');
const { version } = require('../../package.json');
const { ArchiveWriter, FORMAT, MANIFEST } = require('./archive');
const { addLog, addOtherDatabase } = require('./backup-databases');
const { addFile } = require('./backup-files');
const { COPY_MS, ask, askJson, isRunning } = require('./gateway-client');
const {
  DATABASES,
  OF_TENANTS,
  accountsElsewhere,
  databasesBeside,
  entriesOf,
  homeFiles,
  isAside,
  logFolders,
  realOf
} = require('./home-files');
const { environmentOf, homeOf, settingsOf } = require('./home-settings');
const { EXIT } = require('./usage');

/** @typedef {import('../../nodes/lib/base/cli/cli-output').Output} Output */
/** @typedef {import('./home-files').EngineFolder} EngineFolder */
/** @typedef {import('./home-files').LogFolder} LogFolder */

/** Variables that name files. A backup has those inside the gateway's folder. */
const FILE_VARIABLES = /_(FILE|CA|CERT|KEY)$|^SEGANET_TENANTS$/;

/**
 * @param {import('./usage').Options} options
 * @param {Output} output
 * @returns {Promise<number>} the exit code
 */
async function backup({ home: given, file, force }, output) {
  process.umask(0o077);
  const home = homeOf(given);
  if (!fs.existsSync(path.join(home, 'gateway.json'))) {
    throw new CliError(`There is no gateway in ${home}. Name its folder with --home.`, EXIT.CANNOT);
  }
  if (fs.existsSync(file) && !force) {
    throw new CliError(`${file} exists. Choose another name, or replace it with --force.`, EXIT.CANNOT);
  }
  const { values: settings } = settingsOf(environmentOf(home));
  const runs = await isRunning(home);
  /** @type {EngineFolder[]} */
  const running = runs ? await askJson(home, '/engines') : [];
  const draft = `${file}.${crypto.randomBytes(4).toString('hex')}.part`;
  const archive = new ArchiveWriter(draft);
  try {
    const logs = logFolders(home, settings, running);
    const manifest = { format: FORMAT, version, created: new Date().toISOString(), home, logs };
    await archive.addText(MANIFEST, `${JSON.stringify(manifest, null, 2)}\n`);
    /** @type {string[]} */
    const damaged = [];
    // The databases are first: a record that is stored later may come from a newer flow, which is harmless.
    for (const log of logs) {
      const isOpen = running.some(({ directory }) => realOf(directory) === realOf(log.directory));
      damaged.push(...(await addDatabases(archive, home, log, isOpen, path.dirname(draft))));
    }
    const folders = [...logs, ...running].map(({ directory }) => directory);
    const { files, databases, backups, odd } = homeFiles(home, folders, file);
    for (const name of databases) {
      const isWhole = await addOtherDatabase(
        archive,
        `home/${name}`,
        path.join(home, name),
        path.dirname(draft)
      );
      if (!isWhole) damaged.push(name);
    }
    for (const name of files) await addFile(archive, `home/${name}`, path.join(home, name));
    await archive.end();
    fs.renameSync(draft, file);
    syncFolder(path.dirname(file));
    const count = files.length + databases.length;
    const elsewhere = accountsElsewhere(home, settings, logs);
    const notes = { backups, odd, damaged, elsewhere };
    await report(output, { home, file, files: count, logs: logs.length, ...notes, settings });
    return EXIT.OK;
  } catch (error) {
    await archive.abort();
    throw inWords(error, file);
  } finally {
    fs.rmSync(draft, { force: true });
  }
}

/**
 * @param {import('./archive').ArchiveWriter} archive
 * @param {string} home
 * @param {LogFolder} log
 * @param {boolean} isOpen the running gateway holds it
 * @param {string} temporary folder for a copy
 * @returns {Promise<string[]>} damaged databases, which were added as they are
 */
async function addDatabases(archive, home, { engine, directory, name: folder }, isOpen, temporary) {
  const names = entriesOf(directory);
  for (const name of DATABASES) {
    const entry = `log/${folder}/${name}`;
    if (isOpen) {
      const response = await ask(home, `/engines/${encodeURIComponent(engine)}/${name}`, COPY_MS);
      const bytes = Number(response.headers['content-length'] ?? 0);
      if (response.statusCode === 200)
        await archive.add({ name: entry, size: bytes, mode: 0o600, mtimeMs: Date.now() }, response);
      else response.resume();
    } else if (names.includes(name)) await addLog(archive, entry, path.join(directory, name), temporary);
  }
  for (const name of names.filter(isAside)) {
    await addFile(archive, `log/${folder}/${name}`, path.join(directory, name));
  }
  /** @type {string[]} */
  const damaged = [];
  for (const name of databasesBeside(home, directory)) {
    const file = path.join(directory, name);
    if (!(await addOtherDatabase(archive, `log/${folder}/${name}`, file, temporary))) damaged.push(file);
  }
  return damaged;
}

/**
 * @param {Output} output
 * @param {{ home: string, file: string, files: number, logs: number, backups: string[], odd: string[],
 *   damaged: string[], elsewhere: string[], settings: Record<string, string> }} done
 */
async function report(output, { home, file, files, logs, backups, odd, damaged, elsewhere, settings }) {
  if (backups.length > 0) {
    const folders = new Set(backups.map((name) => path.dirname(path.join(home, name))));
    const what = plural(backups.length, 'earlier backup');
    await output.note(`seganet-gateway: Not in the backup: ${what} in ${[...folders].join(', ')}.`);
  }
  if (OF_TENANTS.some((name) => entriesOf(path.join(home, name)).length > 0)) {
    const folders = OF_TENANTS.map((name) => path.join(home, name)).join(', ');
    await output.note(
      `seganet-gateway: Not in the backup: the data of tenants and their backups (${folders}). Save each tenant with "seganet-tenants backup".`
    );
  }
  for (const name of odd)
    await output.note(`seganet-gateway: Not in the backup: ${name} is not a regular file.`);
  for (const name of damaged)
    await output.note(`seganet-gateway: ${name} is a damaged database. It is in the backup as it is.`);
  for (const name of elsewhere)
    await output.note(`seganet-gateway: Not in the backup: ${name} (ocf cloud node) is outside ${home}.`);
  for (const [name, value] of Object.entries(settings)) {
    if (path.isAbsolute(value) && FILE_VARIABLES.test(name) && path.relative(home, value).startsWith('..')) {
      await output.note(`seganet-gateway: Not in the backup: ${value} (${name}) is outside ${home}.`);
    }
  }
  const hash = crypto.createHash('sha256');
  for await (const part of fs.createReadStream(file)) hash.update(part);
  output.line(`${file}: ${plural(files, 'file')}, ${plural(logs, 'log')}, ${size(fs.statSync(file).size)}`);
  output.line(`SHA-256 ${hash.digest('hex')}`);
}

/** @param {string} folder */
function syncFolder(folder) {
  const fd = fs.openSync(folder, 'r');
  try {
    fs.fsyncSync(fd);
  } finally {
    fs.closeSync(fd);
  }
}

/** @param {any} error @param {string} file @returns {Error} */
function inWords(error, file) {
  const { code = '', message } = error;
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new CliError(`There is no space left for ${file}. Nothing was written.`, EXIT.CANNOT);
  if (/^E[A-Z]+$/.test(code) || !(error instanceof CliError)) {
    return new CliError(`The backup ${file} cannot be written: ${message}`, EXIT.CANNOT);
  }
  return error;
}

module.exports = { backup, syncFolder };
