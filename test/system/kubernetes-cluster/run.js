'use strict';
// The tenants' driver and the Helm chart against a real control plane of Kubernetes.
//   node native/node/run.js test/system/kubernetes-cluster/run.js --help

const path = require('node:path');
const { readArguments } = require('../../../bench/harness/arguments');
const { haveTool } = require('../../../bench/harness/tools');
const { DIGEST } = require('../../fixtures/tenants/digest');
const { Cluster } = require('./cluster');
const { Home } = require('./home');
const { Machine } = require('./machine');

const PARTS = ['life', 'rights', 'admission', 'traffic', 'keeper', 'chart'];
const PROGRAM = process.env.SEGANET_KUBERNETES || '/SEGANET_KUBERNETES=$(.ci/kubernetes)';
const CHECK_MS = 300_000;

const intro = `Usage: SEGANET_KUBERNETES=$(.ci/kubernetes) SEGANET_HELM=$(.ci/helm) \\
  node native/node/run.js test/system/kubernetes-cluster/run.js [options]

Starts etcd, kube-apiserver, kube-controller-manager and kube-scheduler, and runs the tenants' driver and the Helm chart
against them; each check has a namespace of its own. A pod is a process of this machine: no image is started, no packet
is filtered, and no limit of a container holds here. Exit code 0: each check has passed, or a tool is missing; 1:
otherwise.`;

/** @param {string} name @returns {{ name: string, run: (home: Home) => Promise<string | void> }[]} */
const checksOf = (name) =>
  require(`./checks/${name}`).checks.map((/** @type {any} */ [title, run]) => ({ name: title, run }));

/** @param {string[]} parts @returns {string[]} */
function missingTools(parts) {
  const helm = path.join(process.env.SEGANET_HELM || '/SEGANET_HELM=$(.ci/helm)', 'helm');
  const tools = [PROGRAM, 'etcd', 'openssl', ...(parts.includes('chart') ? [helm] : [])];
  return tools.filter((tool) => !haveTool(tool));
}

/** @param {Cluster} cluster @param {{ name: string, run: (home: Home) => Promise<string | void> }} check */
async function runCheck(cluster, { name, run }) {
  const began = performance.now();
  const seconds = () => `${((performance.now() - began) / 1000).toFixed(1).padStart(5)} s`;
  const home = new Home(cluster);
  /** @type {NodeJS.Timeout | undefined} */
  let late;
  try {
    await home.open();
    const note = await Promise.race([
      run(home),
      new Promise((_, reject) => {
        late = setTimeout(() => reject(new Error(`no end within ${CHECK_MS / 1000} s`)), CHECK_MS);
      })
    ]);
    console.log(`ok    ${seconds()}  ${name}${note ? `: ${note}` : ''}`);
    return true;
  } catch (error) {
    console.log(`FAIL  ${seconds()}  ${name}\n${/** @type {Error} */ (error).stack}`);
    return false;
  } finally {
    clearTimeout(late);
    await home.close().catch(({ message }) => console.log(`      ${message}`));
  }
}

async function main() {
  const given = readArguments(intro, {
    numbers: {},
    texts: { only: ['all', `all, or one of ${PARTS.join(', ')}`] }
  });
  const only = given.text('only');
  if (only !== 'all' && !PARTS.includes(only)) {
    console.error(`There is no part '${only}'. See --help.`);
    process.exitCode = 2;
    return;
  }
  const parts = only === 'all' ? PARTS : [only];
  const missing = missingTools(parts);
  if (missing.length > 0) return console.log(`skipped: needs ${missing.join(', ')}`);
  const began = performance.now();
  const cluster = new Cluster(PROGRAM);
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
  let machine;
  const failed = [];
  try {
    await cluster.start();
    machine = await new Machine(cluster, DIGEST).start();
    const { gitVersion } = await cluster.admin.ask('GET', '/version');
    const memory = Object.entries(cluster.memory()).map(([name, mib]) => `${name} ${mib} MiB`);
    console.log(
      `Kubernetes ${gitVersion}, ready after ${Math.round(performance.now() - began)} ms: ${memory.join(', ')}`
    );
    for (const check of parts.flatMap(checksOf))
      if (!(await runCheck(cluster, check))) failed.push(check.name);
  } catch (error) {
    failed.push('the start');
    console.log(/** @type {Error} */ (error).stack);
  } finally {
    await machine?.end();
    await cluster.end();
  }
  console.log(
    `${failed.length === 0 ? 'all passed' : `${failed.length} failed`}, ${Math.round((performance.now() - began) / 1000)} s`
  );
  process.exitCode = failed.length === 0 ? 0 : 1;
}

void main();
