'use strict';
// The objects for a cluster and the keeper's rights, judged by the code of a Kubernetes API server.
//   node native/node/run.js test/system/kubernetes/run.js --help

const { readArguments } = require('../../../bench/harness/arguments');
const { haveTool } = require('../../../bench/harness/tools');
const { HELM, checks } = require('./checks');
const { PROGRAM } = require('./rules');

const intro = `Usage: SEGANET_KUBERNETES_RULES=$(.ci/kubernetes-rules) SEGANET_HELM=$(.ci/helm) \\
  node native/node/run.js test/system/kubernetes/run.js

Judges what "seganet-tenants manifest" prints and what the Helm chart renders with the code of kube-apiserver: strict
decoding, defaults, validation and Pod Security "restricted"; and the rights of the keeper with its RBAC, by the
requests that the driver makes. No cluster runs. Exit code 0: each check has passed, or a tool is missing; 1: otherwise.`;

async function main() {
  readArguments(intro, { numbers: {}, texts: {} });
  const missing = [PROGRAM, HELM].filter((tool) => !haveTool(tool));
  if (missing.length > 0) return console.log(`skipped: needs ${missing.join(', ')}`);
  let failed = 0;
  for (const [name, run] of checks) {
    const began = performance.now();
    const took = () => `${String(Math.round(performance.now() - began)).padStart(6)} ms`;
    try {
      const note = await run();
      console.log(`ok    ${took()}  ${name}: ${note}`);
    } catch (error) {
      failed++;
      console.log(`FAIL  ${took()}  ${name}\n${/** @type {Error} */ (error).stack}`);
    }
  }
  console.log(failed === 0 ? `all ${checks.length} passed` : `${failed} of ${checks.length} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
}

void main();
