'use strict';
// Counts what a cloud answers, for the metrics.

/** Names of the resources in the metrics, by path. @type {Map<string, string>} */
const BY_PATH = new Map([
  ['oic/sec/account', 'account'],
  ['oic/account', 'account'],
  ['oic/sec/session', 'session'],
  ['oic/account/session', 'session'],
  ['oic/sec/tokenrefresh', 'tokenrefresh'],
  ['oic/account/tokenrefresh', 'tokenrefresh'],
  ['.well-known/core', 'core']
]);
/** Resources of RFC 9176, by the first segment. @type {Map<string, string>} */
const BY_FIRST = new Map([
  ['rd', 'registration'],
  ['rd-lookup', 'lookup']
]);
const BY_SECOND = new Set(['rd', 'res', 'route', 'prs', 'ps', 'ping', 'acl']);

/** Names the resource of a path. A path that the cloud does not have is 'other'. @param {string[]} path */
function resourceOf(path) {
  const known = BY_PATH.get(path.join('/'));
  if (known) return known;
  const directory = BY_FIRST.get(path[0]);
  if (directory) return directory;
  return path[0] === 'oic' && BY_SECOND.has(path[1]) ? path[1] : 'other';
}

/** @param {string | number} code such as 2.04 or 0x44 @returns {string} such as 2.xx */
function classOf(code) {
  return `${typeof code === 'number' ? code >> 5 : code[0]}.xx`;
}

class Tallies {
  /** By resource and class of the answer's code. @type {Map<string, { resource: string, code: string, count: number }>} */
  #requests = new Map();
  /** Refresh tokens that were used again. */
  tokensReused = 0;

  /**
   * A request arrived.
   * @param {import('../sessions').Peer} peer
   * @param {import('../coap').Request} request
   */
  asked(peer, { token, path }) {
    peer.unanswered.set(token.toString('latin1'), resourceOf(path));
  }

  /**
   * An answer leaves. Notifications, which follow the first answer, are not counted.
   * @param {import('../sessions').Peer | undefined} peer
   * @param {Uint8Array} token
   * @param {string | number} answer code
   */
  answered(peer, token, answer) {
    const name = Buffer.from(token).toString('latin1');
    const resource = peer?.unanswered.get(name);
    if (resource === undefined) return;
    peer?.unanswered.delete(name);
    const code = classOf(answer);
    const key = `${resource} ${code}`;
    const row = this.#requests.get(key) ?? { resource, code, count: 0 };
    row.count++;
    this.#requests.set(key, row);
  }

  get requests() {
    return [...this.#requests.values()];
  }
}

module.exports = { Tallies, resourceOf };
