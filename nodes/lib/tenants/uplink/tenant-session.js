'use strict';

const { isIdle } = require('../../uplink/sending/batch-ages');
const { Group } = require('../../uplink/session-group');
const { Pacer } = require('../../uplink/sending/pacer');
const { LEAST_URGENT } = require('./tenant');
const { TenantCommands } = require('./tenant-commands');

const SUMS = /** @type {const} */ ([
  'published',
  'acknowledged',
  'redelivered',
  'unmatched',
  'failed',
  'deadLetters'
]);

/** @typedef {Record<typeof SUMS[number] | 'refusals' | 'records' | 'stalls' | 'bytesAcked', number>} SessionCounts */

/**
 * @typedef {object} TenantSessionParts
 * @property {import('../../settings/uplink-options').CheckedOptions} options of the connection
 * @property {typeof import('../../../../native')} native
 * @property {{ token: number, number: number }} engine number of the tenant's lanes
 * @property {{ id: number, stage: import('../../uplink/sending/uplink-stage').Stage }} stage
 * @property {() => void} wake requests a turn
 * @property {() => number} now ms, monotonic
 * @property {(code: string, reason: string) => void} problem
 * @property {(state: string, reason: string) => void} onState
 * @property {(counts: SessionCounts) => void} onEnd
 * @property {(command: import('./tenant-commands').TenantCommand, ack: number) => void} onCommand
 */

/** The MQTT session of a tenant that is awake. */
class TenantSession {
  /** @param {TenantSessionParts} parts */
  constructor({ options, native, engine, stage, wake, now, problem, onState, onEnd, onCommand }) {
    const pacer = new Pacer({ rate: options.backlogRate, share: options.backlogShare, now });
    this.commands = new TenantCommands({
      user: options.clientId,
      handOver: onCommand,
      write: (bytes) => {
        if (this.group.session.connected) this.group.session.write(bytes, () => {});
      }
    });
    this.group = new Group(0, {
      options,
      native,
      pacer,
      wake,
      now,
      problem,
      onClient: (client) => this.commands.connected(client),
      onPublish: (packet, done) => this.commands.onPublish(packet, done),
      onStatus: () => {
        const { state, why } = this.group.status;
        onState(state, why?.reason ?? '');
      }
    });
    this.group.feeder.setStages(new Map([[stage.id, stage.stage]]));
    this.engine = engine;
    this.onEnd = onEnd;
  }

  /** Takes the tenant's lanes, and connects. Throws the engine's errors. */
  start() {
    this.group.attach(this.engine.token, this.engine.number);
    this.group.session.start();
  }

  /** True if nothing waits in memory and nothing is in flight. */
  get isIdle() {
    const { feeder, status } = this.group;
    if (status.state !== 'connected' || feeder.taken.size > 0 || !isIdle(feeder)) return false;
    if (this.commands.open.size > 0) return false;
    return (feeder.source?.bestBacklog() ?? 0) === 0;
  }

  /** Changes with each acknowledgement. */
  get activity() {
    return this.group.feeder.sender.acknowledged;
  }

  /** True if everything that was taken is acknowledged, or there is no connection. */
  get isDone() {
    return this.group.isDone || this.group.status.state !== 'connected';
  }

  /** The most urgent class that waits. */
  get class() {
    const { source } = this.group.feeder;
    return source?.best() || source?.bestBacklog() || LEAST_URGENT;
  }

  turn() {
    this.group.turn();
  }

  stopTaking() {
    this.group.feeder.stopTaking();
  }

  checkHealth() {
    this.group.checkHealth();
  }

  everySecond() {
    this.group.everySecond();
    this.group.schedule();
  }

  get load() {
    const { taken, isWaiting } = this.group.feeder;
    return { records: taken.records, isWaiting };
  }

  /** @returns {SessionCounts} since it began */
  counts() {
    const { feeder, acked, stalls } = this.group;
    feeder.express.refresh();
    const sums = Object.fromEntries(SUMS.map((name) => [name, feeder.sender[name]]));
    return /** @type {any} */ ({
      ...sums,
      refusals: feeder.sender.resends.refusals.count,
      records: feeder.taken.records,
      stalls: stalls.count,
      bytesAcked: acked.read()
    });
  }

  /** Returns what it took to the engine, and sends DISCONNECT. @returns {Promise<void>} */
  stop() {
    this.onEnd(this.counts());
    return this.group.stop();
  }
}

exports.TenantSession = TenantSession;
