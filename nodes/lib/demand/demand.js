'use strict';
// Monitoring on demand for one engine: "device X each 100 ms for 60 s". Those who ask about a device share one rate,
// the shortest interval until the latest end (rates.js). What restores the normal rate is on disk before the first
// command leaves, so it outlives the process, and it waits for a device that is away.
//
//   ask() ─▶ on disk ─▶ command or reading ─▶ end of the last question ─▶ restore ─▶ acknowledged: forgotten
//
// Without a question and a restore, there is no timer and no follower of device events.

const { guard } = require('../base/guard');
const { checkLimits } = require('./limits');
const { Rates } = require('./rates');
const { answer, makeRecord, settledOf, viewOf } = require('./record');
const { Refusal } = require('./request');

/** A restore that no device has taken for this time is given up. */
const GIVE_UP_MS = 30 * 86_400_000;
/** But not sooner after a start: the gateway itself may have been away, or its clock wrong. */
const LEAST_GIVE_UP_MS = 3_600_000;
/** Longest delay of a timer. */
const MAX_TIMER_MS = 2 ** 31 - 1;
/** Least time between two looks at all devices: many questions that end one after another share one. */
const TICK_MS = 50;

/**
 * @typedef {import('./request').Question} Request
 * @typedef {import('./record').Record} Device
 * @typedef {import('./record').View} View
 * @typedef {import('./record').State} State
 * @typedef {import('./record').Asked} Asked
 * @typedef {import('./record').Responsible} Responsible
 *
 * @typedef {object} Parts
 * @property {Pick<import('../commands').Commands, 'lead' | 'retract'>} commands
 * @property {import('../engine/device-readers').DeviceReaders} readers
 * @property {Pick<import('../engine/device-events').DeviceEvents, 'follow'>} deviceEvents
 * @property {Pick<import('./demand-store').DemandStore, 'load' | 'put' | 'remove' | 'restored' | 'close' | 'isFull' | 'contents'>} store
 * @property {(device: string, reason: string) => void} unrestored gets a device that refuses its normal rate
 * @property {(sentence: string) => void} warn
 * @property {() => number} [now] ms, monotonic
 * @property {() => number} [wall] ms since 1970
 */

class Demand {
  #parts;
  #now;
  #wall;
  /** @type {Map<string, Device>} */
  #devices = new Map();
  /** Questions by asker. @type {Map<string, number>} */
  #ofUsers = new Map();
  /** @type {Set<Responsible>} */
  #responsible = new Set();
  #questions = 0;
  /** Devices by state. @type {Record<string, number>} */
  #states = { waiting: 0, on: 0, silent: 0, refused: 0, restoring: 0 };
  #rates;
  #isClosed = false;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  #timerAt = Infinity;
  #tickedAt = -Infinity;
  /** @type {(() => void) | null} */
  #unfollow = null;

