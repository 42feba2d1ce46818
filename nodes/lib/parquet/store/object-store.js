'use strict';
// The files of an archive in a bucket of a store with Amazon's interface S3. A file is there as a whole, or not.

const { StoreError } = require('./store-error');
const { escapePart, sign } = require('./signature');

const TIMEOUT_MS = 60000;
/** Longest answer of a list, and of a refusal. */
const MAX_TEXT = 4 * 1024 * 1024;
const ENTITIES = /** @type {Record<string, string>} */ ({ lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" });
/** What the gateway's user does about a refusal, by its code; '' = any other. @type {Record<string, string>} */
const REMEDIES = {
  NoSuchBucket: 'Create the bucket.',
  InvalidAccessKeyId: 'Correct the access key in the node.',
  SignatureDoesNotMatch: 'Correct the secret key in the node.',
  AccessDenied: 'Allow this key to list the bucket, and to read, write and delete its objects.',
  RequestTimeTooSkewed: 'Set the clock of this machine.',
  NotS3: 'Correct the endpoint in the node.',
  '': 'The gateway tries again.'
};
/** A connection that was lost on the way: the next one may last. */
const LOST = ['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET', 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 'UNREACHABLE'];

/**
 * @typedef {object} Bucket
 * @property {string} endpoint URL, such as https://s3.eu-central-1.amazonaws.com
 * @property {string} bucket
 * @property {string} prefix '' or a path that ends with a slash
 * @property {string} region
 * @property {string} accessKey
 * @property {string} secretKey
 * @property {string} [sessionToken] of keys that expire
 */

/** Methods and keys as of FolderStore. Only one gateway may write below a prefix; nothing here checks that. */
class ObjectStore {
  #place;
  #base;
  #remedies;
  #idleMs;

  /** @param {Bucket} place @param {{ remedies?: Record<string, string>, idleMs?: number }} [options] */
  constructor(place, { remedies = REMEDIES, idleMs = TIMEOUT_MS } = {}) {
    this.#place = place;
    this.#base = new URL(place.endpoint);
    this.#remedies = remedies;
    this.#idleMs = idleMs;
  }

  async open() {}

  close() {}

  /** @returns {Promise<{ key: string, bytes: number, etag: string }[]>} objects in the folders of days */
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
      const text = (await this.#whole(await this.#ask('GET', '', { query }))).toString();
      // A page of a proxy is not an empty bucket.
      if (!text.includes('<ListBucketResult'))
        throw this.#refused('NotS3', `The server at ${this.#base.host} answers with no list of objects.`);
      for (const [, object] of text.matchAll(/<Contents>([^]*?)<\/Contents>/g)) {
        const key = tag(object, 'Key').slice(prefix.length);
        if (key.split('/').length !== 2) continue;
        found.push({ key, bytes: Number(tag(object, 'Size')), etag: tag(object, 'ETag') });
      }
      next = tag(text, 'NextContinuationToken');
    } while (next);
    return found;
  }

  /** @param {string} key */
  async get(key) {
    return this.#whole(await this.#ask('GET', key));
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

  /**
   * Begins to read an object that may take longer than an answer may: only a pause ends it.
   * @param {string} key
   * @returns {Promise<{ etag: string, chunks: AsyncGenerator<Uint8Array> }>} chunks: to be read, or ended with return()
   * @throws {StoreError} as the chunks do
   */
  async download(key) {
    const pause = new AbortController();
    const late = new DOMException(`no bytes for ${this.#idleMs / 1000} s`, 'TimeoutError');
    const timer = setTimeout(() => pause.abort(late), this.#idleMs);
    try {
      const answer = await this.#ask('GET', key, { signal: pause.signal });
      return { etag: answer.headers.get('etag') ?? '', chunks: this.#chunks(answer, timer) };
    } catch (error) {
      clearTimeout(timer);
      throw error;
    }
  }

  /** @param {Response} answer @param {NodeJS.Timeout} timer */
  async *#chunks({ body }, timer) {
    try {
      for await (const chunk of /** @type {AsyncIterable<Uint8Array>} */ (body ?? [])) {
        timer.refresh();
        yield chunk;
      }
    } catch (error) {
      throw this.#unreachable(error);
    } finally {
      clearTimeout(timer);
    }
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
   * @param {{ query?: [string, string][], headers?: Record<string, string>, body?: Uint8Array | string,
   *   signal?: AbortSignal }} [more]
   * @returns {Promise<Response>} of a request that succeeded
   * @throws {StoreError}
   */
  async #ask(method, key, { query, headers, body, signal = AbortSignal.timeout(TIMEOUT_MS) } = {}) {
    const { bucket, prefix, sessionToken } = this.#place;
    const { host, origin, pathname } = this.#base;
    const all = { ...headers, ...(sessionToken && { 'x-amz-security-token': sessionToken }) };
    const full = key === '' ? '' : `/${(prefix + key).split('/').map(escapePart).join('/')}`;
    const path = `${pathname.replace(/\/$/, '')}/${escapePart(bucket)}${full}`;
    const signed = sign({ method, host, path, query, headers: all, body }, this.#place, new Date());
    const url = `${origin}${path}${signed.query && `?${signed.query}`}`;
    const sent = {
      method,
      headers: signed.headers,
      body: /** @type {any} */ (body),
      redirect: /** @type {const} */ ('manual')
    };
    let answer;
    try {
      answer = await fetch(url, { ...sent, signal });
    } catch (error) {
      throw this.#unreachable(error);
    }
    if (answer.ok) return answer;
    const text = (await answer.text().catch(() => '')).slice(0, MAX_TEXT);
    const code = tag(text, 'Code') || `HTTP ${answer.status}`;
    throw this.#refused(
      code,
      `The store at ${host} refuses ${method} in the bucket ${bucket} (${code}).`,
      answer.status >= 500 || answer.status === 429
    );
  }

  /** @param {Response} answer @returns {Promise<Buffer>} @throws {StoreError} */
  async #whole(answer) {
    try {
      return Buffer.from(await answer.arrayBuffer());
    } catch (error) {
      throw this.#unreachable(error);
    }
  }

  /** @param {string} code @param {string} what a sentence @param {boolean} mayPass */
  #refused(code, what, mayPass = false) {
    return new StoreError(code, `${what} ${this.#remedies[code] ?? this.#remedies['']}`, mayPass);
  }

  /** @param {unknown} error of fetch() */
  #unreachable(error) {
    const { name, message, cause } = /** @type {any} */ (error);
    const code = name === 'TimeoutError' ? 'ETIMEDOUT' : (cause?.code ?? 'UNREACHABLE');
    const what = `The store at ${this.#base.host} cannot be reached (${cause?.message || message}).`;
    return this.#refused(code, what, LOST.includes(code));
  }
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
