'use strict';
// The files of an archive in a bucket of a store with Amazon's interface S3. A file is there as a whole, or not.

const { StoreError } = require('./store-error');
const { escapePart, sign } = require('./signature');

const TIMEOUT_MS = 60000;
/** Longest answer of a list, and of a refusal. */
const MAX_TEXT = 4 * 1024 * 1024;
const ENTITIES = /** @type {Record<string, string>} */ ({ lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" });
/** What to do about a refusal, by its code. @type {Record<string, string>} */
const REMEDIES = {
  NoSuchBucket: 'Create the bucket.',
  InvalidAccessKeyId: 'Correct the access key in the node.',
  SignatureDoesNotMatch: 'Correct the secret key in the node.',
  AccessDenied: 'Allow this key to list the bucket, and to read, write and delete its objects.',
  RequestTimeTooSkewed: 'Set the clock of this machine.'
};

/**
 * @typedef {object} Bucket
 * @property {string} endpoint URL, such as https://s3.eu-central-1.amazonaws.com
 * @property {string} bucket
 * @property {string} prefix '' or a path that ends with a slash
 * @property {string} region
 * @property {string} accessKey
 * @property {string} secretKey
 */

/** Methods and keys as of FolderStore. Only one gateway may write below a prefix; nothing here checks that. */
class ObjectStore {
  #place;
  #base;

  /** @param {Bucket} place */
  constructor(place) {
    this.#place = place;
    this.#base = new URL(place.endpoint);
  }

  async open() {}

  close() {}

  async list() {
    const { prefix } = this.#place;
    const found = [];
    let next = '';
    do {
      /** @type {[string, string][]} */
      const query = [
        ['list-type', '2'],
        ['prefix', `${prefix}date=`]
      ];
      if (next) query.push(['continuation-token', next]);
      const text = await (await this.#ask('GET', '', { query })).text();
      // A page of a proxy is not an empty bucket.
      if (!text.includes('<ListBucketResult'))
        throw new StoreError(
          'NotS3',
          `The server at ${this.#base.host} answers with no list of objects. Correct the endpoint in the node.`
        );
      for (const [, object] of text.matchAll(/<Contents>([^]*?)<\/Contents>/g)) {
        const key = tag(object, 'Key').slice(prefix.length);
        if (key.split('/').length === 2) found.push({ key, bytes: Number(tag(object, 'Size')) });
      }
      next = tag(text, 'NextContinuationToken');
    } while (next);
    return found;
  }

  /** @param {string} key */
  async get(key) {
    return Buffer.from(await (await this.#ask('GET', key)).arrayBuffer());
  }

  /** @param {string} key @returns {Promise<import('../files/parquet-file').Readable>} */
  async read(key) {
    const { headers } = await this.#ask('HEAD', key);
    const size = Number(headers.get('content-length'));
    const slice = async (/** @type {number} */ start, end = size) => {
      const range = { range: `bytes=${start}-${end - 1}` };
      const bytes = await (await this.#ask('GET', key, { headers: range })).arrayBuffer();
      if (bytes.byteLength !== end - start) throw new Error(`The object ${key} ends early.`);
      return bytes;
    };
    return { byteLength: size, slice };
  }

  /** @param {string} key @param {Uint8Array | string} content */
  async put(key, content) {
    await (await this.#ask('PUT', key, { body: content })).text();
  }

  /** @param {string} key */
  async remove(key) {
    await (await this.#ask('DELETE', key)).text();
  }

  /**
   * @param {string} method
   * @param {string} key '' = the bucket
   * @param {{ query?: [string, string][], headers?: Record<string, string>, body?: Uint8Array | string }} [more]
   * @returns {Promise<Response>} of a request that succeeded
   * @throws {StoreError}
   */
  async #ask(method, key, { query, headers, body } = {}) {
    const { bucket, prefix } = this.#place;
    const { host, origin, pathname } = this.#base;
    const full = key === '' ? '' : `/${(prefix + key).split('/').map(escapePart).join('/')}`;
    const path = `${pathname.replace(/\/$/, '')}/${escapePart(bucket)}${full}`;
    const signed = sign({ method, host, path, query, headers, body }, this.#place, new Date());
    const url = `${origin}${path}${signed.query && `?${signed.query}`}`;
    const sent = {
      method,
      headers: signed.headers,
      body: /** @type {any} */ (body),
      redirect: /** @type {const} */ ('manual')
    };
    let answer;
    try {
      answer = await fetch(url, { ...sent, signal: AbortSignal.timeout(TIMEOUT_MS) });
    } catch (error) {
      throw unreachable(error, this.#base.host);
    }
    if (answer.ok) return answer;
    const text = (await answer.text().catch(() => '')).slice(0, MAX_TEXT);
    const code = tag(text, 'Code') || `HTTP ${answer.status}`;
    const remedy = REMEDIES[code] ?? 'The gateway tries again.';
    throw new StoreError(
      code,
      `The store at ${host} refuses ${method} in the bucket ${bucket} (${code}). ${remedy}`
    );
  }
}

/** @param {unknown} error of fetch() @param {string} host */
function unreachable(error, host) {
  const { name, message, cause } = /** @type {any} */ (error);
  const code = name === 'TimeoutError' ? 'ETIMEDOUT' : (cause?.code ?? 'UNREACHABLE');
  const why = cause?.message || message;
  return new StoreError(code, `The store at ${host} cannot be reached (${why}). The gateway tries again.`);
}

/** @param {string} xml @param {string} name @returns {string} text of the first element of this name, '' = none */
function tag(xml, name) {
  const [, text = ''] = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml) ?? [];
  return text.replace(/&(?:#(\d+)|#x([0-9a-f]+)|(\w+));/gi, (all, decimal, hex, entity) =>
    decimal || hex
      ? String.fromCodePoint(parseInt(decimal ?? hex, decimal ? 10 : 16))
      : (ENTITIES[entity] ?? all)
  );
}

exports.ObjectStore = ObjectStore;
