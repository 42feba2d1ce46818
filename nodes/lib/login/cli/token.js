'use strict';
// Tokens of devices that post over HTTP, one `name:$sha256$<hex>:device-glob` per line. A token is long and random, so
// a plain hash is enough: it cannot be found by guessing.

const crypto = require('node:crypto');
const { parseTokens } = require('../token-file');
const { linesOf, putLines } = require('../lines');
const { EXIT, usage } = require('./usage');

const TOKEN_BYTES = 32;
const MAX_GLOB_BYTES = 256;

/**
 * @param {import('./usage').Input} input
 * @param {import('../../base/cli/cli-output').Output} output
 */
async function token({ file, name, devices }, output) {
  // The same as the name in a line of the file.
  if (!/^[^:\s#][^:\s]{0,127}$/.test(name)) {
    throw usage(
      'The name must have 1 to 128 characters without colons and spaces, and must not begin with #.'
    );
  }
  if (Buffer.byteLength(devices) > MAX_GLOB_BYTES || /\p{Cc}/u.test(devices)) {
    throw usage(`--devices takes a device id or a pattern of at most ${MAX_GLOB_BYTES} bytes.`);
  }
  const secret = crypto.randomBytes(TOKEN_BYTES).toString('base64url');
  const hash = crypto.createHash('sha256').update(secret).digest('hex');
  const globs = devices ? [devices] : globsOf(file, name);
  const before = putLines(
    file,
    name,
    globs.map((glob) => `${name}:$sha256$${hash}:${glob}`)
  );
  await output.note(
    `${before > 0 ? 'The previous token is now invalid. ' : ''}The token is not shown again:`
  );
  await output.line(secret);
  return EXIT.OK;
}

/**
 * Returns the device globs of an existing token, which a renewed token keeps.
 * @param {string} file
 * @param {string} name
 * @returns {string[]}
 */
function globsOf(file, name) {
  const globs = linesOf(file, name).map(
    (line) => /:\$sha256\$[0-9a-f]{64}:(.+)$/i.exec(line.trim())?.[1] ?? ''
  );
  const known = [...new Set(globs.filter(Boolean))];
  return known.length > 0 ? known : [name];
}

/** @param {string} text of a file of passwords or tokens */
function hasTokens(text) {
  return /^[^#:\n]+:\$sha256\$/m.test(text);
}

/** @param {string} text @param {import('../../base/cli/cli-output').Output} output */
async function listTokens(text, output) {
  try {
    for (const { name, globs } of parseTokens(text).values()) await output.line([name, ...globs].join(' '));
    return EXIT.OK;
  } catch (error) {
    await output.note(
      `${/** @type {Error} */ (error).message} The gateway does not use a file with such a line: correct it.`
    );
    return EXIT.NO;
  }
}

module.exports = { token, hasTokens, listTokens };
