'use strict';

const { shown } = require('../../base/values');

/** Errors of the system that mean that no keeper listens on the socket. */
const REMEDIES = /** @type {Record<string, string>} */ ({
  ENOENT: 'There is no such socket. Start "seganet-tenants run", or correct the path in the node',
  ECONNREFUSED: 'No keeper listens there. Start "seganet-tenants run"',
  EACCES: "This process may not open it. Run the gateway as the keeper's user",
  EPERM: "This process may not open it. Run the gateway as the keeper's user",
  ENOTSOCK: 'It is not a socket. Correct the path in the node',
  ENAMETOOLONG: 'The path is longer than 107 bytes. Choose a shorter one'
});

/**
 * Why the keeper did not do what it was asked for. `code`:
 *   unreachable  no keeper answers on the socket
 *   timeout      it did not answer in time
 *   protocol     its answer is not what the protocol says
 *   unknown      it does not know the tenant (404)
 *   gone         the lease has ended (410)
 *   failed, busy, engine, …   the keeper's own word
 */
class KeeperError extends Error {
  /**
   * @param {string} message a sentence
   * @param {{ code: string, retryMs?: number, cause?: unknown }} options retryMs: when to try again, 0 = the keeper did
   *   not say
   */
  constructor(message, { code, retryMs = 0, cause }) {
    super(message, { cause });
    this.name = 'KeeperError';
    this.code = code;
    this.retryMs = retryMs;
  }

  /** True if the reason is the keeper, not the tenant. */
  get isKeeper() {
    return this.code === 'unreachable' || this.code === 'timeout' || this.code === 'protocol';
  }
}

/**
 * @param {string} socket path
 * @param {NodeJS.ErrnoException} error of the system
 */
function unreachable(socket, error) {
  const code = error.code ?? error.message;
  const remedy = REMEDIES[code] ?? 'Check the keeper';
  const sentence = `The keeper of the tenants does not answer on ${shown(socket)} (${code}). ${remedy}.`;
  return new KeeperError(sentence, { code: 'unreachable', cause: error });
}

exports.KeeperError = KeeperError;
exports.unreachable = unreachable;
