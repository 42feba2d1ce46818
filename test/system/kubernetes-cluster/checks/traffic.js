'use strict';
// Requests that meet others: conflicts, throttling, a restart of the API server.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const https = require('node:https');
const { eventually } = require('../../../../bench/harness/net');
const { PodBells } = require('../../../../docker/tenants/lib/drivers/kubernetes-bells');
const { KubernetesClient } = require('../../../../docker/tenants/lib/drivers/kubernetes-client');
const { ask } = require('../../../fixtures/tenants/driver-suite');

const NAME = 'seganet-tenant-acme';
const POD = `${NAME}-0`;
const FLOW = '/apis/flowcontrol.apiserver.k8s.io/v1';
const WRITERS = 8;
const WRITES = 15;
const STARTS = 5;
const never = new AbortController().signal;

/** @typedef {import('../home').Home} Home */

/**
 * Begins a request whose body does not come, as the keeper's account.
 * @param {Home} home
 * @returns {Promise<import('node:http').ClientRequest>} when the server waits for the body
 */
async function hold(home) {
  const { server, ca } = home.cluster;
  const headers = {
    Authorization: `Bearer ${home.token}`,
    'Content-Type': 'application/json',
    'Content-Length': 100,
    Expect: '100-continue'
  };
  const options = { method: 'POST', agent: false, ca, headers };
  const request = https.request(new URL(home.at('Secret'), server), options);
  request.on('error', () => {});
  request.flushHeaders();
  // The server sends it when it reads the body.
  await once(request, 'continue');
  return request;
}

/**
 * Sends one request as the keeper's account, without the keeper's client.
 * @param {Home} home
 * @returns {Promise<import('node:http').IncomingMessage>} its status and headers
 */
async function answerTo(home) {
  const { server, ca } = home.cluster;
  const headers = { Authorization: `Bearer ${home.token}` };
  const request = https.get(new URL(home.at('StatefulSet', NAME), server), { agent: false, ca, headers });
  const [response] = await once(request, 'response');
  return response.resume();
}

/**
 * Lets the API server answer the keeper's account with 429: its requests get a level that has room for one, and a
 * request that does not end takes it.
 * @param {Home} home
 * @returns {Promise<() => Promise<void>>} the end of it
 */
async function throttle(home) {
  const metadata = { name: `none-${home.namespace}` };
  const limited = {
    // A level without room admits a request, too, while it has no other one.
    nominalConcurrencyShares: 0,
    limitResponse: { type: 'Reject' },
    lendablePercent: 0,
    borrowingLimitPercent: 0
  };
  const apiVersion = 'flowcontrol.apiserver.k8s.io/v1';
  const level = await home.admin.ask('POST', `${FLOW}/prioritylevelconfigurations`, {
    apiVersion,
    kind: 'PriorityLevelConfiguration',
    metadata,
    spec: { type: 'Limited', limited }
  });
  const subjects = [
    { kind: 'ServiceAccount', serviceAccount: { namespace: home.namespace, name: 'seganet-tenants' } }
  ];
  const resourceRules = [
    { verbs: ['*'], apiGroups: ['*'], resources: ['*'], namespaces: ['*'], clusterScope: true }
  ];
  await home.admin.ask('POST', `${FLOW}/flowschemas`, {
    apiVersion,
    kind: 'FlowSchema',
    metadata,
    spec: {
      priorityLevelConfiguration: { name: metadata.name },
      // Before all other schemas but the two for administrators and probes.
      matchingPrecedence: 3,
      rules: [{ subjects, resourceRules }]
    }
  });
  const isThere = async () =>
    (await answerTo(home)).headers['x-kubernetes-pf-prioritylevel-uid'] === level.metadata.uid;
  await eventually(isThere, { timeoutMs: 30_000 });
  const held = await hold(home);
  return async () => {
    held.destroy();
    await home.admin.find('DELETE', `${FLOW}/flowschemas/${metadata.name}`);
    await home.admin.find('DELETE', `${FLOW}/prioritylevelconfigurations/${metadata.name}`);
  };
}

