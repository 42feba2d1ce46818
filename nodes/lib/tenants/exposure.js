'use strict';
// Listeners of this machine that tenants in containers could reach. A container reaches every address of the machine by
// the bridge of its own network, also where that network is internal. Rules of nftables end that
// (seganet-tenants net apply), and leave a record of it until the next start of the machine.

const fs = require('node:fs');
const { isLoopback } = require('../base/loopback');
const { resolved } = require('../base/variable-reference');
const { tenantsFile } = require('./file/locations');
const { readRecord } = require('./file/rules-record');
const { isContainer, parseFile } = require('./file/schema');

const HOW = 'by the bridge of their network';

/**
 * @param {string} file tenants file
 * @param {boolean} isNamed a node or a variable names it, or its folder; otherwise it is looked for in the home folder
 * @returns {string} what its tenants may do, '' = none runs in a container
 */
function dangerOf(file, isNamed) {
  try {
    const { tenants, templates } = parseFile(fs.readFileSync(file));
    // A tenant may be made of a template after the port is open.
    return [...tenants, ...templates.map(({ spec }) => spec)].some(isContainer)
      ? `the tenants in containers (${file}) would reach this port ${HOW}.`
      : '';
  } catch (error) {
    // A keeper that runs goes on with the file that it read before.
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
    // Without a file there are no tenants. A service that may not look into its home folder has none there.
    if (code === 'ENOENT' || code === 'ENOTDIR' || (code === 'EACCES' && !isNamed)) return '';
    const reason = message.replace(/\.$/, '');
    return `tenants in containers may reach this port ${HOW}: the tenants file ${file} cannot be used (${reason}).`;
  }
}

/**
 * @param {string} [file]
 * @param {string} [range] '' = of any
 * @returns {boolean} true if the rules were applied for this range since the machine started
 */
function areRulesApplied(file, range = '') {
  const recorded = readRecord(file);
  return recorded !== '' && (range === '' || recorded === range);
}

/**
 * @param {string} host address to listen on
 * @param {{ files?: string[], env?: NodeJS.ProcessEnv, rulesFile?: string }} [where] files: tenants files besides the
 *   standard one
 * @returns {string} why no listener may open there, a sentence; '' = it may
 */
function exposureProblem(host, { files = [], env = process.env, rulesFile } = {}) {
  // The keeper's variable. A gateway without it cannot know the range.
  const range = env.SEGANET_TENANTS_SUBNETS?.trim() ?? '';
  if (isLoopback(host) || areRulesApplied(rulesFile, range)) return '';
  const names = env.SEGANET_TENANTS?.trim() || env.SEGANET_HOME?.trim();
  const danger = [...files, '']
    .map((each) => dangerOf(tenantsFile(each, env), Boolean(each || names)))
    .find(Boolean);
  if (!danger) return '';
  const other = areRulesApplied(rulesFile)
    ? `The rules of nftables are not for their networks, which are of ${range} (SEGANET_TENANTS_SUBNETS). `
    : '';
  return (
    `At ${host}, ${danger} ${other}` +
    'Run "seganet-tenants net apply" as root, and then deploy or start again, or listen on 127.0.0.1.'
  );
}

/**
 * As exposureProblem, with the tenants files that the flow names.
 * @param {string} host address to listen on
 * @param {import('node-red').NodeAPI | null} RED null = before the flows are loaded
 * @returns {string}
 */
function exposureOf(host, RED) {
  /** @type {string[]} */
  const files = [];
  RED?.nodes.eachNode?.((each) => {
    const { type, file } = /** @type {{ type: string, file?: unknown }} */ (each);
    // That node itself reports a file that is no text.
    if (type === 'seganet-tenants' && typeof file === 'string' && file)
      files.push(resolved(file, process.env));
  });
  return exposureProblem(host, { files });
}

module.exports = { areRulesApplied, exposureOf, exposureProblem };
