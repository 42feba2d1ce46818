'use strict';
// Makes an image for tenants: a gateway of this package on this machine's Node. It is a stream into the engine, so no
// file is made, no registry is asked, and nothing is built.

const fs = require('node:fs');
const path = require('node:path');
const { Readable } = require('node:stream');
const { CliError, messageOf } = require('../base/errors');
const { COMPILED, compileInto } = require('./compiled');
const { OWN_BUILD, packagesOf } = require('./packages');
const { FOLDERS, NODE, TEXTS, USER, systemFiles } = require('./system');
const { tarOf } = require('./tar');

const ROOT = path.join(__dirname, '..', '..', '..', '..');
const REPOSITORY = 'localhost/seganet/tenant';
/** For the engine to take the files over. */
const IMPORT_MS = 600_000;
const ID = /[0-9a-f]{64}/;

/** @typedef {import('./tar').Entry} Entry */

/** @returns {string} name and tag of the image of this release */
function standardName() {
  const { version } = JSON.parse(fs.readFileSync(path.join(ROOT, 'package.json'), 'utf8'));
  return `${REPOSITORY}:${version}`;
}

/** @returns {{ entries: Entry[], root: string }} root: folder of the gateway in the image */
function contents() {
  const { files, links, root } = packagesOf(ROOT);
  const engines = [OWN_BUILD, `native/prebuilds/${process.platform}-${process.arch}.node`]
    .map((name) => path.join(ROOT, name))
    .filter((file) => fs.existsSync(file));
  const all = [...systemFiles(engines), ...files];
  const names = [...all.map(([name]) => name), ...links.keys(), ...Object.keys(TEXTS)];
  const folders = new Set(FOLDERS);
  for (const name of names)
    for (
      let each = path.dirname(name).replace(/^\//, '');
      each !== '.' && each !== '';
      each = path.dirname(each)
    )
      folders.add(each);
  const entry = (/** @type {string} */ name, /** @type {Partial<Entry>} */ more) => ({
    ...{
      name: name.replace(/^\//, ''),
      type: /** @type {const} */ ('file'),
      body: '',
      mode: 0o644,
      link: ''
    },
    ...more
  });
  const entries = [
    ...[...folders].sort().map((name) => entry(name, { type: 'folder', mode: 0o755 })),
    // Written once, by compileInto(). The files of an image are read-only for a tenant.
    entry(COMPILED, { type: 'folder', mode: 0o777 }),
    ...Object.entries(TEXTS).map(([name, text]) => entry(name, { body: Buffer.from(text) })),
    ...all.map(([name, file]) => {
      const isProgram = (fs.statSync(file).mode & 0o100) !== 0;
      return entry(name, { body: file, mode: isProgram ? 0o755 : 0o644 });
    }),
    ...[...links].map(([name, link]) => entry(name, { type: 'link', link }))
  ];
  return { entries, root };
}

/**
 * @param {string} root folder of the gateway in the image
 * @param {boolean} hasHealth
 * @returns {string[]} instructions
 */
function changesOf(root, hasHealth) {
  const run = (/** @type {string[]} */ ...words) => JSON.stringify([NODE, ...words]);
  const health = run(`${root}/flows/launcher/health.js`);
  return [
    `USER ${USER}:${USER}`,
    `WORKDIR ${root}`,
    'VOLUME /data',
    'EXPOSE 1883',
    'ENV NODE_ENV=production',
    'ENV SEGANET_HOME=/data',
    `ENV NODE_COMPILE_CACHE=${COMPILED}`,
    // An image of Podman has none (OCI). The keeper looks itself in either case.
    ...(hasHealth ? [`HEALTHCHECK --interval=30s --timeout=10s --start-period=60s CMD ${health}`] : []),
    `CMD ${run('--max-semi-space-size=1', `${root}/flows/launcher/start.js`)}`
  ];
}

/**
 * @param {import('../drivers/engine-client').EngineClient} client
 * @param {{ engine: 'docker' | 'podman', name: string }} options name: with a tag
 * @returns {Promise<{ id: string, files: number, problem: string }>} problem: why it has no compiled code, '' = it has
 * @throws {CliError}
 */
async function makeImage(client, { engine, name }) {
  const colon = name.lastIndexOf(':');
  const [repo, tag] = [name.slice(0, colon), name.slice(colon + 1)];
  const { entries, root } = contents();
  const query = new URLSearchParams({ fromSrc: '-', repo, tag });
  for (const change of changesOf(root, engine === 'docker')) query.append('changes', change);
  const broken = new AbortController();
  let problem = '';
  const stream = Readable.from(tarOf(entries)).once('error', (error) => {
    problem = messageOf(error);
    broken.abort();
  });
  const more = { stream, signal: broken.signal, limitMs: IMPORT_MS };
  try {
    const answer = await client.ask('POST', `/images/create?${query}`, more);
    const text = Buffer.isBuffer(answer) ? answer.toString() : JSON.stringify(answer);
    const [id] = ID.exec(text) ?? [];
    if (!id || text.includes('"error"')) throw new CliError(`${engine} made no image: ${text.slice(0, 400)}`);
    // Podman does not use the tag of the request.
    await client.ask('POST', `/images/${id}/tag?${new URLSearchParams({ repo, tag })}`);
    return { ...(await compiled(client, `sha256:${id}`, { repo, tag })), files: entries.length };
  } catch (error) {
    throw problem ? new CliError(`The image cannot be made: ${problem}.`) : error;
  }
}

/**
 * @param {import('../drivers/engine-client').EngineClient} client
 * @param {string} id
 * @param {{ repo: string, tag: string }} name
 * @returns {Promise<{ id: string, problem: string }>} the image itself if its gateway does not run here
 */
async function compiled(client, id, name) {
  try {
    return { id: await compileInto(client, id, name), problem: '' };
  } catch (error) {
    return { id, problem: messageOf(error) };
  }
}

module.exports = { contents, makeImage, standardName };
