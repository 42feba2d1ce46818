'use strict';

// A process ends with the one that started it, for whatever reason that one ends. A signal can be passed on; kill -9
// cannot, so the process looks whether the other one is still there. Programs that must not poll, or that are not of
// this package, end when their standard input does (seganet-tenants run --until-eof, seganet-overlay serve --until-eof,
// the demo's child.js).

const fs = require('fs');

/** Signals by which a user, a terminal or a service manager asks for an end. */
const SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT']);
const LOOK_MS = 1000;

/** @typedef {{ pid: number, start: string }} Identity start: a process id alone is used again */

/** @param {number} pid @returns {string} when it started, '' = there is no such process, or no /proc */
function startOf(pid) {
  try {
    const text = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name is in parentheses and may contain spaces and parentheses.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? '' : fields[19];
  } catch {
    return '';
  }
}

/** @param {number} pid @returns {boolean} false also for one that has ended, and that its parent has not collected */
function isThere(pid) {
  try {
    return process.kill(pid, 0) && (process.platform !== 'linux' || startOf(pid) !== '');
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EPERM';
  }
}

/** @returns {Identity} of this process, for stopWith() of another one */
const ownIdentity = () => ({ pid: process.pid, start: startOf(process.pid) });

/** @param {Identity} identity @returns {boolean} true if the process has ended */
const isGone = ({ pid, start }) => (start ? startOf(pid) !== start : !isThere(pid));

/** Ends this process in order. */
const stop = () => void process.kill(process.pid, 'SIGTERM');

/** @param {() => boolean} isOver @returns {() => void} looks now, for work that lets no timer run */
function stopWhen(isOver) {
  const look = () => {
    if (!isOver()) return;
    clearInterval(timer);
    stop();
  };
  const timer = setInterval(look, LOOK_MS);
  timer.unref();
  return look;
}

/** Stops when another process is gone, which need not be the parent of this one. @param {Identity} identity */
function stopWith(identity) {
  stopWhen(() => isGone(identity));
}

/**
 * Stops when the launcher or the npm that started this process is gone: neither can forward its own kill -9, and an
 * orphaned gateway would keep its ports.
 * @returns {() => void} looks now, for work that lets no timer run
 */
function stopWithParent() {
  const parent = process.ppid;
  const launcher = Number(process.env.SEGANET_LAUNCHER_PID);
  delete process.env.SEGANET_LAUNCHER_PID;
  // It was killed before this process got here. One that lives is a launcher of an ancestor. npm passes no id of its
  // own, but its shell does: see the scripts in package.json.
  if (launcher > 0 && launcher !== parent && !isThere(launcher)) stop();
  if (launcher !== parent && !process.env.npm_lifecycle_event) return () => {};
  return stopWhen(() => process.ppid !== parent);
}

module.exports = { SIGNALS, isGone, ownIdentity, stopWith, stopWithParent };
