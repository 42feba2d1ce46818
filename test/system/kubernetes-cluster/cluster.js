'use strict';
// A Kubernetes control plane of this machine's loopback: etcd, kube-apiserver with RBAC and its standard admission,
// kube-controller-manager, kube-scheduler. Its one machine is machine.js.

const { execFileSync, spawn } = require('node:child_process');
const { generateKeyPairSync, randomBytes } = require('node:crypto');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { eventually, freePort } = require('../../../bench/harness/net');
const { clusterOf, KubernetesClient } = require('../../../docker/tenants/lib/drivers/kubernetes-client');

/** Addresses of services. machine.js opens the ports of a pod there, in place of a kube-proxy. */
const SERVICES = '127.77.0.0/16';
const START_MS = 120_000;
const END_MS = 10_000;
/** Would taint a machine without a kubelet that reports each ten seconds. */
const CONTROLLERS = '*,-node-lifecycle-controller';

class Cluster {
  /** @type {Map<string, import('node:child_process').ChildProcess>} */
  #children = new Map();
  #folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-kubernetes-'));
  #program;
  #token = randomBytes(16).toString('hex');
  /** @type {string[]} */
  #api = [];

  /** @param {string} program of .ci/kubernetes */
  constructor(program) {
    this.#program = program;
    process.once('exit', () => {
      for (const child of this.#children.values()) child.kill('SIGKILL');
      fs.rmSync(this.#folder, { recursive: true, force: true });
    });
  }

  get folder() {
    return this.#folder;
  }

  async start() {
    const [etcd, peers, port] = [await freePort(), await freePort(), await freePort()];
    const at = (/** @type {string} */ name) => path.join(this.#folder, name);
    this.server = `https://127.0.0.1:${port}`;
    const urls = ['--listen-client-urls', '--advertise-client-urls'].map(
      (each) => `${each}=http://127.0.0.1:${etcd}`
    );
    const peer = `http://127.0.0.1:${peers}`;
    this.#run('etcd', 'etcd', [
      `--data-dir=${at('etcd')}`,
      ...urls,
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=default=${peer}`
    ]);
    const { privateKey, publicKey } = generateKeyPairSync('rsa', {
      modulusLength: 2048,
      privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
      publicKeyEncoding: { type: 'spki', format: 'pem' }
    });
    fs.writeFileSync(at('accounts.key'), privateKey);
    fs.writeFileSync(at('accounts.pub'), publicKey);
    fs.writeFileSync(at('tokens.csv'), `${this.#token},admin,admin,system:masters\n`);
    const names = 'subjectAltName=IP:127.0.0.1,DNS:localhost';
    const tls = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
    const files = ['-keyout', at('tls.key'), '-out', at('tls.crt')];
    execFileSync('openssl', ['req', '-x509', '-subj', '/CN=localhost', '-addext', names, ...tls, ...files], {
      stdio: 'ignore'
    });
    this.ca = fs.readFileSync(at('tls.crt'));
    this.#api = [
      `--etcd-servers=http://127.0.0.1:${etcd}`,
      '--bind-address=127.0.0.1',
      `--secure-port=${port}`,
      // The server rejects a loopback address here, and nothing connects to this one.
      '--advertise-address=192.0.2.1',
      '--endpoint-reconciler-type=none',
      `--tls-cert-file=${at('tls.crt')}`,
      `--tls-private-key-file=${at('tls.key')}`,
      '--service-account-issuer=https://kubernetes.default.svc',
      `--service-account-key-file=${at('accounts.pub')}`,
      `--service-account-signing-key-file=${at('accounts.key')}`,
      `--token-auth-file=${at('tokens.csv')}`,
      '--authorization-mode=RBAC',
      `--service-cluster-ip-range=${SERVICES}`,
      '--kubelet-preferred-address-types=InternalIP'
    ];
    this.admin = this.client({ namespace: 'default', token: this.#token });
    const kubeconfig = at('admin.json');
    this.kubeconfig(kubeconfig, { namespace: 'default', token: this.#token });
    await this.startApi();
    const own = [`--kubeconfig=${kubeconfig}`, '--leader-elect=false', '--secure-port=0'];
    this.#run('controllers', this.#program, [
      'kube-controller-manager',
      ...own,
      `--controllers=${CONTROLLERS}`,
      // machine.js makes volumes as an operator would, which this controller looks for only each 15 s.
      '--pvclaimbinder-sync-period=1s',
      `--service-account-private-key-file=${at('accounts.key')}`,
      `--root-ca-file=${at('tls.crt')}`
    ]);
    this.#run('scheduler', this.#program, ['kube-scheduler', ...own]);
    return this;
  }

  /** Starts the API server, also again after stopApi. */
  async startApi() {
    const child = this.#run('api', this.#program, ['kube-apiserver', ...this.#api]);
    const isReady = () =>
      this.admin?.ask('GET', '/readyz').then(
        (text) => text === 'ok',
        () => false
      );
    await eventually(() => child.exitCode !== null || isReady(), {
      timeoutMs: START_MS,
      everyMs: 100,
      what: 'the API server'
    });
    if (child.exitCode !== null) throw new Error(`The API server ended: ${this.output('api')}`);
  }

  /** Kills the API server, as a crash does. */
  stopApi() {
    return this.#end('api', 'SIGKILL');
  }

  /** @param {string} name @returns {string} last lines of its output */
  output(name) {
    return fs
      .readFileSync(path.join(this.#folder, `${name}.log`), 'utf8')
      .split('\n')
      .slice(-15)
      .join('\n');
  }

  /** @param {{ namespace: string, token: string }} account */
  cluster({ namespace, token }) {
    return { server: this.server ?? '', namespace, ca: this.ca, token: () => token };
  }

  /** @param {{ namespace: string, token: string }} account */
  client(account) {
    return new KubernetesClient(this.cluster(account));
  }

  /** @param {string} file @param {{ namespace: string, token: string }} account */
  kubeconfig(file, { namespace, token }) {
    const certificate = /** @type {Buffer} */ (this.ca).toString('base64');
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'c',
      contexts: [{ name: 'c', context: { cluster: 'k', user: 'u', namespace } }],
      clusters: [{ name: 'k', cluster: { server: this.server, 'certificate-authority-data': certificate } }],
      users: [{ name: 'u', user: { token } }]
    };
    fs.writeFileSync(file, JSON.stringify(config));
    // Throws if a keeper could not read it.
    clusterOf({ SEGANET_TENANTS_KUBECONFIG: file });
  }

  /** @returns {Record<string, number>} MiB that each program has resident */
  memory() {
    const kib = (/** @type {number | undefined} */ pid) =>
      Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);
    return Object.fromEntries(
      [...this.#children].map(([name, { pid }]) => [name, Math.round(kib(pid) / 1024)])
    );
  }

  async end() {
    this.admin?.close();
    for (const name of ['scheduler', 'controllers', 'api', 'etcd']) await this.#end(name, 'SIGTERM');
    fs.rmSync(this.#folder, { recursive: true, force: true });
  }

  /** @param {string} name @param {string} program @param {string[]} args */
  #run(name, program, args) {
    const log = fs.openSync(path.join(this.#folder, `${name}.log`), 'a');
    const child = spawn(program, args, { stdio: ['ignore', log, log] });
    fs.closeSync(log);
    this.#children.set(name, child);
    return child;
  }

  /** @param {string} name @param {NodeJS.Signals} signal */
  async #end(name, signal) {
    const child = this.#children.get(name);
    this.#children.delete(name);
    if (!child || child.exitCode !== null || child.signalCode) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    const late = setTimeout(() => child.kill('SIGKILL'), END_MS);
    await ended;
    clearTimeout(late);
  }
}

exports.Cluster = Cluster;
