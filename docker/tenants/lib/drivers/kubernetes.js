'use strict';
// Runs tenants in a cluster: a StatefulSet with a volume for each, scaled to 1 and to 0. The cluster's operator makes
// it and its service (`seganet-tenants manifest NAME` prints both): this driver only scales, and keeps the tenant's
// users.

const fs = require('node:fs');
const path = require('node:path');
const { secretsOf } = require('../life/secrets');
const { endOf, lastLines } = require('./driver');
const { ApiRefusal, KubernetesClient } = require('./kubernetes-client');
const { isClosing, objectName } = require('./kubernetes-manifest');

/** @typedef {import('./driver').Driver} Driver */
/** @typedef {import('../../../../nodes/lib/tenants/file/schema').Spec} Spec */

const APPS = '/apis/apps/v1';
const CORE = '/api/v1';
const NETWORKING = '/apis/networking.k8s.io/v1';
/** Time for which a check of a network policy is valid. */
const POLICY_MS = 60_000;
/** A name that no tenant's StatefulSet has. */
const PROBE = 'seganet-tenants-check';
const STOP_LOOK_MS = 250;
const END_LOOK_MS = 1000;
/** Additional time for the cluster itself, beyond a tenant's grace. */
const STOP_SLACK_MS = 30_000;

/** @implements {Driver} */
class KubernetesDriver {
  name = 'kubernetes';
  isIsolated = true;
  canPause = false;
  #client;
  #state;
  /** Why other pods can reach a tenant, '' = they cannot. @type {Map<string, { at: number, why: string }>} */
  #open = new Map();

  /**
   * @param {Pick<import('../base/home').Home, 'state'>} home
   * @param {import('./kubernetes-client').Cluster} cluster
   */
  constructor(home, cluster) {
    this.#state = home.state;
    this.#client = new KubernetesClient(cluster);
  }

  async check() {
    const { gitVersion } = await this.#client.ask('GET', '/version');
    // A list would need a right that nothing else needs. 404 is also a success: the server answers, and allows the
    // request.
    await this.#client.find('GET', this.#client.path(APPS, `statefulsets/${PROBE}`));
    return `Kubernetes ${gitVersion}`;
  }

  /** @param {Spec} spec */
  weakness({ name }) {
    return this.#open.get(name)?.why ?? '';
  }

  lacks() {
    return 'the cluster limits its processes by podPidsLimit of the kubelet only, not by limits.pids';
  }

