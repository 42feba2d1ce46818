'use strict';

const { EventEmitter } = require('node:events');
const path = require('node:path');
const { ManagedThread } = require('../base/managed-thread');
const { checkOptions } = require('../settings/uplink-options');
const { checkStage } = require('./sending/uplink-stage');

/** @typedef {import('./sending/uplink-stage').StageOptions} StageOptions */

const COUNTERS = /** @type {const} */ ([
  'published',
  'acknowledged',
  'redelivered',
  'unmatched',
  'failed',
  'deadLetters',
  'refusals',
  'connects',
  'bytesAcked'
]);
const NOTHING = zeros(COUNTERS);
/** Of each session. */
const SESSION_COUNTERS = /** @type {const} */ (['published', 'acknowledged', 'connects', 'bytesAcked']);
const IDLE = { rttMs: 0, oldestMs: -1, inflight: 0, backlogInflight: 0, quotaWait: 0, sessions: [] };
const DEFAULT_NATIVE = path.join(__dirname, '../../../native');
/** Time that the thread may take beyond its time-out to send DISCONNECT. */
const GRACE_MS = 1000;

/**
 * The uplink thread of one broker, seen from Node-RED's thread. Records never come here: the thread pulls them from the engine.
 *
 * Events: 'state', on change and each `stateMs`, of all sessions of the uplink together:
 *   state (session.js, or 'stalled': the connection is up and nothing moves), code, reason   of the session that is worst off
 *   rttMs                       of the most urgent session
 *   oldestMs                    age of the oldest record that is not acknowledged, -1 = there is none
 *   inflight, backlogInflight   packets on their way or refused and waiting, and how many of them are backlog
 *   quotaWait                   ms until all that the broker refuses for now is sent again, 0 = there is none
 *   published, acknowledged, redelivered   packets · refusals   PUBACKs that said no
 *   unmatched                   of the acknowledged, those that no client had subscribed to (MQTT 5, where the broker tells it)
 *   failed, deadLetters         packets that were given up, and the records in them
 *   connects, bytesAcked        connections that the broker accepted, and what TCP has confirmed of them, with that of TLS and MQTT
 *   sessions                    of each, the most urgent first: group (from 1), classes, clientId, state, code, reason, rttMs, oldestMs,
 *                               inflight, backlogInflight, express (the engine sends, without JavaScript), published, acknowledged,
 *                               connects, bytesAcked, batchBytes (m of its link), priority, dscp and localAddress of its socket (-1 and '' = not known); with
 *                               paths: transport of mptcpInfo() ('' = no connection) and paths, each with name, role, actingRole, interface,
 *                               address, state, why, since, quality, advice, adviceWhy (of the watch; quality null = it tells none), and
 *                               subflows, rttMs, retransmits, bytesSent, bytesAcked of this session; empty while the thread does not run
 *   commands                    of their session, where they are on: state, code, reason, clientId, received, acknowledged, open (handed
 *                               over and not answered), redelivered, retained and ignored (acknowledged, given to nobody), reports,
 *                               reportsWaiting, reportsDropped; of the present thread
 * 'command' {device, rest, payload, qos, id?, expiryS?, responseTopic?, correlation?, ack}: one came; answer(ack) when it is safe.
 * 'problem' {code, reason, count}, at most once a second for a code: records that were refused, or wait for a topic.
 */
class UplinkThread extends EventEmitter {
  /** Throws TypeError with a sentence for the user. @param {import('../settings/uplink-options').UplinkOptions} options */
  constructor(options) {
    super();
    this.options = checkOptions(options, DEFAULT_NATIVE);
    /** @type {{token: number, uplink: number} | null} */
    this.engine = null;
    /** @type {Record<string, object>} */
    this.stages = {};
    /** Counters of threads that are gone, and of the present one. */
    this.past = { ...NOTHING };
    this.present = { ...NOTHING };
    /** The same of each session. */
    this.pastSessions = this.#noSessions();
    this.presentSessions = this.#noSessions();
    /** @type {Map<number, (done: boolean) => void>} */
    this.drains = new Map();
    this.lastDrain = 0;
    /** @type {Promise<boolean> | null} */
    this.stopping = null;
    /** Number of threads started so far. */
    this.generation = 0;
    /** @type {boolean | undefined} */
    this.stoppedInTime = undefined;
    this.thread = new ManagedThread({
      file: path.join(__dirname, 'uplink-worker.js'),
      name: 'seganet-uplink',
      workerData: () => ({ options: this.options, generation: ++this.generation }),
      onStart: () => this.#onStart(),
      onMessage: (message) => this.#onMessage(message),
      onExit: (cause, restartMs) => this.#onExit(cause, restartMs),
      restarts: true
    });
    this.thread.start();
  }

  /**
   * Pulls from this engine from now on; batches of an engine attached before go back to it.
   * @param {number} token Engine.token @param {number} uplink number used in the plan's uplink stages
   */
  attach(token, uplink) {
    this.engine = { token, uplink };
    this.thread.post({ type: 'attach', token, uplink });
  }

