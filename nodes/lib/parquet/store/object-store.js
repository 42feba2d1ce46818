'use strict';
// The files of an archive in a bucket of a store with Amazon's interface S3. A file is there as a whole, or not.

const { StoreError } = require('./store-error');
const { escapePart, sign } = require('./signature');

const TIMEOUT_MS = 60000;
/** Longest page of a list, and longest refusal. */
const MAX_TEXT = 4 * 1024 * 1024;
/** Longest manifest. */
const MAX_OBJECT = 64 * 1024 * 1024;
/** Pages of a list, of usually 1,000 objects each: a store that never ends its list is none. */
const MAX_PAGES = 10000;
const MAX_TAG = 128;
/** What may precede the name of an element, and follow it in its tag. */
const NAMESPACE = '(?:[\\w.-]+:)?';
const REST = '(?:\\s[^<>]*)?>';
const LIST = new RegExp(`<${NAMESPACE}ListBucketResult${REST}`);
const LIST_END = new RegExp(`</${NAMESPACE}ListBucketResult>$`);
const CONTENTS = new RegExp(`<${NAMESPACE}Contents${REST}`);
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

  /**
   * An archive removes what its manifests do not name, so a list that may lack a manifest is refused.
   * @returns {Promise<{ key: string, bytes: number, etag: string }[]>} objects in the folders of days
   */
  async list() {
    const { prefix } = this.#place;
    const found = [];
    let next = '';
    for (let page = 0, isMore = true; isMore; page++) {
      /** @type {[string, string][]} */
      const query = [
        ['list-type', '2'],
        ['prefix', `${prefix}date=`]
      ];
      if (next) query.push(['continuation-token', next]);
      const text = (await this.#whole(await this.#ask('GET', '', { query }), MAX_TEXT)).toString();
      // A page of a proxy is not an empty bucket.
      if (!LIST.test(text) || !LIST_END.test(text.trimEnd().slice(-MAX_TAG)))
        throw this.#noStore('answers with no list of objects');
      const isEscaped = tag(text, 'EncodingType') === 'url';
      for (const object of text.split(CONTENTS).slice(1)) {
        const key = keyOf(object, isEscaped);
        if (!key || !key.startsWith(prefix)) throw this.#noStore('lists objects for which nobody asked');
        const own = key.slice(prefix.length);
        if (own.split('/').length !== 2) continue;
        found.push({ key: own, bytes: Number(tag(object, 'Size')), etag: tag(object, 'ETag') });
      }
      const token = tag(text, 'NextContinuationToken');
      isMore = token !== '' || tag(text, 'IsTruncated') === 'true';
      if (isMore && (token === '' || token === next || page === MAX_PAGES))
        throw this.#noStore('does not end its list of objects');
      next = token;
    }
    return found;
  }

  /** @param {string} key */
  async get(key) {
    return this.#whole(await this.#ask('GET', key), MAX_OBJECT);
  }

  /** @param {string} key @returns {Promise<import('../files/parquet-file').Readable>} */
  async read(key) {
    const { headers } = await this.#ask('HEAD', key);
    const size = Number(headers.get('content-length'));
    const slice = async (/** @type {number} */ start, end = size) => {
      const range = { range: `bytes=${start}-${end - 1}` };
      const bytes = await this.#whole(await this.#ask('GET', key, { headers: range }), end - start);
      if (bytes.length !== end - start) throw new Error(`The object ${key} ends early.`);
      return Uint8Array.from(bytes).buffer;
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
    const answer = await this.#ask('PUT', key, { body: content });
    await this.#whole(answer, MAX_TEXT);
    // The login page of a network answers 200, too, and has stored nothing.
    if (!answer.headers.get('etag')) throw this.#noStore('confirms no file: its answer has no ETag');
  }

  /** @param {string} key */
  async remove(key) {
    await this.#whole(await this.#ask('DELETE', key), MAX_TEXT);
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
    const text = (await this.#whole(answer, MAX_TEXT).catch(() => '')).toString();
    const code = tag(text, 'Code') || `HTTP ${answer.status}`;
    throw this.#refused(
      code,
      `The store at ${host} refuses ${method} in the bucket ${bucket} (${code}).`,
      answer.status >= 500 || answer.status === 429
    );
  }

  /** @param {Response} answer @param {number} most bytes @returns {Promise<Buffer>} @throws {StoreError} */
  async #whole({ body }, most) {
    const chunks = [];
    let length = 0;
    try {
      for await (const chunk of /** @type {AsyncIterable<Uint8Array>} */ (body ?? [])) {
        chunks.push(chunk);
        length += chunk.length;
        if (length > most) break;
      }
    } catch (error) {
      throw this.#unreachable(error);
    }
    if (length > most) throw this.#noStore(`sends more than ${most} bytes, for which nobody asked`);
    return Buffer.concat(chunks);
  }

  /** @param {string} what the server does */
  #noStore(what) {
    return this.#refused('NotS3', `The server at ${this.#base.host} ${what}.`);
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

/** @param {string} object element of a list @param {boolean} isEscaped @returns {string | null} null: it is wrong */
function keyOf(object, isEscaped) {
  const key = tag(object, 'Key');
  try {
    return isEscaped ? decodeURIComponent(key.replaceAll('+', ' ')) : key;
  } catch {
    return null;
  }
}

/** @param {string} xml @param {string} name @returns {string} text of the first element of this name, '' = none */
function tag(xml, name) {
  const [, text = ''] =
    new RegExp(`<${NAMESPACE}${name}${REST}([^<]*)</${NAMESPACE}${name}>`).exec(xml) ?? [];
  return text.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(\w+));/gi, (all, decimal, hex, entity) => {
    if (entity) return ENTITIES[entity] ?? all;
    const code = parseInt(decimal ?? hex, decimal ? 10 : 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : all;
  });
}

exports.ObjectStore = ObjectStore;
