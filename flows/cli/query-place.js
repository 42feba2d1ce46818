'use strict';
// Finds the Parquet files for a query: a folder, or a bucket and its access keys.

const fs = require('node:fs');
const path = require('node:path');
const { CliError } = require('../../nodes/lib/base/cli/cli-error');
const { workAsOwnerOf } = require('../../nodes/lib/base/cli/rights');
const { resolved } = require('../../nodes/lib/base/variable-reference');
const { bucketOf } = require('../../nodes/lib/parquet/uplink/options');
const { runningNodes } = require('../service/running-nodes');
const { credentialsOf } = require('./flow-credentials');
const { nodesOf } = require('./flow-ports');
const { environmentOf, homeOf } = require('./home-settings');
const { EXIT } = require('./usage');

const REGION = 'us-east-1';
const CACHE = 'query-cache';

/**
 * @typedef {import('../../nodes/lib/parquet/store/object-store').Bucket} Bucket
 * @typedef {Bucket & { keys: string }} Access keys: where they are from
 * @typedef {{ folder: string, access: null } | { folder: string, access: Access }} Place folder: of the files, or of
 *   the cache of the bucket's
 */

/**
 * Finds the place, and gives up root for the owner of its folder.
 * @param {import('./usage').Question} question
 * @param {string} given --home
 * @returns {Place}
 * @throws {CliError}
 */
function placeOf(question, given) {
  if (question.folder) {
    if (!fs.existsSync(question.folder)) throw cannot(`There is no folder ${question.folder}.`);
    workAsOwnerOf(question.folder);
    return { folder: question.folder, access: null };
  }
  const home = homeOf(given);
  const hasHome = fs.existsSync(home);
  if (hasHome) workAsOwnerOf(home);
  const env = environmentOf(home);
  const nodes = hasHome ? bucketsOf(home, env) : [];
  const access = question.bucket ? accessTo(question, nodes, env) : null;
  if (!access) {
    const place = onlyPlace(home, nodes);
    if ('folder' in place) return { ...place, access: null };
    return { folder: question.cache || path.join(home, CACHE), access: withKeys(place) };
  }
  if (!hasHome && !question.cache)
    throw cannot(`There is no folder ${home} for the cache. Name a folder with --cache.`);
  if (!hasHome) workAsOwnerOf(question.cache);
  return { folder: question.cache || path.join(home, CACHE), access: withKeys(access) };
}

/** @param {string} home @param {NodeJS.ProcessEnv} env @returns {Access[]} of the parquet uplink nodes of the flow */
function bucketsOf(home, env) {
  const nodes = runningNodes(nodesOf(path.join(home, 'gateway.json'))).filter(
    (node) => node.type === 'seganet-parquet-uplink' && resolved(node.place, env) === 's3'
  );
  const secrets = nodes.length > 0 ? secretsOf(home) : {};
  return nodes.map((node) => {
    const of = (/** @type {string} */ name) => resolved(secrets[node.id]?.[name] || node[name], env).trim();
    return {
      endpoint: of('endpoint'),
      bucket: of('bucket'),
      prefix: trimmed(of('prefix')),
      region: of('region') || REGION,
      accessKey: of('accessKey'),
      secretKey: of('secretKey'),
      keys: `the node ${node.name || node.id}`
    };
  });
}

/** @param {string} home @returns {Record<string, Record<string, string>>} */
function secretsOf(home) {
  try {
    return credentialsOf(home) ?? {};
  } catch {
    // Without keys, the answer says where they are missing; seganet-gateway check says why.
    return {};
  }
}

/**
 * @param {import('./usage').Question} question with a bucket
 * @param {Access[]} nodes
 * @param {NodeJS.ProcessEnv} env
 * @returns {Access} of a node of the flow with this bucket, else of the variables of Amazon's tools
 */
function accessTo({ bucket: url, endpoint, region }, nodes, env) {
  const [, bucket, rest = ''] = /** @type {RegExpExecArray} */ (/^s3:\/\/([^/]+)\/?(.*)$/s.exec(url));
  const prefix = trimmed(rest);
  const node = nodes.find(
    (each) =>
      each.bucket === bucket && each.prefix === prefix && (endpoint === '' || each.endpoint === endpoint)
  );
  if (node) return { ...node, ...(region && { region }) };
  const place = region || env.AWS_REGION?.trim() || env.AWS_DEFAULT_REGION?.trim() || REGION;
  const near = env.AWS_ENDPOINT_URL_S3?.trim() || env.AWS_ENDPOINT_URL?.trim();
  return {
    endpoint: endpoint || near || `https://s3.${place}.amazonaws.com`,
    bucket,
    prefix,
    region: place,
    accessKey: env.AWS_ACCESS_KEY_ID?.trim() ?? '',
    secretKey: env.AWS_SECRET_ACCESS_KEY?.trim() ?? '',
    sessionToken: env.AWS_SESSION_TOKEN?.trim(),
    keys: 'AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY'
  };
}

/** @param {Access} access @returns {Access} checked */
function withKeys({ keys, sessionToken, ...access }) {
  if (access.accessKey === '' || access.secretKey === '')
    throw cannot(
      `There are no keys to s3://${access.bucket}/${access.prefix} in ${keys}. A parquet uplink node of the flow with this bucket and prefix has keys, or else set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.`
    );
  if (!/^[a-z0-9-]{1,64}$/.test(access.region))
    throw cannot('The region must be a name such as eu-central-1.');
  try {
    return { ...bucketOf(access).bucket, sessionToken, keys };
  } catch (error) {
    throw cannot(/** @type {Error} */ (error).message);
  }
}

/**
 * Returns the only place of parquet uplink nodes: a default folder, or a bucket.
 * @param {string} home
 * @param {Access[]} nodes
 * @returns {{ folder: string } | Access}
 */
function onlyPlace(home, nodes) {
  const parent = path.join(home, 'seganet-parquet');
  const folders = fs.existsSync(parent) ? fs.readdirSync(parent).sort() : [];
  if (folders.length + nodes.length === 1) return nodes[0] ?? { folder: path.join(parent, folders[0]) };
  const urls = nodes.map(({ bucket, prefix }) => `s3://${bucket}/${prefix}`);
  const found = [...folders.map((name) => path.join(parent, name)), ...urls];
  const what =
    found.length === 0
      ? `There are no Parquet files in ${parent}, and the flow has no bucket.`
      : `There are several: ${found.slice(0, 10).join(', ')}.`;
  throw cannot(`${what} Name the folder with --folder, or the bucket with --bucket.`);
}

/** @param {string} prefix */
const trimmed = (prefix) => prefix.replace(/^\/+|\/+$/g, '');

/** @param {string} sentence */
const cannot = (sentence) => new CliError(sentence, EXIT.CANNOT);

exports.placeOf = placeOf;
