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
const BY_SECOND = new Set(['rd', 'res', 'route', 'prs', 'ps', 'ping', 'acl']);

/** Names the resource of a path. A path that the cloud does not have is 'other'. @param {string[]} path */
function resourceOf(path) {
  const known = BY_PATH.get(path.join('/'));
  if (known) return known;
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
   * @param {import('./sessions').Peer} peer
   * @param {import('./coap').Request} request
   */
  asked(peer, { token, path }) {
    peer.unanswered.set(token.toString('latin1'), resourceOf(path));
  }

  /**
   * An answer leaves. Notifications, which follow the first answer, are not counted.
   * @param {import('./sessions').Peer | undefined} peer
   * @param {Buffer} token
   * @param {string | number} answer code
   */
  answered(peer, token, answer) {
    const name = token.toString('latin1');
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

/**
 * Returns a desk that reports each answer.
 * @param {import('./cloud').Desk} desk
 * @param {(connection: number, token: Buffer, code: string | number) => void} onAnswer
 * @returns {import('./cloud').Desk}
 */
function reporting(desk, onAnswer) {
  return {
    answer: (connection, token, code, options, payload) => {
      onAnswer(connection, token, code);
      return desk.answer(connection, token, code, options, payload);
    },
    identify: (connection, session) => desk.identify(connection, session),
    forget: (connection, reason) => desk.forget(connection, reason),
    close: (connection, reason) => desk.close(connection, reason),
    ask: (device, question, onAnswerOfDevice) => desk.ask(device, question, onAnswerOfDevice),
    cancel: (handle) => desk.cancel(handle),
    record: (connection, topic, payload, recordClass) => desk.record(connection, topic, payload, recordClass),
    // A desk that cannot forward does not have these.
    grant: desk.grant && ((connection, owner, rights) => desk.grant?.(connection, owner, rights)),
    revoke: desk.revoke && ((connection, owner) => desk.revoke?.(connection, owner)),
    settled: desk.settled && ((connection, token) => desk.settled?.(connection, token))
  };
}

module.exports = { Tallies, reporting, resourceOf };
