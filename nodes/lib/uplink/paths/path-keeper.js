'use strict';

const { PathSuspicion } = require('./path-suspicion');
const { SecondTry } = require('./path-second-try');
const { PathWatch, carrying } = require('./path-watch');
const { isMetered, pathsView, whyOne } = require('./path-view');

/** @typedef {import('./session-paths').Paths} Paths */
/** @typedef {import('../../../../native').MptcpInfo} MptcpInfo */

/**
 * @typedef {object} KeeperParts
 * @property {Paths | null} [paths] null = the uplink has none of its own
 * @property {import('../session/session').Session} session
 * @property {{mptcpInfo?: (fd: number) => MptcpInfo, renewPriority?: (fd: number) => void}} native
 * @property {number} lossMs see PathWatch
 * @property {() => number} [now]
 * @property {(code: string, reason: string) => void} problem
 */

/** Interval between checks of the paths while something is to be confirmed. */
const LOOK_MS = 60;

/**
 * Watches the paths of one session: renews the connection where that is faster than waiting, and reports their states.
 */
class PathKeeper {
  /** @param {KeeperParts & {paths: Paths}} parts */
  constructor(parts) {
    this.parts = parts;
    this.watch = new PathWatch(parts);
    this.secondTry = new SecondTry();
    this.suspicion = new PathSuspicion(parts.now ?? (() => performance.now()));
    /** The next inspection between two checks. @type {NodeJS.Timeout | undefined} */
    this.nextLook = undefined;
    /** The connection and the subflows that have their priority. @type {{connection: unknown, subflows: string}} */
    this.marked = { connection: null, subflows: '' };
    /** Code of the last warning, which is not repeated while it applies. */
    this.lastCode = '';
  }

  /** Call it several times a second. */
  check() {
    const { session, problem } = this.parts;
    const info = this.#info();
    const why = this.watch.check(session.client, info);
    if (why) {
      problem(why.code, why.reason);
      if (why.isReturn) session.renew(why);
      else session.kill(why);
    } else if (info && session.connected) this.#connected(info);
    this.#suspect(info);
  }

  /**
   * Notices silence between two checks, too: a timer is armed while there is something to confirm.
   * @param {MptcpInfo | null} info
   */
  #suspect(info) {
    const { session, paths } = this.parts;
    const { silent, isWaiting } = this.suspicion.inspect(session.client, carrying(info));
    for (const { local, rttUs } of silent) paths.suspect(local, rttUs / 1000);
    if (!isWaiting) return;
    this.nextLook ??= setTimeout(() => {
      this.nextLook = undefined;
      this.#suspect(this.#info());
    }, LOOK_MS).unref();
  }

  /** Returns what the paths add to the view of their session. @param {{state: string, code: string}} shown */
  view({ state, code }) {
    const { session, paths } = this.parts;
    const info = session.connected ? this.#info() : null;
    const note = info && paths.usesMptcp && whyOne(info, session.noMptcp);
    return {
      transport: info?.transport ?? '',
      paths: pathsView(paths, info),
      // This note has no effect on records, so any other reason is more important.
      ...(note && state === 'connected' && code === '' && { ...note, isNote: true })
    };
  }

  /** True if records of this session may now go over a path that costs by the byte. */
  get isMetered() {
    const { session, paths } = this.parts;
    return isMetered(paths, carrying(session.connected ? this.#info() : null));
  }

  /** @param {MptcpInfo} info */
  #connected(info) {
    const { session, paths, problem } = this.parts;
    if (!paths.usesMptcp) return;
    const why = this.secondTry.check(info, session.handshakeMs);
    if (why) {
      problem(why.code, why.reason);
      session.renew(why);
    } else this.#report(info);
  }

  /** @param {MptcpInfo} info */
  #report(info) {
    const note = whyOne(info, this.parts.session.noMptcp);
    if (note && note.code !== this.lastCode) this.parts.problem(note.code, note.reason);
    this.lastCode = note?.code ?? '';
  }

  /**
   * Sets the socket priority on new subflows. A subflow begins with the priority that its DSCP gives it, which is none.
   * @param {number} fd
   * @param {MptcpInfo} info
   */
  #mark(fd, info) {
    if (info.transport !== 'mptcp') return;
    const { session, native } = this.parts;
    const connection = session.client;
    const subflows = carrying(info)
      .map(({ local, remote }) => `${local} ${remote}`)
      .join();
    if (connection === this.marked.connection && subflows === this.marked.subflows) return;
    this.marked = { connection, subflows };
    native.renewPriority?.(fd);
  }

  #info() {
    const { session, native } = this.parts;
    const { fd } = session;
    if (fd === null || !native.mptcpInfo) return null;
    try {
      const info = native.mptcpInfo(fd);
      this.#mark(fd, info);
      return info;
    } catch {
      // The connection was closed just now.
      return null;
    }
  }
}

/** @param {KeeperParts} parts @returns {PathKeeper | null} */
function keepPaths({ paths, ...parts }) {
  return paths ? new PathKeeper({ paths, ...parts }) : null;
}

module.exports = { PathKeeper, keepPaths };
