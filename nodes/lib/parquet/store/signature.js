'use strict';
// Signs requests to a store with Amazon's interface S3 (AWS Signature Version 4). Pure.

const crypto = require('node:crypto');

const ALGORITHM = 'AWS4-HMAC-SHA256';

/** @param {string | Uint8Array} data */
const sha256 = (data) => crypto.createHash('sha256').update(data).digest('hex');
/** @param {string | Buffer} key @param {string} data */
const hmac = (key, data) => crypto.createHmac('sha256', key).update(data).digest();

/**
 * Escapes a part of a path or a query as the signature wants it: all but A-Z a-z 0-9 - . _ ~.
 * @param {string} text
 */
function escapePart(text) {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`
  );
}

/**
 * @param {object} request
 * @param {string} request.method
 * @param {string} request.host with the port, if it is not the scheme's
 * @param {string} request.path escaped
 * @param {[string, string][]} [request.query] not escaped
 * @param {Record<string, string>} [request.headers] in lower case
 * @param {string | Uint8Array} [request.body]
 * @param {{ accessKey: string, secretKey: string, region: string }} access
 * @param {Date} now
 * @returns {{ query: string, headers: Record<string, string> }} to send
 */
function sign(
  { method, host, path, query = [], headers = {}, body = '' },
  { accessKey, secretKey, region },
  now
) {
  const time = now.toISOString().replace(/[-:]|\.\d+/g, '');
  const day = time.slice(0, 8);
  const scope = `${day}/${region}/s3/aws4_request`;
  const digest = sha256(body);
  const all = { ...headers, host, 'x-amz-content-sha256': digest, 'x-amz-date': time };
  const names = Object.keys(all).sort();
  const escaped = query
    .map(([name, value]) => `${escapePart(name)}=${escapePart(value)}`)
    .sort()
    .join('&');
  const canonical = [
    method,
    path,
    escaped,
    ...names.map((name) => `${name}:${/** @type {Record<string, string>} */ (all)[name].trim()}`),
    '',
    names.join(';'),
    digest
  ].join('\n');
  const key = ['s3', 'aws4_request'].reduce(hmac, hmac(hmac(`AWS4${secretKey}`, day), region));
  const signature = hmac(key, [ALGORITHM, time, scope, sha256(canonical)].join('\n')).toString('hex');
  return {
    query: escaped,
    headers: {
      ...headers,
      'x-amz-content-sha256': digest,
      'x-amz-date': time,
      authorization: `${ALGORITHM} Credential=${accessKey}/${scope}, SignedHeaders=${names.join(';')}, Signature=${signature}`
    }
  };
}

module.exports = { escapePart, sign };
