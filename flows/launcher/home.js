'use strict';

// The gateway's own folder (SEGANET_HOME), which is private and contains the credential secret and the user's copy of
// the flow.

const crypto = require('crypto');
const fs = require('fs');
const path = require('path');
const { readRegular } = require('../../nodes/lib/base/files/regular-file');
const { replaceFile } = require('../../nodes/lib/base/replace-file');
const { ConfigError } = require('./config-error');
const { flowIn } = require('./flow-texts');
const { presetOf } = require('./presets');

/** The flow of a tenant's gateway, which the keeper of tenants starts. */
const TENANT_FLOW = path.join(__dirname, '..', 'tenant.json');
/** Values of the uplink broker's credentials; they contain no secret themselves. */
const BROKER_CREDENTIALS = {
  username: '${SEGANET_UPLINK_USERNAME}',
  password: '${SEGANET_UPLINK_PASSWORD}'
};

/**
 * Creates missing files in the folder and updates the flow.
 * @param {string} folder absolute
 * @param {string} [language] of the shipped flow's texts
 * @param {string} [shippedFlow]
 * @returns {{ secret: string, flowFile: string }}
 * @throws {ConfigError}
 */
function prepareHome(
  folder,
  language = 'en',
  shippedFlow = process.env.SEGANET_TENANT ? TENANT_FLOW : presetOf(process.env.SEGANET_PRESET).flow
) {
  try {
    makePrivate(folder);
    const secret = readSecret(path.join(folder, 'credential-secret'));
    const flowFile = path.join(folder, 'gateway.json');
    updateFlow(folder, flowFile, flowIn(fs.readFileSync(shippedFlow, 'utf8'), language));
    writeCredentials(path.join(folder, 'gateway_cred.json'), secret, shippedFlow);
    return { secret, flowFile };
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    const { message } = /** @type {Error} */ (error);
    throw new ConfigError([
      `SEGANET_HOME ${folder} cannot be used (${message}). Set a folder that this user can write to.`
    ]);
  }
}

/**
 * Checks the log's folder. The engine retries the log indefinitely, so a folder that cannot be used now does not
 * prevent the start.
 * @param {Record<string, string>} env
 * @returns {string} a sentence, '' when records can be written
 */
function logProblem({ SEGANET_ACKNOWLEDGE, SEGANET_LOG_DIR, SEGANET_HOME }) {
  if (SEGANET_ACKNOWLEDGE === 'received') return '';
  const folder = SEGANET_LOG_DIR || path.join(SEGANET_HOME, 'seganet-log');
  try {
    makeFolder(folder);
    const probe = path.join(folder, `.probe-${process.pid}`);
    fs.writeFileSync(probe, '', { mode: 0o600 });
    fs.unlinkSync(probe);
    return '';
  } catch (error) {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
    const waits =
      SEGANET_ACKNOWLEDGE === 'stored' ? 'devices wait' : 'devices wait whenever the cloud does not answer';
    return (
      `the log folder ${folder} is not writable (${code ?? message}): until it is, ${waits}. ` +
      `Make it writable for this user, or set another folder in ${SEGANET_LOG_DIR ? 'SEGANET_LOG_DIR' : 'SEGANET_LOG_DIR or SEGANET_HOME'}.`
    );
  }
}

/**
 * Creates a folder. Node's `recursive` option is not used: it retries forever where mkdir itself fails with ENOENT
 * (/proc, some automounts).
 * @param {string} folder absolute
 */
function makeFolder(folder) {
  if (fs.existsSync(folder)) return;
  makeFolder(path.dirname(folder));
  fs.mkdirSync(folder, { mode: 0o700 });
}

/** @param {string} folder */
function makePrivate(folder) {
  makeFolder(folder);
  // An existing folder keeps its mode (it may be a container's volume), but other users must not be able to write to
  // it: a user who can change the flow can run programs as this user.
  if (fs.statSync(folder).mode & 0o022) {
    throw new ConfigError([
      `SEGANET_HOME ${folder} is writable by other users, who could change the flow. Run "chmod 700 ${folder}".`
    ]);
  }
}

