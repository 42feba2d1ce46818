'use strict';

/** How long to wait for the acknowledgements of what is in flight before the connection is closed. */
const DRAIN_MS = 2000;
const STEP_MS = 20;

/**
 * @typedef {object} RenewalParts
 * @property {import('../../base/tls-files').TlsFiles} files
 * @property {import('./session').Session} session
 * @property {import('../sending/feeder').Feeder} feeder
 * @property {(code: string, reason: string) => void} problem
 */

/**
 * Checks whether certificates or keys were renewed on disk, and then makes a new connection with them. While the files
 * do not match (the certificate was written, the key not yet), the present connection continues.
 */
class Renewal {
  /** @param {RenewalParts} parts */
  constructor({ files, session, feeder, problem }) {
    this.files = files;
    this.session = session;
    this.feeder = feeder;
    this.problem = problem;
    this.isBusy = false;
  }

  /** Call it every few seconds. */
  async check() {
    // A connection without TLS reads no files, which all count as changed then.
    if (this.isBusy || this.files.roles.length === 0 || !this.session.options.secure) return;
    this.isBusy = true;
    try {
      if (await this.files.haveChanged()) await this.#renew();
    } finally {
      this.isBusy = false;
    }
  }

  async #renew() {
    const { session, feeder } = this;
    const wrong = session.rehearse();
    if (wrong) {
      this.problem(wrong.code, `${wrong.reason} The connection continues with the previous files.`);
      return;
    }
    if (session.connected) {
      feeder.pause();
      const until = performance.now() + DRAIN_MS;
      while (session.connected && feeder.inflight > 0 && performance.now() < until) {
        await new Promise((resolve) => setTimeout(resolve, STEP_MS));
      }
    }
    session.renew({
      code: 'CERTIFICATES',
      reason: 'Certificates or keys were renewed. Reconnecting.',
      refused: false
    });
  }
}

exports.Renewal = Renewal;
