'use strict';

const { EventEmitter } = require('node:events');
const path = require('node:path');
const { ManagedThread } = require('../base/managed-thread');
const { checkOptions } = require('../settings/uplink-options');
const { checkStage } = require('./sending/uplink-stage');

/**
 * What differs by the kind of cloud.
 * @typedef {object} Kind
 * @property {string} file the module that the thread runs
 * @property {string} name of the thread, as the operating system shows it
 * @property {(options: any, defaultNative: string) => { groups: number[][] }} checkOptions throws TypeError
 * @property {(stage: any) => object} checkStage throws TypeError
 */

const COUNTERS = /** @type {const} */ ([
  'published',
  'acknowledged',
  'redelivered',
  'unmatched',
  'failed',
  'deadLetters',
  'refusals',
  'connects',
  'bytesAcked',
  'savedBytes',
  'stalls',
  'failovers',
  'returns',
  'compressedBatches',
  'compressedFrom',
  'compressedTo',
  'keptUncompressed',
  'compressionFailures',
  'dictionaries'
]);
const NOTHING = zeros(COUNTERS);
/** Counters of each session. */
const SESSION_COUNTERS = /** @type {const} */ (['published', 'acknowledged', 'connects', 'bytesAcked']);
const IDLE = { rttMs: 0, oldestMs: -1, inflight: 0, backlogInflight: 0, quotaWait: 0, sessions: [] };
const DEFAULT_NATIVE = path.join(__dirname, '../../../native');
/** @type {Kind} */
const MQTT = {
  file: path.join(__dirname, 'uplink-worker.js'),
  name: 'seganet-uplink',
  checkOptions,
  checkStage
};
/** Time that the thread may take beyond its time-out to send DISCONNECT. */
const GRACE_MS = 1000;

/**
 * The uplink thread of one broker, as seen from Node-RED's thread. Records never pass through this object: the uplink
 * thread pulls them from the engine.
 *
 * Events:
 *
 * 'state', on change and every `stateMs` (if it is 1000, each three seconds under a light load, and each nine while
 * nothing changes), about all sessions of the uplink together:
 * - state (of session.js, or 'stalled': the connection is up and nothing moves), code, reason: of the session in the
 *   worst state
 * - rttMs: of the most urgent session
 * - oldestMs: age of the oldest record that is not acknowledged, -1 = there is none
 * - inflight, backlogInflight: packets in flight, or refused and waiting, and how many of them are backlog
 * - quotaWait: ms until all temporarily refused packets are sent again, 0 = there are none
 * - published, acknowledged, redelivered: packets; refusals: PUBACKs with an error
 * - unmatched: acknowledged packets that no client had subscribed to (MQTT 5, if the broker reports it)
 * - failed, deadLetters: packets that were given up, and the records in them
 * - compressedBatches, compressedFrom, compressedTo: compressed envelopes, and their bytes before and after;
 *   keptUncompressed: not compressed because of a topic; compressionFailures; dictionaries: taken by the broker
 * - connects, bytesAcked: connections that the broker accepted, and the bytes that TCP has confirmed on them, including
 *   those of TLS and MQTT
 * - savedBytes: estimate of what batches and compression saved, see link-cost.js
 * - stalls: times that records stood still although the way was free; isStallRepeating: twice within ten minutes
 * - with several URLs: url, where the uplink is, from 1; failovers, returns; moved {from, to, at, code, reason,
 *   isReturn}, the last change; urls, each with url (host and port), state, code and reason, see uplink-urls.js
 * - sessions: for each session, the most urgent first: group (from 1), classes, clientId, state, code, reason, rttMs,
 *   oldestMs, inflight, backlogInflight, express (the engine sends, without JavaScript), published, acknowledged,
 *   connects, certificateEnds (of the broker, ms since 1970; 0 = none, or never connected), bytesAcked, url (host and
 *   port, with several), batchBytes (m of its link), busyMs and busyBytes (time in which the link was the limit, and
 *   what was acknowledged meanwhile; of the present thread), and priority, dscp and localAddress of its socket (-1 and
 *   '' = unknown). With paths also: transport of mptcpInfo() ('' = no connection) and paths, each with name, role,
 *   actingRole, interface, address, state, why, since, quality, advice, adviceWhy (of the watch; quality null = it
 *   reports none), and subflows, rttMs, retransmits, bytesSent, bytesAcked of this session. Empty while the thread
 *   does not run.
 * - alarms: of the session that sends copies of class 1, if there is one: state, code, reason, clientId, paths (of the
 *   first and this session, '' = none), express, bytesAcked, sent, leadFirst, secondFirst (see UplinkSource.copies())
 * - commands: of the command session, if enabled: state, code, reason, clientId, received, acknowledged, open (handed
 *   over and not answered), redelivered, retained and ignored (acknowledged, but not handed over), reports,
 *   reportsWaiting, reportsDropped; of the present thread
 *
 * 'command' {device, rest, payload, qos, id?, expiryS?, responseTopic?, correlation?, ack}: a command arrived. Call
 * answer(ack) when it is safe.
 *
 * 'problem' {code, reason, count}, at most once a second for a code: records were refused, or wait for a topic.
 */
