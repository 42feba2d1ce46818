'use strict';
// The other regions of a cloud: who is signed in where, and the way to devices there.

const { Refusal } = require('../cloud/refusal');
const { PresenceTable } = require('./presence-table');
const { claimRecord, parseRecord } = require('./presence-record');
const { outgoing, received, serve } = require('./region-requests');

/** @typedef {import('./presence-record').Claim} Claim */
/** @typedef {import('../cloud/elsewhere').Elsewhere} Elsewhere */
/** @typedef {import('../cloud/elsewhere').State} State */
/** @typedef {InstanceType<typeof import('../cloud').OcfCloud>} Cloud */
/** @typedef {InstanceType<typeof import('./links/links').Links>} Links */
/** @typedef {{ key: string, value: string | null }} Published */
/**
 * @typedef {object} RegionsParts
 * @property {string} own address of this region
 * @property {Cloud} cloud
 * @property {(records: Published[]) => void} publish
 * @property {number} [mostDevices] of the table
 * @property {number} [unknownMs] after the loss of a link, until its devices count as unknown
 */

const UNKNOWN_MS = 60000;
/** Wait before the next attempt while the topic is read for the first time, or a link is missing, in s. */
const READING_SECONDS = 5;
const LOST_SECONDS = 5;
const FULL_SECONDS = 1;

/** @implements {Elsewhere} */
class Regions {
  #own;
  #cloud;
  #publish;
  #unknownMs;
  /** @type {Links | null} */
  #links = null;
  #isClosed = false;
  /** Regions without a link: the timer until they are unknown, null = they are. @type {Map<string, NodeJS.Timeout | null>} */
  #lost = new Map();
  /** Devices whose last record in the topic is older than the claim of this region. @type {Set<string>} */
  #stale = new Set();
  /** Devices with a deletion in the topic that is not applied yet. @type {Set<string>} */
  #deleted = new Set();
  /** True when the topic was read from its start. Until then, the epochs of earlier sign-ins are not known. */
  isReady = false;
  counts = { records: 0, invalid: 0, takenOver: 0, repeated: 0 };

  /** @param {RegionsParts} parts */
  constructor({ own, cloud, publish, mostDevices, unknownMs = UNKNOWN_MS }) {
    this.#own = own;
    this.#cloud = cloud;
    this.#publish = publish;
    this.#unknownMs = unknownMs;
    this.table = new PresenceTable({ own, most: mostDevices });
  }

  /** @param {Links} links */
  use(links) {
    this.#links = links;
  }

