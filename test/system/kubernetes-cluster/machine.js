'use strict';
// The machine of the cluster, in place of a kubelet, a container runtime, a network plug-in, kube-proxy and a storage
// driver: a pod whose image it knows is a process of this user, which listens at the address of the pod's service. It
// mounts volumes as folders, looks at the readiness, starts a container that ends again, ends pods in order, and serves
// their output. It does not isolate: limits, security context and network policies have no effect here.

const { execFileSync, spawn } = require('node:child_process');
const fs = require('node:fs');
const https = require('node:https');
const net = require('node:net');
const path = require('node:path');
const { accepts, freePort } = require('../../../bench/harness/net');
const { isEngineAway } = require('../../../docker/tenants/lib/base/errors');

const NAME = 'machine';
const LOOK_MS = 50;
const CLAIMS_MS = 100;
const RESTART_MS = 500;
const PROGRAM = path.join(__dirname, '..', '..', 'fixtures', 'tenants', 'tenant.js');

/**
 * @typedef {object} Run
 * @property {any} pod as it was at its start
 * @property {string} address
 * @property {import('node:child_process').ChildProcess | null} child
 * @property {number} restarts
 * @property {boolean} isReady
 * @property {object} last state of the run before
 * @property {string} output
 * @property {NodeJS.Timeout | undefined} timer
 */

class Machine {
  #client;
  #folder;
  #image;
  #abort = new AbortController();
  /** @type {Map<string, Run>} by uid */
  #runs = new Map();
  /** @type {Map<string, string>} `namespace/name` of pods to look at */
  #due = new Map();
  /** @type {https.Server | null} */
  #server = null;
  /** @type {Promise<unknown>[]} */
  #loops = [];

