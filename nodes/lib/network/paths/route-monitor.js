'use strict';
// Runs `ip monitor` as a child process until it is stopped.

const { spawn } = require('node:child_process');
const { Lines, parseLine } = require('./monitor-lines');

const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 10_000;
/** A process that lived this long was healthy: the next pause is short again. */
const HEALTHY_MS = 60_000;

const ARGS = ['-o', '-4', 'monitor', 'link', 'address', 'route'];

class Monitor {
  #on;
  #tool;
  #args;
  #env;
  #now;
  #pauseMs;
  #isStopped;
  /** @type {import('node:child_process').ChildProcess | null} */
  #child;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;

  /**
   * @param {object} on
   * @param {(event: import('./monitor-lines').Event) => void} on.event
   * @param {() => void} on.started the process has started, or restarted: events before that may have been missed
   * @param {(why: string) => void} on.ended the process ended and will be restarted
   * @param {{ tool?: string, args?: string[], env?: NodeJS.ProcessEnv, now?: () => number }} [how]
   */
  constructor(on, { tool = 'ip', args = ARGS, env = process.env, now = Date.now } = {}) {
    this.#on = on;
    this.#tool = tool;
    this.#args = args;
    this.#env = { ...env, PATH: `${env.PATH ?? ''}:/usr/sbin:/sbin`, LC_ALL: 'C' };
    this.#now = now;
    this.#pauseMs = FIRST_PAUSE_MS;
    this.#isStopped = false;
    this.#child = null;
    this.#timer = undefined;
  }

  start() {
    const lines = new Lines();
    const startedAt = this.#now();
    const child = spawn(this.#tool, this.#args, { env: this.#env, stdio: ['ignore', 'pipe', 'ignore'] });
    this.#child = child;
    child.stdout.setEncoding('utf8');
    child.stdout.on('data', (chunk) => {
      for (const line of lines.push(chunk)) {
        const event = this.#isStopped ? null : parseLine(line);
        if (event) this.#on.event(event);
      }
    });
    child.once('spawn', () => !this.#isStopped && this.#on.started());
    // Depending on the version, 'close' may follow 'error' if no process was spawned.
    let isOver = false;
    const over = (/** @type {string} */ why) => {
      if (isOver) return;
      isOver = true;
      this.#over(why, startedAt);
    };
    child.once('error', (error) => over(error.message));
    child.once('close', (code, signal) => over(signal ?? `exit code ${code}`));
  }

  /** @param {string} why @param {number} startedAt */
  #over(why, startedAt) {
    this.#child = null;
    if (this.#isStopped) return;
    if (this.#now() - startedAt > HEALTHY_MS) this.#pauseMs = FIRST_PAUSE_MS;
    this.#on.ended(`'ip monitor' ended (${why}); restarting in ${this.#pauseMs} ms`);
    this.#timer = setTimeout(() => this.start(), this.#pauseMs);
    this.#pauseMs = Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS);
  }

  stop() {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    this.#child?.kill();
  }
}

module.exports = { Monitor };
