'use strict';
// A program of others that is used by its menu.

const { spawn } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { eventually } = require('../../../bench/harness/net');
const { WAIT } = require('./controller');

/**
 * A folder in which a program of iotivity-lite keeps its credentials, and its command, which prints line by line.
 * @param {string} program @param {string} folder @returns {{ cwd: string, command: string[] }}
 */
function placeOf(program, folder) {
  const name = path.basename(program);
  const cwd = path.join(folder, name);
  fs.mkdirSync(path.join(cwd, `${name}_creds`), { recursive: true });
  return { cwd, command: ['stdbuf', '-oL', program] };
}

class Menu {
  #child;

  /** @param {{ cwd: string, command: string[] }} place @param {string[]} args */
  constructor({ cwd, command: [first, ...rest] }, args) {
    this.output = '';
    this.#child = spawn(first, [...rest, ...args], { cwd, stdio: ['pipe', 'pipe', 'inherit'] });
    this.#child.stdout.setEncoding('utf8').on('data', (text) => (this.output += text));
    this.#child.stdin.on('error', () => {});
  }

  /** @param {(string | number)[]} lines */
  say(...lines) {
    this.#child.stdin.write(`${lines.join('\n')}\n`);
  }

  /**
   * Waits for a text. Fails as soon as the program has printed a line with ERROR.
   * @param {RegExp} text @param {number} [from] where to look in the output
   * @returns {Promise<RegExpExecArray>}
   */
  until(text, from = 0) {
    const look = () => {
      const output = this.output.slice(from);
      const found = text.exec(output);
      const [error] = /ERROR .*/.exec(output) ?? [];
      if (error && !found) throw new Error(error);
      return found;
    };
    return eventually(look, { ...WAIT, what: String(text) });
  }

  /** Gives answers to the menu, and waits for the outcome. @param {RegExp} text @param {(string | number)[]} lines */
  async choose(text, ...lines) {
    const from = this.output.length;
    this.say(...lines);
    return this.until(text, from);
  }

  end() {
    this.#child.kill('SIGKILL');
  }
}

module.exports = { Menu, placeOf };
