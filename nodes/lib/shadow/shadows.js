'use strict';
// The shadows of one engine: what devices report, what others desire, and the way of the difference to the device.
//
//   device, flow, cloud, HTTP ─▶ thread ─▶ on disk ─▶ answer, change for flows
//                                             └─▶ delta ─▶ leading command, now or when the device connects
//
// Documents are on disk alone. For a device that is away, nothing is kept in memory: its delta is derived again when it
// connects. The exceptions are the latest deltas of devices that the engine does not know, such as those of other
// carriers of commands, which become reachable without an event.

const { guard } = require('../base/guard');
const { toPayload } = require('../base/record');
const { commandProblem } = require('../commands/command');
const { rejectedForm } = require('./forms');
const { toText, write } = require('./json');
const { OcfResources, stateOf } = require('./ocf-resources');
const { Owed } = require('./owed');
const { Refusal } = require('./refusal');
const { isExactly, matches } = require('./settings');
const { askedBy, deltaTopic } = require('./topics');

const SENDER = 'shadow';
/** Deltas in memory for devices that are not connected. */
const MAX_AWAY = 1000;
/** Room for what a request has beside the state. */
const REQUEST_BYTES = 1024;
const AGENTS = 1000;
/** Longest wait of the cloud for the flows to start. */
const START_MS = 30000;
/** What the cloud asks, after the device in the topic of a command. @type {Record<string, 'update' | 'get' | 'delete'>} */
const CLOUD = { 'shadow/update': 'update', 'shadow/get': 'get', 'shadow/delete': 'delete' };

/**
 * @typedef {import('./shadow-desk').Op} Op
 * @typedef {import('./shadow-desk').Result} Result
 * @typedef {import('../commands').Serve} Serve
 *
 * @typedef {object} Responsible a shadow node
 * @property {import('./settings').Values} values
 * @property {boolean} wantsChanges
 * @property {(device: string, change: any) => void} changed must not throw
 *
 * @typedef {object} Parts
 * @property {Pick<import('../commands').Commands, 'lead' | 'retract' | 'send' | 'serve' | 'carry'>} commands
 * @property {Pick<import('../engine/device-events').DeviceEvents, 'follow'>} deviceEvents
 * @property {(after: string, limit: number) => { device: string, connected: boolean }[]} agents of the engine
 * @property {() => Pick<import('./shadow-thread').ShadowThread, 'ask' | 'list' | 'stop' | 'state'>} start starts the
 *   thread
 * @property {(sentence: string, kind?: string) => void} warn kind: sentences of one kind are limited together
 */

class Shadows {
  #parts;
  /** @type {Set<Responsible>} */
  #responsible = new Set();
  /** @type {ReturnType<Parts['start']> | null} */
  #thread = null;
  /** @type {Set<string>} */
  #connected = new Set();
  /** Connected devices, with the key of the delta that they got. @type {Map<string, number>} */
  #sent = new Map();
  /** Devices that are not connected, with the key of the delta that waits in memory. @type {Map<string, number>} */
  #away = new Map();
  /** Devices whose difference is derived because a read has overtaken a change. @type {Set<string>} */
  #doubted = new Set();
  #owed = new Owed((device) => this.#derive(device));
  #isClosed = false;
  #hasBegun = false;
  /** Those who wait for the flows. @type {Set<() => void>} */
  #begun = new Set();
  /** @type {(() => void)[]} */
  #stops;
  /** Payloads of differences, by which their carrier knows them. @type {WeakSet<Buffer>} */
  #deltas = new WeakSet();
  #ocf;
  counters = { deltas: 0, deltasTaken: 0, deltasFailed: 0, repliesLost: 0 };

  /** @param {Parts} parts */
  constructor(parts) {
    this.#parts = parts;
    // From the start, because the cloud may ask before the flows have started.
    this.#stops = [parts.commands.serve((command) => this.#serve(command))];
    this.#ocf = new OcfResources({
      deltaOf: ({ payload }) => (this.#deltas.has(payload) ? stateOf(payload) : null),
      report: (device, text) => this.#reportOf(device, text),
      isConnected: (device) => this.#connected.has(device),
      // A device that is away gets it when it connects.
      retry: (device) => void (this.#connected.has(device) && this.#sendAgain(device)),
      warn: (sentence) => parts.warn(sentence, 'ocf')
    });
  }

