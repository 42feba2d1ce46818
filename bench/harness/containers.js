'use strict';
// A container engine of this process alone: its files are in a folder, and its networks in this network namespace.

const { spawn } = require('node:child_process');
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const { haveTool } = require('./tools');
const { eventually } = require('./net');

/** @typedef {'docker' | 'podman'} Engine */

const START_MS = 60_000;
const IMPORT_MS = 180_000;

/** @type {Record<Engine, (folder: string, socket: string) => string[]>} */
const COMMANDS = {
  docker: (folder, socket) => [
    'dockerd',
    `--data-root=${folder}/data`,
    `--exec-root=${folder}/exec`,
    `--pidfile=${folder}/pid`,
    `--host=unix://${socket}`,
    '--exec-opt=native.cgroupdriver=cgroupfs'
  ],
  podman: (folder, socket) => [
    'podman',
    `--root=${folder}/data`,
    `--runroot=${folder}/run`,
    '--cgroup-manager=cgroupfs',
    '--events-backend=file',
    // crun refuses machines with control groups of both versions.
    '--runtime=runc',
    'system',
    'service',
    // Otherwise it ends 5 s after the last request.
    '--time=0',
    `unix://${socket}`
  ]
};

/** What an engine needs here. @type {Record<Engine, string[]>} */
const TOOLS = {
  docker: ['dockerd', 'runc', 'iptables', 'nft', 'unshare', 'ip', 'tar'],
  podman: ['podman', 'runc', 'catatonit', 'nft', 'unshare', 'ip', 'tar']
};

/** @param {Engine} engine @returns {string} why it cannot run here, '' if it can */
function lackingEngine(engine) {
  if (process.getuid?.() !== 0) return `${engine} in a network namespace of its own needs root.`;
  const missing = TOOLS[engine].filter((tool) => !haveTool(tool));
  return missing.length > 0 ? `It needs ${missing.join(', ')} (Debian: docker.io or podman catatonit).` : '';
}

/**
 * @param {string} socket of the engine @param {string} method @param {string} address @param {NodeJS.ReadableStream}
 *   [body] a tar file
 * @returns {Promise<string>} @throws {Error} with the engine's answer
 */
function askEngine(socket, method, address, body) {
  return new Promise((resolve, reject) => {
    const request = http.request({
      socketPath: socket,
      method,
      path: address,
      agent: false,
      timeout: IMPORT_MS,
      headers: body ? { 'content-type': 'application/x-tar' } : {}
    });
    request.once('timeout', () => request.destroy(new Error(`The engine did not answer ${address}.`)));
    request.once('error', reject);
    request.once('response', async (response) => {
      try {
        let answer = '';
        for await (const part of response.setEncoding('utf8')) answer += part;
        if (response.statusCode === 200) resolve(answer);
        else reject(new Error(`The engine answered ${response.statusCode}: ${answer.slice(0, 500)}`));
      } catch (error) {
        reject(error); // the engine ended in the middle of its answer
      }
    });
    if (body) body.once('error', (error) => request.destroy(error)).pipe(request);
    else request.end();
  });
}

/**
 * Starts an engine, and waits until it answers.
 * @param {Engine} engine @param {string} folder with a short path
 * @returns {Promise<{ socket: string, stop: () => Promise<void>,
 *   restart: (signal?: NodeJS.Signals) => Promise<void> }>}
 */
async function runEngine(engine, folder) {
  const socket = path.join(folder, 'engine.sock');
  const log = path.join(folder, 'engine.log');
  const output = fs.openSync(log, 'a');
  const [program, ...args] = COMMANDS[engine](folder, socket);
  /** @type {import('node:child_process').ChildProcess} */
  let child;
  const start = async () => {
    child = spawn(program, args, {
      // Podman's monitor leaves a file in it.
      cwd: folder,
      stdio: ['ignore', output, output],
      env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin` }
    });
    await eventually(
      () => {
        if (child.exitCode !== null) throw new Error(fs.readFileSync(log, 'utf8').slice(-4000));
        return askEngine(socket, 'GET', '/_ping').then(
          () => true,
          () => false
        );
      },
      { timeoutMs: START_MS, everyMs: 50, what: `the answer of ${engine}` }
    );
  };
  const end = async (/** @type {NodeJS.Signals} */ signal) => {
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    await ended;
  };
  await start();
  return {
    socket,
    stop: () => end('SIGTERM'),
    restart: async (signal = 'SIGTERM') => {
      await end(signal);
      // Docker's containerd ends with it. As nobody here awaits orphans, it would count as one that runs.
      fs.rmSync(path.join(folder, 'exec/containerd/containerd.pid'), { force: true });
      await start();
    }
  };
}

/**
 * Makes an image of a root file system.
 * @param {string} socket @param {NodeJS.ReadableStream} tar @param {string} name with a tag
 * @returns {Promise<string>} its id
 */
async function importImage(socket, tar, name) {
  const [repo, tag] = name.split(':');
  const query = new URLSearchParams({ fromSrc: '-', repo, tag });
  const answer = await askEngine(socket, 'POST', `/images/create?${query}`, tar);
  const [id] = /[0-9a-f]{64}/.exec(answer) ?? [];
  if (!id) throw new Error(`The image has no id: ${answer.slice(0, 500)}`);
  return `sha256:${id}`;
}

module.exports = { askEngine, importImage, lackingEngine, runEngine };
