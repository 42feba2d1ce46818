'use strict';

const crypto = require('node:crypto');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { CliError } = require('../../nodes/lib/base/cli/cli-error');
const { plural, size } = require('../../nodes/lib/base/cli/cli-output');
const { isRoot, userOfFolder } = require('../../nodes/lib/base/cli/place');
const { become } = require('../../nodes/lib/base/cli/rights');
const { version } = require('../../package.json');
const { ArchiveWriter, FORMAT, MANIFEST } = require('./archive');
const { createDraft } = require('./archive-file');
const { faultOf } = require('../../nodes/lib/store/cli/open');
const { loadSqlite } = require('../../nodes/lib/store/cli/sqlite');
const { addLog, addOtherDatabase } = require('./backup-databases');
const { addFile } = require('./backup-files');
const { COPY_MS, ask, askJson, isRunning } = require('./gateway-client');
const {
  DATABASES,
  OF_TENANTS,
  absentLogFolders,
  accountsElsewhere,
  accountsFiles,
  entriesOf,
  filesBeside,
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
/**
 * @typedef {object} Job
 * @property {import('./archive').ArchiveWriter} archive
 * @property {string} home
 * @property {string} temporary folder for copies of databases
 * @property {string[]} accounts files of ocf cloud nodes
 * @property {string[]} damaged databases that were added as they are
 * @property {string[]} leftOut sentences
 */

const AS_USER = "Run the command as the gateway's user.";
const GONE = 'was removed while the backup was made.';
/** What is wrong with a database, and a remedy. */
const UNUSABLE = {
  locked: ['is locked by another program.', 'End that program, or wait for it, and run the command again.'],
  closed: ['cannot be opened. SQLite needs write access to its folder, too.', AS_USER]
};
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
  const user = isRoot() ? userOfFolder(home) : null;
  // What is loaded later may not be readable for that user.
  loadSqlite();
  const draft = draftOf(file, force, user);
  try {
    if (user) become(user);
    return await write(home, file, draft, output);
  } finally {
    // Only an incomplete draft would stay.
    await draft.steps.ask('discard').catch(() => {});
    draft.steps.end();
    fs.closeSync(draft.reader);
  }
}

/** @param {string} file @param {boolean} force @param {import('./archive-file').User | null} user */
function draftOf(file, force, user) {
  try {
    return createDraft(file, force, user);
  } catch (error) {
    throw inWords(
      error instanceof CliError ? error : Object.assign(/** @type {Error} */ (error), { path: file }),
      file
    );
  }
}

/**
 * Writes the archive and puts it in its place.
 * @param {string} home
 * @param {string} file
 * @param {import('./archive-file').Draft} draft
 * @param {Output} output
 * @returns {Promise<number>} the exit code
 */
async function write(home, file, { writer, reader, isBeside, steps }, output) {
  const env = environmentOf(home);
  const { values: settings } = settingsOf(env);
  // The flow may name any variable, as in ${MY_LOG}.
  const variables = { ...env, ...settings };
  const runs = await isRunning(home);
  /** @type {EngineFolder[]} */
  const running = runs ? await askJson(home, '/engines') : [];
  const archive = new ArchiveWriter(writer);
  try {
    const logs = logFolders(home, variables, running);
    const manifest = { format: FORMAT, version, created: new Date().toISOString(), home, logs };
    await archive.addText(MANIFEST, `${JSON.stringify(manifest, null, 2)}\n`);
    const accounts = accountsFiles(home, variables);
    /** @type {Job} */
    const job = {
      archive,
      home,
      temporary: isBeside ? path.dirname(file) : folderOfCopies(home),
      accounts,
      damaged: [],
      leftOut: []
    };
    for (const folder of absentLogFolders(home, variables)) job.leftOut.push(`${folder} does not exist.`);
    // The databases are first: a record that is stored later may come from a newer flow, which is harmless.
    for (const log of logs) {
      const isOpen = running.some(({ directory }) => realOf(directory) === realOf(log.directory));
      await addLogFolder(job, log, isOpen);
    }
    const folders = [...logs, ...running].map(({ directory }) => directory);
    const { files, databases, backups, odd } = homeFiles(home, folders, file);
    for (const name of databases) await addHomeDatabase(job, name);
    for (const name of files) {
      const isAdded = await addFile(archive, `home/${name}`, path.join(home, name));
      if (!isAdded) job.leftOut.push(`${path.join(home, name)} ${GONE}`);
    }
    await archive.end();
    await steps.ask('commit');
    const count = files.length + databases.length;
    const elsewhere = accountsElsewhere(home, accounts, logs);
    const { damaged, leftOut } = job;
    const notes = { backups, odd, damaged, leftOut, elsewhere };
    await report(output, { home, file, reader, files: count, logs: logs.length, ...notes, settings });
    return EXIT.OK;
  } catch (error) {
    await archive.abort();
    throw inWords(error, file);
  }
}

