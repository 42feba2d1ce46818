'use strict';
// Runs `seganet-paths watch` beside the gateway, like a user.

const path = require('node:path');
const { Child } = require('../harness/child');
const { eventually } = require('../harness/net');
const { run } = require('../harness/netns');

const command = path.join(__dirname, '../../nodes/lib/network/paths/cli/seganet-paths.js');

/** @typedef {{ ms: number, path: string, state: string, why: string }} Line ms: since 1970, when it arrived */

class Watch {
  /** @param {Child} child */
  constructor(child) {
    this.child = child;
    /** @type {Line[]} */
    this.log = [];
    let rest = '';
    child.process.stdout.on('data', (text) => {
      const lines = (rest + text).split('\n');
      rest = /** @type {string} */ (lines.pop());
      for (const line of lines) {
        const { path: of, state, why } = JSON.parse(line);
        this.log.push({ ms: Date.now(), path: of, state, why });
      }
    });
  }

  /** @param {string} paths @param {string} broker @param {string[]} more arguments */
  static async start(paths, broker, more = []) {
    const args = [command, 'watch', '--json', '--paths', paths, '--broker', broker, ...more];
    const child = new Child(process.execPath, args, { name: 'seganet-paths watch' });
    const watch = new Watch(child);
    const wanted = paths.split(',').length;
    try {
      // child.until() would not work: it checks the output before the line is in the log.
      await eventually(() => child.exit || watch.#up >= wanted, { what: `${wanted} paths that are up` });
      if (child.exit) throw new Error('it exited at once');
    } catch (error) {
      await child.stop();
      throw new Error(`seganet-paths watch:\n${child.output}`, { cause: error });
    }
    return watch;
  }

  get #up() {
    return this.log.filter(({ state }) => state === 'up').length;
  }

  async stop() {
    await this.child.stop();
  }
}

/** Applies the settings once, without a watch. @param {string} paths */
const apply = (paths) => run(process.execPath, [command, 'apply', '--paths', paths]);

/** Removes the settings that the watch has left in place. */
const undo = () => run(process.execPath, [command, 'undo']);

module.exports = { Watch, apply, undo };
