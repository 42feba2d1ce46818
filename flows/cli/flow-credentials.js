'use strict';
// The passwords of a flow, which Node-RED keeps encrypted beside it.

const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const { readRegular } = require('../../nodes/lib/base/files/regular-file');
const { lacksSecret } = require('../launcher/home');

/** @param {string} home @returns {{ secretFile: string, file: string }} */
function filesOf(home) {
  const [secretFile, file] = ['credential-secret', 'gateway_cred.json'].map((name) => path.join(home, name));
  return { secretFile, file };
}

/**
 * @param {string} home
 * @returns {Record<string, Record<string, string>> | null} by id of the node; null = the flow has none
 * @throws {Error} if they cannot be decrypted
 */
function credentialsOf(home) {
  const { secretFile, file } = filesOf(home);
  if (lacksSecret(home)) throw new Error(`${secretFile} is missing`);
  if (!fs.existsSync(secretFile) || !fs.existsSync(file)) return null;
  const secret = readRegular(secretFile).trim();
  if (!/^[0-9a-f]{64}$/.test(secret)) throw new Error(`${secretFile} is damaged`);
  const { $: sealed } = JSON.parse(readRegular(file));
  const key = crypto.createHash('sha256').update(secret).digest();
  const decipher = crypto.createDecipheriv('aes-256-ctr', key, Buffer.from(sealed.slice(0, 32), 'hex'));
  return JSON.parse(decipher.update(sealed.slice(32), 'base64', 'utf8') + decipher.final('utf8'));
}

module.exports = { credentialsOf, filesOf };