  /**
   * Adds or replaces uplink stages; call it before applyPlan(). Throws TypeError with a sentence for the user.
   * @param {Record<string, StageOptions>} stages by stage id
   */
  setStages(stages) {
    const checked = Object.fromEntries(Object.entries(stages).map(([id, stage]) => [id, checkStage(stage)]));
    Object.assign(this.stages, checked);
    this.thread.post({ type: 'stages', stages: this.stages });
  }

  /** The command is safe: the broker hears so. @param {string} ack of 'command'; '' = nobody waits for it */
  answer(ack) {
    if (ack !== '') this.thread.post({ type: 'answer', ack });
  }

  /** Tells the cloud what became of a command. @param {import('../commands/command-reports').Report} report */
  report(report) {
    this.thread.post({ type: 'report', report });
  }

  /**
   * Resolves true when nothing is in flight and the engine has nothing ready; false after the time-out.
   * @param {number} timeoutMs @returns {Promise<boolean>}
   */
  drain(timeoutMs) {
    if (!this.thread.isRunning || this.stopping) return Promise.resolve(false);
    const id = ++this.lastDrain;
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#drained(id, false), timeoutMs);
      this.drains.set(id, (done) => {
        clearTimeout(timer);
        resolve(done);
      });
      this.thread.post({ type: 'drain', id });
    });
  }

  /**
   * Takes no more batches, waits at most so long for the acknowledgements of those taken, says DISCONNECT and ends the thread.
   * What was not acknowledged goes back to the engine.
   * @param {number} timeoutMs @returns {Promise<boolean>} true when everything taken was acknowledged
   */
  stop(timeoutMs) {
    this.stopping ??= this.#stop(timeoutMs);
    return this.stopping;
  }

  #onStart() {
    const { thread } = this;
    if (Object.keys(this.stages).length > 0) thread.post({ type: 'stages', stages: this.stages });
    if (this.engine) thread.post({ type: 'attach', ...this.engine });
    for (const id of this.drains.keys()) thread.post({ type: 'drain', id });
  }

  /** @param {any} message */
  #onMessage({ type, ...message }) {
    if (type === 'state') {
      for (const name of COUNTERS) {
        this.present[name] = message[name];
        message[name] += this.past[name];
      }
      for (const [i, session] of message.sessions.entries()) {
        for (const name of SESSION_COUNTERS) {
          this.presentSessions[i][name] = session[name];
          session[name] += this.pastSessions[i][name];
        }
      }
      if (message.sessions.some((/** @type {any} */ { state }) => state === 'connected')) {
        this.thread.markHealthy();
      }
      this.emit('state', message);
    } else if (type === 'command') this.emit('command', message.command);
    else if (type === 'problem') this.emit('problem', message);
    else if (type === 'drained') this.#drained(message.id, true);
    else if (type === 'stopped') {
      this.stoppedInTime = message.inTime;
      this.thread.terminate();
    }
  }

  #noSessions() {
    return this.options.groups.map(() => zeros(SESSION_COUNTERS));
  }

  /** @param {number} id @param {boolean} done */
  #drained(id, done) {
    this.drains.get(id)?.(done);
    this.drains.delete(id);
  }

  /**
   * Adds the counters of the thread that ended to the totals. The engine gives its batches to the next thread.
   * @param {string} cause
   * @param {number} restartMs
   */
  #onExit(cause, restartMs) {
    for (const name of COUNTERS) {
      this.past[name] += this.present[name];
      this.present[name] = 0;
    }
    for (const [i, session] of this.presentSessions.entries()) {
      for (const name of SESSION_COUNTERS) this.pastSessions[i][name] += session[name];
    }
    this.presentSessions = this.#noSessions();
    if (this.stopping) return;
    const reason = `The uplink thread ended unexpectedly (${cause}). It restarts in ${restartMs} ms.`;
    this.#emitEnd('disconnected', 'THREAD', reason);
  }

  /** @param {string} state @param {string} code @param {string} reason */
  #emitEnd(state, code, reason) {
    this.emit('state', { state, code, reason, ...IDLE, ...this.past });
  }

  /** @param {number} timeoutMs */
  async #stop(timeoutMs) {
    for (const id of [...this.drains.keys()]) this.#drained(id, false);
    const wasRunning = await this.thread.stop({ type: 'stop', timeoutMs }, timeoutMs + GRACE_MS);
    // A terminated thread did not report its end.
    if (this.stoppedInTime === undefined) this.#emitEnd('stopped', '', '');
    return this.stoppedInTime ?? !wasRunning;
  }
}

/** @template {string} Name @param {readonly Name[]} names @returns {Record<Name, number>} */
function zeros(names) {
  return /** @type {any} */ (Object.fromEntries(names.map((name) => [name, 0])));
}

exports.UplinkThread = UplinkThread;
