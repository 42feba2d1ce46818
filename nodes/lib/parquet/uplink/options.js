'use strict';
// Checks the options of the thread of a parquet uplink, and reads the settings of its node into them.

const path = require('node:path');
const { CLASSES } = require('../../base/classes');
const { isLoopback } = require('../../base/loopback');
const { badCharacter } = require('../../base/topic-template');
const { shown } = require('../../base/values');

/**
 * @typedef {object} FileOptions
 * @property {string} url for display
 * @property {string} folder absolute; '' = the files are in a bucket
 * @property {import('../store/object-store').Bucket | null} bucket
 * @property {number} maxRows of one file
 * @property {number} maxBytes of its rows in memory
 * @property {number} maxWaitMs that a record waits for its file
 * @property {string} [clientId]
 */

/**
 * Options of the thread.
 * @typedef {FileOptions & { gateway: string, replicated?: boolean, stateMs?: number, nativePath?: string,
 *   quietMs?: number }} ThreadOptions quietMs: see compaction.js, for tests
 * @typedef {Required<Omit<ThreadOptions, 'replicated'>> & { groups: number[][] }} CheckedOptions
 */

const MIB = 1024 * 1024;
const QUIET_MS = 60000;
const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const PREFIX = /^[A-Za-z0-9!\-_.*'()/]{0,512}$/;
const ALL = [Array.from({ length: CLASSES }, (_, i) => i + 1)];

/**
 * @param {ReturnType<typeof import('../../base/options').parseOptions<typeof import('../settings/parquet-uplink').schema>>['values']} values
 * @param {string} defaultFolder absolute
 * @returns {{ options: FileOptions, warning: string }}
 * @throws {TypeError} with a sentence
 */
function fileOptions({ place, folder, maxRows, maxMiB, maxWaitS, ...values }, defaultFolder) {
  const limits = { maxRows, maxBytes: maxMiB * MIB, maxWaitMs: maxWaitS * 1000 };
  if (place === 's3') {
    const { bucket, warning } = bucketOf(values);
    return {
      options: { url: `s3://${bucket.bucket}/${bucket.prefix}`, folder: '', bucket, ...limits },
      warning
    };
  }
  if (folder.includes('\0')) throw new TypeError('Folder must not contain NUL.');
  if (folder !== '' && !path.isAbsolute(folder))
    throw new TypeError(
      `The folder "${shown(folder)}" is relative. Enter the whole path, such as /var/lib/seganet/parquet.`
    );
  const whole = path.resolve(folder || defaultFolder);
  return { options: { url: whole, folder: whole, bucket: null, ...limits }, warning: '' };
}

/**
 * @param {{ endpoint: string, bucket: string, prefix: string, region: string, accessKey?: string, secretKey?: string }}
 *   values
 * @returns {{ bucket: import('../store/object-store').Bucket, warning: string }}
 */
function bucketOf({ endpoint, bucket, prefix, region, accessKey = '', secretKey = '' }) {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : null;
  if (!url || !['http:', 'https:'].includes(url.protocol) || url.username || url.search || url.hash)
    throw new TypeError(
      `The endpoint "${shown(endpoint)}" is not the address of a store. Enter a URL such as https://s3.eu-central-1.amazonaws.com.`
    );
  if (!BUCKET.test(bucket))
    throw new TypeError(
      `"${shown(bucket)}" is not the name of a bucket. Use 3 to 63 lower-case letters, digits, dots and hyphens.`
    );
  // A URL cannot have the parts . and .. of a path.
  if (!PREFIX.test(prefix) || prefix.split('/').some((part) => part === '.' || part === '..'))
    throw new TypeError(
      `The prefix "${shown(prefix)}" is wrong. Use letters, digits, slashes and ! - _ . * ' ( ), at most 512, and no part . or .., such as plant-7/records.`
    );
  if (accessKey === '' || secretKey === '')
    throw new TypeError('The store has no access key or no secret key. Enter both.');
  const trimmed = prefix.replace(/^\/+|\/+$/g, '');
  const isOpen = url.protocol === 'http:' && !isLoopback(url.hostname);
  return {
    bucket: { endpoint, bucket, prefix: trimmed && `${trimmed}/`, region, accessKey, secretKey },
    warning: isOpen ? `The connections to ${url.host} are not encrypted. Use https outside this machine.` : ''
  };
}

/**
 * Fills in what the thread needs.
 * @param {ThreadOptions} options
 * @param {string} defaultNative
 * @returns {CheckedOptions}
 * @throws {TypeError} with a sentence
 */
function checkOptions({ replicated = false, ...options }, defaultNative) {
  const { gateway, stateMs = 1000, nativePath = defaultNative, quietMs = QUIET_MS } = options;
  const bad = badCharacter(gateway);
  if (bad) throw new TypeError(`The gateway id '${gateway}' ${bad}.`);
  if (replicated && !options.bucket)
    throw new TypeError(
      'Files of one machine are no second copy, so a parquet uplink cannot acknowledge records as replicated. Use another engine for it, or another "Acknowledge".'
    );
  return { ...options, clientId: options.clientId || gateway, groups: ALL, stateMs, nativePath, quietMs };
}

module.exports = { bucketOf, checkOptions, fileOptions };
