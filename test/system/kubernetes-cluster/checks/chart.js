'use strict';
// The Helm chart: the API server admits each object of each example, and makes the pods.

const assert = require('node:assert/strict');
const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const yaml = require('js-yaml');
const { eventually } = require('../../../../bench/harness/net');

const ROOT = path.join(__dirname, '..', '..', '..', '..');
const CHART = path.join(ROOT, 'docker', 'cluster', 'helm');
const HELM = path.join(process.env.SEGANET_HELM || '/none', 'helm');
/** Their kinds are those of operators, which this cluster does not have. */
const OPERATORS = ['ServiceMonitor', 'PrometheusRule', 'KafkaTopic'];

/** @typedef {import('../home').Home} Home */

/** @param {string} example @param {string} namespace @returns {any[]} */
function render(example, namespace) {
  const args = ['-f', path.join(CHART, 'examples', example), '--kube-version', '1.35.0', '-n', namespace];
  const flow = ['--set-file', `flow=${path.join(ROOT, 'flows', 'gateway.json')}`];
  const { status, stdout, stderr } = spawnSync(HELM, ['template', 'plant', CHART, ...args, ...flow], {
    encoding: 'utf8'
  });
  assert.equal(status, 0, stderr);
  return yaml.safeLoadAll(stdout).filter((/** @type {any} */ each) => each && !OPERATORS.includes(each.kind));
}

/** @type {[string, (home: Home) => Promise<string | void>][]} */
exports.checks = fs.readdirSync(path.join(CHART, 'examples')).map((example) => [
  `the chart's example ${example} is admitted by Pod Security "restricted", and gets its pods`,
  async (home) => {
    const objects = render(example, home.namespace);
    for (const object of objects) await home.apply(object, { isTrial: true });
    const set = objects.find(({ kind }) => kind === 'StatefulSet');
    // The check finds what is wrong.
    const wrong = structuredClone(set);
    wrong.spec.template.spec.containers[0].nonsense = 1;
    await assert.rejects(
      home.apply(wrong, { isTrial: true }),
      /unknown field "spec.template.spec.containers\[0\].nonsense"/
    );
    for (const object of objects) await home.apply(object);
    const wanted = objects
      .filter(({ kind }) => ['StatefulSet', 'Deployment'].includes(kind))
      .reduce((sum, { spec }) => sum + spec.replicas, 0);
    const pods = await eventually(
      async () => {
        const all = await home.list('api/v1', 'pods');
        return all.length === wanted && all;
      },
      { timeoutMs: 60_000, what: `${wanted} pods` }
    );
    const refusals = await home.list('api/v1', 'events', '?fieldSelector=reason%3DFailedCreate');
    assert.deepEqual(
      refusals.map(({ message }) => message),
      []
    );
    const claims = await home.list('api/v1', 'persistentvolumeclaims');
    assert.equal(claims.length, set.spec.replicas);
    const budgets = objects.filter(({ kind }) => kind === 'PodDisruptionBudget');
    await eventually(
      async () => {
        const found = await home.list('apis/policy/v1', 'poddisruptionbudgets');
        const expected = found.reduce((sum, { status }) => sum + (status?.expectedPods ?? 0), 0);
        return found.length === budgets.length && expected === (budgets.length > 0 ? wanted : 0);
      },
      { timeoutMs: 30_000, what: 'the budgets count the pods' }
    );
    return `${objects.length} objects, ${pods.length} pods`;
  }
]);
