'use strict';
// Listeners of this machine that tenants in containers could reach. A container reaches every address of the machine by
// the bridge of its own network, also where that network is internal. Rules of nftables end that
// (seganet-tenants net apply), and leave a record of it until the next start of the machine.

const fs = require('node:fs');
const { isLoopback } = require('../base/loopback');
const { parseTenants } = require('./tenants-schema');
const { tenantsFile } = require('./places');

/** Written by "seganet-tenants net apply": { range, boot }. */
const RULES_FILE = '/run/seganet-tenants/rules.json';
const BOOT_FILE = '/proc/sys/kernel/random/boot_id';
const IN_CONTAINERS = ['docker', 'podman'];
/** Longest record. */
const MAX_BYTES = 4096;

/** @param {string} file tenants file @returns {boolean} true if one of its tenants runs in a container */
function hasContainers(file) {
  try {
    return parseTenants(fs.readFileSync(file)).some(({ driver }) => IN_CONTAINERS.includes(driver));
  } catch {
    // Without a file there are no tenants. The keeper does not start with an invalid one.
    return false;
  }
}

/** @param {string} [file] @returns {boolean} true if the rules were applied since the machine started */
function areRulesApplied(file = RULES_FILE) {
  try {
    const { uid, mode, size } = fs.statSync(file);
    const isTrusted = (uid === 0 || uid === process.getuid?.()) && (mode & 0o022) === 0;
    if (!isTrusted || size > MAX_BYTES) return false;
    const { boot } = JSON.parse(fs.readFileSync(file, 'utf8'));
    return boot === fs.readFileSync(BOOT_FILE, 'utf8').trim();
  } catch {
    return false;
  }
}

/**
 * @param {string} host address to listen on
 * @param {{ files?: string[], env?: NodeJS.ProcessEnv, rulesFile?: string }} [where] files: tenants files besides the
 *   standard one
 * @returns {string} why no listener may open there, a sentence; '' = it may
 */
function exposureProblem(host, { files = [], env = process.env, rulesFile } = {}) {
  if (isLoopback(host) || areRulesApplied(rulesFile)) return '';
  const file = [...files, ''].map((each) => tenantsFile(each, env)).find(hasContainers);
  if (!file) return '';
  return (
    `At ${host}, the tenants in containers (${file}) would reach this port by the bridge of their network. ` +
    'Run "seganet-tenants net apply" as root, and then deploy or start again, or listen on 127.0.0.1.'
  );
}

module.exports = { areRulesApplied, exposureProblem };
