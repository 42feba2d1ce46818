'use strict';
// Sends requests to the API server of a cluster, as a pod of it or with a kubeconfig.

const fs = require('node:fs');
const https = require('node:https');
const path = require('node:path');
const { CliError, EXIT, TenantError, messageOf } = require('../base/errors');

/** Where a pod finds its service account. */
const ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';
const ANSWER_MS = 30_000;
const RETRY_MS = 5000;
const MAX_ANSWER_BYTES = 4 << 20;
const NAMESPACE = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/**
 * @typedef {object} Cluster
 * @property {string} server https URL
 * @property {string} namespace
 * @property {Buffer | undefined} ca undefined = those of Node
 * @property {() => string} token read at each request, because a cluster renews it; '' = none
 * @property {Buffer} [cert]
 * @property {Buffer} [key]
 */

/** The API server refused. */
class ApiRefusal extends Error {
  /** @param {string} message @param {number} status */
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

/** @param {NodeJS.ProcessEnv} env @param {string} account folder @returns {Cluster | null} null: this is no pod */
function ownCluster(env, account) {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = '443' } = env;
  const token = path.join(account, 'token');
  if (!host || !fs.existsSync(token)) return null;
  return {
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    namespace: fs.readFileSync(path.join(account, 'namespace'), 'utf8').trim(),
    ca: fs.readFileSync(path.join(account, 'ca.crt')),
    token: () => fs.readFileSync(token, 'utf8').trim()
  };
}

/** @param {any[]} list @param {string} name @param {'cluster' | 'user' | 'context'} kind @returns {any} */
function named(list, name, kind) {
  const found = Array.isArray(list) ? list.find((each) => each?.name === name)?.[kind] : null;
  if (found) return found;
  throw new Error(`it has no ${kind} '${name}'`);
}

/**
 * Reads a kubeconfig in JSON.
 * @param {string} file
 * @returns {Cluster}
 */
function configuredCluster(file) {
  /**
   * @param {any} holder
   * @param {string} key
   * @returns {Buffer | undefined} from the text in the file, or the file that it names
   */
  const bytes = (holder, key) => {
    if (holder[`${key}-data`]) return Buffer.from(holder[`${key}-data`], 'base64');
    return holder[key] ? fs.readFileSync(path.resolve(path.dirname(file), holder[key])) : undefined;
  };
  const config = JSON.parse(fs.readFileSync(file, 'utf8'));
  const context = named(config.contexts, config['current-context'], 'context');
  const cluster = named(config.clusters, context.cluster, 'cluster');
  const user = named(config.users, context.user, 'user');
  const { token = '', tokenFile } = user;
  return {
    server: String(cluster.server),
    namespace: context.namespace ?? 'default',
    ca: bytes(cluster, 'certificate-authority'),
    token: () =>
      tokenFile ? fs.readFileSync(path.resolve(path.dirname(file), tokenFile), 'utf8').trim() : token,
    cert: bytes(user, 'client-certificate'),
    key: bytes(user, 'client-key')
  };
}

/**
 * Returns the cluster of the environment.
 * @param {NodeJS.ProcessEnv} env
 * @param {string} [account] folder of a pod's service account
 * @returns {Cluster}
 * @throws {CliError} exit code 78
 */
function clusterOf(env, account = ACCOUNT) {
  const file = env.SEGANET_TENANTS_KUBECONFIG?.trim();
  let cluster;
  try {
    cluster = file ? configuredCluster(file) : ownCluster(env, account);
  } catch (error) {
    const hint = 'Make it with "kubectl config view --raw --flatten -o json".';
    throw new CliError(
      `The kubeconfig ${file ?? account} is not usable: ${messageOf(error)}. ${hint}`,
      EXIT.CONFIG
    );
  }
  if (!cluster) {
    throw new CliError(
      'There is no cluster. Set SEGANET_TENANTS_KUBECONFIG to a kubeconfig in JSON.',
      EXIT.CONFIG
    );
  }
  const namespace = env.SEGANET_TENANTS_NAMESPACE?.trim() || cluster.namespace;
  if (!NAMESPACE.test(namespace))
    throw new CliError(`'${namespace}' is no name of a namespace.`, EXIT.CONFIG);
  // A token on an unencrypted connection is public.
  if (URL.parse(cluster.server)?.protocol !== 'https:') {
    throw new CliError(
      `The cluster's address must begin with https://, not '${cluster.server}'.`,
      EXIT.CONFIG
    );
  }
  return { ...cluster, namespace };
}

class KubernetesClient {
  #cluster;
  #agent;

  /** @param {Cluster} cluster */
  constructor(cluster) {
    this.#cluster = cluster;
    const { ca, cert, key } = cluster;
    this.#agent = new https.Agent({ keepAlive: true, maxSockets: 8, ca, cert, key });
  }

  /** @param {string} group such as /api/v1 @param {string} rest @returns {string} path in the namespace */
  path(group, rest) {
    return `${group}/namespaces/${this.#cluster.namespace}/${rest}`;
  }

  /**
   * @param {string} method
   * @param {string} path1
   * @param {object} [body] PATCH: a JSON merge patch [RFC 7396]
   * @returns {Promise<any>} JSON, else text
   * @throws {ApiRefusal | TenantError}
   */
  ask(method, path1, body) {
    const data = body === undefined ? null : Buffer.from(JSON.stringify(body));
    return new Promise((resolve, reject) => {
      const away = (/** @type {unknown} */ error) =>
        reject(
          new TenantError(
            'engine',
            `The cluster at ${this.#cluster.server} does not answer: ${messageOf(error)}.`,
            RETRY_MS
          )
        );
      let token;
      try {
        token = this.#cluster.token();
      } catch (error) {
        return away(error);
      }
      const request = https.request(new URL(path1, this.#cluster.server), {
        agent: this.#agent,
        method,
        timeout: ANSWER_MS,
        headers: {
          Accept: 'application/json, */*',
          ...(token && { Authorization: `Bearer ${token}` }),
          ...(data && {
            'Content-Type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
            'Content-Length': data.length
          })
        }
      });
      request.once('timeout', () => request.destroy(new Error(`no answer within ${ANSWER_MS / 1000} s`)));
      request.on('error', away);
      request.once('response', async (response) => {
        try {
          /** @type {Buffer[]} */
          const parts = [];
          let size = 0;
          for await (const part of response) {
            size += part.length;
            if (size > MAX_ANSWER_BYTES) throw new Error('its answer is too long');
            parts.push(part);
          }
          const text = Buffer.concat(parts).toString();
          const status = response.statusCode ?? 0;
          const isJson = String(response.headers['content-type']).startsWith('application/json');
          const value = isJson && text !== '' ? JSON.parse(text) : text;
          // 429 and 5xx: the server is overloaded or starting.
          if (status === 429 || status >= 500) return away(new Error(`it answered ${status}`));
          if (status >= 400)
            return reject(new ApiRefusal(String(value?.message ?? text).slice(0, 400), status));
          resolve(value);
        } catch (error) {
          away(error);
        }
      });
      request.end(data ?? undefined);
    });
  }

  /** As `ask`, but null if there is no such object. @type {KubernetesClient['ask']} */
  async find(method, path1, body) {
    try {
      return await this.ask(method, path1, body);
    } catch (error) {
      if (error instanceof ApiRefusal && error.status === 404) return null;
      throw error;
    }
  }

  close() {
    this.#agent.destroy();
  }
}

exports.ApiRefusal = ApiRefusal;
exports.KubernetesClient = KubernetesClient;
exports.clusterOf = clusterOf;
