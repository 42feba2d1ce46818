'use strict';
// Assembles a system from ordinary processes, for the adapters of bench/systems.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { waitForPort } = require('./net');

/**
 * @typedef {import('./child').Child} Child
 * @typedef {import('../systems').System} System
 */

/** Creates a temporary folder, which is removed with its system. */
const temporary = () => fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-bench-'));

/**
 * @param {object} plan
 * @param {number} plan.port @param {string[]} plan.parts @param {string} [plan.folder] removed by close()
 * @param {boolean} [plan.forwards]
 * @param {(started: (child: Child) => void) => Promise<void> | void} plan.launch starts the processes
 * @param {(children: Child[]) => Promise<void>} [plan.ready] waits until the first start is complete
 * @returns {Promise<System>}
 */
async function assemble({ port, parts, folder, forwards = true, launch, ready }) {
  /** @type {Child[]} */
  let children = [];
  const kill = async () => {
    for (const child of children) child.kill('SIGKILL');
    await Promise.all(children.map((child) => child.exited));
  };
  const restart = async () => {
    const since = Date.now();
    children = [];
    await launch((child) => children.push(child));
    await waitForPort(port, '127.0.0.1', 10000, () => children.some((child) => child.exit));
    return Date.now() - since;
  };
  const close = async () => {
    await kill();
    if (folder) fs.rmSync(folder, { recursive: true, force: true });
  };
  try {
    await restart();
    if (ready) await ready(children);
  } catch (error) {
    await close();
    throw error;
  }
  const stop = async () => {
    // In sequence: the forwarding process starts last and stops first.
    let clean = true;
    for (const child of [...children].reverse()) clean = (await child.stop()).code === 0 && clean;
    return clean;
  };
  return {
    port,
    parts,
    forwards,
    stop,
    kill,
    restart,
    close,
    get children() {
      return children;
    }
  };
}

module.exports = { assemble, temporary };
