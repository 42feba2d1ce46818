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
/** Most tries of one request. */
const TRIES = 4;
/** Time until a request is repeated: most of what the server may ask for, and after a conflict. */
const MOST_WAIT_MS = 10_000;
const CONFLICT_WAIT_MS = 100;
/** Longest time for which a server that is not ready may refuse rights, and the time until the next try. */
const START_MS = 20_000;
const START_WAIT_MS = 500;
/** The server sends a bookmark each minute, so a watch without a byte for this time is dead. */
const SILENCE_MS = 180_000;
const METADATA = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1';
const RIGHTS_HINT = '"seganet-tenants manifest --keeper" prints the rights of the keeper';
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

/**
 * @typedef {object} SendOptions
 * @property {object} [body]
 * @property {string} [accept]
 * @property {number} idleMs longest time without a byte
 * @property {AbortSignal} [signal]
 */

/** @param {number} ms */
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

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

/** @param {number} status @param {string} text @returns {boolean} the account lacks a right */
const isRight = (status, text) => status === 403 && / cannot \S+ resource /.test(text);

class KubernetesClient {
  #cluster;
  #agent;

  /** @param {Cluster} cluster */
  constructor(cluster) {
    this.#cluster = cluster;
    const { ca, cert, key } = cluster;
    this.#agent = new https.Agent({ keepAlive: true, maxSockets: 8, ca, cert, key });
  }

  get namespace() {
    return this.#cluster.namespace;
  }

  /** @param {string} group such as /api/v1 @param {string} rest @returns {string} path in the namespace */
  path(group, rest) {
    return `${group}/namespaces/${this.#cluster.namespace}/${rest}`;
  }

  /**
   * Repeats a request that the server did not execute: 429, the 409 of a patch that met another writer, and the 403 of
   * a server that starts.
   * @param {string} method
   * @param {string} path1
   * @param {object} [body] PATCH: a JSON merge patch [RFC 7396]
   * @returns {Promise<any>} JSON, else text
   * @throws {ApiRefusal | TenantError}
   */
  async ask(method, path1, body) {
    for (let tries = 1; ; tries++) {
      const response = await this.#admitted(method, path1, { body, idleMs: ANSWER_MS });
      const { statusCode: status = 0, headers } = response;
      const value = await this.#read(response);
      if (status < 400) return value;
      const canRepeat = status === 429 || (status === 409 && method === 'PATCH');
      if (!canRepeat || tries === TRIES) throw this.#errorOf(status, value);
      const seconds = Number(headers['retry-after'] ?? 0);
      await pause(Math.min(seconds > 0 ? seconds * 1000 : CONFLICT_WAIT_MS, MOST_WAIT_MS));
    }
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

  /**
   * Watches objects until the server ends its answer. The events contain only the metadata of the objects.
   * @param {string} path1 with `watch=1`
   * @param {(event: { type: string, object: any }) => void} onEvent
   * @param {AbortSignal} signal
   * @throws {ApiRefusal | TenantError} ApiRefusal 410: the version is too old, begin without one
   */
  async watch(path1, onEvent, signal) {
    const response = await this.#admitted('GET', path1, { accept: METADATA, idleMs: SILENCE_MS, signal });
    const { statusCode: status = 0 } = response;
    if (status >= 400) throw this.#errorOf(status, await this.#read(response));
    let rest = '';
    try {
      for await (const part of response.setEncoding('utf8')) {
        const lines = `${rest}${part}`.split('\n');
        rest = lines.pop() ?? '';
        if (rest.length > MAX_ANSWER_BYTES) throw new Error('its answer is too long');
        for (const line of lines) {
          const event = JSON.parse(line);
          if (event.type === 'ERROR') throw this.#errorOf(Number(event.object?.code), event.object);
          onEvent(event);
        }
      }
    } catch (error) {
      throw error instanceof ApiRefusal || error instanceof TenantError ? error : this.#away(error);
    }
  }

  close() {
    this.#agent.destroy();
  }

  /** @param {unknown} error @returns {TenantError} */
  #away(error) {
    const text = `The cluster at ${this.#cluster.server} does not answer: ${messageOf(error)}.`;
    return new TenantError('engine', text, RETRY_MS);
  }

  /** @param {number} status @param {any} value @returns {ApiRefusal | TenantError} */
  #errorOf(status, value) {
    const text = String(value?.message ?? value).slice(0, 400);
    // 429 and 5xx: the server is overloaded or starting.
    if (!(status >= 400 && status < 500) || status === 429)
      return this.#away(new Error(`it answered ${status}`));
    return new ApiRefusal(isRight(status, text) ? `${text}. ${RIGHTS_HINT}` : text, status);
  }

  /**
   * Sends a request, again while a server that is not ready refuses the right to it: after its start, a server refuses
   * all rights until it has read them. A server that is ready is asked once more, because it may have become ready
   * after the refusal. Where the account may not ask whether the server is ready, the refusal counts after a time.
   * @param {string} method
   * @param {string} path1
   * @param {SendOptions} options
   * @returns {Promise<import('node:http').IncomingMessage>}
   * @throws {ApiRefusal | TenantError}
   */
  async #admitted(method, path1, options) {
    const end = performance.now() + START_MS;
    for (let isReady = false; ;) {
      const response = await this.#send(method, path1, options);
      if (response.statusCode !== 403) return response;
      const value = await this.#read(response);
      if (isReady || performance.now() > end || !isRight(403, String(value?.message)))
        throw this.#errorOf(403, value);
      isReady = await this.#isReady();
      if (!isReady) await pause(START_WAIT_MS);
    }
  }

  /** @returns {Promise<boolean>} @throws {TenantError} */
  async #isReady() {
    const response = await this.#send('GET', '/readyz', { idleMs: ANSWER_MS });
    const { statusCode: status = 0 } = response;
    const value = await this.#read(response);
    if (status >= 500) throw this.#errorOf(status, value);
    return status < 400;
  }

  /**
   * @param {string} method
   * @param {string} path1
   * @param {SendOptions} options
   * @returns {Promise<import('node:http').IncomingMessage>}
   */
  #send(method, path1, { body, accept = 'application/json, */*', idleMs, signal }) {
    const data = body === undefined ? null : Buffer.from(JSON.stringify(body));
    return new Promise((resolve, reject) => {
      const away = (/** @type {unknown} */ error) => reject(this.#away(error));
      let token;
      try {
        token = this.#cluster.token();
      } catch (error) {
        return away(error);
      }
      const request = https.request(new URL(path1, this.#cluster.server), {
        agent: this.#agent,
        method,
        timeout: idleMs,
        signal,
        headers: {
          Accept: accept,
          ...(token && { Authorization: `Bearer ${token}` }),
          ...(data && {
            'Content-Type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
            'Content-Length': data.length
          })
        }
      });
      request.once('timeout', () => request.destroy(new Error(`no answer within ${idleMs / 1000} s`)));
      request.on('error', away);
      request.once('response', resolve);
      request.end(data ?? undefined);
    });
  }

  /** @param {import('node:http').IncomingMessage} response @returns {Promise<any>} JSON, else text */
  async #read(response) {
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
      const isJson = String(response.headers['content-type']).startsWith('application/json');
      return isJson && text !== '' ? JSON.parse(text) : text;
    } catch (error) {
      throw this.#away(error);
    }
  }
}

exports.ApiRefusal = ApiRefusal;
exports.KubernetesClient = KubernetesClient;
exports.clusterOf = clusterOf;
