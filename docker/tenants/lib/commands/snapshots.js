'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { CliError, EXIT, messageOf } = require('../base/errors');
const { readSettings } = require('../backup/settings');
const { describe, differences, isEmpty } = require('../snapshots/difference');
const { listSnapshots, readSnapshot, writeSnapshot } = require('../snapshots/file');
const { readNetwork } = require('../snapshots/gateway-api');
const { numberIn } = require('./common');

/** @typedef {import('./common').Context} Context */

const options = /** @type {const} */ ({
  gateway: { type: 'string' },
  'token-file': { type: 'string' },
  to: { type: 'string' },
  keep: { type: 'string' }
});

const usage = `seganet-tenants snapshots take             saves the state of the gateway's network
seganet-tenants snapshots list             the newest first
seganet-tenants snapshots diff [A] [B]     what was added, what is gone, what has changed; default: the latest two

  --gateway URL        admin API; default: snapshots.gateway in backup.json, else http://127.0.0.1:1880
  --token-file FILE    bearer token with the permission seganet.read; needed if the editor has a login
  --to FOLDER          default: snapshots.to in backup.json, else the folder snapshots beside the tenants file
  --keep N             removes older ones; default: snapshots.keep in backup.json, else 500
  --json               JSON`;

/**
 * @param {Context} context
 * @returns {Promise<number>} the exit code
 */
async function run(context) {
  const { values, operands, home, isJson, print } = context;
  const { snapshots } = readSettings(home.folder, home.backups);
  const [what = '', ...files] = operands;
  const folder = path.resolve(values.to ?? snapshots.to);
  if (what === 'take' && files.length === 0) {
    const { file, counts } = await take({
      folder,
      gateway: (values.gateway ?? snapshots.gateway).replace(/\/$/, ''),
      tokenFile: values['token-file'] ?? snapshots.tokenFile,
      keep: values.keep === undefined ? snapshots.keep : numberIn(values.keep, '--keep', 1, 100_000)
    });
    const { device = 0, link = 0, value = 0 } = counts;
    if (isJson) print(JSON.stringify({ file, counts }));
    else print(`${file}: ${device} devices, ${link} links, ${value} values`);
    return EXIT.OK;
  }
  if (what === 'list' && files.length === 0) {
    const found = listSnapshots(folder).map((file) => ({ file, bytes: fs.statSync(file).size }));
    if (isJson) print(JSON.stringify(found));
    else for (const { file, bytes } of found) print(`${file}  ${bytes} B`);
    return EXIT.OK;
  }
  if (what === 'diff' && files.length !== 1 && files.length <= 2) {
    await difference(files.length === 2 ? files : latestTwo(folder), context);
    return EXIT.OK;
  }
  throw new CliError(
    'Use take, list, or diff with two files or none. See seganet-tenants snapshots --help.',
    EXIT.USAGE
  );
}

/**
 * @param {{ folder: string, gateway: string, tokenFile: string, keep: number, now?: Date }} what
 * @returns {Promise<{ file: string, counts: Record<string, number> }>}
 */
function take({ folder, gateway, tokenFile, keep, now = new Date() }) {
  if (!/^https?:\/\//.test(gateway))
    throw new CliError('--gateway takes a URL such as http://127.0.0.1:1880.', EXIT.USAGE);
  const token = tokenFile ? readToken(tokenFile) : '';
  const lines = readNetwork({ url: gateway, token }, now);
  return writeSnapshot({ folder, source: gateway, lines, now, keep });
}

/** @param {string} file @returns {string} */
function readToken(file) {
  try {
    return fs.readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw new CliError(`The token cannot be read: ${messageOf(error)}.`, EXIT.CONFIG);
  }
}

/** @param {string} folder @returns {string[]} the older one first */
function latestTwo(folder) {
  const [newest, before] = listSnapshots(folder);
  if (!before) throw new CliError(`There are fewer than two snapshots in ${folder}.`);
  return [before, newest];
}

/** @param {string[]} files @param {Context} context */
async function difference(files, { isJson, print }) {
  const [before, after] = await Promise.all(files.map((file) => readSnapshot(path.resolve(file))));
  const all = differences(before.lines, after.lines);
  if (isJson) {
    print(JSON.stringify({ from: before.at, to: after.at, ...all }));
    return;
  }
  print(`${before.at} → ${after.at}`);
  for (const line of describe(all)) print(line);
  if (isEmpty(all)) print('no difference');
}

module.exports = {
  name: 'snapshots',
  summary: "saves and compares states of the gateway's network",
  usage,
  options,
  run,
  take
};