  /** @param {import('./cluster').Cluster} cluster @param {string} image that it can run */
  constructor(cluster, image) {
    this.#client =
      /** @type {import('../../../docker/tenants/lib/drivers/kubernetes-client').KubernetesClient} */ (
        cluster.admin
      );
    this.#folder = path.join(cluster.folder, 'machine');
    this.#image = image;
    process.once('exit', () => this.#kill());
  }

  async start() {
    fs.mkdirSync(this.#folder);
    const port = await freePort();
    await this.#serve(port);
    const capacity = { cpu: '4', memory: '8Gi', pods: '50', 'ephemeral-storage': '10Gi' };
    await this.#client.ask('POST', '/api/v1/nodes', {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: NAME, labels: { 'kubernetes.io/hostname': NAME } },
      status: {
        capacity,
        allocatable: capacity,
        addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
        daemonEndpoints: { kubeletEndpoint: { Port: port } },
        conditions: [{ type: 'Ready', status: 'True', reason: 'KubeletReady', message: '' }]
      }
    });
    // The API server adds a taint, which the controller of machines would remove.
    await this.#client.ask('PATCH', `/api/v1/nodes/${NAME}`, { spec: { taints: null } });
    this.#loops = [
      this.#watch(),
      this.#repeat(LOOK_MS, () => this.#work()),
      this.#repeat(CLAIMS_MS, () => this.#bind())
    ];
    return this;
  }

  async end() {
    this.#abort.abort();
    await Promise.all(this.#loops);
    this.#kill();
    this.#server?.closeAllConnections();
    this.#server?.close();
  }

  #kill() {
    for (const { child, timer } of this.#runs.values()) {
      clearTimeout(timer);
      child?.kill('SIGKILL');
    }
  }

  /** @param {number} ms @param {() => Promise<void>} step */
  async #repeat(ms, step) {
    while (!this.#abort.signal.aborted) {
      // While the API server is away, it tries again.
      await step().catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, ms));
    }
  }

  async #watch() {
    const { signal } = this.#abort;
    while (!signal.aborted) {
      const path1 = `/api/v1/pods?watch=1&fieldSelector=spec.nodeName%3D${NAME}`;
      await this.#client
        .watch(
          path1,
          ({ type, object }) =>
            type !== 'BOOKMARK' &&
            this.#due.set(object.metadata.uid, `${object.metadata.namespace}/${object.metadata.name}`),
          signal
        )
        .catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  }

  async #work() {
    for (const [uid, key] of [...this.#due]) {
      this.#due.delete(uid);
      try {
        await this.#look(uid, key);
      } catch (error) {
        this.#due.set(uid, key);
        throw error;
      }
    }
  }

  /** @param {string} uid @param {string} key */
  async #look(uid, key) {
    const [namespace, name] = key.split('/');
    const pod = await this.#client.find('GET', `/api/v1/namespaces/${namespace}/pods/${name}`);
    const run = this.#runs.get(uid);
    const isGone = pod?.metadata.uid !== uid;
    if (isGone || pod.metadata.deletionTimestamp) {
      if (run?.child) this.#stop(run, isGone ? 0 : pod.metadata.deletionGracePeriodSeconds);
      else await this.#forget(uid, isGone ? null : pod);
    } else if (!run) await this.#begin(pod);
  }

  /** @param {Run} run @param {number} graceS */
  #stop(run, graceS) {
    clearTimeout(run.timer);
    run.child?.kill(graceS > 0 ? 'SIGTERM' : 'SIGKILL');
    run.timer = setTimeout(() => run.child?.kill('SIGKILL'), graceS * 1000);
  }

  /** @param {string} uid @param {any} pod null: the cluster has forgotten it already */
  async #forget(uid, pod) {
    clearTimeout(this.#runs.get(uid)?.timer);
    this.#runs.delete(uid);
    if (pod) {
      const preconditions = { uid };
      await this.#client.find('DELETE', pathOf(pod), { gracePeriodSeconds: 0, preconditions });
    }
  }

  /** @param {any} pod */
  async #begin(pod) {
    const { namespace, uid } = pod.metadata;
    const [container] = pod.spec.containers;
    if (container.image !== this.#image) {
      const waiting = { reason: 'ErrImagePull', message: `there is no image ${container.image}` };
      return this.#report(pod, { state: { waiting } });
    }
    const service = await this.#client.find(
      'GET',
      `/api/v1/namespaces/${namespace}/services/${pod.spec.subdomain}`
    );
    const address = service?.spec.clusterIP;
    if (!net.isIPv4(address)) throw new Error('its service is missing');
    const run = {
      pod,
      address,
      child: null,
      restarts: 0,
      isReady: false,
      last: {},
      output: '',
      timer: undefined
    };
    this.#runs.set(uid, run);
    await this.#execute(run);
  }

  /** @param {Run} run */
  async #execute(run) {
    const { pod, address } = run;
    const [container] = pod.spec.containers;
    const mounts = await Promise.all(
      container.volumeMounts.map((/** @type {any} */ each) => this.#mount(pod, each))
    );
    // In a container these are its own paths, and its own address.
    const local = (/** @type {string} */ value) => {
      const found = mounts.find(({ at }) => value === at || value.startsWith(`${at}/`));
      return value === '0.0.0.0' ? address : found ? found.folder + value.slice(found.at.length) : value;
    };
    const env = Object.fromEntries(
      container.env.map((/** @type {any} */ { name, value }) => [name, local(value ?? '')])
    );
    if (this.#abort.signal.aborted) return;
    const child = spawn(process.execPath, [PROGRAM, ...(container.args ?? [])], {
      env: { PATH: process.env.PATH, ...env }
    });
    run.child = child;
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (part) => (run.output += part));
    child.once('close', (code, signal) => void this.#ended(run, code ?? 137, signal));
    const startedAt = new Date().toISOString();
    await this.#report(pod, { ...statusOf(run), state: { running: { startedAt } } });
    void this.#probe(run, child, startedAt);
  }

  /** @param {Run} run @param {import('node:child_process').ChildProcess} child @param {string} startedAt */
  async #probe(run, child, startedAt) {
    const { tcpSocket, periodSeconds } = run.pod.spec.containers[0].readinessProbe;
    while (run.child === child) {
      const isReady = await accepts(tcpSocket.port, run.address);
      if (isReady !== run.isReady && run.child === child) {
        run.isReady = isReady;
        await this.#report(run.pod, { ...statusOf(run), state: { running: { startedAt } } }).catch(() => {});
      }
      await new Promise((resolve) => setTimeout(resolve, periodSeconds * 1000));
    }
  }

  /** @param {Run} run @param {number} exitCode @param {string | null} signal */
  async #ended(run, exitCode, signal) {
    const { uid, namespace, name } = run.pod.metadata;
    run.child = null;
    run.isReady = false;
    run.restarts++;
    run.last = {
      terminated: { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error', signal: signal ? 9 : undefined }
    };
    clearTimeout(run.timer);
    if (this.#abort.signal.aborted) return;
    this.#due.set(uid, `${namespace}/${name}`);
    const pod = await this.#client.find('GET', pathOf(run.pod)).catch(() => run.pod);
    if (pod?.metadata.uid !== uid || pod.metadata.deletionTimestamp) return;
    const waiting = { reason: 'CrashLoopBackOff', message: '' };
    // A kubelet, too, reports the first end before the restart, and later ones as a back-off.
    await this.#report(pod, { ...statusOf(run), state: run.restarts > 1 ? { waiting } : run.last }).catch(
      () => {}
    );
    run.timer = setTimeout(() => void this.#execute(run).catch(() => {}), RESTART_MS);
  }

  /** @param {any} pod @param {any} container its status */
  async #report(pod, container) {
    const isReady = container.ready === true;
    const { name, image } = pod.spec.containers[0];
    const status = {
      phase: container.state.running ? 'Running' : 'Pending',
      hostIP: '127.0.0.1',
      // An endpoint must not be a loopback address.
      podIP: '10.244.0.9',
      podIPs: [{ ip: '10.244.0.9' }],
      conditions: [
        ...(pod.status.conditions ?? []).filter((/** @type {any} */ { type }) => type === 'PodScheduled'),
        { type: 'Ready', status: isReady ? 'True' : 'False' },
        { type: 'ContainersReady', status: isReady ? 'True' : 'False' }
      ],
      containerStatuses: [{ name, image, imageID: '', restartCount: 0, ready: false, ...container }]
    };
    const change = { metadata: { uid: pod.metadata.uid }, status };
    for (;;) {
      try {
        return void (await this.#client.find('PATCH', `${pathOf(pod)}/status`, change));
      } catch (error) {
        // While the API server is away, it tries again, as a kubelet does.
        if (!isEngineAway(error) || this.#abort.signal.aborted) throw error;
        await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      }
    }
  }

  /**
   * @param {any} pod
   * @param {{ name: string, mountPath: string }} mount
   * @returns {Promise<{ at: string, folder: string }>}
   */
  async #mount(pod, { name, mountPath }) {
    const { namespace, uid } = pod.metadata;
    const volume = pod.spec.volumes.find((/** @type {any} */ each) => each.name === name);
    let folder = path.join(this.#folder, uid, name);
    if (volume.persistentVolumeClaim)
      folder = this.#claimed(namespace, volume.persistentVolumeClaim.claimName);
    fs.mkdirSync(folder, { recursive: true });
    if (volume.secret) {
      const secret = await this.#client.find(
        'GET',
        `/api/v1/namespaces/${namespace}/secrets/${volume.secret.secretName}`
      );
      for (const [key, value] of Object.entries(secret?.data ?? {}))
        fs.writeFileSync(path.join(folder, key), Buffer.from(String(value), 'base64'));
    }
    return { at: mountPath, folder };
  }

  /** @param {string} namespace @param {string} claim @returns {string} */
  #claimed(namespace, claim) {
    return path.join(this.#folder, 'volumes', namespace, claim);
  }

  /** Makes a volume for each claim that has none. */
  async #bind() {
    const { items } = await this.#client.ask('GET', '/api/v1/persistentvolumeclaims');
    for (const { metadata, spec, status } of items) {
      const name = `volume-${metadata.uid}`;
      if (status.phase !== 'Pending' || (await this.#client.find('GET', `/api/v1/persistentvolumes/${name}`)))
        continue;
      await this.#client.ask('POST', '/api/v1/persistentvolumes', {
        apiVersion: 'v1',
        kind: 'PersistentVolume',
        metadata: { name },
        spec: {
          capacity: spec.resources.requests,
          accessModes: spec.accessModes,
          claimRef: { namespace: metadata.namespace, name: metadata.name },
          hostPath: { path: this.#claimed(metadata.namespace, metadata.name) }
        }
      });
    }
  }

  /** Serves the output of pods, which the API server asks for. @param {number} port */
  async #serve(port) {
    const [key, cert] = ['key', 'crt'].map((each) => path.join(this.#folder, `tls.${each}`));
    const tls = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
    execFileSync('openssl', ['req', '-x509', '-subj', `/CN=${NAME}`, ...tls, '-keyout', key, '-out', cert], {
      stdio: 'ignore'
    });
    this.#server = https.createServer(
      { key: fs.readFileSync(key), cert: fs.readFileSync(cert) },
      (request, response) => {
        const url = new URL(request.url ?? '', 'https://machine');
        const [, kind, namespace, name] = url.pathname.split('/');
        const run = [...this.#runs.values()].findLast(
          ({ pod: { metadata } }) => metadata.namespace === namespace && metadata.name === name
        );
        if (kind !== 'containerLogs' || !run) return response.writeHead(404).end();
        const lines = Number(url.searchParams.get('tailLines') ?? 1000);
        response.end(run.output.trimEnd().split('\n').slice(-lines).join('\n'));
      }
    );
    await new Promise((resolve) => this.#server?.listen(port, '127.0.0.1', () => resolve(undefined)));
  }
}

/** @param {any} pod */
const pathOf = ({ metadata }) => `/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}`;

/** @param {Run} run */
const statusOf = ({ restarts, isReady, last }) => ({
  restartCount: restarts,
  ready: isReady,
  lastState: last
});

exports.Machine = Machine;
