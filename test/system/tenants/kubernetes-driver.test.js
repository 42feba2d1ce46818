'use strict';
// The driver kubernetes against a server that is modeled on the API; test/system/kubernetes-cluster has the real one.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const selfsigned = require('selfsigned');
const { eventually } = require('../../../bench/harness/net');
const { KubernetesDriver } = require('../../../docker/tenants/lib/drivers/kubernetes');
const { clusterOf } = require('../../../docker/tenants/lib/drivers/kubernetes-client');
const { manifestOf } = require('../../../docker/tenants/lib/drivers/kubernetes-manifest');
const { rightsOf } = require('../../../docker/tenants/lib/drivers/kubernetes-rights');
const { checkTenant } = require('../../../nodes/lib/tenants/file/schema');
const { untilAccepts } = require('../../../docker/tenants/lib/life/readiness');
const { DIGEST } = require('../../fixtures/tenants/digest');
const { ask } = require('../../fixtures/tenants/driver-suite');
const { KubernetesServer } = require('../../fixtures/tenants/kubernetes-server');

const GRACE_MS = 5000;
const NAME = 'seganet-tenant-acme';
const ADDRESS = '127.63.0.7';
const spec = checkTenant({
  name: 'acme',
  driver: 'kubernetes',
  image: DIGEST,
  http: 8080,
  limits: { cpus: 0.5 }
});
const never = new AbortController().signal;

/** @type {string} */
let folder;
/** @type {KubernetesServer} */
let server;
/** @type {KubernetesDriver} */
let driver;
/** @type {any} */
let config;
beforeEach(async () => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-k8s-'));
  const tls = await selfsigned.generate([{ name: 'commonName', value: 'localhost' }], {
    keyType: 'ec',
    algorithm: 'sha256'
  });
  server = new KubernetesServer({ key: tls.private, cert: tls.cert });
  const url = await server.listen();
  fs.writeFileSync(path.join(folder, 'token'), 'first\n');
  config = {
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'k', user: 'u', namespace: 'home' } }],
    clusters: [
      {
        name: 'k',
        cluster: { server: url, 'certificate-authority-data': Buffer.from(tls.cert).toString('base64') }
      }
    ],
    users: [{ name: 'u', user: { tokenFile: 'token' } }]
  };
  driver = new KubernetesDriver({ state: path.join(folder, 'state') }, clusterOf(environment()));
});
afterEach(async () => {
  driver.close();
  await server.close();
  fs.rmSync(folder, { recursive: true, force: true });
});

function environment() {
  const file = path.join(folder, 'config.json');
  fs.writeFileSync(file, JSON.stringify(config));
  return { SEGANET_TENANTS_KUBECONFIG: file };
}

/** @param {string[]} [args] of the tenant's program */
const make = (args = []) => server.sets.set(NAME, { replicas: 0, args, address: ADDRESS });

async function started() {
  await driver.create(spec);
  await driver.start(spec);
  const host = await driver.address(spec);
  await untilAccepts({ host, port: 8080, login: null }, AbortSignal.timeout(20_000));
  return host;
}

test('checks the rights that it needs, and names the missing ones', async () => {
  expect(await driver.check()).toBe('Kubernetes v1.34.0');
  expect(await driver.problems()).toEqual([]);
  server.lacking = new Set(['patch statefulsets/scale', 'watch pods']);
  expect(await driver.problems()).toEqual([
    'The keeper may not patch statefulsets/scale, watch pods in the namespace home: ' +
      '"seganet-tenants manifest --keeper" prints the rights.'
  ]);
  server.lacking = new Set(['get statefulsets', 'list events']);
  await expect(driver.check()).rejects.toThrow(
    'The keeper may not get statefulsets, list events in the namespace'
  );
  server.tokens = new Set(['second']);
  await expect(driver.check()).rejects.toThrow('Unauthorized');
});

test('scales a tenant to 1 and to 0, and waits until its pod has ended', async () => {
  expect(await driver.check()).toBe('Kubernetes v1.34.0');
  expect(await driver.inspect(spec)).toEqual({ state: 'absent', reason: '' });
  await expect(driver.create(spec)).rejects.toThrow('seganet-tenants manifest acme');
  make();
  expect((await driver.inspect(spec)).state).toBe('stopped');
  const host = await started();
  expect(await ask(host, 'hello')).toBe('hello');
  expect((await driver.inspect(spec)).state).toBe('running');
  expect(await driver.logs(spec, 5)).toContain('starts');
  await driver.stop(spec, GRACE_MS);
  expect(server.pods.size).toBe(0);
  expect((await driver.inspect(spec)).state).toBe('stopped');
  await driver.remove(spec);
  await driver.remove(spec);
});

test('gives the tenant its users, and changes them only when they change', async () => {
  make();
  await driver.create(spec);
  const { passwords } = server.secrets.get(NAME).data;
  expect(Buffer.from(passwords, 'base64').toString()).toMatch(/^front:\$scrypt\$/);
  await driver.create(spec);
  expect(server.requests.filter((each) => /^(POST|PATCH) .*secrets/.test(each))).toHaveLength(1);
  fs.rmSync(path.join(folder, 'state', 'acme'), { recursive: true });
  await driver.create(spec);
  expect(server.secrets.get(NAME).data.passwords).not.toBe(passwords);
});

