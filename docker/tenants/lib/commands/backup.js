'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { ask } = require('../api/client');
const { CliError, EXIT, messageOf } = require('../base/errors');
const { makeBackup } = require('../backup/backups');
const { runHook } = require('../backup/hook');
const { readPassphrase, readSettings } = require('../backup/settings');
const { readTenants } = require('../file/tenants-file');
const { noteBackup } = require('../life/last-backup');
const { mib, numberIn, specOf } = require('./common');

/** @typedef {import('../backup/backups').Made} Made */
/** @typedef {import('./common').Context} Context */

const options = /** @type {const} */ ({
  all: { type: 'boolean' },
  to: { type: 'string' },
  'passphrase-file': { type: 'string' },
  recipient: { type: 'string', multiple: true },
  'most-mib': { type: 'string' },
  'no-hook': { type: 'boolean' }
});

const usage = `seganet-tenants backup NAME [options]      also while the tenant runs
seganet-tenants backup --all [options]

  --to FOLDER              default: "to" in backup.json, else the folder backups beside the tenants file
  --passphrase-file FILE   encrypts the backup; the first line is the passphrase
  --recipient KEY          encrypts it with age, which must be installed, for this key (age1…); can be repeated
  --most-mib N             refuses a volume with more; default: twice the tenant's volumeMiB
  --no-hook                does not run the hook of backup.json
  --json                   one line of JSON for each tenant`;

/**
 * @param {Context} context
 * @returns {Promise<number>} the exit code
 */
async function run(context) {
  const { values, operands, home, isJson, print, note } = context;
  const settings = readSettings(home.folder, home.backups);
  const [name] = operands;
  if (operands.length > 1 || !name === !values.all) {
    throw new CliError('Name one tenant, or use --all.', EXIT.USAGE);
  }
  const isGiven = values['passphrase-file'] !== undefined || values.recipient !== undefined;
  const file = isGiven ? (values['passphrase-file'] ?? '') : settings.passphraseFile;
  const parts = {
    folder: path.resolve(values.to ?? settings.to),
    passphrase: readPassphrase(file),
    recipients: /** @type {string[]} */ (isGiven ? (values.recipient ?? []) : settings.recipients),
    keep: settings.keep,
    most: values['most-mib'] === undefined ? 0 : numberIn(values['most-mib'], '--most-mib', 1, 1 << 24),
    hook: values['no-hook'] ? [] : settings.hook
  };
  const specs = name ? [specOf(home, name)] : readTenants(home.file);
  let code = EXIT.OK;
  for (const spec of specs) {
    if (values.all && !fs.existsSync(path.join(home.volumes, spec.name))) continue;
    try {
      const { made, hookFailure } = await backupOf(home, spec, parts);
      const problems = hookFailure
        ? [`The backup is in its place, but its hook failed: ${hookFailure}.`]
        : [];
      if (hookFailure) code = EXIT.CANNOT;
      const failure = hookFailure && `the hook failed: ${hookFailure}`;
      noteBackup(home.state, spec.name, { at: Date.now(), ok: !failure, reason: failure, file: made.file });
      if (isJson) print(JSON.stringify({ tenant: spec.name, ok: !hookFailure, ...made, hookFailure }));
      else report(context, spec.name, made, problems);
    } catch (error) {
      noteBackup(home.state, spec.name, { at: Date.now(), ok: false, reason: messageOf(error) });
      if (!(error instanceof CliError) || !values.all) {
        if (isJson && error instanceof CliError) {
          print(JSON.stringify({ tenant: spec.name, ok: false, reason: error.message }));
        }
        throw error;
      }
      code = EXIT.CANNOT;
      if (isJson) print(JSON.stringify({ tenant: spec.name, ok: false, reason: error.message }));
      else note(error.message);
    }
  }
  return code;
}

/**
 * @param {import('../base/home').Home} home
 * @param {import('../../../../nodes/lib/tenants/file/schema').Spec} spec
 * @param {{ folder: string, passphrase: string, recipients: string[], keep: { daily: number, weekly: number }, most:
 *   number, hook: string[] }} parts
 *   most: MiB, 0 = twice the limit of the volume
 * @returns {Promise<{ made: Made, hookFailure: string }>}
 */
async function backupOf(home, spec, { folder, passphrase, recipients, keep, most, hook }) {
  const release = await keepAwake(home, spec.name);
  try {
    const made = await makeBackup({
      tenant: spec.name,
      definition: spec,
      volume: path.join(home.volumes, spec.name),
      folder,
      passphrase,
      recipients,
      keep,
      mostBytes: (most || spec.limits.volumeMiB * 2) * 2 ** 20
    });
    const hookFailure = hook.length > 0 ? await runHook(hook, { tenant: spec.name, ...made }) : '';
    return { made, hookFailure };
  } finally {
    await release();
  }
}

/**
 * Wakes a paused tenant for the time of its backup: its frozen processes may hold locks on databases, and only they can
 * copy those. Any other tenant stays as it is.
 * @param {import('../base/home').Home} home
 * @param {string} name
 * @returns {Promise<() => Promise<void>>}
 */
async function keepAwake({ socket }, name) {
  const none = async () => {};
  const list = await ask(socket, 'GET', '/v1/tenants');
  const row = list?.body.tenants?.find((/** @type {any} */ each) => each.name === name);
  // A running tenant gets a lease, too, so that it is not paused meanwhile.
  if (!['running', 'paused', 'pausing', 'starting'].includes(row?.state)) return none;
  const body = { reason: 'operator', class: 8, holder: 'backup' };
  const answer = await ask(socket, 'POST', `/v1/tenants/${name}/lease`, body);
  if (!answer || answer.status >= 400) {
    if (row.state !== 'paused') return none;
    throw new CliError(
      `${name} cannot be woken for its backup: ${answer?.body.error ?? 'the keeper has ended'}`
    );
  }
  const lease = `/v1/leases/${answer.body.lease}`;
  const timer = setInterval(() => ask(socket, 'PUT', lease).catch(() => {}), 10_000);
  return async () => {
    clearInterval(timer);
    await ask(socket, 'DELETE', lease).catch(() => {});
  };
}

/** @param {Context} context @param {string} name @param {Made} made @param {string[]} problems */
function report({ print, note }, name, made, problems) {
  const { file, files, databases, volumeBytes, bytes, ms, sha256, skipped, warnings, removed } = made;
  print(
    `${name}: ${files} files (${databases} databases), ${mib(volumeBytes)} → ${mib(bytes)} MiB in ${ms} ms: ${file}`
  );
  print(`SHA-256 ${sha256}`);
  for (const each of removed) print(`removed ${path.basename(each)}`);
  for (const { name: entry, why } of skipped) note(`Not in the backup: ${entry}: ${why}.`);
  for (const sentence of [...warnings, ...problems]) note(sentence);
}

module.exports = {
  name: 'backup',
  summary: 'saves the volume of a tenant, also while it runs',
  usage,
  options,
  run
};