  /** @param {Parts} parts */
  constructor(parts) {
    const { now = () => performance.now(), wall = Date.now, commands, readers, unrestored } = parts;
    this.#parts = parts;
    this.#now = now;
    this.#wall = wall;
    this.counters = { asked: 0, refused: 0, ended: 0, restored: 0, givenUp: 0 };
    this.#rates = new Rates({
      commands,
      readers,
      now,
      unrestored,
      change: (record, state, reason) => this.#change(record, state, reason),
      normal: (record) => {
        this.#forget(record);
        if (record.state !== 'refused') this.#change(record, 'normal');
      },
      refused: (record, reason) => {
        this.#endAll(record, reason);
        this.#change(record, 'refused', reason);
      },
      restored: () => void this.counters.restored++,
      wakeAt: (at) => this.#wakeAt(at)
    });
    readers.onChange = (device) =>
      this.#guard(() => this.#with(device, (it) => this.#rates.readersChanged(it)));
    parts.store.contents = () => this.#contents();
    this.#load();
  }

  /**
   * Makes a node responsible for the devices of its pattern.
   * @param {Responsible} responsible
   * @returns {() => void} ends that
   */
  join(responsible) {
    this.#responsible.add(responsible);
    return () => {
      this.#responsible.delete(responsible);
      responsible.changed = () => {};
    };
  }

  /** Call it when the flows have started: questions go on whose devices have a node, the others end. */
  begin() {
    this.#rates.hasBegun = true;
    for (const record of [...this.#devices.values()]) {
      record.responsible = this.#responsibleFor(record.device);
      // Without a restore on disk no command may leave: the question waits for the reader that it had.
      if (record.questions.size > 0 && record.writes === 0)
        record.by = record.restore ? this.#rates.byOf(record.device) : 'reading';
      if (!record.responsible && record.questions.size > 0)
        this.#endAll(record, 'No demand node is responsible for the device any more.');
      this.#rates.apply(record);
    }
  }

  /**
   * Resolves when the question is on disk, and the device has answered or a second has passed.
   * @param {Request} request
   * @returns {Promise<View>}
   * @throws {Refusal}
   */
  async ask(request) {
    const { device, by, everyMs, forS } = request;
    try {
      if (forS === 0) return this.#stop(device, by);
      const record = this.#admit(request);
      this.counters.asked++;
      const isStored = await this.#keep(record, by, {
        everyMs,
        endsAt: this.#now() + forS * 1000,
        isKept: true
      });
      if (!isStored) return this.#view(record);
      record.retryAt = 0;
      const settled = settledOf(record);
      this.#rates.apply(record);
      if (record.state !== 'waiting') answer(record);
      const refusal = await settled;
      if (refusal) throw new Refusal(409, refusal);
      return this.#view(record);
    } catch (error) {
      this.counters.refused++;
      throw error;
    }
  }

  /**
   * Writes a question, and the restore before a command may leave. It counts at once, so that limits hold meanwhile.
   * @param {Device} record
   * @param {string} by
   * @param {Asked} asked
   * @returns {Promise<boolean>} false: it was ended meanwhile
   * @throws {Refusal} if it cannot be written
   */
  async #keep(record, by, asked) {
    const { device, responsible } = record;
    const before = record.questions.get(by);
    const endedAt = before?.endsAt ?? 0;
    // The question before it must not end during the write.
    if (before) before.endsAt = Math.max(endedAt, asked.endsAt);
    else this.#set(record, by, { ...asked, isKept: false });
    const restore =
      record.by === 'command' && responsible
        ? { ...responsible.way.restore(device), since: this.#wall() }
        : null;
    const forMs = Math.round(asked.endsAt - this.#now());
    record.writes++;
    try {
      const { everyMs } = asked;
      await this.#parts.store.put({ device, by, everyMs, forMs, endsAt: this.#wall() + forMs }, restore);
      if (restore) this.#owe(record, restore, this.#now() + GIVE_UP_MS);
    } catch (error) {
      if (before) before.endsAt = endedAt;
      else if (record.questions.has(by)) this.#set(record, by, undefined);
      const { message } = /** @type {Error} */ (error);
      throw new Refusal(503, `The gateway cannot keep the question: ${message}.`);
    } finally {
      record.writes--;
      if (record.writes === 0 && record.questions.size === 0) this.#rates.apply(record);
    }
    if (!record.questions.has(by)) return false;
    this.#set(record, by, asked);
    return true;
  }

  /** @param {string} device @param {string} by @returns {View} */
  #stop(device, by) {
    const record = this.#devices.get(device);
    if (!record?.questions.has(by))
      throw new Refusal(404, 'There is no question of this asker about the device. It may have ended.');
    this.#end(record, by);
    this.#rates.apply(record);
    return this.#view(record);
  }

  /**
   * @param {Request} question
   * @returns {Device}
   * @throws {Refusal}
   */
  #admit(question) {
    const { device, by } = question;
    if (this.#isClosed || !this.#rates.hasBegun) throw new Refusal(503, 'The flows are starting. Ask again.');
    const responsible = this.#responsibleFor(device);
    if (!responsible)
      throw new Refusal(404, 'No demand node is responsible for this device. Add one that matches it.');
    const known = this.#devices.get(device);
    checkLimits(question, responsible.way.limits, {
      isRenewal: Boolean(known?.questions.has(by)),
      ofUser: this.#ofUsers.get(by) ?? 0,
      ofDevice: known?.questions.size ?? 0,
      questions: this.#questions,
      devices: known ? 0 : this.#devices.size
    });
    if (this.#parts.store.isFull) throw new Refusal(503, 'Too many questions wait for the disk. Ask again.');
    const record = known ?? this.#make(device);
    if (record.questions.size === 0) record.by = this.#rates.byOf(device);
    record.responsible = responsible;
    return record;
  }

  /** @param {string} device @returns {View | null} null: the device has its normal rate */
  view(device) {
    const record = this.#devices.get(device);
    return record ? this.#view(record) : null;
  }

  /** @param {string} device @returns {import('./ways').Way['limits'] | null} null: no node is responsible for it */
  limitsOf(device) {
    return this.#responsibleFor(device)?.way.limits ?? null;
  }

  /**
   * @param {string} after device of the last view of the page before, '' = first page
   * @param {number} limit
   * @returns {View[]} in the order of their ids
   */
  list(after, limit) {
    const ids = [...this.#devices.keys()].filter((id) => id > after).sort();
    return ids.slice(0, limit).map((id) => this.#view(/** @type {Device} */ (this.#devices.get(id))));
  }

  /** True unless there is no node, no question and no restore. */
  get isUsed() {
    return this.#responsible.size + this.#devices.size > 0;
  }

  figures() {
    return { questions: this.#questions, devices: { ...this.#states }, counters: this.counters };
  }

  /** Resolves when all that was accepted is on disk, where questions and restores stay. */
  async close() {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#rates.close();
    clearTimeout(this.#timer);
    this.#unfollow?.();
    this.#parts.readers.onChange = () => {};
    for (const record of this.#devices.values()) {
      this.#rates.read(record, 0);
      answer(record);
    }
    await this.#parts.store.close();
  }

  #load() {
    const { store } = this.#parts;
    const { questions, restores } = store.load();
    const [now, wall] = [this.#now(), this.#wall()];
    for (const restore of restores) {
      const leftMs = Math.min(GIVE_UP_MS, restore.since + GIVE_UP_MS - wall);
      const record = this.#make(restore.device);
      record.isTouched = true;
      this.#owe(record, restore, now + Math.max(LEAST_GIVE_UP_MS, leftMs));
    }
    for (const { device, by, everyMs, forMs, endsAt } of questions) {
      // A clock that was set back must not prolong a question.
      const leftMs = Math.min(endsAt - wall, forMs);
      if (leftMs <= 0) {
        store.remove(device, by);
        continue;
      }
      const record = this.#devices.get(device) ?? this.#make(device);
      this.#set(record, by, { everyMs, endsAt: now + leftMs, isKept: true });
    }
    // Before the listeners open, so that a device gets its normal rate first.
    for (const record of this.#devices.values()) if (record.questions.size === 0) this.#rates.apply(record);
  }

  /** Returns what must be on disk. */
  #contents() {
    /** @type {ReturnType<Parts['store']['contents']>} */
    const all = { questions: [], restores: [] };
    const [now, wall] = [this.#now(), this.#wall()];
    for (const { device, questions, restore } of this.#devices.values()) {
      if (restore) all.restores.push(restore);
      for (const [by, { everyMs, endsAt, isKept }] of questions) {
        const forMs = Math.max(0, Math.round(endsAt - now));
        if (isKept) all.questions.push({ device, by, everyMs, forMs, endsAt: wall + forMs });
      }
    }
    return all;
  }

  /** @param {Device} record @param {import('./demand-file').Restore} restore on disk @param {number} giveUpAt monotonic */
  #owe(record, restore, giveUpAt) {
    record.restore = restore;
    record.giveUpAt = giveUpAt;
    this.#wakeAt(giveUpAt);
  }

  /** @param {Device} record whose device was away for too long */
  #giveUp(record) {
    const { device } = record;
    const { commands, warn } = this.#parts;
    this.counters.givenUp++;
    record.job = null;
    record.isTouched = false;
    commands.retract(device);
    this.#forget(record);
    warn(`The device ${device} was away for 30 days, so its normal rate is not restored any more.`);
  }

  /** @param {string} device @returns {Device} */
  #make(device) {
    const record = makeRecord(device);
    this.#devices.set(device, record);
    this.#states[record.state]++;
    this.#unfollow ??= this.#parts.deviceEvents.follow(({ kind, device: id }) => {
      if (kind === 'connected') this.#guard(() => this.#with(id, (it) => this.#rates.connected(it)));
    });
    return record;
  }

  /** @param {Device} record */
  #forget(record) {
    if (record.restore) this.#parts.store.restored(record.device);
    record.restore = null;
    this.#rates.read(record, 0);
    if (this.#isKnown(record)) {
      this.#devices.delete(record.device);
      this.#states[record.state]--;
    }
    if (this.#devices.size > 0) return;
    clearTimeout(this.#timer);
    this.#timerAt = Infinity;
    this.#unfollow?.();
    this.#unfollow = null;
  }

  /** @param {Device} record */
  #isKnown(record) {
    return this.#devices.get(record.device) === record;
  }

  /** @param {string} device @param {(record: Device) => void} act called if something is known of the device */
  #with(device, act) {
    const record = this.#devices.get(device);
    if (record) act(record);
  }

  /** @param {string} device @returns {Responsible | null} the node of this very id, else the first that matches */
  #responsibleFor(device) {
    const all = [...this.#responsible].filter(({ way }) => way.matches(device));
    return all.find(({ way }) => way.isExactly(device)) ?? all[0] ?? null;
  }

  /** @param {Device} record @param {string} by @param {Asked | undefined} asked undefined = none */
  #set(record, by, asked) {
    const count = Number(Boolean(asked)) - Number(record.questions.has(by));
    if (asked) record.questions.set(by, asked);
    else record.questions.delete(by);
    this.#questions += count;
    const ofUser = (this.#ofUsers.get(by) ?? 0) + count;
    if (ofUser > 0) this.#ofUsers.set(by, ofUser);
    else this.#ofUsers.delete(by);
    if (asked) this.#wakeAt(asked.endsAt);
  }

  /** @param {Device} record @param {string} by */
  #end(record, by) {
    this.#set(record, by, undefined);
    this.#parts.store.remove(record.device, by);
    this.counters.ended++;
  }

  /** @param {Device} record @param {string} reason */
  #endAll(record, reason) {
    for (const by of [...record.questions.keys()]) this.#end(record, by);
    record.reason = reason;
  }

  /** @param {number} at monotonic */
  #wakeAt(at) {
    if (at >= this.#timerAt || this.#isClosed) return;
    clearTimeout(this.#timer);
    this.#timerAt = at;
    const from = Math.max(at, this.#tickedAt + TICK_MS);
    const waitMs = Math.min(Math.max(0, Math.ceil(from - this.#now())), MAX_TIMER_MS);
    this.#timer = setTimeout(() => this.#guard(() => this.#tick()), waitMs);
  }

  /** A timer and a doorbell have no caller for an error. @param {() => void} fn */
  #guard(fn) {
    guard(fn, ({ message, stack = message }) =>
      this.#parts.warn(`Internal error in the questions on demand. Please report it: ${stack}`)
    );
  }

  /** Ends the questions whose time is over, and tries silent devices again. */
  #tick() {
    this.#timerAt = Infinity;
    const now = this.#now();
    this.#tickedAt = now;
    let next = Infinity;
    for (const record of [...this.#devices.values()]) {
      const isDue = record.retryAt > 0 && record.retryAt <= now;
      if (isDue) record.retryAt = 0;
      const before = record.questions.size;
      for (const [by, { endsAt }] of record.questions) if (endsAt <= now) this.#end(record, by);
      if (isDue || record.questions.size < before) this.#rates.apply(record);
      if (record.restore && record.questions.size + record.writes === 0) {
        if (record.giveUpAt <= now) this.#giveUp(record);
        else next = Math.min(next, record.giveUpAt);
      }
      if (!this.#isKnown(record)) continue;
      for (const { endsAt } of record.questions.values()) next = Math.min(next, endsAt);
      if (record.retryAt > 0) next = Math.min(next, record.retryAt);
    }
    if (next < Infinity) this.#wakeAt(next);
  }

  /** @param {Device} record @param {State} state @param {string} [reason] */
  #change(record, state, reason = '') {
    const isSame = record.state === state && record.reason === reason;
    if (this.#isKnown(record)) {
      this.#states[record.state]--;
      this.#states[state]++;
    }
    record.state = state;
    record.reason = reason;
    if (state !== 'waiting') answer(record, state === 'refused' ? reason : '');
    if (!isSame || state === 'waiting' || state === 'on') record.responsible?.changed(this.#view(record));
  }

  /** @param {Device} record @returns {View} */
  #view(record) {
    return viewOf(record, this.#wall() - this.#now());
  }
}

exports.Demand = Demand;