/** Returns a folder for copies of databases if they cannot be beside the archive. @param {string} home */
function folderOfCopies(home) {
  try {
    fs.accessSync(home, fs.constants.W_OK);
    return home;
  } catch {
    return os.tmpdir();
  }
}

/**
 * @param {Job} job
 * @param {LogFolder} log
 * @param {boolean} isOpen the running gateway holds it
 */
async function addLogFolder({ archive, home, temporary, accounts, damaged, leftOut }, log, isOpen) {
  const { engine, directory, name: folder } = log;
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
  // Other programs may use the folder, too. What is theirs must not prevent a backup.
  const isOurs = (/** @type {string} */ name) =>
    name === 'ocf.db' || accounts.includes(path.join(directory, name));
  const { databases, unreadable } = filesBeside(home, directory);
  for (const { name, code } of unreadable) {
    const file = path.join(directory, name);
    if (isOurs(name)) throw new CliError(`${file} cannot be read (${code}). ${AS_USER}`, EXIT.CANNOT);
    leftOut.push(`${file} cannot be read (${code}).`);
  }
  for (const name of databases) {
    const file = path.join(directory, name);
    const outcome = await addOtherDatabase(archive, `log/${folder}/${name}`, file, temporary);
    if (outcome === 'damaged') damaged.push(file);
    else if (outcome === 'gone') leftOut.push(`${file} ${GONE}`);
    else if (outcome !== 'whole' && isOurs(name)) throw unusable(file, outcome);
    else if (outcome === 'faulty') leftOut.push(faultOf(file));
    else if (outcome !== 'whole') leftOut.push(`${file} ${UNUSABLE[outcome][0]}`);
  }
}

/** @param {Job} job @param {string} name below the gateway's folder */
async function addHomeDatabase({ archive, home, temporary, damaged, leftOut }, name) {
  const file = path.join(home, name);
  const outcome = await addOtherDatabase(archive, `home/${name}`, file, temporary);
  if (outcome === 'damaged') damaged.push(name);
  else if (outcome === 'gone') leftOut.push(`${file} ${GONE}`);
  else if (outcome !== 'whole') throw unusable(file, outcome);
}

/** @param {string} file @param {'locked' | 'closed' | 'faulty'} outcome */
const unusable = (file, outcome) =>
  new CliError(outcome === 'faulty' ? faultOf(file) : `${file} ${UNUSABLE[outcome].join(' ')}`, EXIT.CANNOT);

/**
 * @param {Output} output
 * @param {{ home: string, file: string, reader: number, files: number, logs: number, backups: string[], odd: string[],
 *   damaged: string[], leftOut: string[], elsewhere: string[], settings: Record<string, string> }} done
 */
async function report(
  output,
  { home, file, reader, files, logs, backups, odd, damaged, leftOut, elsewhere, settings }
) {
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
  for (const sentence of leftOut) await output.note(`seganet-gateway: Not in the backup: ${sentence}`);
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
  for await (const part of fs.createReadStream('', { fd: reader, start: 0, autoClose: false }))
    hash.update(part);
  output.line(
    `${file}: ${plural(files, 'file')}, ${plural(logs, 'log')}, ${size(fs.fstatSync(reader).size)}`
  );
  output.line(`SHA-256 ${hash.digest('hex')}`);
}

/** @param {any} error @param {string} file @returns {Error} */
function inWords(error, file) {
  const { code = '', message, path: place = file } = error;
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new CliError(`There is no space left for ${file}. Nothing was written.`, EXIT.CANNOT);
  if (/^E[A-Z]+$/.test(code) && !place.startsWith(file)) {
    return new CliError(`${place} cannot be read (${code}). ${AS_USER}`, EXIT.CANNOT);
  }
  if (/^E[A-Z]+$/.test(code) || !(error instanceof CliError)) {
    return new CliError(`The backup ${file} cannot be written: ${message}`, EXIT.CANNOT);
  }
  return error;
}

module.exports = { backup };
