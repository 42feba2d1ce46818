'use strict';
// The printed rights: each one is needed, and nothing else is allowed.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { eventually } = require('../../../../bench/harness/net');
const { RIGHTS, rightsOf } = require('../../../../docker/tenants/lib/drivers/kubernetes-rights');

const GRACE_MS = 5000;

/** @typedef {import('../home').Home} Home */
/** @typedef {import('../../../../docker/tenants/lib/drivers/kubernetes-rights').Right} Right */

/** @param {Right} right */
const kindOf = ({ resource, subresource }) => `${resource}${subresource && `/${subresource}`}`;

/** @param {Right} lacking @returns {any[]} rules with all other rights */
const rulesWithout = (lacking) =>
  RIGHTS.filter((each) => each !== lacking).map((each) => ({
    apiGroups: [each.group],
    resources: [kindOf(each)],
    verbs: [each.verb]
  }));

/**
 * All that a keeper does with a tenant, whatever fails on the way.
 * @param {Home} home
 * @param {import('../../../../nodes/lib/tenants/file/schema').Spec} spec
 * @returns {Promise<string[]>} what was refused
 */
async function wholeLife(home, spec) {
  const driver = home.driver();
  /** @type {string[]} */
  const refused = [];
  const step = async (/** @type {() => Promise<unknown>} */ run) => {
    try {
      await run();
    } catch (error) {
      refused.push(/** @type {Error} */ (error).message);
    }
  };
  const abort = new AbortController();
  await step(() => driver.check());
  await step(() => driver.inspect(spec));
  refused.push(driver.weakness(spec));
  await step(() => driver.create(spec));
  // Another password, as after the loss of the keeper's files: the secret is patched.
  fs.rmSync(path.join(home.folder, 'state'), { recursive: true, force: true });
  await step(() => driver.create(spec));
  await step(() => driver.start(spec));
  await step(() => driver.address(spec));
  const over = new Promise((resolve) => setTimeout(resolve, 1500));
  await step(() => Promise.race([driver.ended(spec, abort.signal), over]));
  abort.abort();
  await step(() => driver.logs(spec, 1));
  await step(() => driver.stop(spec, GRACE_MS));
  await step(() => driver.remove(spec));
  driver.close();
  return refused.filter((each) => / is forbidden: /.test(each));
}

/** @param {Home} home @param {any[]} rules */
async function setRules(home, rules) {
  await home.admin.ask('PATCH', home.at('Role', 'seganet-tenants'), { rules });
}

/** What the keeper must not do: method, path and body. @type {[string, (namespace: string) => string, object?][]} */
const FORBIDDEN = [
  ['GET', (ns) => `/api/v1/namespaces/${ns}/secrets`],
  ['GET', () => '/api/v1/namespaces/kube-system/secrets/any'],
  ['GET', () => '/api/v1/namespaces/default/pods/any'],
  ['GET', (ns) => `/api/v1/namespaces/${ns}/pods`],
  ['POST', (ns) => `/api/v1/namespaces/${ns}/pods`, { metadata: { name: 'p' }, spec: { containers: [] } }],
  ['DELETE', (ns) => `/api/v1/namespaces/${ns}/pods/seganet-tenant-acme-0`],
  ['POST', (ns) => `/api/v1/namespaces/${ns}/pods/seganet-tenant-acme-0/exec?command=sh`],
  [
    'PATCH',
    (ns) => `/apis/apps/v1/namespaces/${ns}/statefulsets/seganet-tenant-acme`,
    { spec: { replicas: 1 } }
  ],
  ['DELETE', (ns) => `/apis/apps/v1/namespaces/${ns}/statefulsets/seganet-tenant-acme`],
  ['DELETE', (ns) => `/apis/networking.k8s.io/v1/namespaces/${ns}/networkpolicies/seganet-tenant-acme`],
  ['DELETE', (ns) => `/api/v1/namespaces/${ns}/persistentvolumeclaims/data-seganet-tenant-acme-0`],
  ['POST', (ns) => `/api/v1/namespaces/${ns}/serviceaccounts/seganet-tenants/token`, { spec: {} }],
  [
    'PATCH',
    (ns) => `/apis/rbac.authorization.k8s.io/v1/namespaces/${ns}/roles/seganet-tenants`,
    { rules: [] }
  ],
  ['GET', () => '/api/v1/namespaces'],
  ['GET', () => '/api/v1/nodes']
];

/** @type {[string, (home: Home) => Promise<string | void>][]} */
exports.checks = [
  [
    'the printed rights are enough, and without each of them something fails that names it',
    async (home) => {
      const spec = await home.tenant();
      const driver = home.driver();
      assert.deepEqual(await driver.problems(), []);
      assert.deepEqual(await wholeLife(home, spec), []);
      for (const right of RIGHTS) {
        await setRules(home, rulesWithout(right));
        const name = `${right.verb} ${kindOf(right)}`;
        const problem = await eventually(async () => (await driver.problems())[0]);
        assert.match(
          problem,
          new RegExp(`^The keeper may not ${name} in the namespace .*manifest --keeper" prints`)
        );
        const cannot = `cannot ${right.verb} resource "${kindOf(right)}" in API group "${right.group}"`;
        const refused = await wholeLife(home, spec);
        assert.ok(
          refused.some((each) => each.includes(cannot) && each.includes('"seganet-tenants manifest')),
          `without ${name}: ${refused.join('; ') || 'nothing was refused'}`
        );
        // A right that is missing leaves the tenant as it was, for the next one.
        await setRules(home, /** @type {any} */ (rightsOf(home.namespace)).items[1].rules);
        await eventually(async () => (await driver.problems()).length === 0);
        await driver.stop(spec, GRACE_MS);
        await driver.remove(spec);
      }
      return `${RIGHTS.length} rights`;
    }
  ],
  [
    'the account can do nothing else: no list of secrets, no other namespace, no change of what runs',
    async (home) => {
      await home.tenant();
      const { namespace, token } = home;
      const client = home.cluster.client({ namespace, token });
      for (const [method, pathIn, body] of FORBIDDEN) {
        const error = await client.ask(method, pathIn(namespace), body).then(
          () => new Error('it was allowed'),
          (each) => each
        );
        assert.match(
          `${error.status} ${error.message}`,
          /^403 .* is forbidden: User .* cannot /,
          `${method} ${pathIn(namespace)}`
        );
      }
      client.close();
      return `${FORBIDDEN.length} requests`;
    }
  ]
];