/** @param {string} file @returns {any} its JSON; null if there is none */
function jsonOf(file) {
  try {
    return JSON.parse(readRegular(file));
  } catch {
    return null;
  }
}

/**
 * True if the folder has encrypted passwords without their key. The next deploy would delete them.
 * @param {string} folder
 */
function lacksSecret(folder) {
  if (fs.existsSync(path.join(folder, 'credential-secret'))) return false;
  if (typeof jsonOf(path.join(folder, 'gateway_cred.json'))?.$ !== 'string') return false;
  // Node-RED keeps the key of what it encrypted without this gateway, and encrypts it again with the gateway's.
  return !jsonOf(path.join(folder, '.config.runtime.json'))?._credentialSecret;
}

/** Returns the secret that encrypts Node-RED's credentials. Creates it at the first start. @param {string} file */
function readSecret(file) {
  if (lacksSecret(path.dirname(file))) {
    throw new ConfigError([
      `${file} is missing, and gateway_cred.json in the same folder cannot be decrypted without it. Restore it from a backup, or remove gateway_cred.json and enter the passwords again.`
    ]);
  }
  if (!fs.existsSync(file)) replaceFile(file, crypto.randomBytes(32).toString('hex') + '\n');
  if (fs.statSync(file).mode & 0o077) fs.chmodSync(file, 0o600);
  const secret = readRegular(file).trim();
  if (!/^[0-9a-f]{64}$/.test(secret)) {
    throw new ConfigError([
      `${file} is damaged. Restore it from a backup, or remove it together with gateway_cred.json in the same folder and enter the passwords again.`
    ]);
  }
  return secret;
}

/** @param {string} content */
const digest = (content) => crypto.createHash('sha256').update(content).digest('hex');

/**
 * Copies the shipped flow at the first start, and again when it has changed while the user's copy has not. A copy that
 * was changed (by Deploy in the editor) belongs to the user and stays.
 * @param {string} folder
 * @param {string} flowFile
 * @param {string} shipped its text, in the gateway's language
 */
function updateFlow(folder, flowFile, shipped) {
  const record = path.join(folder, 'gateway.shipped');
  /** Digests of shipped flows. @type {string[]} */
  const own = [digest(shipped)];
  if (fs.existsSync(flowFile)) {
    const copied = fs.existsSync(record) ? readRegular(record).split('\n') : [];
    const current = digest(readRegular(flowFile));
    if (!copied.includes(current) || current === own[0]) return;
    own.push(current);
  }
  // The record is written first, and includes the previous flow: after a power failure between the two writes, the flow
  // must not look changed by the user.
  replaceFile(record, `${own.join('\n')}\n`);
  replaceFile(flowFile, shipped);
}

/**
 * Gives the shipped flow's broker its credentials. Node-RED keeps credentials outside the flow file, in a file of its
 * own: { $: initialization vector in hex + AES-256-CTR in base64, keyed by the secret's SHA-256 }.
 * @param {string} file
 * @param {string} secret
 * @param {string} shippedFlow
 */
function writeCredentials(file, secret, shippedFlow) {
  if (fs.existsSync(file)) return;
  /** @type {{ id: string, type: string }[]} */
  const nodes = JSON.parse(fs.readFileSync(shippedFlow, 'utf8'));
  const brokers = nodes.filter(({ type }) => type === 'seganet-uplink-broker');
  const credentials = Object.fromEntries(brokers.map(({ id }) => [id, BROKER_CREDENTIALS]));
  const vector = crypto.randomBytes(16);
  const cipher = crypto.createCipheriv(
    'aes-256-ctr',
    crypto.createHash('sha256').update(secret).digest(),
    vector
  );
  const sealed = cipher.update(JSON.stringify(credentials), 'utf8', 'base64') + cipher.final('base64');
  replaceFile(file, JSON.stringify({ $: vector.toString('hex') + sealed }) + '\n');
}

module.exports = { TENANT_FLOW, lacksSecret, prepareHome, logProblem };