test('a tenant that ends by itself is reported, and the cluster does not restart it endlessly', async () => {
  make();
  const host = await started();
  const ended = driver.ended(spec, never);
  await new Promise((resolve) => setTimeout(resolve, 200));
  await ask(host, 'exit/3');
  expect(await ended).toEqual({ reason: 'ended with code 3' });
  await eventually(() => server.pods.size === 0);
});

test('a tenant that an operator scales to 0 is reported', async () => {
  make();
  await started();
  const ended = driver.ended(spec, never);
  const set = server.sets.get(NAME);
  if (set) set.replicas = 0;
  expect(await ended).toEqual({ reason: 'was scaled to 0 in the cluster' });
});

test('a tenant for which the cluster makes no pod has failed with the reason of the cluster', async () => {
  make();
  server.quota = 'pods "x" is forbidden: exceeded quota';
  const lastTimestamp = '2026-01-01T00:00:00Z';
  server.events = [{ metadata: { uid: '1' }, count: 3, lastTimestamp, message: 'of an earlier start' }];
  await driver.create(spec);
  await driver.start(spec);
  const reason = 'the cluster refuses its pod: pods "x" is forbidden: exceeded quota';
  expect(await driver.ended(spec, never)).toEqual({ reason });
  expect((await driver.inspect(spec)).state).toBe('stopped');
  expect(await driver.delay(spec)).toBe(reason);
});

test('asks for a running tenant only when its pod changes', async () => {
  make();
  await started();
  const abort = new AbortController();
  const looks = () => server.requests.filter((each) => each.endsWith(`/pods/${NAME}-0`)).length;
  void driver.ended(spec, abort.signal);
  // Before, at the start of the watch, and for the event with which it begins.
  await eventually(() => server.watches.size === 1 && looks() === 3);
  const before = server.requests.length;
  await new Promise((resolve) => setTimeout(resolve, 1500));
  expect(server.requests.slice(before)).toEqual([]);
  // Nobody listens any more.
  abort.abort();
  await eventually(() => server.watches.size === 0);
});

test('says which right it lacks to watch pods', async () => {
  make();
  await started();
  server.lacking = new Set(['watch pods']);
  const ended = driver.ended(spec, never);
  await expect(ended).rejects.toThrow(/cannot watch resource "pods".*manifest --keeper" prints the rights/);
});

test('repeats what the server delays, after the time that it names', async () => {
  make();
  server.status = 429;
  server.headers = { 'Retry-After': '1' };
  const began = performance.now();
  const state = driver.inspect(spec);
  await eventually(() => server.requests.length === 1);
  server.status = 0;
  expect((await state).state).toBe('stopped');
  expect(performance.now() - began).toBeGreaterThan(990);
});

test('follows a tenant while a server that starts refuses every right', async () => {
  make();
  const host = await started();
  server.isReady = false;
  const ended = driver.ended(spec, never);
  await eventually(() => server.requests.filter((each) => each === 'GET /readyz').length >= 2);
  server.isReady = true;
  await eventually(() => server.watches.size === 1);
  await ask(host, 'exit/3');
  expect(await ended).toEqual({ reason: 'ended with code 3' });
});

test('uses a renewed token at once', async () => {
  make();
  server.tokens = new Set(['second']);
  await expect(driver.inspect(spec)).rejects.toThrow('Unauthorized');
  fs.writeFileSync(path.join(folder, 'token'), 'second');
  expect((await driver.inspect(spec)).state).toBe('stopped');
});

test('a cluster that does not answer, or is overloaded, is away', async () => {
  for (const status of [429, 500, 503]) {
    server.status = status;
    await expect(driver.inspect(spec)).rejects.toMatchObject({ code: 'engine' });
  }
  await server.close();
  await expect(driver.inspect(spec)).rejects.toMatchObject({ code: 'engine' });
  server.server.listen(0);
});

test('refuses a server whose certificate is of another authority', async () => {
  delete config.clusters[0].cluster['certificate-authority-data'];
  const other = new KubernetesDriver({ state: folder }, clusterOf(environment()));
  await expect(other.check()).rejects.toMatchObject({
    code: 'engine',
    message: expect.stringMatching(/self.signed/i)
  });
  other.close();
});

test('finds the cluster of its own pod', () => {
  for (const [name, text] of Object.entries({ token: 't\n', namespace: 'home\n', 'ca.crt': 'CA' })) {
    fs.writeFileSync(path.join(folder, name), text);
  }
  const env = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '6443' };
  const { token, ...rest } = clusterOf(env, folder);
  expect(rest).toEqual({ server: 'https://[fd00::1]:6443', namespace: 'home', ca: Buffer.from('CA') });
  expect(token()).toBe('t');
});

