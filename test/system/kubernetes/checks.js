'use strict';
// What is printed for a cluster and rendered by the chart, as an API server judges it.

const assert = require('node:assert/strict');
const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const yaml = require('js-yaml');
const { manifestOf } = require('../../../docker/tenants/lib/drivers/kubernetes-manifest');
const { RIGHTS, rightsOf } = require('../../../docker/tenants/lib/drivers/kubernetes-rights');
const { checkTenant } = require('../../../nodes/lib/tenants/file/schema');
const { DIGEST } = require('../../fixtures/tenants/digest');
const { keeperRequests } = require('./keeper-requests');
const { judge } = require('./rules');

const ROOT = path.join(__dirname, '..', '..', '..');
const CHART = path.join(ROOT, 'docker', 'cluster', 'helm');
const HELM = path.join(process.env.SEGANET_HELM || '/SEGANET_HELM=$(.ci/helm)', 'helm');
/** Their kinds are those of operators, which an API server knows only where these run. */
const OPERATORS = ['ServiceMonitor', 'PrometheusRule', 'KafkaTopic'];

const SPEC = checkTenant({ name: 'acme', driver: 'kubernetes', image: DIGEST, http: 8080 });
/** Entries at the limits of the tenants file. */
const TENANTS = [
  {},
  { http: 8080, tcp: 9000, command: ['node', 'flow.js', '--all'] },
  { port: 0, http: 65535 },
  { name: 'a'.repeat(32), limits: { memoryMiB: 16, cpus: 0.05, volumeMiB: 1 } },
  {
    image: `registry.example.org:5000/iot/pump@${DIGEST}`,
    limits: { memoryMiB: 1 << 20, cpus: 256, volumeMiB: 1 << 24 }
  }
];

const NAME = 'seganet-tenant-acme';
/** What the keeper's account must not be able to do: method and path. */
const FORBIDDEN = [
  ['GET', '/api/v1/namespaces/home/secrets'],
  ['GET', '/api/v1/namespaces/home/secrets?watch=1'],
  ['DELETE', '/api/v1/namespaces/home/secrets'],
  ['GET', `/api/v1/namespaces/home/pods`],
  ['POST', '/api/v1/namespaces/home/pods'],
  ['DELETE', `/api/v1/namespaces/home/pods/${NAME}-0`],
  ['POST', `/api/v1/namespaces/home/pods/${NAME}-0/exec?command=sh`],
  ['POST', `/api/v1/namespaces/home/pods/${NAME}-0/eviction`],
  ['PUT', `/api/v1/namespaces/home/pods/${NAME}-0/ephemeralcontainers`],
  ['POST', '/apis/apps/v1/namespaces/home/statefulsets'],
  ['PATCH', `/apis/apps/v1/namespaces/home/statefulsets/${NAME}`],
  ['DELETE', `/apis/apps/v1/namespaces/home/statefulsets/${NAME}`],
  ['PATCH', `/apis/networking.k8s.io/v1/namespaces/home/networkpolicies/${NAME}`],
  ['DELETE', `/apis/networking.k8s.io/v1/namespaces/home/networkpolicies/${NAME}`],
  ['PATCH', `/api/v1/namespaces/home/services/${NAME}`],
  ['DELETE', `/api/v1/namespaces/home/persistentvolumeclaims/data-${NAME}-0`],
  ['GET', '/api/v1/namespaces/home/configmaps/any'],
  ['POST', '/api/v1/namespaces/home/events'],
  ['POST', '/api/v1/namespaces/home/serviceaccounts/seganet-tenants/token'],
  ['PATCH', '/apis/rbac.authorization.k8s.io/v1/namespaces/home/roles/seganet-tenants'],
  ['GET', '/api/v1/namespaces'],
  ['GET', '/api/v1/nodes']
];
/** The API server lets every account do it. */
const EVERYBODY = /^\/version$|^\/apis\/authorization\.k8s\.io\/v1\/selfsubjectaccessreviews$/;

/** @param {import('../../../docker/tenants/lib/drivers/kubernetes-rights').Right} right */
const textOf = ({ verb, group, resource, subresource }) =>
  `${verb} ${group}/${resource}${subresource && `/${subresource}`}`;
/** @param {import('./rules').Permission} permission */
const textOfRequest = ({ verb, group, resource }) => `${verb} ${group}/${resource}`;
const rules = () => /** @type {any} */ (rightsOf('home')).items[1].rules;

/** @param {any[]} objects */
function admitted(objects) {
  const verdicts = judge({ objects }).objects;
  objects.forEach(({ kind, metadata }, i) => {
    const { problems, security } = verdicts[i];
    assert.deepEqual([kind, metadata.name, problems, security ?? []], [kind, metadata.name, [], []]);
  });
  return verdicts.filter(({ security }) => security).length;
}

