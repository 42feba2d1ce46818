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
  /**
   * @param {object} on
   * @param {(event: import('./monitor-lines').Event) => void} on.event
   * @param {() => void} on.started the process has started, or restarted: events before that may have been missed
   * @param {(why: string) => void} on.ended the process ended and will be restarted
   * @param {{ tool?: string, args?: string[], env?: NodeJS.ProcessEnv, now?: () => number }} [how]
   */
  constructor(on, { tool = 'ip', args = ARGS, env = process.env, now = Date.now } = {}) {
    this.on_ = on;
    this.tool_ = tool;
    this.args_ = args;
    this.env_ = { ...env, PATH: `${env.PATH ?? ''}:/usr/sbin:/sbin`, LC_ALL: 'C' };
    this.now_ = now;
    this.pauseMs_ = FIRST_PAUSE_MS;
    this.isStopped_ = false;
    /** @type {import('node:child_process').ChildProcess | null} */
    this.child_ = null;
    /** @type {NodeJS.Timeout | undefined} */
    this.timer_ = undefined;
  }

  start() {
    const lines = new Lines();
    const startedAt = this.now_();
    const child = spawn(this.tool_, this.args_, { env: this.env_, stdio: ['ignore', 'pipe', 'ignore'] });
    this.child_ = child;
    child.stdout.setEncoding('utf8');
    child.stdout.on('data', (chunk) => {
      for (const line of lines.push(chunk)) {
        const event = this.isStopped_ ? null : parseLine(line);
        if (event) this.on_.event(event);
      }
    });
    child.once('spawn', () => !this.isStopped_ && this.on_.started());
    // Depending on the version, 'close' may follow 'error' if no process was spawned.
    let isOver = false;
    const over = (/** @type {string} */ why) => {
      if (isOver) return;
      isOver = true;
      this.over_(why, startedAt);
    };
    child.once('error', (error) => over(error.message));
    child.once('close', (code, signal) => over(signal ?? `exit code ${code}`));
  }

  /** @param {string} why @param {number} startedAt */
  over_(why, startedAt) {
    this.child_ = null;
    if (this.isStopped_) return;
    if (this.now_() - startedAt > HEALTHY_MS) this.pauseMs_ = FIRST_PAUSE_MS;
    this.on_.ended(`'ip monitor' ended (${why}); restarting in ${this.pauseMs_} ms`);
    this.timer_ = setTimeout(() => this.start(), this.pauseMs_);
    this.pauseMs_ = Math.min(this.pauseMs_ * 2, LONGEST_PAUSE_MS);
  }

  stop() {
    this.isStopped_ = true;
    clearTimeout(this.timer_);
    this.child_?.kill();
  }
}

module.exports = { Monitor };
