'use strict';

const { AlarmPaths } = require('./paths/alarm-paths');
const { refusalName } = require('./session/reason-codes');

/** @typedef {import('./session-group').Group} Group */
/** @typedef {import('./session/reason-codes').Reason} Reason */

/** @type {Reason} */
const QOS_0 = {
  code: 'QOS_0',
  reason: 'Alarms are sent over one path, because an uplink node of this broker has QoS 0.',
  refused: false
};
/** The path answers again. @type {Reason} */
const PATH_UP = { code: 'PATH_UP', reason: 'The path is up again.', refused: false, atOnce: true };

/**
 * Of the two sessions of class 1, the one that sends copies, on a path that the first one does not use. The broker's
 * answers decide nothing here: what it refuses, or does not acknowledge, is left to the first session.
 *
 * It takes batches only while it is connected. Each connection begins with the oldest batch in flight, so that it sends
 * all of them in order, and none that the cloud has.
 */
class SecondSession {
  /** The engine. @type {{token: number, uplink: number} | null} */
  #engine = null;
  /** The path for the next connection was down at the last check. */
  #wasDown = false;
  #counts = { sent: 0, leadFirst: 0, secondFirst: 0 };

  /**
   * @param {Group} lead the first session
   * @param {import('./paths/session-paths').Paths} paths of the uplink
   * @param {{usesMetered: boolean, problem: (code: string, reason: string) => void}} options
   */
  constructor(lead, paths, { usesMetered, problem }) {
    this.lead = lead;
    this.problem = problem;
    this.paths = new AlarmPaths(paths, { avoids: () => this.#leadPath(), usesMetered });
    /** Set by the group. @type {Group | null} */
    this.group = null;
  }

  /** Name of the path of the first session, '' = unknown. */
  #leadPath() {
    const { lead } = this;
    const { session } = lead;
    const paths = /** @type {AlarmPaths} */ (lead.paths);
    if (session.way) return session.way.name;
    const ways = session.connected ? paths.having([lead.socketView().localAddress]) : paths.inOrder();
    return ways[0]?.name ?? '';
  }

  /** @param {number} token @param {number} uplink */
  attach(token, uplink) {
    this.#engine = { token, uplink };
    this.follow();
  }

  /** Takes batches while that is possible. Call it when the connection, the stages or the engine change. */
  follow() {
    const { feeder, session } = /** @type {Group} */ (this.group);
    const mayTake = session.connected && this.#engine !== null && !this.#hasQos0();
    if (mayTake === Boolean(feeder.source)) return;
    if (!mayTake) feeder.detach();
    else {
      try {
        const { token, uplink } = /** @type {{token: number, uplink: number}} */ (this.#engine);
        this.group?.attachTo(token, uplink);
      } catch (error) {
        this.problem('ENGINE', `The second session of alarms cannot reach its engine: ${error}.`);
      }
    }
  }

  #hasQos0() {
    const { feeder } = /** @type {Group} */ (this.group);
    return [...feeder.order.stages.values()].some(({ qos }) => qos === 0);
  }

  /** The broker refused a copy. @param {number} code */
  refused(code) {
    const { feeder, session } = /** @type {Group} */ (this.group);
    feeder.pause();
    session.kill({
      code: `PUBACK_${code}`,
      reason: `The broker refused the copy of an alarm (${refusalName(code)}).`,
      refused: true
    });
  }

  /** Moves the session when the first one has come to its path. Call it several times a second. */
  check() {
    const { session } = /** @type {Group} */ (this.group);
    const path = this.#leadPath();
    if (this.lead.session.connected && session.connected && session.way?.name === path) {
      const reason = `The first session of alarms now uses the path ${path}.`;
      session.renew({ code: 'PATH_TAKEN', reason, refused: false, atOnce: true });
    }
    const [next] = this.paths.inOrder();
    const isDown = next === undefined || this.paths.isDown(next);
    // An attempt over a dead path waits ever longer between its packets.
    if (!session.connected && this.#wasDown && !isDown) session.renew(PATH_UP);
    this.#wasDown = isDown;
  }

  view() {
    const group = /** @type {Group} */ (this.group);
    const { session, feeder } = group;
    const { state, code, reason } = group.status.view();
    const isBarred = state === 'connected' && this.#hasQos0();
    const { source } = this.lead.feeder;
    if (source) this.#counts = source.copies();
    return {
      ...(isBarred
        ? { state: 'disconnected', code: QOS_0.code, reason: QOS_0.reason }
        : { state, code, reason }),
      clientId: group.clientId,
      paths: [this.#leadPath(), session.connected ? (session.way?.name ?? '') : ''],
      express: feeder.express.isActive,
      bytesAcked: group.acked.read(),
      ...this.#counts
    };
  }
}

/** @typedef {ReturnType<SecondSession['view']>} AlarmsView */

exports.SecondSession = SecondSession;
