'use strict';
// The life of a tenant: from 0 to 1 and back, ends, removal.

const assert = require('node:assert/strict');
const { eventually } = require('../../../../bench/harness/net');
const { manifestOf } = require('../../../../docker/tenants/lib/drivers/kubernetes-manifest');
const { ask } = require('../../../fixtures/tenants/driver-suite');

const NAME = 'seganet-tenant-acme';
const POD = `${NAME}-0`;
const GRACE_MS = 5000;
const never = new AbortController().signal;

/** @typedef {import('../home').Home} Home */

/** @type {[string, (home: Home) => Promise<string | void>][]} */
exports.checks = [
  [
    'a tenant goes from 0 to 1 and to 0, and its data stay',
    async (home) => {
      const driver = home.driver();
      assert.match(await driver.check(), /^Kubernetes v1\.\d+/);
      const spec = await home.tenant();
      assert.equal((await driver.inspect(spec)).state, 'stopped');
      assert.equal(driver.weakness(spec), '');
      const began = performance.now();
      const host = await home.started(driver, spec);
      const startMs = Math.round(performance.now() - began);
      assert.equal((await driver.inspect(spec)).state, 'running');
      const env = await ask(host, 'env');
      assert.equal(env.SEGANET_GATEWAY_ID, 'acme');
      assert.match(
        await ask(host, `read/${encodeURIComponent(env.SEGANET_TENANT_PASSWORDS)}`),
        /^front:\$scrypt\$/
      );
      const kept = encodeURIComponent(`${env.SEGANET_HOME}/kept`);
      await ask(host, `write/${kept}`);
      assert.match(await driver.logs(spec, 5), /tenant acme starts/);
      const again = performance.now();
      await driver.stop(spec, GRACE_MS);
      const stopMs = Math.round(performance.now() - again);
      assert.equal((await home.list('api/v1', 'pods')).length, 0);
      assert.equal((await driver.inspect(spec)).state, 'stopped');
      assert.equal(await ask(await home.started(driver, spec), `read/${kept}`), 'x');
      await driver.stop(spec, GRACE_MS);
      return `ready after ${startMs} ms, ended after ${stopMs} ms`;
    }
  ],
  [
    'its service has an endpoint only while the readiness probe succeeds',
    async (home) => {
      const driver = home.driver();
      const spec = await home.tenant({ command: ['--delay', '2500'] });
      const ready = async () => {
        const slices = await home.list('apis/discovery.k8s.io/v1', 'endpointslices');
        return slices.flatMap(({ endpoints }) => endpoints ?? []).map(({ conditions }) => conditions.ready);
      };
      await driver.create(spec);
      await driver.start(spec);
      await eventually(async () => (await ready()).length === 1, { timeoutMs: 30_000 });
      assert.deepEqual(await ready(), [false]);
      await eventually(async () => (await ready())[0] === true, { timeoutMs: 30_000 });
      await driver.stop(spec, GRACE_MS);
      await eventually(async () => (await ready()).length === 0);
    }
  ],
  [
    'the end of a tenant is reported with its code, and the cluster does not start it again',
    async (home) => {
      const driver = home.driver();
      const spec = await home.tenant();
      const host = await home.started(driver, spec);
      const ended = driver.ended(spec, never);
      await ask(host, 'exit/3');
      assert.deepEqual(await ended, { reason: 'ended with code 3' });
      await eventually(async () => (await home.list('api/v1', 'pods')).length === 0, { timeoutMs: 40_000 });
      assert.equal((await driver.inspect(spec)).state, 'stopped');
    }
  ],
  [
    'a tenant that an operator scales to 0 is reported',
    async (home) => {
      const driver = home.driver();
      const spec = await home.tenant();
      await home.started(driver, spec);
      const ended = driver.ended(spec, never);
      await home.admin.ask('PATCH', home.at('StatefulSet', `${NAME}/scale`), { spec: { replicas: 0 } });
      assert.deepEqual(await ended, { reason: 'was scaled to 0 in the cluster' });
    }
  ],
  [
    'a pod that the cluster makes again elsewhere is no end of the tenant',
    async (home) => {
      const driver = home.driver();
      const spec = await home.tenant();
      const host = await home.started(driver, spec);
      /** @type {unknown} */
      let told;
      void driver.ended(spec, never).then((end) => (told = end));
      const [{ metadata }] = await home.list('api/v1', 'pods');
      // What `kubectl drain` does.
      const eviction = {
        apiVersion: 'policy/v1',
        kind: 'Eviction',
        metadata: { name: POD, namespace: home.namespace }
      };
      await home.admin.ask('POST', `/api/v1/namespaces/${home.namespace}/pods/${POD}/eviction`, eviction);
      await eventually(
        async () => {
          const [pod] = await home.list('api/v1', 'pods');
          return pod && pod.metadata.uid !== metadata.uid && pod.status.phase === 'Running';
        },
        { timeoutMs: 30_000 }
      );
      await eventually(() => ask(host, 'hello').then(Boolean, () => false));
      assert.equal(told, undefined);
      await ask(host, 'exit/4');
      await eventually(() => told, { timeoutMs: 30_000 });
      assert.deepEqual(told, { reason: 'ended with code 4' });
    }
  ],
  [
    'an image that no machine can get ends the start with the reason',
    async (home) => {
      const driver = home.driver();
      const spec = await home.tenant({ image: `sha256:${'f'.repeat(64)}` });
      await driver.create(spec);
      await driver.start(spec);
      const { reason } = await driver.ended(spec, never);
      assert.match(reason, /^cannot start in the cluster: ErrImagePull \(there is no image/);
    }
  ],
  [
    'a removed tenant leaves only its volume claim, which the command names',
    async (home) => {
      const driver = home.driver();
      const spec = await home.tenant();
      await home.started(driver, spec);
      await driver.stop(spec, GRACE_MS);
      await driver.remove(spec);
      // What `seganet-tenants manifest acme | kubectl delete -f -` does.
      for (const { kind } of /** @type {any} */ (manifestOf(spec)).items)
        await home.admin.ask('DELETE', home.at(kind, NAME));
      const left = async () => {
        const lists = [
          ['api/v1', 'pods'],
          ['api/v1', 'secrets'],
          ['api/v1', 'services'],
          ['api/v1', 'endpoints'],
          ['api/v1', 'persistentvolumeclaims'],
          ['apis/apps/v1', 'statefulsets'],
          ['apis/apps/v1', 'controllerrevisions'],
          ['apis/discovery.k8s.io/v1', 'endpointslices'],
          ['apis/networking.k8s.io/v1', 'networkpolicies']
        ];
        const found = await Promise.all(lists.map(([group, kinds]) => home.list(group, kinds)));
        return found.flat().map(({ metadata }) => metadata.name);
      };
      const claim = `data-${POD}`;
      await eventually(async () => (await left()).join() === claim, { timeoutMs: 30_000 });
      await home.admin.ask('DELETE', `/api/v1/namespaces/${home.namespace}/persistentvolumeclaims/${claim}`);
      await eventually(async () => (await left()).length === 0, { timeoutMs: 30_000 });
    }
  ]
];
