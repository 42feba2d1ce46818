'use strict';

const path = require('node:path');
const { ask } = require('../api/client');
const { CliError, EXIT, messageOf } = require('../base/errors');
const { listBackups } = require('../backup/backups');
const { hold } = require('../life/hold');
const { noteCheck } = require('../life/last-backup');
const { look } = require('../backup/offline');
const { processStarter } = require('../backup/offline-process');
const { removeDrafts } = require('../backup/drafts');
const { onInterrupt } = require('../backup/interrupt');
const { checkBackup, restoreBackup } = require('../backup/restore');
const { readPassphrase, readSettings } = require('../backup/settings');
const { mib, specOf } = require('./common');

/** @typedef {import('./common').Context} Context */
/** @typedef {import('../base/home').Home} Home */
/** @typedef {import('../../../../nodes/lib/tenants/file/schema').Spec} Spec */

const options = /** @type {const} */ ({
  from: { type: 'string' },
  check: { type: 'boolean' },
  'no-start': { type: 'boolean' },
  'any-tenant': { type: 'boolean' },
  'keep-old': { type: 'boolean' },
  'passphrase-file': { type: 'string' },
  identity: { type: 'string' }
});

const usage = `seganet-tenants restore NAME --from FILE [options]

  --from FILE              a backup; "latest": the newest one of the tenant
  --check                  unpacks and checks it, starts the tenant from it once without a network, and changes nothing
  --no-start               does not start the tenant for the check
  --any-tenant             takes the backup of a tenant with another name, too
  --keep-old               keeps the old volume as NAME.before-TIME also after the tenant has started from the new one
  --passphrase-file FILE   of an encrypted backup
  --identity FILE          secret keys for a backup that age encrypted
  --json                   one line of JSON`;

/**
 * @param {Context} context
 * @returns {Promise<number>} the exit code
 */
async function run({ values, operands, home, isJson, print, note, driver }) {
  const [name] = operands;
  if (operands.length !== 1) throw new CliError('Name one tenant.', EXIT.USAGE);
  if (!values.from) throw new CliError('--from is missing: the file of the backup, or "latest".', EXIT.USAGE);
  const spec = specOf(home, name);
  const settings = readSettings(home.folder, home.backups);
  const file = values.from === 'latest' ? latest(settings.to, name) : path.resolve(values.from);
  const startOffline = values['no-start'] ? null : starterOf(home, spec, driver);
  for (const folder of removeDrafts(home.volumes)) note(`Removed what was left: ${folder}.`);
  if (startOffline) await driver(spec.driver).removeRests?.();
  const interrupt = onInterrupt();
  const what = {
    tenant: spec,
    file,
    volume: path.join(home.volumes, name),
    passphrase: readPassphrase(values['passphrase-file'] ?? settings.passphraseFile),
    identity: values.identity ? path.resolve(values.identity) : '',
    anyTenant: Boolean(values['any-tenant']),
    startOffline,
    signal: interrupt.signal
  };
  const result = await (values.check ? check(home, what) : restore(home, driver, what, values)).finally(
    interrupt.close
  );
  if (isJson) {
    print(JSON.stringify({ tenant: name, ok: true, file, ...result }));
    return EXIT.OK;
  }
  const { about, files, databases, bytes, ms, old, warnings, start } = result;
  const verb = values.check ? 'is sound' : 'was restored';
  print(
    `${name}: the backup of ${about.created} ${verb}: ${files} files (${databases} databases), ${mib(bytes)} MiB, in ${ms} ms`
  );
  if (start === 'healthy') print('The tenant started from it without a network and was healthy.');
  else if (!values['no-start']) note(notStarted(spec));
  if (old) print(`The old volume is ${old}.`);
  for (const sentence of warnings) note(sentence);
  return EXIT.OK;
}

/**
 * Checks a backup, and notes how that ends, unless a signal ends it.
 * @param {Home} home
 * @param {Parameters<typeof checkBackup>[0]} what
 */
async function check({ state }, what) {
  const { tenant, file, signal } = what;
  const note = (/** @type {string} */ reason) =>
    noteCheck(state, tenant.name, { at: Date.now(), ok: reason === '', reason, file });
  try {
    const result = await checkBackup(what);
    note('');
    return { ...result, old: '' };
  } catch (error) {
    if (!signal?.aborted) note(messageOf(error));
    throw error;
  }
}

/** @param {string} folder @param {string} name @returns {string} */
function latest(folder, name) {
  const [newest] = listBackups(folder, name);
  if (newest) return newest.file;
  throw new CliError(`There is no backup of ${name} in ${folder}.`);
}

/**
 * @param {Home} home
 * @param {Spec} spec
 * @param {Context['driver']} driver
 * @returns {import('../backup/restore').StartOffline | null} null: not possible here
 */
function starterOf(home, spec, driver) {
  if (spec.driver === 'process') return processStarter(home);
  const own = driver(spec.driver);
  if (!('startOffline' in own)) return null;
  const docker = /** @type {import('../drivers/docker').DockerDriver} */ (own);
  return (tenant, folder) => docker.startOffline(tenant, folder, look);
}

/** @param {Spec} spec @returns {string} */
function notStarted({ driver }) {
  if (driver !== 'process')
    return `The tenant was not started for the check: the driver ${driver} cannot do that.`;
  return 'The tenant was not started for the check: this system does not allow a network namespace (unshare --net).';
}

/**
 * @param {Home} home
 * @param {Context['driver']} driver
 * @param {Parameters<typeof checkBackup>[0]} what
 * @param {Record<string, any>} values
 */
async function restore(home, driver, what, values) {
  const { name } = what.tenant;
  const { socket } = home;
  const runs = (await ask(socket, 'GET', '/v1/tenants')) !== null;
  if (!runs) await refuseRunning(driver, what.tenant);
  /** @type {(() => void) | null} */
  let release = null;
  const stop = async () => {
    release ??= hold(home.state, name);
    const answer = await ask(socket, 'POST', `/v1/tenants/${name}/sleep`, { force: true });
    if (!answer || answer.status === 404) return;
    if (answer.status >= 400) throw new CliError(`${name} cannot be stopped: ${answer.body.error}`);
  };
  const start = async () => {
    release?.();
    release = null;
    const body = { reason: 'operator', class: 8, holder: 'restore' };
    const answer = await ask(socket, 'POST', `/v1/tenants/${name}/lease`, body);
    // Without a keeper, or before it knows the tenant, the next start is the keeper's.
    if (!answer || answer.status === 404) return { ok: true, reason: '' };
    if (answer.status >= 400) return { ok: false, reason: String(answer.body.error) };
    await ask(socket, 'DELETE', `/v1/leases/${answer.body.lease}`);
    return { ok: true, reason: '' };
  };
  try {
    // Where nobody starts the tenant now, the old volume stays.
    return await restoreBackup({ ...what, stop, start, keepOld: Boolean(values['keep-old']) || !runs });
  } finally {
    /** @type {any} */ (release)?.();
  }
}

/** A tenant outlives its keeper. @param {Context['driver']} driver @param {Spec} spec */
async function refuseRunning(driver, spec) {
  const { state } = await driver(spec.driver).inspect(spec);
  if (state !== 'running' && state !== 'paused') return;
  throw new CliError(`${spec.name} runs without a keeper. Start the keeper, and restore it then.`);
}

module.exports = {
  name: 'restore',
  summary: 'checks a backup, and puts it in the place of the volume',
  usage,
  options,
  run
};
