'use strict';
// What the cluster admits, and what the keeper says about what it refuses.

const assert = require('node:assert/strict');
const { eventually } = require('../../../../bench/harness/net');
const { checkTenant } = require('../../../../nodes/lib/tenants/file/schema');
const { DIGEST } = require('../../../fixtures/tenants/digest');

const NAME = 'seganet-tenant-acme';
const never = new AbortController().signal;

/** @typedef {import('../home').Home} Home */

/**
 * @param {Home} home
 * @param {object} [entry]
 * @param {(items: any[]) => void} [change]
 * @returns {Promise<string>} why a tenant that was started has ended
 */
async function endOfStart(home, entry, change) {
  const driver = home.driver();
  const spec = await home.tenant(entry, change);
  await driver.create(spec);
  await driver.start(spec);
  const { reason } = await driver.ended(spec, never);
  // Otherwise the cluster would try without an end.
  assert.equal((await driver.inspect(spec)).state, 'stopped');
  return reason;
}

/** @type {[string, (home: Home) => Promise<string | void>][]} */
exports.checks = [
  [
    'Pod Security "restricted" admits a tenant, and refuses it with one right more',
    async (home) => {
      const driver = home.driver();
      const spec = await home.tenant();
      await home.started(driver, spec);
      await driver.stop(spec, 5000);
      await driver.remove(spec);
      await home.admin.ask('DELETE', home.at('StatefulSet', NAME));
      await home.admin.ask('DELETE', home.at('Service', NAME));
      await home.admin.ask('DELETE', home.at('NetworkPolicy', NAME));
      const reason = await endOfStart(home, {}, ([, set]) => {
        set.spec.template.spec.containers[0].securityContext.allowPrivilegeEscalation = true;
      });
      assert.match(
        reason,
        /^the cluster refuses its pod: .*violates PodSecurity "restricted:.*allowPrivilegeEscalation/
      );
    }
  ],
  [
    'a quota that is used up ends the start with the sentence of the cluster; with room, the tenant starts',
    async (home) => {
      const metadata = { name: 'small' };
      const quota = (/** @type {string} */ memory) => ({ hard: { 'limits.memory': memory } });
      await home.apply({ apiVersion: 'v1', kind: 'ResourceQuota', metadata, spec: quota('32Mi') });
      await eventually(async () => (await home.list('api/v1', 'resourcequotas'))[0].status.hard);
      const reason = await endOfStart(home);
      assert.match(
        reason,
        /^the cluster refuses its pod: .*exceeded quota: small, requested: limits\.memory=64Mi/
      );
      await home.admin.ask('PATCH', home.at('ResourceQuota', 'small'), { spec: quota('1Gi') });
      const driver = home.driver();
      const spec = checkTenant({ name: 'acme', driver: 'kubernetes', image: DIGEST, http: 8080 });
      await eventually(
        async () => {
          const [{ status }] = await home.list('api/v1', 'resourcequotas');
          return status.hard?.['limits.memory'] === '1Gi';
        },
        { timeoutMs: 30_000 }
      );
      await home.started(driver, spec);
      await driver.stop(spec, 5000);
      return reason.slice(0, 160);
    }
  ],
  [
    'a limit of the namespace ends the start with the sentence of the cluster',
    async (home) => {
      const spec = { limits: [{ type: 'Container', max: { memory: '16Mi' } }] };
      await home.apply({ apiVersion: 'v1', kind: 'LimitRange', metadata: { name: 'tiny' }, spec });
      assert.match(
        await endOfStart(home),
        /^the cluster refuses its pod: .*maximum memory usage per Container is 16Mi, but limit is 64Mi/
      );
    }
  ],
  [
    'a tenant that no machine has room for waits, and the keeper knows why',
    async (home) => {
      const driver = home.driver();
      const spec = await home.tenant({ limits: { cpus: 200 } });
      await driver.create(spec);
      await driver.start(spec);
      const delay = await eventually(async () => {
        const each = await driver.delay(spec);
        return /Insufficient cpu/.test(each) && each;
      });
      assert.match(delay, /^the cluster has no machine for it: 0\/1 nodes are available: 1 Insufficient cpu/);
      await driver.stop(spec, 5000);
      return delay.slice(0, 120);
    }
  ],
  [
    'a network policy as the server keeps it isolates the tenant; one for others does not',
    async (home) => {
      const spec = await home.tenant();
      const first = home.driver();
      await first.inspect(spec);
      assert.equal(first.weakness(spec), '');
      const open = { spec: { ingress: [{ from: [{ ipBlock: { cidr: '0.0.0.0/0' } }] }] } };
      await home.admin.ask('PATCH', home.at('NetworkPolicy', NAME), open);
      const second = home.driver();
      await second.inspect(spec);
      assert.match(second.weakness(spec), /lets others than the keeper and the front in/);
    }
  ]
];
