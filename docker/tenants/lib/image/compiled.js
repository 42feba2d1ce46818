'use strict';
// Adds the compiled code of its modules to an image, so that no tenant has to compile them at its start. The gateway of
// the image runs once, with no tenant's data and without a network. Tenants cannot change what they execute: the image
// is read-only for them.

const crypto = require('node:crypto');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { Readable } = require('node:stream');
const { CliError } = require('../base/errors');
const { environmentOf } = require('../drivers/environment');
const { textOfFrames } = require('../drivers/frames');
const { secretsOf } = require('../life/secrets');
const { tarOf } = require('./tar');

/** Folder of the compiled code in the image. */
const COMPILED = '/gateway/compile-cache';
const PASSWORDS = 'run/secrets/seganet/passwords';
/** Folder of the gateway while it runs, and the one in which it may make that. */
const DATA = '/run/seganet-home/data';
const ABOVE = 'run/seganet-home';
/** What the gateway prints when it has done all of a start. */
const READY = 'MQTT listener on port';
const READY_MS = 120_000;
const EVERY_MS = 250;
const STOP_S = 60;
/** For the engine's work. */
const LIMIT_MS = 180_000;
const PORT = 1883;

/** @typedef {import('../drivers/engine-client').EngineClient} EngineClient */

/**
 * @param {EngineClient} client
 * @param {string} image its id
 * @param {{ repo: string, tag: string }} name of the new image
 * @returns {Promise<string>} id of the new image
 * @throws {Error} the gateway of the image does not start, for example
 */
async function compileInto(client, image, { repo, tag }) {
  const run = `seganet-image-${crypto.randomBytes(6).toString('hex')}`;
  const [source, target] = [`${run}-run`, `${run}-new`];
  try {
    await client.ask('POST', `/containers/create?name=${source}`, { body: requestOf(image) });
    const above = { name: ABOVE, type: /** @type {const} */ ('folder'), body: '', mode: 0o777, link: '' };
    await put(client, source, tarOf([above, passwords()]));
    await client.ask('POST', `/containers/${source}/start`);
    await untilReady(client, source);
    // The code is written at the end of the process.
    await client.find('POST', `/containers/${source}/stop?t=${STOP_S}`, { limitMs: LIMIT_MS });
    const where = encodeURIComponent(COMPILED);
    const code = await client.ask('GET', `/containers/${source}/archive?path=${where}`, {
      limitMs: LIMIT_MS
    });
    // This container has the settings of the image, and never runs.
    await client.ask('POST', `/containers/create?name=${target}`, { body: { Image: image } });
    await put(client, target, Readable.from([code]), path.dirname(COMPILED));
    const query = new URLSearchParams({ container: target, repo, tag });
    const { Id: id } = await client.ask('POST', `/commit?${query}`, { body: {}, limitMs: LIMIT_MS });
    return `sha256:${String(id).replace('sha256:', '')}`;
  } finally {
    for (const name of [source, target])
      await client.find('DELETE', `/containers/${name}?force=true&v=true`).catch(() => {});
  }
}

/** @param {string} image @returns {object} a container that starts as a tenant does */
function requestOf(image) {
  const env = environmentOf(
    { name: 'image', port: PORT, http: 0, tcp: 0 },
    { host: '127.0.0.1', data: DATA, passwords: `/${PASSWORDS}` }
  );
  return {
    Image: image,
    Env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
    Healthcheck: { Test: ['NONE'] },
    HostConfig: {
      NetworkMode: 'none',
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges:true']
    }
  };
}

/** @returns {import('./tar').Entry} users with passwords that nobody knows */
function passwords() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-image-'));
  try {
    const body = fs.readFileSync(secretsOf(folder).file);
    return { name: PASSWORDS, type: 'file', body, mode: 0o644, link: '' };
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * @param {EngineClient} client @param {string} container
 * @param {AsyncIterable<Buffer>} tar @param {string} [folder]
 */
async function put(client, container, tar, folder = '/') {
  const where = encodeURIComponent(folder);
  const stream = Readable.from(tar);
  await client.ask('PUT', `/containers/${container}/archive?path=${where}`, { stream, limitMs: LIMIT_MS });
}

/** @param {EngineClient} client @param {string} container */
async function untilReady(client, container) {
  const end = performance.now() + READY_MS;
  for (;;) {
    const log = await client.ask('GET', `/containers/${container}/logs?stdout=true&stderr=true&tail=100`);
    const output = Buffer.isBuffer(log) ? textOfFrames(log) : '';
    if (output.includes(READY)) return;
    const { State: state } = await client.ask('GET', `/containers/${container}/json`);
    const last = output.trim().split('\n').at(-1) ?? '';
    if (!state.Running) throw new CliError(`its gateway ended with code ${state.ExitCode}: ${last}`);
    if (performance.now() > end)
      throw new CliError(`its gateway was not ready after ${READY_MS / 1000} s: ${last}`);
    await sleep(EVERY_MS);
  }
}

module.exports = { COMPILED, compileInto };