test.each([
  ['no cluster', () => ({}), 'no cluster'],
  ['no JSON', () => ({ SEGANET_TENANTS_KUBECONFIG: path.join(folder, 'token') }), 'kubectl config view'],
  ['a missing user', () => ((config.users = []), environment()), "no user 'u'"],
  [
    'an address in clear',
    () => ((config.clusters[0].cluster.server = 'http://10.0.0.1'), environment()),
    'https://'
  ],
  [
    'a namespace that leads elsewhere',
    () => ({ ...environment(), SEGANET_TENANTS_NAMESPACE: '../x' }),
    'namespace'
  ]
])('refuses %s with exit code 78', (_, env, reason) => {
  expect(() => clusterOf(env(), path.join(folder, 'none'))).toThrow(
    expect.objectContaining({ exitCode: 78, message: expect.stringContaining(reason) })
  );
});

describe('a tenant is isolated only behind its network policy', () => {
  const [, , policy] = /** @type {any} */ (manifestOf(spec)).items;
  /** @param {object} changes of its specification */
  const changed = (changes) => ({ ...policy, spec: { ...policy.spec, ...changes } });

  /** @returns {Promise<string>} why it is not */
  async function weakness() {
    make();
    await driver.inspect(spec);
    return driver.weakness(spec);
  }

  test('of the manifest', async () => {
    server.policies.set(NAME, policy);
    expect(await weakness()).toBe('');
    // It is not looked at for each row of the list.
    server.policies.clear();
    expect(await weakness()).toBe('');
  });

  test.each([
    ['missing', null, /has no NetworkPolicy seganet-tenant-acme. "seganet-tenants manifest acme" prints it/],
    [
      'of another tenant',
      changed({ podSelector: { matchLabels: { 'seganet.tenant': 'b' } } }),
      /not the tenant's/
    ],
    [
      'for every address',
      changed({ ingress: [{ from: [{ ipBlock: { cidr: '0.0.0.0/0' } }] }] }),
      /lets others/
    ],
    ['of an earlier release', changed({ policyTypes: ['Egress'] }), /lets others than the keeper/],
    ['with a way out', changed({ egress: [{}] }), /or the tenant out/],
    ['for everybody', changed({ ingress: [{}] }), /lets others/],
    ['for all pods', changed({ ingress: [{ from: [{ podSelector: {} }] }] }), /lets others/],
    [
      'for all pods, in other words',
      changed({ ingress: [{ from: [{ podSelector: { matchLabels: {} } }] }] }),
      /lets others/
    ]
  ])('and not with one that is %s', async (_, found, why) => {
    if (found) server.policies.set(NAME, found);
    expect(await weakness()).toMatch(why);
  });

  test('and not without the right to see it', async () => {
    server.policies.set(NAME, policy);
    server.maySeePolicies = false;
    expect(await weakness()).toMatch(
      /may not look at .*forbidden.*"seganet-tenants manifest acme" prints it/
    );
  });
});

test('prints the rights of the keeper, which are those that it uses', () => {
  const { items } = /** @type {any} */ (rightsOf('home'));
  expect(items.map((/** @type {any} */ { kind }) => kind)).toEqual(['ServiceAccount', 'Role', 'RoleBinding']);
  const rights = items[1].rules.flatMap((/** @type {any} */ { apiGroups, resources, verbs }) =>
    resources.map((/** @type {string} */ each) => `${apiGroups[0]}/${each}: ${verbs}`)
  );
  expect(rights).toEqual([
    'apps/statefulsets: get',
    'apps/statefulsets/scale: patch',
    '/pods: get,watch',
    '/pods/log: get',
    '/services: get',
    '/events: list',
    'networking.k8s.io/networkpolicies: get',
    '/secrets: get,create,patch,delete'
  ]);
  expect(items.every((/** @type {any} */ { metadata }) => metadata.namespace === 'home')).toBe(true);
});

test('prints objects that isolate the tenant', () => {
  const { items } = /** @type {any} */ (manifestOf(spec));
  expect(items.map((/** @type {any} */ { kind }) => kind)).toEqual([
    'Service',
    'StatefulSet',
    'NetworkPolicy'
  ]);
  const { replicas, template } = items[1].spec;
  expect(replicas).toBe(0);
  const [container] = template.spec.containers;
  expect(container).toMatchObject({
    image: DIGEST,
    resources: { limits: { memory: '256Mi', cpu: '500m', 'ephemeral-storage': '128Mi' } },
    readinessProbe: { tcpSocket: { port: 1883 }, periodSeconds: 1 },
    securityContext: {
      readOnlyRootFilesystem: true,
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] }
    }
  });
  expect(items[2].spec).toEqual({
    podSelector: { matchLabels: { 'seganet.tenant': 'acme' } },
    policyTypes: ['Ingress', 'Egress'],
    ingress: [
      {
        from: [{ podSelector: { matchLabels: { 'seganet.access': 'tenants' } } }],
        ports: [
          { protocol: 'TCP', port: 1883 },
          { protocol: 'TCP', port: 8080 }
        ]
      }
    ],
    egress: []
  });
  expect(template.spec).toMatchObject({
    automountServiceAccountToken: false,
    terminationGracePeriodSeconds: 30
  });
});