/** @param {string} example @returns {any[]} */
function render(example) {
  const values = ['-f', path.join(CHART, 'examples', example), '--kube-version', '1.35.0', '-n', 'iot'];
  const flow = ['--set-file', `flow=${path.join(ROOT, 'flows', 'gateway.json')}`];
  const { status, stdout, stderr } = spawnSync(HELM, ['template', 'plant', CHART, ...values, ...flow], {
    encoding: 'utf8'
  });
  assert.equal(status, 0, stderr);
  return yaml.safeLoadAll(stdout).filter((/** @type {any} */ each) => each && !OPERATORS.includes(each.kind));
}

/** @type {[string, () => Promise<string> | string][]} */
const checks = [
  [
    'the objects of a tenant are valid, without a warning, and satisfy Pod Security "restricted"',
    () => {
      for (const entry of TENANTS) {
        const spec = checkTenant({ name: 'acme', driver: 'kubernetes', image: DIGEST, ...entry });
        assert.equal(admitted(/** @type {any} */ (manifestOf(spec)).items), 1);
      }
      return `${TENANTS.length} tenants`;
    }
  ],
  [
    'the judge finds what is wrong',
    () => {
      const wrongs = /** @type {[(set: any) => void, RegExp][]} */ ([
        [
          ({ spec }) => (spec.nonsense = 1),
          /^unknown field|strict decoding error: unknown field "spec.nonsense"/
        ],
        [({ spec }) => (spec.replicas = -1), /spec\.replicas: Invalid value: -1/],
        [({ metadata }) => (metadata.name = 'A b'), /metadata\.name: Invalid value/],
        [({ spec }) => (spec.selector.matchLabels = { other: 'x' }), /selector.* does not match template/],
        [({ spec }) => (spec.template.spec.containers[0].securityContext.privileged = true), /privileged/],
        [({ spec }) => delete spec.template.spec.securityContext.runAsNonRoot, /runAsNonRoot != true/],
        [({ spec }) => delete spec.template.spec.securityContext.seccompProfile, /seccompProfile/],
        [
          ({ spec }) => (spec.template.spec.volumes[0] = { name: 'tmp', hostPath: { path: '/tmp' } }),
          /hostPath/
        ]
      ]);
      for (const [change, reason] of wrongs) {
        const set = structuredClone(/** @type {any} */ (manifestOf(SPEC)).items[1]);
        change(set);
        const [{ problems, security }] = judge({ objects: [set] }).objects;
        assert.match([...problems, ...(security ?? [])].join('\n'), reason);
      }
      return `${wrongs.length} faults`;
    }
  ],
  [
    'the printed rights are valid, allow each request of a whole life, and each of them is needed',
    async () => {
      admitted(/** @type {any} */ (rightsOf('home')).items);
      const requests = (await keeperRequests(SPEC)).filter(({ path: url }) => !EVERYBODY.test(url));
      const all = judge({ requests, rules: rules() }).requests;
      assert.deepEqual(all.filter(({ isAllowed }) => !isAllowed).map(textOfRequest), []);
      assert.deepEqual([...new Set(all.map(({ namespace }) => namespace))], ['home']);
      for (const right of RIGHTS) {
        const others = RIGHTS.filter((each) => each !== right).map(
          ({ group, resource, subresource, verb }) => ({
            apiGroups: [group],
            resources: [subresource ? `${resource}/${subresource}` : resource],
            verbs: [verb]
          })
        );
        const refused = judge({ requests, rules: others }).requests.filter(({ isAllowed }) => !isAllowed);
        assert.deepEqual([...new Set(refused.map(textOfRequest))], [textOf(right)]);
      }
      return `${RIGHTS.length} rights, ${requests.length} requests`;
    }
  ],
  [
    'the printed rights allow nothing else: no list of secrets, no change of what runs',
    () => {
      const requests = FORBIDDEN.map(([method, url]) => ({ method, path: url }));
      const allowed = judge({ requests, rules: rules() }).requests.filter(({ isAllowed }) => isAllowed);
      assert.deepEqual(allowed, []);
      return `${FORBIDDEN.length} requests`;
    }
  ],
  ...fs.readdirSync(path.join(CHART, 'examples')).map(
    (example) =>
      /** @type {[string, () => string]} */ ([
        `the chart's example ${example} is valid, without a warning, and satisfies Pod Security "restricted"`,
        () => {
          const objects = render(example);
          return `${objects.length} objects, ${admitted(objects)} with pods`;
        }
      ])
  )
];

module.exports = { HELM, checks };
