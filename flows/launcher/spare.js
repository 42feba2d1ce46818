'use strict';

// A gateway in reserve: it has loaded its modules, and waits for the tenant whose gateway it becomes. The keeper of
// tenants starts it (docker/tenants/lib/drivers/spares.js). Until then it has run no tenant's code and read no
// tenant's file.

const fs = require('fs');
const { createRequire, flushCompileCache } = require('module');
const path = require('path');
const { loadLate } = require('./late-modules');
const { TENANT_FLOW } = require('./home');
const { packagesWithoutNodes, unusedCoreNodes } = require('./unused-nodes');

const ROOT = path.join(__dirname, '..', '..');
/** Longest identity, bytes. */
const MAX_BYTES = 1 << 20;
const { O_RDONLY, O_WRONLY, O_APPEND, O_NOFOLLOW } = fs.constants;

/**
 * What the keeper writes to standard input, as one line of JSON.
 * @typedef {object} Identity
 * @property {string} cwd folder of the tenant's data
 * @property {string} output file that it prints to
 * @property {Record<string, string>} env all of its variables
 */

/** Modules of Node-RED that are loaded at its start, beside those of its own module. */
const OF_NODE_RED = [
  ...['semver', 'nopt', 'fs-extra', 'cors'],
  '@node-red/runtime/lib/storage/localfilesystem',
  '@node-red/nodes/core/function/10-function.js'
];

/** Loads what a gateway with the flow of a tenant needs. Node-RED's main program is run, not loaded. */
function preload() {
  loadLate({ hasEditor: false });
  const program = require.resolve('node-red/red.js');
  const nodeRed = createRequire(program);
  for (const name of OF_NODE_RED) {
    try {
      nodeRed(name);
    } catch {
      // Another version of Node-RED.
    }
  }
  require('node-red');
  require('./start');
  // What settings.js needs. It knows afterwards which installed packages have nodes.
  for (const name of ['guard', 'metrics-token']) require(`./${name}`);
  unusedCoreNodes(TENANT_FLOW, path.join(ROOT, 'nodes'));
  packagesWithoutNodes(path.join(ROOT, 'nodes'));
  const { nodes } = require(path.join(ROOT, 'package.json'))['node-red'];
  /** @type {{ type: string }[]} */
  const flow = JSON.parse(fs.readFileSync(TENANT_FLOW, 'utf8'));
  for (const type of new Set(flow.map((node) => node.type)))
    if (nodes[type]) require(path.join(ROOT, nodes[type]));
}

/**
 * Waits without a timer and without a turn of the event loop, so a spare costs no processor time.
 * @returns {Identity | null} null: the keeper has ended
 */
function awaitIdentity() {
  const bytes = Buffer.alloc(MAX_BYTES);
  let length = 0;
  while (length < bytes.length) {
    const read = fs.readSync(0, bytes, length, bytes.length - length, null);
    if (read === 0) return null;
    length += read;
    if (bytes[length - 1] === 10) return JSON.parse(bytes.toString('utf8', 0, length));
  }
  return null;
}

/**
 * Opens a file in the place of a descriptor: the kernel gives a file the lowest free number.
 * @param {number} fd
 * @param {string} file
 * @param {number} flags
 */
function replaceDescriptor(fd, file, flags) {
  fs.closeSync(fd);
  const opened = fs.openSync(file, flags);
  if (opened !== fd) throw new Error(`descriptor ${fd} cannot be replaced`);
}

/** @param {Identity} identity */
function become({ cwd, output, env }) {
  replaceDescriptor(0, '/dev/null', O_RDONLY);
  for (const fd of [1, 2]) replaceDescriptor(fd, output, O_WRONLY | O_APPEND | O_NOFOLLOW);
  process.chdir(cwd);
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, env);
  // The age of the gateway, such as in its metrics, does not include the time in reserve.
  const uptime = process.uptime.bind(process);
  const waited = uptime();
  process.uptime = () => uptime() - waited;
}

function main() {
  preload();
  // Later starts need not compile what this one did.
  flushCompileCache();
  const identity = awaitIdentity();
  if (!identity) return;
  become(identity);
  const start = require('./start');
  start.main().catch(start.fail);
}

if (require.main === module) main();
