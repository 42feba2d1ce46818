'use strict';
// Asks the code of a Kubernetes API server (rules/main.go) about objects and requests.

const { spawnSync } = require('node:child_process');

const PROGRAM = process.env.SEGANET_KUBERNETES_RULES || '/SEGANET_KUBERNETES_RULES=$(.ci/kubernetes-rules)';

/**
 * @typedef {object} Verdict
 * @property {string[]} problems why the API server refuses the object, and what it warns of
 * @property {string[] | null} security why Pod Security `restricted` refuses its pods; null: it makes none
 */
/**
 * @typedef {object} Permission a request as the API server understands it
 * @property {string} verb
 * @property {string} group
 * @property {string} resource with its subresource
 * @property {string} namespace
 * @property {string} name
 * @property {boolean} isAllowed by the rules
 */
/** @typedef {{ method: string, path: string }} Asked */

/**
 * @param {{ namespace?: string, objects?: object[], rules?: object[], requests?: Asked[] }} question namespace: of
 *   objects without one; rules: of a role
 * @returns {{ objects: Verdict[], requests: Permission[] }}
 */
function judge(question) {
  const { status, stdout, stderr } = spawnSync(PROGRAM, {
    input: JSON.stringify({ namespace: 'home', ...question }),
    encoding: 'utf8',
    maxBuffer: 64 << 20
  });
  if (status !== 0) throw new Error(`${PROGRAM} ended with ${status}: ${stderr}`);
  return JSON.parse(stdout);
}

module.exports = { PROGRAM, judge };
