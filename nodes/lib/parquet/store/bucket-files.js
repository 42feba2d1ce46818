'use strict';
// Copies the files that the manifests of a bucket name to this machine, for programs that read files.

const fs = require('node:fs');
const { setTimeout: delay } = require('node:timers/promises');
const { isAmong } = require('./days');
const { MANIFEST, folderOf, parseManifest, splitKey } = require('./manifest');
const { StoreError } = require('./store-error');

/** @typedef {import('./object-cache').Listed} Listed @typedef {import('./days').Days} Days */

/** The gateway may merge files between the look at the manifests and the copies. */
const TRIES = 2;
/** Copies that are made at the same time. */
const PARALLEL = 4;
/** Pauses before an object is asked again whose connection was lost, or whose store was busy. */
const PAUSES_MS = [1000, 3000];
const GONE = 'NoSuchKey';

/** What a reader does about a refusal, by its code; '' = any other. @param {string} keys where they are from */
const remediesOf = (keys) => ({
  NoSuchBucket: 'Correct the name of the bucket, or the endpoint.',
  InvalidAccessKeyId: `Correct the access key: it is from ${keys}.`,
  SignatureDoesNotMatch: `Correct the secret key: it is from ${keys}.`,
  ExpiredToken: `Get new keys: those of ${keys} have expired.`,
  AccessDenied: 'Allow this key to list the bucket, and to read its objects.',
  RequestTimeTooSkewed: 'Set the clock of this machine.',
  PermanentRedirect: 'Correct the region and the endpoint.',
  AuthorizationHeaderMalformed: 'Correct the region.',
  NotS3: 'Correct the endpoint.',
  ENOTFOUND: 'Correct the endpoint.',
  ECONNREFUSED: 'Correct the endpoint, or start the store.',
  '': 'Try again, or ask who runs the store.'
});

/**
 * @param {object} parts
 * @param {Pick<import('./object-store').ObjectStore, 'list' | 'download'>} parts.store
 * @param {import('./object-cache').ObjectCache} parts.cache
 * @param {Days} parts.days
 * @param {(fetched: { bytes: number, all: number }) => void} parts.progress
 * @returns {Promise<string[]>} paths of copies of the files that the manifests of these days name
 * @throws {StoreError}
 */
async function copyFiles(parts) {
  for (let attempt = 1; ; attempt++) {
    try {
      return await copyOnce(parts);
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== GONE || attempt === TRIES) throw error;
    }
  }
}

/** @param {Parameters<typeof copyFiles>[0]} parts */
async function copyOnce({ store, cache, days, progress }) {
  const listed = await patiently(() => store.list());
  const objects = new Map(listed.map((object) => [object.key, object]));
  const manifests = listed.filter(({ key }) => {
    const at = splitKey(key);
    return at?.name === MANIFEST && isAmong(days, at.date);
  });
  cache.reserve(manifests);
  const texts = await copyAll(manifests, () => {});
  const wanted = manifests.flatMap(({ key }, i) =>
    namesIn(key, texts[i]).map((file) => objects.get(file) ?? missing(file))
  );
  const all = cache.reserve([...manifests, ...wanted]);
  let bytes = 0;
  return copyAll(wanted, (more) => progress({ bytes: (bytes += more), all }));

  /** @param {Listed[]} list @param {(bytes: number) => void} counted @returns {Promise<string[]>} paths */
  async function copyAll(list, counted) {
    /** @type {string[]} */
    const paths = [];
    /** @type {unknown[]} */
    const failures = [];
    const next = list.entries();
    const work = async () => {
      for (const [i, object] of next) {
        if (failures.length > 0) return;
        paths[i] = cache.find(object) || (await patiently(() => cache.copy(store, object.key, counted)));
      }
    };
    const works = Array.from({ length: PARALLEL }, () => work().catch((error) => failures.push(error)));
    // Also after a failure: nothing writes into the cache afterwards.
    await Promise.all(works);
    if (failures.length > 0) throw failures[0];
    return paths;
  }
}

/** @param {string} key of a manifest @param {string} copy @returns {string[]} keys of its files */
function namesIn(key, copy) {
  try {
    const { date } = /** @type {{ date: string }} */ (splitKey(key));
    const runs = parseManifest(fs.readFileSync(copy, 'utf8'));
    return runs.flatMap(({ files }) => files.map(({ name }) => `${folderOf(date)}/${name}`));
  } catch (error) {
    throw new StoreError('MANIFEST', `The manifest ${key} ${/** @type {Error} */ (error).message}.`);
  }
}

/** @param {string} key @returns {never} */
function missing(key) {
  throw new StoreError(GONE, `The bucket has no ${key}, which its manifest names. Restore it from a backup.`);
}

/** @template T @param {() => Promise<T>} ask @returns {Promise<T>} */
async function patiently(ask) {
  for (const pause of PAUSES_MS) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof StoreError) || !error.mayPass) throw error;
      await delay(pause);
    }
  }
  return ask();
}

module.exports = { copyFiles, remediesOf };
