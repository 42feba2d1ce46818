'use strict';
// A namespace for one check: Pod Security `restricted`, and a keeper's account with the rights that are printed.

const fs = require('node:fs');
const path = require('node:path');
const { eventually } = require('../../../bench/harness/net');
const { KubernetesDriver } = require('../../../docker/tenants/lib/drivers/kubernetes');
const { manifestOf } = require('../../../docker/tenants/lib/drivers/kubernetes-manifest');
const { rightsOf } = require('../../../docker/tenants/lib/drivers/kubernetes-rights');
const { untilAccepts } = require('../../../docker/tenants/lib/life/readiness');
const { checkTenant } = require('../../../nodes/lib/tenants/file/schema');
const { DIGEST } = require('../../fixtures/tenants/digest');
const { WEB, ask } = require('../../fixtures/tenants/driver-suite');

/** Where the API has each kind. @type {Record<string, string>} */
const PLACES = {
  ConfigMap: 'api/v1 configmaps',
  Deployment: 'apis/apps/v1 deployments',
  LimitRange: 'api/v1 limitranges',
  NetworkPolicy: 'apis/networking.k8s.io/v1 networkpolicies',
  PodDisruptionBudget: 'apis/policy/v1 poddisruptionbudgets',
  ResourceQuota: 'api/v1 resourcequotas',
  Role: 'apis/rbac.authorization.k8s.io/v1 roles',
  RoleBinding: 'apis/rbac.authorization.k8s.io/v1 rolebindings',
  Secret: 'api/v1 secrets',
  Service: 'api/v1 services',
  ServiceAccount: 'api/v1 serviceaccounts',
  StatefulSet: 'apis/apps/v1 statefulsets'
};

/** @typedef {import('../../../nodes/lib/tenants/file/schema').Spec} Spec */

let made = 0;

class Home {
  /** @type {KubernetesDriver[]} */
  #drivers = [];
  token = '';

  /** @param {import('./cluster').Cluster} cluster */
  constructor(cluster) {
    this.cluster = cluster;
    this.admin =
      /** @type {import('../../../docker/tenants/lib/drivers/kubernetes-client').KubernetesClient} */ (
        cluster.admin
      );
    this.namespace = `home-${++made}`;
    this.folder = path.join(cluster.folder, this.namespace);
  }

  async open() {
    const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
    const metadata = { name: this.namespace, labels };
    await this.admin.ask('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata });
    // Without its account no pod is made; a controller makes it.
    await eventually(() => this.admin.find('GET', this.at('ServiceAccount', 'default')));
    for (const object of /** @type {any} */ (rightsOf(this.namespace)).items) await this.apply(object);
    const account = this.at('ServiceAccount', 'seganet-tenants/token');
    this.token = (await this.admin.ask('POST', account, { spec: { expirationSeconds: 3600 } })).status.token;
    fs.mkdirSync(this.folder);
    return this;
  }

  /** @param {string} kind @param {string} [name] @returns {string} its path in this namespace */
  at(kind, name) {
    const [group, resource] = PLACES[kind].split(' ');
    return `/${group}/namespaces/${this.namespace}/${resource}${name ? `/${name}` : ''}`;
  }

  /**
   * Makes an object; an unknown or doubled field is an error.
   * @param {any} object
   * @param {{ isTrial?: boolean }} [options] isTrial: the server checks it and keeps nothing
   */
  apply(object, { isTrial = false } = {}) {
    return this.admin.ask(
      'POST',
      `${this.at(object.kind)}?fieldValidation=Strict${isTrial ? '&dryRun=All' : ''}`,
      object
    );
  }

  /** @returns {KubernetesDriver} as the keeper has it */
  driver() {
    const { namespace, token } = this;
    const driver = new KubernetesDriver(
      { state: path.join(this.folder, 'state') },
      this.cluster.cluster({ namespace, token })
    );
    this.#drivers.push(driver);
    return driver;
  }

  /**
   * @param {object} [entry] of the tenants file
   * @param {(items: any[]) => void} [change] of what is printed, before it is made
   * @returns {Promise<Spec>} a tenant whose objects the cluster has
   */
  async tenant(entry = {}, change = () => {}) {
    const limits = { memoryMiB: 64, cpus: 0.1 };
    const spec = checkTenant({
      name: 'acme',
      driver: 'kubernetes',
      image: DIGEST,
      http: WEB,
      limits,
      ...entry
    });
    const { items } = /** @type {any} */ (manifestOf(spec));
    change(items);
    for (const item of items) await this.apply(item);
    return spec;
  }

  /** @param {KubernetesDriver} driver @param {Spec} spec @returns {Promise<string>} its address, when it answers */
  async started(driver, spec) {
    await driver.create(spec);
    await driver.start(spec);
    const host = await driver.address(spec);
    await untilAccepts(
      { host, port: spec.port, login: { user: 'keeper', password: 'x' } },
      AbortSignal.timeout(30_000)
    );
    await eventually(() => ask(host, 'hello').then(Boolean, () => false));
    return host;
  }

  /** @param {string} group @param {string} kinds @param {string} [query] @returns {Promise<any[]>} */
  async list(group, kinds, query = '') {
    return (await this.admin.ask('GET', `/${group}/namespaces/${this.namespace}/${kinds}${query}`)).items;
  }

  async close() {
    for (const driver of this.#drivers) driver.close();
    await this.admin.ask('DELETE', `/api/v1/namespaces/${this.namespace}`);
    fs.rmSync(this.folder, { recursive: true, force: true });
  }
}

exports.Home = Home;
