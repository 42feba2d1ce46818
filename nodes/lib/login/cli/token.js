'use strict';
// Tokens of devices that post by HTTP: `name:$sha256$<hex>:device-glob` a line. A token is random and long, so that its plain hash
// cannot be guessed back.

const crypto = require('node:crypto');
const { userProblem } = require('../password-file');
const { putLine } = require('./lines');
const { EXIT, usage } = require('./usage');

const TOKEN_BYTES = 32;
const MAX_GLOB_BYTES = 256;

/** @param {import('./usage').Input} input @param {import('../../cli/output').Output} output */
async function token({ file, name, devices }, output) {
  const problem = userProblem(name);
  if (problem) throw usage(`The name ${problem}.`);
  const glob = devices || name;
  if (Buffer.byteLength(glob) > MAX_GLOB_BYTES || /\p{Cc}/u.test(glob)) {
    throw usage(`--devices takes a device id or a pattern of at most ${MAX_GLOB_BYTES} bytes.`);
  }
  const secret = crypto.randomBytes(TOKEN_BYTES).toString('base64url');
  const hash = crypto.createHash('sha256').update(secret).digest('hex');
  const wasThere = putLine(file, name, `${name}:$sha256$${hash}:${glob}`);
  await output.note(`${wasThere ? 'The token before is void. ' : ''}It is not shown again:`);
  await output.line(secret);
  return EXIT.OK;
}

exports.token = token;
