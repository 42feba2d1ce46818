'use strict';
// Runs tenants in a cluster: a StatefulSet with a volume for each, scaled to 1 and to 0. The cluster's operator makes
// it and its service (`seganet-tenants manifest NAME` prints both): this driver only scales, and keeps the tenant's
// users.

const fs = require('node:fs');
const path = require('node:path');
const { secretsOf } = require('../life/secrets');
const { lastLines } = require('./driver');
const { PodBells } = require('./kubernetes-bells');
const { ApiRefusal, KubernetesClient } = require('./kubernetes-client');
const { isClosing, objectName } = require('./kubernetes-manifest');
const { Refusals, delayOf, endIn } = require('./kubernetes-reasons');
const { RIGHTS } = require('./kubernetes-rights');

/** @typedef {import('./driver').Driver} Driver */
/** @typedef {import('../../../../nodes/lib/tenants/file/schema').Spec} Spec */

const APPS = '/apis/apps/v1';
const CORE = '/api/v1';
const NETWORKING = '/apis/networking.k8s.io/v1';
const REVIEWS = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
/** Time for which a check of a network policy is valid. */
const POLICY_MS = 60_000;
/** A name that no tenant's StatefulSet has. */
const PROBE = 'seganet-tenants-check';
/** Time between two looks at a pod that the bell did not ring for. */
const LOOK_MS = 30_000;
/** No bell tells why there is no pod. */
const REFUSAL_LOOK_MS = 1000;
/** Additional time for the cluster itself, beyond a tenant's grace. */
const STOP_SLACK_MS = 30_000;

/** @implements {Driver} */
class KubernetesDriver {
  name = 'kubernetes';
  isIsolated = true;
  canPause = false;
  #client;
  #bells;
  #refusals;
  #state;
  #isClosed = false;
  /** Why other pods can reach a tenant, '' = they cannot. @type {Map<string, { at: number, why: string }>} */
  #open = new Map();

  /**
   * @param {Pick<import('../base/home').Home, 'state'>} home
   * @param {import('./kubernetes-client').Cluster} cluster
   */
  constructor(home, cluster) {
    this.#state = home.state;
    this.#client = new KubernetesClient(cluster);
    this.#bells = new PodBells(this.#client);
    this.#refusals = new Refusals(this.#client);
  }

  async check() {
    const { gitVersion } = await this.#client.ask('GET', '/version');
    try {
      // A list would need a right that nothing else needs. 404 is also a success: the server answers, and allows the
      // request.
      await this.#client.find('GET', this.#client.path(APPS, `statefulsets/${PROBE}`));
    } catch (error) {
      if (!(error instanceof ApiRefusal) || error.status !== 403) throw error;
      // The refusal names one right only.
      throw new ApiRefusal((await this.problems())[0] ?? error.message, error.status);
    }
    return `Kubernetes ${gitVersion}`;
  }