  /** Ends all timers. */
  close() {
    this.#isClosed = true;
    for (const timer of this.#lost.values()) if (timer) clearTimeout(timer);
    this.#lost.clear();
  }

  /** @param {string} di @returns {State} */
  stateOf(di) {
    const claim = this.table.get(di);
    if (!claim?.isOn || claim.ci === this.#own) return 'off';
    return this.isUnknown(claim.ci) ? 'unknown' : 'on';
  }

  /** @param {string} di */
  regionOf(di) {
    const claim = this.table.get(di);
    return claim?.isOn && claim.ci !== this.#own ? claim.ci : '';
  }

  /** True if the devices of a region count as unknown. @param {string} ci */
  isUnknown(ci) {
    return this.#lost.get(ci) === null;
  }

  /** @param {string} via @throws {Refusal} */
  check(via) {
    const claim = this.table.get(via);
    if (!claim?.isOn || claim.ci === this.#own) {
      if (!this.isReady) {
        throw new Refusal('5.03', 'The gateway does not know yet where the device is.', READING_SECONDS);
      }
      throw new Refusal('5.03', 'The device is offline.');
    }
    const link = this.#links?.of(claim.ci);
    if (!link) throw new Refusal('5.03', 'The region of the device cannot be reached.', LOST_SECONDS);
    if (link.isFull) throw new Refusal('5.03', 'The region of the device is busy.', FULL_SECONDS);
  }

  /** @param {import('../cloud/elsewhere').Passage} passage */
  through(passage) {
    const claim = this.table.get(passage.via);
    const link = claim?.isOn && claim.ci !== this.#own ? this.#links?.of(claim.ci) : undefined;
    if (!claim || !link) return null;
    const uid = passage.uid || claim.uid;
    return {
      ask: (/** @type {string} */ _device, /** @type {any} */ question, /** @type {any} */ onAnswer) =>
        link.ask(outgoing({ ...passage, uid }, question), (answer) => onAnswer(received(answer))),
      cancel: (/** @type {any} */ handle) => link.cancel(handle)
    };
  }

  /** @param {string} di @param {string} uid */
  signedIn(di, uid) {
    if (!this.isReady) return;
    const known = this.table.get(di);
    if (known?.isOn && known.ci === this.#own && known.uid === uid) return;
    const epoch = this.table.nextEpoch(di, this.#cloud.now());
    this.#claim(di, { uid, ci: this.#own, epoch, isOn: true });
  }

  /** @param {string} di @param {boolean} isDeleted */
  signedOut(di, isDeleted) {
    const known = this.table.get(di);
    const isOwn = known?.ci === this.#own;
    // A region where the device is on deletes the record when it ends the session.
    if (!known || !(isOwn || (isDeleted && !known.isOn))) return;
    if (isDeleted) {
      this.table.remove(di);
      this.#publish([{ key: di, value: null }]);
    } else if (known.isOn) this.#claim(di, { ...known, isOn: false });
  }

  /** @param {string} di @param {Claim} claim of this region */
  #claim(di, claim) {
    const before = this.table.get(di);
    this.table.merge(di, claim);
    this.#follow(before, claim);
    this.#publish([claimRecord(di, claim)]);
  }

  /**
   * Takes records of the topic, also those of this gateway.
   * @param {Published[]} records
   * @param {boolean} [isCaughtUp] false: what was there before is still being read
   */
  take(records, isCaughtUp = true) {
    for (const { key, value } of records) {
      const record = parseRecord(key, value);
      this.counts.records++;
      if (!record) this.counts.invalid++;
      else if (record.kind === 'claim') {
        this.#deleted.delete(record.di);
        this.#takeClaim(record.di, record.claim);
      } else if (record.kind === 'deleted' && this.table.get(record.di)) this.#deleted.add(record.di);
    }
    if (!isCaughtUp) return;
    this.#delete();
    if (this.isReady) this.#correct();
  }

  /** While the topic is read again, a later record may replace a deletion, so those are applied at its end. */
  #delete() {
    const deleted = [...this.#deleted];
    this.#deleted.clear();
    for (const di of deleted) this.#takeDeletion(di);
  }

  /** Publishes the claims of this region that are not the last ones in the topic. */
  #correct() {
    const found = [...this.#stale].map((di) => ({ di, claim: this.table.get(di) }));
    this.#stale.clear();
    for (const { di, claim } of found) {
      const peer = this.#cloud.sessions.of(di);
      if (claim?.ci !== this.#own) {
        // Another region gave it up, and it is here.
        if (peer && claim && !claim.isOn) this.signedIn(di, peer.uid);
        continue;
      }
      this.counts.repeated++;
      this.#publish([claimRecord(di, claim)]);
    }
  }

  /** @param {string} di @param {Claim} claim */
  #takeClaim(di, claim) {
    const before = this.table.get(di);
    const stateBefore = this.#cloud.stateOf(di);
    const merged = this.table.merge(di, claim);
    // The topic keeps the last record of a key, which must be the one that counts.
    if (merged === 'older' && before?.ci === this.#own) this.#stale.add(di);
    else this.#stale.delete(di);
    if (merged !== 'newer') return;
    this.#follow(before, claim);
    if (claim.ci !== this.#own && claim.isOn) this.#lose(di);
    else if (claim.ci !== this.#own && this.#cloud.sessions.of(di)) this.#stale.add(di);
    this.#cloud.ownObservations.on(di);
    this.#notify(di, stateBefore);
  }

  /** @param {string} di */
  #takeDeletion(di) {
    const before = this.table.get(di);
    if (!before) return;
    // A device that has signed up again, or that another region deleted: the store decides.
    const isHere = before.ci === this.#own && before.isOn && this.#cloud.sessions.of(di);
    if (isHere) return void this.#stale.add(di);
    const stateBefore = this.#cloud.stateOf(di);
    this.table.remove(di);
    this.#follow(before, undefined);
    this.#cloud.ownObservations.on(di);
    this.#notify(di, stateBefore, [before.uid]);
  }

  /** The device signed in at another region. @param {string} di */
  #lose(di) {
    // Before that, the epoch of a session of this gateway is not known.
    if (!this.isReady) return;
    if (this.#cloud.sessions.of(di)) this.counts.takenOver++;
    this.#cloud.signIns.takenElsewhere(di);
  }

  /** @param {string} di @param {State} before @param {string[]} [viewers] */
  #notify(di, before, viewers) {
    const state = this.#cloud.stateOf(di);
    if (state !== before) this.#cloud.presence.changed(di, state, viewers);
  }

  /**
   * Connects to regions with devices, and to no others.
   * @param {Claim | undefined} before
   * @param {Claim | undefined} after
   */
  #follow(before, after) {
    for (const claim of [before, after]) {
      if (!claim || claim.ci === this.#own) continue;
      const { ci } = claim;
      if (this.table.hasDevices(ci)) this.#want(ci);
      else this.#unwant(ci);
    }
  }

  /** @param {string} ci */
  #want(ci) {
    if (!this.#links?.of(ci)) this.down(ci);
    this.#links?.want(ci);
  }

  /** @param {string} ci */
  #unwant(ci) {
    const timer = this.#lost.get(ci);
    if (timer) clearTimeout(timer);
    this.#lost.delete(ci);
    this.#links?.unwant(ci);
  }

  /** The topic was read from its start. */
  ready() {
    this.#delete();
    // The topic may have been created again since.
    if (this.isReady) return this.repeat();
    this.isReady = true;
    const here = new Map([...this.#cloud.sessions.signedIn()].map(({ di, uid }) => [di, uid]));
    // Of an earlier run of this gateway.
    for (const di of this.table.devicesAt(this.#own)) if (!here.has(di)) this.signedOut(di, false);
    for (const [di, uid] of here) this.signedIn(di, uid);
    this.#correct();
  }

  /** Publishes the claims of this region again, because some may have been lost. */
  repeat() {
    if (!this.isReady) return;
    const own = [...this.table.entries()].filter(([, { ci }]) => ci === this.#own);
    this.#publish(own.map(([di, claim]) => claimRecord(di, claim)));
  }

  /** This gateway ends: its devices are off. */
  leave() {
    if (!this.isReady) return;
    for (const di of this.table.devicesAt(this.#own)) this.signedOut(di, false);
  }

  /** A link is there. @param {string} ci */
  up(ci) {
    const timer = this.#lost.get(ci);
    this.#lost.delete(ci);
    if (timer) clearTimeout(timer);
    if (timer === null) this.#changedAt(ci);
    if (this.table.hasDevices(ci)) this.#links?.want(ci);
    const { ownObservations } = this.#cloud;
    for (const di of ownObservations.devices()) if (this.regionOf(di) === ci) ownObservations.on(di);
  }

  /** A link is missing. @param {string} ci */
  down(ci) {
    if (this.#isClosed || this.#lost.has(ci) || !this.table.hasDevices(ci)) return;
    const timer = setTimeout(() => {
      this.#lost.set(ci, null);
      this.#changedAt(ci);
    }, this.#unknownMs);
    timer.unref();
    this.#lost.set(ci, timer);
  }

  /** Tells watchers about all devices of a region. @param {string} ci */
  #changedAt(ci) {
    for (const di of this.table.devicesAt(ci)) this.#cloud.presence.changed(di, this.#cloud.stateOf(di));
  }

  /** @param {import('./links/link').Incoming} incoming */
  serve(incoming) {
    void serve(this.#cloud, incoming);
  }
}

exports.Regions = Regions;