  /** Checks whether the cluster has the tenant's network policy. @param {Spec} spec */
  async #lookAtPolicy(spec) {
    const now = performance.now();
    if (now - (this.#open.get(spec.name)?.at ?? -Infinity) < POLICY_MS) return;
    const name = objectName(spec);
    let why = '';
    try {
      const policy = await this.#client.find('GET', this.#client.path(NETWORKING, `networkpolicies/${name}`));
      if (!policy) why = `the cluster has no NetworkPolicy ${name}`;
      else if (!isClosing(policy))
        why = `the NetworkPolicy ${name} lets others than the keeper and the front in, or the tenant out`;
    } catch (error) {
      if (!(error instanceof ApiRefusal)) throw error;
      why = `the keeper may not look at the NetworkPolicy ${name} (${error.message})`;
    }
    if (why) why += `. "seganet-tenants manifest ${spec.name}" prints it, "manifest --keeper" the rights`;
    this.#open.set(spec.name, { at: now, why });
  }

  /** @param {Spec} spec */
  async create(spec) {
    const name = objectName(spec);
    if (!(await this.#set(spec))) {
      throw new Error(
        `the cluster has no StatefulSet ${name}. "seganet-tenants manifest ${spec.name}" prints one`
      );
    }
    const folder = path.join(this.#state, spec.name);
    fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
    const passwords = fs.readFileSync(secretsOf(folder).file).toString('base64');
    const secret = this.#client.path(CORE, `secrets/${name}`);
    const known = await this.#client.find('GET', secret);
    if (known?.data?.passwords === passwords) return;
    const body = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name },
      type: 'Opaque',
      data: { passwords }
    };
    if (known) await this.#client.ask('PATCH', secret, { data: { passwords } });
    else await this.#client.ask('POST', this.#client.path(CORE, 'secrets'), body);
  }

  /** @param {Spec} spec */
  async start(spec) {
    await this.#scale(spec, 1);
  }

  /** @param {Spec} spec @param {number} graceMs */
  async stop(spec, graceMs) {
    if (!(await this.#set(spec))) return;
    await this.#scale(spec, 0);
    const end = performance.now() + graceMs + STOP_SLACK_MS;
    while (await this.#pod(spec)) {
      if (performance.now() > end) throw new Error(`the cluster did not end the pod of ${spec.name}`);
      await new Promise((resolve) => setTimeout(resolve, STOP_LOOK_MS));
    }
  }

  async pause() {
    throw new Error('a cluster cannot pause');
  }

  async unpause() {
    throw new Error('a cluster cannot pause');
  }

  /** @param {Spec} spec @returns {Promise<import('./driver').Observed>} */
  async inspect(spec) {
    const set = await this.#set(spec);
    if (!set) return { state: 'absent', reason: '' };
    await this.#lookAtPolicy(spec);
    return { state: set.spec?.replicas > 0 ? 'running' : 'stopped', reason: '' };
  }

  /** @param {Spec} spec @param {AbortSignal} signal @returns {Promise<{ reason: string }>} */
  async ended(spec, signal) {
    const before = restartsOf(await this.#pod(spec));
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, END_LOOK_MS).unref());
      if (signal.aborted) await new Promise(() => {});
      const [set, pod] = [await this.#set(spec), await this.#pod(spec)];
      if (signal.aborted) await new Promise(() => {});
      if (!(set?.spec?.replicas > 0)) return { reason: 'was scaled to 0 in the cluster' };
      const reason = endIn(pod, before);
      if (!reason) continue;
      // Otherwise the cluster would start it again, in spite of the keeper's back-off.
      await this.#scale(spec, 0);
      return { reason };
    }
  }

  /** @param {Spec} spec */
  async address(spec) {
    const name = objectName(spec);
    const service = await this.#client.find('GET', this.#client.path(CORE, `services/${name}`));
    const address = service?.spec?.clusterIP;
    if (!address || address === 'None') throw new Error(`the cluster has no service ${name} with an address`);
    return address;
  }

  /** Clusters without a metrics server do not provide it. */
  async memory() {
    return 0;
  }

  /** @param {Spec} spec @param {number} lines */
  async logs(spec, lines) {
    const text = await this.#client.find(
      'GET',
      this.#client.path(CORE, `pods/${objectName(spec)}-0/log?tailLines=${lines}`)
    );
    return lastLines(typeof text === 'string' ? text : '', lines);
  }

  /** The StatefulSet and its volume are the operator's. @param {Spec} spec */
  async remove(spec) {
    await this.#client.find('DELETE', this.#client.path(CORE, `secrets/${objectName(spec)}`));
    fs.rmSync(path.join(this.#state, spec.name), { recursive: true, force: true });
  }

  close() {
    this.#client.close();
  }

  /** @param {Spec} spec @returns {Promise<any>} */
  #set(spec) {
    return this.#client.find('GET', this.#client.path(APPS, `statefulsets/${objectName(spec)}`));
  }

  /** @param {Spec} spec @returns {Promise<any>} */
  #pod(spec) {
    return this.#client.find('GET', this.#client.path(CORE, `pods/${objectName(spec)}-0`));
  }

  /** @param {Spec} spec @param {0 | 1} replicas */
  async #scale(spec, replicas) {
    const scale = this.#client.path(APPS, `statefulsets/${objectName(spec)}/scale`);
    await this.#client.ask('PATCH', scale, { spec: { replicas } });
  }
}

/** @param {any} pod @returns {number} how often its container was started again */
const restartsOf = (pod) => pod?.status?.containerStatuses?.[0]?.restartCount ?? 0;

/** @param {any} pod @param {number} restarts before @returns {string} how its container ended, '' = it did not */
function endIn(pod, restarts) {
  const status = pod?.status?.containerStatuses?.[0];
  const ended =
    status?.state?.terminated ?? (restartsOf(pod) > restarts ? status?.lastState?.terminated : null);
  if (ended) {
    if (ended.reason === 'OOMKilled') return 'was killed because it used more memory than it may';
    return endOf(Number(ended.exitCode ?? 0), null);
  }
  const waiting = status?.state?.waiting?.reason;
  if (/^(ErrImage|ImagePull|InvalidImage|CrashLoop|CreateContainer.*Error)/.test(waiting ?? '')) {
    return `cannot start in the cluster: ${waiting}`;
  }
  return '';
}

exports.KubernetesDriver = KubernetesDriver;
