'use strict';
// All requests that the driver makes in the life of a tenant, against the server of the driver's own tests.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const selfsigned = require('selfsigned');
const { eventually } = require('../../../bench/harness/net');
const { KubernetesDriver } = require('../../../docker/tenants/lib/drivers/kubernetes');
const { objectName } = require('../../../docker/tenants/lib/drivers/kubernetes-manifest');
const { ask } = require('../../fixtures/tenants/driver-suite');
const { KubernetesServer } = require('../../fixtures/tenants/kubernetes-server');

const ADDRESS = '127.63.0.8';
const GRACE_MS = 5000;

/**
 * @param {import('../../../nodes/lib/tenants/file/schema').Spec} spec
 * @returns {Promise<import('./rules').Asked[]>} in the namespace home
 */
async function keeperRequests(spec) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-k8s-'));
  const { private: key, cert } = await selfsigned.generate([{ name: 'commonName', value: 'localhost' }], {
    keyType: 'ec',
    algorithm: 'sha256'
  });
  const server = new KubernetesServer({ key, cert });
  const url = await server.listen();
  const cluster = { server: url, namespace: 'home', ca: Buffer.from(cert), token: () => 'first' };
  const driver = new KubernetesDriver({ state: folder }, cluster);
  try {
    server.sets.set(objectName(spec), { replicas: 0, args: [], address: ADDRESS });
    await driver.check();
    await driver.problems();
    await driver.inspect(spec);
    await driver.create(spec);
    // As after the loss of the keeper's files: other passwords.
    fs.rmSync(path.join(folder, spec.name), { recursive: true });
    await driver.create(spec);
    await driver.start(spec);
    const host = await driver.address(spec);
    await eventually(() => ask(host, 'hello').then(Boolean, () => false), { timeoutMs: 30_000 });
    await driver.delay(spec);
    await driver.logs(spec, 1);
    const ended = driver.ended(spec, new AbortController().signal);
    await eventually(() => server.watches.size === 1);
    await ask(host, 'exit/3');
    assert.deepEqual(await ended, { reason: 'ended with code 3' });
    await driver.stop(spec, GRACE_MS);
    await driver.remove(spec);
    return server.asked;
  } finally {
    driver.close();
    await server.close();
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

exports.keeperRequests = keeperRequests;
