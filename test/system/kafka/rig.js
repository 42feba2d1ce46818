'use strict';
// The engine, its log and the thread of a Kafka cluster in this process, without Node-RED.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const native = require('../../../native');
const { clusterOptions } = require('../../../nodes/lib/kafka/settings/kafka-options');
const { schema } = require('../../../nodes/lib/kafka/settings/kafka');
const { parseOptions } = require('../../../nodes/lib/base/options');
const { UplinkThread } = require('../../../nodes/lib/kafka/uplink');
const { StoreThread } = require('../../../nodes/lib/store');
const { eventually } = require('../../../bench/harness/net');

const INGEST = 1;
const BATCH = 2;
const UPLINK = 3;
const QUEUE = 1;
const NORMAL = 3;

/** @param {object} settings of a kafka cluster node @param {any} [tls] what a tls-config node gives */
function clusterOf(settings, tls) {
  const { values, problems } = parseOptions({ security: 'plaintext', ...settings }, schema);
  if (problems.length > 0) throw new Error(problems.join(' '));
  const node = tls && { addTLSOptions: () => tls };
  return clusterOptions({ ...values, tls: tls ? 'tls' : '' }, { node, files: undefined }).options;
}

class Rig {
  /**
   * @param {object} cluster settings of the cluster node
   * @param {{ mode?: 'records' | 'envelope' | 'off', stage?: object, log?: boolean, batch?: object, tls?: any,
   *   memoryMiB?: number, replicated?: boolean }} [options]
   */
  constructor(cluster, options = {}) {
    const {
      mode = 'records',
      stage = {},
      log = false,
      batch = {},
      tls,
      memoryMiB = 64,
      replicated = false
    } = options;
    /** Results by ticket. @type {Map<number, number>} */
    this.completed = new Map();
    this.lastTicket = 0;
    this.states = [];
    this.problems = [];
    this.engine = new native.Engine(
      { workers: 1, memoryMiB, acknowledge: 'safe', log, oddTopics: 'accept' },
      () => this.complete()
    );
    this.engine.applyPlan({
      stages: [
        { id: INGEST, kind: 'ingest', next: [BATCH], messages: false },
        {
          id: BATCH,
          kind: 'batch',
          mode,
          format: 'ndjson',
          flush: 'adaptive',
          minDevices: 0,
          maxBytes: 16384,
          maxDelayMs: 1000,
          immediateClass: 1,
          next: [UPLINK],
          messages: false,
          ...batch
        },
        { id: UPLINK, kind: 'uplink', uplink: QUEUE, name: 'cloud', stamps: true, next: [], messages: false }
      ]
    });
    this.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-kafka-rig-'));
    if (log) {
      this.store = new StoreThread({
        directory: this.folder,
        limitMiB: 1024,
        classLimitMiB: new Array(9).fill(0),
        whenFull: 'slow'
      });
      this.store.attach(this.engine.token);
    }
    this.thread = new UplinkThread({
      ...clusterOf({ reconnectMinMs: 100, reconnectMaxMs: 1000, ...cluster }, tls),
      gateway: 'gw1',
      replicated,
      stateMs: 100
    });
    this.thread.on('state', (state) => this.states.push(state));
    this.thread.on('problem', (problem) => this.problems.push(problem));
    this.thread.setStages({ [UPLINK]: { source: 'mqtt', ...stage } });
    this.thread.attach(this.engine.token, QUEUE);
  }

  get state() {
    return this.states.at(-1) ?? { state: '' };
  }

  complete() {
    if (this.isStopped) return;
    const pairs = this.engine.takeCompletions();
    for (let i = 0; i < pairs.length; i += 2) this.completed.set(pairs[i], pairs[i + 1]);
  }

  /**
   * @param {string} device
   * @param {string | Buffer} payload
   * @param {{ cls?: number, topic?: string, trace?: string, ts?: number, seq?: number }} [options]
   * @returns {number} the ticket; 0 = the engine has no room
   */
  push(device, payload, { cls = NORMAL, topic = 'hall/temp', trace = '', ts = 0, seq = -1 } = {}) {
    const ticket = ++this.lastTicket;
    const bytes = typeof payload === 'string' ? Buffer.from(payload) : payload;
    const result = this.engine.push(INGEST, device, topic, bytes, cls, 1, ts, seq, ticket, 0, trace);
    if (result === 0) return ticket;
    this.lastTicket--;
    return 0;
  }

  /** @param {string} state */
  reach(state, timeoutMs = 60000) {
    return eventually(() => this.state.state === state && this.state, { timeoutMs, what: `state ${state}` });
  }

  /** Waits until all records are acknowledged. */
  allDone(timeoutMs = 60000) {
    return eventually(
      () => {
        this.complete();
        return this.completed.size >= this.lastTicket;
      },
      { timeoutMs, what: 'all records acknowledged' }
    );
  }

  async stop() {
    await this.thread.stop(2000);
    await this.store?.stop(5000);
    this.isStopped = true;
    this.engine.close();
    fs.rmSync(this.folder, { recursive: true, force: true });
  }
}

module.exports = { Rig, clusterOf };