  /**
   * Makes a node responsible for the devices of its pattern.
   * @param {Responsible} responsible
   * @returns {() => void} ends that
   */
  join(responsible) {
    this.#responsible.add(responsible);
    // What devices got from another node, or in another dialect, does not count.
    this.#sent.clear();
    if (!this.#thread) this.#start();
    return () => {
      this.#responsible.delete(responsible);
      responsible.changed = () => {};
    };
  }

  /** Call it when the flows have started. */
  begin() {
    this.#hasBegun = true;
    for (const go of this.#begun) go();
    // What waits may be at the topic of a node that was changed or deleted. One in flight ends by itself.
    for (const device of [...this.#away.keys()])
      if (this.#parts.commands.retract(device, SENDER)) this.#owed.add(device);
    // They may have connected before the node was there.
    for (const device of this.#connected) this.#owed.add(device);
  }

  /** Call it when the file was opened again: a change that was refused because of the failure may be on disk. */
  reopened() {
    if (this.#hasBegun) for (const device of this.#connected) this.#owed.add(device);
  }

  /** Call it when flows stop: the node of a device may be missing for a moment. */
  pause() {
    this.#hasBegun = false;
  }

  /**
   * @param {{ kind: 'update' | 'get' | 'delete', device: string, text: string }} asked
   * @returns {Promise<Result>} when it is on disk
   * @throws {Refusal}
   */
  async ask({ kind, device, text }) {
    const responsible = this.#responsibleFor(device);
    if (!responsible)
      throw new Refusal(404, 'No shadow node is responsible for this device. Add one that matches it.');
    checkLength(responsible, Buffer.byteLength(text));
    const result = await this.#run(responsible, { kind, device, text, section: null, dialect: 'own' });
    if (result.status !== 200) throw new Refusal(/** @type {any} */ (result.status), result.message);
    const failed = kind === 'get' ? this.#ocf.failures(device) : null;
    return failed ? { ...result, body: `${result.body.slice(0, -1)},"failed":${write(failed)}}` } : result;
  }

  /**
   * Takes a record of a device.
   * @param {Responsible} responsible that got it
   * @param {{ device: string, topic: string, payload: unknown }} record
   * @returns {Promise<void> | null} null: it does not concern a shadow; resolves when it is on disk
   */
  take(responsible, { device, topic, payload }) {
    const { values } = responsible;
    const asked = matches(values, device) ? askedBy(values, device, topic) : null;
    if (!asked) return null;
    return this.#takeAsked(responsible, device, asked, payload);
  }

  /** @param {string} after @param {number} limit @returns {Promise<string>} JSON */
  async list(after, limit) {
    if (!this.#thread) throw new Refusal(404, 'The engine has no shadow node.');
    return this.#thread.list(after, limit);
  }

  figures() {
    const { state } = this.#thread ?? {};
    return { isUsed: this.#thread !== null, ...state, waiting: this.#away.size, own: this.counters };
  }

  async close() {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const stop of this.#stops) stop();
    this.#ocf.close();
    this.#owed.close();
    for (const go of this.#begun) go();
    await this.#thread?.stop();
  }

  #start() {
    const { start, commands, deviceEvents, agents } = this.#parts;
    this.#thread = start();
    this.#stops.push(
      deviceEvents.follow(({ kind, device }) => this.#guard(() => this.#happened(kind, device))),
      commands.carry(this.#ocf.devices, (command) => this.#ocf.carry(command))
    );
    for (let after = ''; ;) {
      const page = agents(after, AGENTS);
      for (const { device, connected } of page) if (connected) this.#connected.add(device);
      if (page.length < AGENTS) break;
      after = page[AGENTS - 1].device;
    }
  }

  /** @param {import('../engine/device-events').DeviceEvent['kind']} kind @param {string} device */
  #happened(kind, device) {
    if (kind === 'disconnected') {
      const key = this.#sent.get(device);
      this.#sent.delete(device);
      this.#connected.delete(device);
      this.#owed.delete(device);
      // It is derived again when the device returns. One in flight is sent again by itself.
      if (!this.#parts.commands.retract(device, SENDER) && key !== undefined) this.#waitFor(device, key);
      return;
    }
    this.#connected.add(device);
    const waiting = this.#away.get(device);
    this.#away.delete(device);
    // Its subscription wakes the command that waits.
    if (kind === 'listening') return;
    // What a device had before it connected again does not count: it may have restarted.
    if (waiting === undefined) this.#sent.delete(device);
    else this.#sent.set(device, waiting);
    if (this.#hasBegun) this.#owed.add(device);
  }

  /**
   * Sends what is desired and not reported by the device.
   * @param {string} device
   * @returns {Promise<boolean>} false: the shadow could not be read
   */
  async #derive(device) {
    const responsible = this.#responsibleFor(device);
    if (responsible)
      void this.#ocf.connected(device, () => this.#desiredKeys(responsible, device)).catch(() => {});
    return this.#sendDifference(device);
  }

  /** @param {string} device @returns {Promise<boolean>} false: the shadow could not be read */
  async #sendDifference(device) {
    const responsible = this.#responsibleFor(device);
    if (!responsible) {
      this.#away.delete(device);
      this.#parts.commands.retract(device, SENDER);
      return true;
    }
    try {
      const asked = /** @type {const} */ ({ kind: 'delta', device, text: '', section: null, dialect: 'own' });
      const { status, message } = await this.#run(responsible, asked);
      if (status !== 200) throw new Refusal(/** @type {any} */ (status), message);
      return true;
    } catch (error) {
      // One that has left gets it when it connects.
      if (this.#isClosed || !(this.#connected.has(device) || this.#away.has(device))) return true;
      const { message } = /** @type {Error} */ (error);
      this.#parts.warn(
        `The difference for ${device} cannot be derived: ${message} The gateway tries again.`,
        'derive'
      );
      return false;
    }
  }

  /** @param {string} device */
  async #sendAgain(device) {
    if (!(await this.#sendDifference(device))) this.#owed.fail(device);
  }

  /** @param {Responsible} responsible @param {string} device @returns {Promise<string[]>} */
  async #desiredKeys(responsible, device) {
    const asked = /** @type {const} */ ({ kind: 'get', device, text: '', section: null, dialect: 'own' });
    const { status, body } = await this.#run(responsible, asked);
    return status === 200 ? Object.keys(JSON.parse(body).desired ?? {}) : [];
  }

  /**
   * Takes what a resource of an OCF device represents.
   * @param {string} device
   * @param {string} text
   * @returns {Promise<boolean>} false: it cannot be stored now
   */
  async #reportOf(device, text) {
    const responsible = this.#responsibleFor(device);
    if (!responsible || this.#isClosed) return true;
    try {
      const asked = /** @type {const} */ ({ kind: 'update', device, text, section: null, dialect: 'own' });
      const { status, message } = await this.#run(responsible, asked);
      if (status !== 200) throw new Refusal(/** @type {any} */ (status), message);
      return true;
    } catch (error) {
      const { message, status } = /** @type {Refusal} */ (error);
      this.#parts.warn(`A report of the device ${device} was refused: ${message}`, 'refused');
      return status !== 503;
    }
  }

  /** The device may have a newer difference than that of a change. @param {string} device */
  async #deriveAgain(device) {
    // One that is open is repeated for each change that is answered meanwhile.
    if (this.#doubted.has(device)) return;
    this.#doubted.add(device);
    if (!(await this.#derive(device))) this.#owed.fail(device);
    this.#doubted.delete(device);
  }

  /**
   * @param {Responsible} responsible
   * @param {string} device
   * @param {import('./topics').Asked} asked
   * @param {unknown} payload
   */
  async #takeAsked(responsible, device, { kind, section, problem, replyTo }, payload) {
    const { dialect } = responsible.values;
    const refuse = (
      /** @type {number} */ status,
      /** @type {string} */ body,
      /** @type {string} */ message
    ) => {
      this.#reply(device, replyTo({ status, sectionVersion: 0 }), body);
      // The device must send it again.
      if (status === 503) throw new Refusal(503, message);
      // A repetition would be refused again, and the device has its answer.
      if (status !== 404) this.#parts.warn(`The device ${device} was refused: ${message}`, 'refused');
    };
    /** @type {Result} */
    let result;
    try {
      if (problem) throw new Refusal(400, problem);
      const text = textOf(responsible, toPayload(payload));
      result = await this.#run(responsible, { kind, device, text, section, dialect });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return refuse(error.status, JSON.stringify(rejectedForm(dialect, error, Date.now())), error.message);
    }
    if (result.status !== 200) return refuse(result.status, result.body, result.message);
    this.#reply(device, replyTo(result), result.body);
  }

  /**
   * @param {Responsible} responsible
   * @param {Pick<Op, 'kind' | 'device' | 'text' | 'section' | 'dialect'>} asked
   * @returns {Promise<Result>}
   */
  async #run(responsible, asked) {
    if (!this.#thread || this.#isClosed) throw new Refusal(503, 'The engine stopped.');
    const { device } = asked;
    const of = this.#responsibleFor(device) ?? responsible;
    const { dialect: deviceDialect, maxBytes, maxDepth, maxShadows } = of.values;
    const result = await this.#thread.ask({
      ...asked,
      deviceDialect,
      limits: { maxBytes, maxDepth, maxShadows },
      wantsChange: of.wantsChanges
    });
    if (this.#isClosed || result.status !== 200) return result;
    // Whatever fails now, the change is on disk.
    this.#guard(() => {
      if (result.isOvertaken) void this.#deriveAgain(device);
      else if (asked.kind !== 'get') this.#offer(of, result);
      if (result.change) of.changed(device, JSON.parse(result.change));
    });
    return result;
  }

  /** @param {Responsible} responsible @param {Result} result */
  #offer({ values }, { device, delta, deltaKey }) {
    const { commands } = this.#parts;
    if (delta === '') {
      this.#sent.delete(device);
      this.#away.delete(device);
      this.#ocf.settled(device);
      commands.retract(device, SENDER);
      return;
    }
    if (this.#sent.get(device) === deltaKey) return;
    const command = { device, topic: deltaTopic(values, device, delta), payload: Buffer.from(delta) };
    // A device whose id is no level of a topic cannot get it.
    if (commandProblem(command)) return;
    this.#deltas.add(command.payload);
    if (this.#connected.has(device)) this.#sent.set(device, deltaKey);
    else this.#waitFor(device, deltaKey);
    this.counters.deltas++;
    commands.lead(command, {
      sender: SENDER,
      doubted: () => {},
      ended: (status) => {
        if (this.#away.get(device) === deltaKey) this.#away.delete(device);
        this.counters[status === 'taken' ? 'deltasTaken' : 'deltasFailed']++;
        // It gets it again when it connects, or when it reports something.
        if (status !== 'taken' && this.#sent.get(device) === deltaKey) this.#sent.delete(device);
      }
    });
  }

  /** @param {string} device @param {number} deltaKey */
  #waitFor(device, deltaKey) {
    this.#away.delete(device);
    this.#away.set(device, deltaKey);
    for (const oldest of this.#away.keys()) {
      // One in flight leaves with the next one.
      if (this.#away.size <= MAX_AWAY || !this.#parts.commands.retract(oldest, SENDER)) return;
      this.#away.delete(oldest);
    }
  }

  /** @param {string} device @param {string} topic '' = no answer @param {string} body */
  #reply(device, topic, body) {
    if (topic === '' || this.#isClosed) return;
    const payload = Buffer.from(body);
    this.#guard(() =>
      this.#parts.commands.send({ device, topic, payload, qos: 0, expiryS: 10 }, (status) => {
        if (status !== 'taken') this.counters.repliesLost++;
      })
    );
  }

  /** @type {Serve} */
  #serve(command) {
    const kind = CLOUD[command.origin.rest];
    if (!kind || (this.#hasBegun && !this.#responsibleFor(command.device))) return null;
    return this.#serveAsked(kind, command);
  }

  /**
   * @param {'update' | 'get' | 'delete'} kind
   * @param {Parameters<Serve>[0]} command
   * @returns {Promise<import('../commands').Served | null>}
   */
  async #serveAsked(kind, { device, payload }) {
    if (!this.#hasBegun) await this.#starting();
    if (!this.#hasBegun) return { status: 'full', reason: 'The flows are starting.', body: { code: 503 } };
    const responsible = this.#responsibleFor(device);
    if (!responsible) return null;
    try {
      const { body } = await this.ask({ kind, device, text: textOf(responsible, payload) });
      return { status: 'taken', reason: '', body: { shadow: JSON.parse(body) } };
    } catch (error) {
      const { status = 503, message } = /** @type {Refusal} */ (error);
      // With 'full', the sender knows that a later try may succeed.
      const end = status === 503 || status === 429 ? 'full' : 'refused';
      return { status: end, reason: message, body: { code: status } };
    }
  }

  /** Resolves when the flows have started, or after START_MS. @returns {Promise<void>} */
  #starting() {
    return new Promise((resolve) => {
      const go = () => {
        clearTimeout(timer);
        this.#begun.delete(go);
        resolve();
      };
      const timer = setTimeout(go, START_MS);
      this.#begun.add(go);
    });
  }

  /** @param {string} device @returns {Responsible | null} the node of this very id, else the first that matches */
  #responsibleFor(device) {
    const all = [...this.#responsible].filter(({ values }) => matches(values, device));
    return all.find(({ values }) => isExactly(values, device)) ?? all[0] ?? null;
  }

  /** A doorbell has no caller for an error. @param {() => void} fn */
  #guard(fn) {
    guard(fn, ({ message, stack = message }) =>
      this.#parts.warn(`Internal error in the shadows. Please report it: ${stack}`, 'internal')
    );
  }
}

/**
 * @param {Responsible} responsible
 * @param {Buffer} payload
 * @returns {string}
 * @throws {Refusal}
 */
function textOf(responsible, payload) {
  checkLength(responsible, payload.length);
  return toText(payload);
}

/** @param {Responsible} responsible @param {number} bytes @throws {Refusal} */
function checkLength({ values: { maxBytes } }, bytes) {
  const most = maxBytes + REQUEST_BYTES;
  if (bytes > most) throw new Refusal(413, `The request has ${bytes} bytes; at most ${most} are read.`);
}

exports.Shadows = Shadows;