class UplinkThread extends EventEmitter {
  /**
   * Throws TypeError with a sentence for the user.
   * @param {any} options as checkOptions of the kind reads them
   * @param {Kind} [kind] of the cloud, default: an MQTT broker
   */
  constructor(options, kind = MQTT) {
    super();
    this.kind = kind;
    this.options = kind.checkOptions(options, DEFAULT_NATIVE);
    /** @type {{token: number, uplink: number} | null} */
    this.engine = null;
    /** @type {Record<string, object>} */
    this.stages = {};
    /** Counters of earlier threads, and of the present one. */
    this.past = { ...NOTHING };
    this.present = { ...NOTHING };
    /** The same for each session. */
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
      file: kind.file,
      name: kind.name,
      workerData: () => ({ options: this.options, generation: ++this.generation }),
      onStart: () => this.#onStart(),
      onMessage: (message) => this.#onMessage(message),
      onExit: (cause, restartMs) => this.#onExit(cause, restartMs),
      restarts: true
    });
    this.thread.start();
  }

  /**
   * Pulls from this engine from now on. Batches of an engine attached before go back to it.
   * @param {number} token Engine.token
   * @param {number} uplink number used in the plan's uplink stages
   */
  attach(token, uplink) {
    this.engine = { token, uplink };
    this.thread.post({ type: 'attach', token, uplink });
  }

  /**
   * Adds or replaces uplink stages; call it before applyPlan(). Throws TypeError with a sentence for the user.
   * @param {Record<string, any>} stages by stage id, as checkStage of the kind reads them
   */
  setStages(stages) {
    const checked = Object.fromEntries(
      Object.entries(stages).map(([id, stage]) => [id, this.kind.checkStage(stage)])
    );
    Object.assign(this.stages, checked);
    this.thread.post({ type: 'stages', stages: this.stages });
  }

  /**
   * Acknowledges a command, which is safe now, to the broker.
   * @param {string} ack of 'command'; '' = no acknowledgement is due
   */
  answer(ack) {
    if (ack !== '') this.thread.post({ type: 'answer', ack });
  }

  /**
   * Reports the outcome of a command to the cloud.
   * @param {import('../commands/command-reports').Report} report
   */
  report(report) {
    this.thread.post({ type: 'report', report });
  }

  /**
   * Resolves true when nothing is in flight and the engine has nothing ready; false after the time-out.
   * @param {number} timeoutMs
   * @returns {Promise<boolean>}
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
   * Takes no more batches, waits for the acknowledgements of those taken, sends DISCONNECT and ends the thread. Batches
   * that were not acknowledged go back to the engine.
   * @param {number} timeoutMs longest wait for the acknowledgements
   * @returns {Promise<boolean>} true when everything taken was acknowledged
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
        // A Kafka cluster has some of them only.
        this.present[name] = message[name] ?? 0;
        if (name in message) message[name] += this.past[name];
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
