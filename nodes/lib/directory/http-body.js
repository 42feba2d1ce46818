'use strict';
// Reads the body of a request, with a limit. Node-RED parses application/json only.

const { DirectoryError } = require('./directory-error');

const MAX_BYTES = 256 * 1024;

/**
 * @param {any} request
 * @param {readonly string[]} types that are accepted
 * @returns {Promise<string | object>} an object if Node-RED has parsed it
 * @throws {DirectoryError}
 */
async function readBody(request, types) {
  const type = String(request.headers['content-type'] ?? '')
    .split(';')[0]
    .trim()
    .toLowerCase();
  if (!types.includes(type) || request.headers['content-encoding'])
    throw new DirectoryError(415, `The body must be ${types.join(' or ')}, without a content encoding.`);
  if (request._body === true || request.readableEnded) return request.body ?? {};
  const chunks = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > MAX_BYTES) throw new DirectoryError(413, `The body has more than ${MAX_BYTES} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/**
 * @param {any} request
 * @param {readonly string[]} types
 * @returns {Promise<any>}
 */
async function readJson(request, types) {
  const body = await readBody(request, types);
  if (typeof body !== 'string') return body;
  try {
    return JSON.parse(body);
  } catch (error) {
    throw new DirectoryError(
      400,
      `The body is not JSON: ${String(/** @type {Error} */ (error).message).slice(0, 200)}.`
    );
  }
}

module.exports = { MAX_BYTES, readBody, readJson };
