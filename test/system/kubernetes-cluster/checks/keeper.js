'use strict';
// The command seganet-tenants with its keeper, as an operator uses it with a cluster.

const assert = require('node:assert/strict');
const path = require('node:path');
const { eventually } = require('../../../../bench/harness/net');
const { DIGEST } = require('../../../fixtures/tenants/digest');
const { ask } = require('../../../fixtures/tenants/driver-suite');
const command = require('../../../fixtures/tenants/keeper-command');

/** @typedef {import('../home').Home} Home */

/** @param {Home} home @param {() => Promise<string | void>} run */
async function withCommand(home, run) {
  command.open();
  const file = path.join(home.folder, 'kubeconfig.json');
  home.cluster.kubeconfig(file, home);
  process.env.SEGANET_TENANTS_KUBECONFIG = file;
  try {
    return await run();
  } finally {
    await command.close();
    delete process.env.SEGANET_TENANTS_KUBECONFIG;
  }
}

/** @param {string[]} args @returns {Promise<string>} what it prints */
async function done(...args) {
  const { code, out, err } = await command.run(...args);
  assert.equal(code, 0, `${args.join(' ')}: ${err}${out}`);
  return out;
}

/** Adds the tenant, and makes what the command prints for the cluster. @param {Home} home */
async function add(home) {
  const limits = ['--memory', '64', '--cpus', '0.1'];
  await done('add', 'acme', '--driver', 'kubernetes', '--image', DIGEST, '--http', '8080', ...limits);
  for (const item of JSON.parse(await done('manifest', 'acme')).items) await home.apply(item);
}

const row = async () => JSON.parse(await done('list', '--json')).tenants[0];
const isState = (/** @type {string} */ state) =>
  eventually(async () => (await row()).state === state, { timeoutMs: 60_000, everyMs: 200, what: state });

/** @type {[string, (home: Home) => Promise<string | void>][]} */
exports.checks = [
  [
    'the keeper wakes a tenant, sees its end over a restart of the API server, and lets it sleep',
    (home) =>
      withCommand(home, async () => {
        await add(home);
        await command.keep();
        assert.match((await command.run('check')).out, /driver kubernetes: Kubernetes v1/);
        const began = performance.now();
        await done('wake', 'acme');
        const wakeMs = Math.round(performance.now() - began);
        const { state, isolated } = await row();
        assert.deepEqual([state, isolated], ['running', true]);
        await home.cluster.stopApi();
        await home.cluster.startApi();
        const [{ spec }] = (await home.list('api/v1', 'services')).filter(({ metadata }) =>
          /tenant/.test(metadata.name)
        );
        await isState('running');
        // Until the keeper follows the pod again.
        await new Promise((resolve) => setTimeout(resolve, 12_000));
        await ask(spec.clusterIP, 'exit/9');
        await eventually(async () => /ended with code 9/.test((await row()).reason), {
          timeoutMs: 30_000,
          everyMs: 200
        });
        await done('wake', 'acme');
        await isState('running');
        await done('sleep', 'acme');
        await isState('stopped');
        assert.equal((await home.list('api/v1', 'pods')).length, 0);
        assert.match(
          await done('remove', 'acme'),
          /the volume claim data-seganet-tenant-acme-0 of its cluster/
        );
        assert.equal((await home.list('api/v1', 'secrets')).length, 0);
        return `woke in ${wakeMs} ms, with the start of the command`;
      })
  ],
  [
    'the list says which quota keeps a tenant from its start',
    (home) =>
      withCommand(home, async () => {
        const spec = { hard: { pods: '0' } };
        await home.apply({ apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'none' }, spec });
        await eventually(async () => (await home.list('api/v1', 'resourcequotas'))[0].status.hard);
        await add(home);
        await command.keep();
        const { code, err, out } = await command.run('wake', 'acme');
        assert.equal(code, 1);
        assert.match(err + out, /the cluster refuses its pod: .*exceeded quota: none/);
        const { state, reason } = await row();
        assert.equal(state, 'stopped');
        assert.match(reason, /exceeded quota: none/);
        return reason.slice(0, 150);
      })
  ],
  [
    'the check of the command names what the account may not do',
    (home) =>
      withCommand(home, async () => {
        await add(home);
        await home.admin.ask('PATCH', home.at('Role', 'seganet-tenants'), { rules: [] });
        await eventually(async () => (await home.driver().problems()).length > 0);
        const { code, out } = await command.run('check');
        assert.equal(code, 1);
        assert.match(
          out,
          /The keeper may not get statefulsets, patch statefulsets\/scale, .* in the namespace home-\d+/
        );
        await command.run('sleep', 'acme');
      })
  ]
];