/** @type {[string, (home: Home) => Promise<string | void>][]} */
exports.checks = [
  [
    'two keepers that make the same secret at once do no harm (409)',
    async (home) => {
      const spec = await home.tenant();
      const drivers = Array.from({ length: 6 }, () => home.driver());
      await Promise.all(drivers.map((each) => each.create(spec)));
      assert.equal((await home.list('api/v1', 'secrets')).length, 1);
      await drivers[0].remove(spec);
    }
  ],
  [
    'a tenant is scaled while others write to its StatefulSet (409)',
    async (home) => {
      const spec = await home.tenant();
      const driver = home.driver();
      const set = home.at('StatefulSet', NAME);
      let conflicts = 0;
      const writer = async (/** @type {number} */ id) => {
        for (let i = 0; i < WRITES; i++) {
          const found = await home.admin.ask('GET', set);
          found.metadata.annotations = { ...found.metadata.annotations, [`writer-${id}`]: String(i) };
          await home.admin.ask('PUT', set, found).catch(({ status }) => {
            assert.equal(status, 409);
            conflicts++;
          });
        }
      };
      const writers = Promise.all(Array.from({ length: WRITERS }, (_, id) => writer(id)));
      for (let i = 0; i < 10; i++) {
        await driver.start(spec);
        assert.equal((await driver.inspect(spec)).state, 'running');
        await driver.stop(spec, 5000);
      }
      await writers;
      assert.ok(conflicts > 0);
      return `${conflicts} conflicts of the others`;
    }
  ],
  [
    'a request that the server throttles (429) is repeated, and after the last try the cluster counts as away',
    async (home) => {
      const spec = await home.tenant();
      const driver = home.driver();
      await driver.inspect(spec);
      const release = await throttle(home);
      try {
        const client = home.cluster.client(home);
        const raw = () =>
          client.ask('GET', home.at('StatefulSet', NAME)).then(
            () => '',
            ({ message }) => String(message)
          );
        const message = await eventually(raw, { timeoutMs: 30_000 });
        assert.match(message, /does not answer: it answered 429/);
        await assert.rejects(driver.inspect(spec), { code: 'engine' });
        const state = driver.inspect(spec);
        await release();
        assert.equal((await state).state, 'stopped');
        client.close();
      } finally {
        await release();
      }
    }
  ],
  [
    'a watch goes on after the API server was killed, and misses nothing',
    async (home) => {
      const spec = await home.tenant();
      const driver = home.driver();
      const client = new KubernetesClient(home.cluster.cluster(home));
      /** @type {string[]} */
      const ends = [];
      const watch = client.watch.bind(client);
      client.watch = (...args) =>
        watch(...args).catch((error) => {
          ends.push(String(error.status ?? error.code));
          throw error;
        });
      const bells = new PodBells(client);
      const bell = bells.listen(POD);
      await driver.create(spec);
      await driver.start(spec);
      await bell.wait(30_000);
      await eventually(async () => (await home.list('api/v1', 'pods'))[0]?.status.phase === 'Running', {
        timeoutMs: 30_000
      });
      await home.cluster.stopApi();
      await assert.rejects(driver.inspect(spec), { code: 'engine' });
      const began = performance.now();
      await home.cluster.startApi();
      const awayMs = Math.round(performance.now() - began);
      // Everything is quiet: what rings now is what happens now.
      let rings = 0;
      let isDone = false;
      const counter = (async () => {
        while (!isDone) {
          const before = performance.now();
          await bell.wait(2000);
          if (performance.now() - before < 1900) rings++;
        }
      })();
      counter.catch(() => {}); // until it is awaited
      await eventually(() => ends.includes('engine'));
      await new Promise((resolve) => setTimeout(resolve, 7000));
      const before = rings;
      await driver.stop(spec, 5000);
      await eventually(() => rings > before);
      isDone = true;
      bell.end();
      await counter;
      client.close();
      assert.ok(!ends.includes('403'));
      return `the API server was ready after ${awayMs} ms; the watch ended with ${ends.join(', ')}`;
    }
  ],
  [
    'a server that starts refuses rights that it has not read (403), and the driver never sees that',
    async (home) => {
      const spec = await home.tenant();
      const driver = home.driver();
      const raw = () =>
        answerTo(home).then(
          ({ statusCode }) => String(statusCode),
          ({ code }) => String(code)
        );
      const inspect = () =>
        driver.inspect(spec).then(
          ({ state }) => state,
          ({ code, message }) => code ?? message
        );
      /** @type {string[]} */
      const answers = [];
      /** @type {Set<string>} */
      const states = new Set();
      // The window is short: under load, a start may refuse no request.
      for (let start = 0; start < STARTS && !answers.includes('403'); start++) {
        await home.cluster.stopApi();
        let isDone = false;
        const repeat = async (/** @type {() => Promise<unknown>} */ step) => {
          while (!isDone) {
            await step();
            await new Promise((resolve) => setTimeout(resolve, 10));
          }
        };
        const loops = Array.from({ length: 4 }, () => [
          repeat(async () => answers.push(await raw())),
          repeat(async () => states.add(await inspect()))
        ]);
        await home.cluster.startApi();
        await eventually(() => states.has('stopped'), { timeoutMs: 30_000 });
        isDone = true;
        await Promise.all(loops.flat());
      }
      const refusals = answers.filter((each) => each === '403').length;
      assert.ok(refusals > 0, 'the server refused nothing');
      assert.deepEqual([...states].sort(), ['engine', 'stopped']);
      return `${refusals} refusals`;
    }
  ],
  [
    'a watch whose version is too old (410) begins again',
    async (home) => {
      const client = new KubernetesClient(home.cluster.cluster(home));
      const seen = [];
      const watch = client.watch.bind(client);
      // The version of a keeper that was cut off for long.
      let isFirst = true;
      client.watch = (path, onEvent, signal) => {
        const old = isFirst ? `${path}&resourceVersion=1` : path;
        isFirst = false;
        return watch(old, onEvent, signal).catch((error) => {
          seen.push(error.status);
          throw error;
        });
      };
      const spec = await home.tenant();
      const driver = home.driver();
      const bells = new PodBells(client);
      const bell = bells.listen(POD);
      await bell.wait(10_000);
      assert.deepEqual(seen, [410]);
      const began = performance.now();
      await driver.start(spec);
      await bell.wait(30_000);
      assert.ok(performance.now() - began < 29_000);
      bell.end();
      client.close();
      await driver.stop(spec, 5000);
    }
  ],
  [
    'the end of a tenant is seen after a restart of the API server during which it ended',
    async (home) => {
      const spec = await home.tenant();
      const driver = home.driver();
      const host = await home.started(driver, spec);
      const ended = driver.ended(spec, never);
      const away = assert.rejects(ended, { code: 'engine' });
      await home.cluster.stopApi();
      await away;
      await ask(host, 'exit/5');
      await home.cluster.startApi();
      // The keeper asks again when the cluster is back; the machine has started the container again meanwhile.
      await eventually(
        async () => (await home.list('api/v1', 'pods'))[0]?.status.containerStatuses?.[0].restartCount > 0,
        {
          timeoutMs: 30_000
        }
      );
      assert.equal((await driver.inspect(spec)).state, 'running');
      assert.equal(await eventually(() => ask(host, 'hello').catch(() => '')), 'hello');
      const again = driver.ended(spec, never);
      await ask(host, 'exit/6');
      assert.deepEqual(await again, { reason: 'ended with code 6' });
    }
  ]
];