  /** @returns {Promise<string[]>} what the account may not do */
  async problems() {
    const { namespace } = this.#client;
    const answers = await Promise.all(
      RIGHTS.map((right) =>
        this.#client.ask('POST', REVIEWS, {
          apiVersion: 'authorization.k8s.io/v1',
          kind: 'SelfSubjectAccessReview',
          spec: { resourceAttributes: { namespace, ...right } }
        })
      )
    );
    const lacking = RIGHTS.filter((_, i) => !answers[i].status?.allowed).map(
      ({ verb, resource, subresource }) => `${verb} ${resource}${subresource && `/${subresource}`}`
    );
    if (lacking.length === 0) return [];
    const hint = '"seganet-tenants manifest --keeper" prints the rights';
    return [`The keeper may not ${lacking.join(', ')} in the namespace ${namespace}: ${hint}.`];
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
      else if (!isClosing(policy, spec))
        why = `the NetworkPolicy ${name} is not the tenant's, or lets others than the keeper and the front in, or the tenant out`;
    } catch (error) {
      if (!(error instanceof ApiRefusal)) throw error;
      why = `the keeper may not look at the NetworkPolicy ${name} (${error.message})`;
    }
    if (why) why += `. "seganet-tenants manifest ${spec.name}" prints it`;
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
    if (!known && (await this.#make(name, passwords))) return;
    await this.#client.ask('PATCH', secret, { data: { passwords } });
  }

  /** @param {string} name @param {string} passwords @returns {Promise<boolean>} false: there is one already */
  async #make(name, passwords) {
    const labels = { 'app.kubernetes.io/managed-by': 'seganet-tenants' };
    const metadata = { name, labels };
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque', data: { passwords } };
    try {
      await this.#client.ask('POST', this.#client.path(CORE, 'secrets'), secret);
      return true;
    } catch (error) {
      if (error instanceof ApiRefusal && error.status === 409) return false;
      throw error;
    }
  }

  /** @param {Spec} spec */
  async start(spec) {
    await this.#refusals.forgive(objectName(spec));
    await this.#scale(spec, 1);
  }

  /** @param {Spec} spec @param {number} graceMs */
  async stop(spec, graceMs) {
    if (!(await this.#set(spec))) return;
    await this.#scale(spec, 0);
    this.#refusals.forget(objectName(spec));
    const end = performance.now() + graceMs + STOP_SLACK_MS;
    const bell = this.#bells.listen(podOf(spec));
    try {
      while (await this.#pod(spec)) {
        const restMs = end - performance.now();
        if (restMs < 0) throw new Error(`the cluster did not end the pod of ${spec.name}`);
        await bell.wait(Math.min(restMs, LOOK_MS));
      }
    } finally {
      bell.end();
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
    const bell = this.#bells.listen(podOf(spec));
    const ring = () => bell.ring();
    signal.addEventListener('abort', ring);
    try {
      const reason = await this.#untilEnd(spec, bell, signal);
      if (reason) return { reason };
    } finally {
      signal.removeEventListener('abort', ring);
      bell.end();
    }
    return new Promise(() => {});
  }

  /**
   * @param {Spec} spec
   * @param {{ wait: (mostMs: number) => Promise<void> }} bell
   * @param {AbortSignal} signal
   * @returns {Promise<string>} why it ended, '' = the signal came first
   */
  async #untilEnd(spec, bell, signal) {
    const isOver = () => signal.aborted || this.#isClosed;
    const before = await this.#pod(spec);
    while (!isOver()) {
      const [set, pod] = [await this.#set(spec), await this.#pod(spec)];
      if (isOver()) return '';
      if (!(set?.spec?.replicas > 0)) return 'was scaled to 0 in the cluster';
      const reason = pod ? endIn(pod, before) : await this.#refusals.latest(objectName(spec));
      if (isOver()) return '';
      if (reason) {
        // Otherwise the cluster would start it again, in spite of the keeper's back-off.
        await this.#scale(spec, 0);
        return reason;
      }
      await bell.wait(pod ? LOOK_MS : REFUSAL_LOOK_MS);
    }
    return '';
  }

  /** @param {Spec} spec */
  async delay(spec) {
    const pod = await this.#pod(spec);
    return pod ? delayOf(pod) : this.#refusals.latest(objectName(spec), { isAny: true });
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
      this.#client.path(CORE, `pods/${podOf(spec)}/log?tailLines=${lines}`)
    );
    return lastLines(typeof text === 'string' ? text : '', lines);
  }

  /** The StatefulSet and its volume are the operator's. @param {Spec} spec */
  async remove(spec) {
    await this.#client.find('DELETE', this.#client.path(CORE, `secrets/${objectName(spec)}`));
    this.#refusals.forget(objectName(spec));
    this.#open.delete(spec.name);
    fs.rmSync(path.join(this.#state, spec.name), { recursive: true, force: true });
  }

  close() {
    this.#isClosed = true;
    this.#bells.close();
    this.#client.close();
  }

  /** @param {Spec} spec @returns {Promise<any>} */
  #set(spec) {
    return this.#client.find('GET', this.#client.path(APPS, `statefulsets/${objectName(spec)}`));
  }

  /** @param {Spec} spec @returns {Promise<any>} */
  #pod(spec) {
    return this.#client.find('GET', this.#client.path(CORE, `pods/${podOf(spec)}`));
  }

  /** @param {Spec} spec @param {0 | 1} replicas */
  async #scale(spec, replicas) {
    const scale = this.#client.path(APPS, `statefulsets/${objectName(spec)}/scale`);
    await this.#client.ask('PATCH', scale, { spec: { replicas } });
  }
}

/** @param {Spec} spec */
const podOf = (spec) => `${objectName(spec)}-0`;

exports.KubernetesDriver = KubernetesDriver;
