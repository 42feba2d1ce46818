'use strict';
// An OCF cloud at work: its store, its control plane, and the request desk of its listener.

const fs = require('node:fs');
const path = require('node:path');
const { randomUUID } = require('node:crypto');
const { asError, guard } = require('../../base/guard');
const { listOf } = require('./cloud-lists');
const { CoapDesk } = require('../../sources/coap-desk/coap-desk');
const { HttpProxy } = require('../http/http-proxy');
const { RunningRegion } = require('../regions/running-region');
const { OcfCloud, accessCodes, isPostgresUrl, openStore } = require('../cloud');
const { AccessTokens, Issuer, OidcUsers, TokenSealer } = require('../oidc');

/** The store's files that are open, because two clouds with one store would not know of each other's sessions. */
const openFiles = new Set();

/**
 * @typedef {InstanceType<typeof OcfCloud>} Cloud
 * @typedef {import('../store/operations').Store} Store
 *
 * @typedef {object} Parts
 * @property {string} file of the store, or the URL of a PostgreSQL database
 * @property {string} password of that database, '' = of PGPASSWORD or PGPASSFILE
 * @property {string} sid '' = that of the store, or a new one
 * @property {() => string} endpoint
 * @property {Partial<import('../cloud/options').Options>} options
 * @property {import('../../sources/coap-desk/coap-desk').DeskEngine} engine
 * @property {number} stage
 * @property {(fn: () => void) => () => void} onBell
 * @property {Pick<import('../../engine/device-readers').DeviceReaders, 'offer'>} readers
 * @property {(sentence: string) => void} warn
 * @property {(di: string, sentence: string) => void} unrecorded a resource or value of a device is no record
 * @property {import('../http/http-proxy').Settings | null} http null = no HTTP port
 * @property {(import('../oidc/issuer').Settings & { provider: string, asksAgain: boolean }) | null} oidc the
 *   OpenID provider of users, null = none; asksAgain: at each refresh
 * @property {import('../regions/running-region').RegionSettings | null} region null = the cloud has one gateway
 * @property {(sentence: string) => void} report gets why the HTTP port is not open
 * @property {(sentence: string) => void} log
 * @property {(error: Error) => void} problem something failed that is not a client's fault
 */

class RunningCloud {
  #parts;
  /** @type {Store | null} */
  #store = null;
  /** @type {Cloud | null} */
  #cloud = null;
  /** @type {CoapDesk | null} */
  #desk = null;
  /** @type {HttpProxy | null} */
  #http = null;
  #endHttpBell = () => {};
  /** @type {InstanceType<typeof Issuer> | null} */
  #issuer = null;
  /** @type {InstanceType<typeof RunningRegion> | null} */
  #region = null;
  /** Devices that are signed in, each with what withdraws its offer to observe it. @type {Map<string, () => void>} */
  #on = new Map();
  /** @type {Promise<void>} */
  #opening = Promise.resolve();
  #isClosed = false;
  /** True while the store's file is in openFiles because of this cloud. */
  #hasFile = false;

  /** @param {Parts} parts */
  constructor(parts) {
    this.#parts = parts;
    /** The cloud's id, '' before open(). */
    this.sid = '';
  }

  /** Devices that are signed in. */
  get on() {
    return this.#on.size;
  }

  /** @returns {Cloud | null} null while it is not open */
  get cloud() {
    return this.#cloud;
  }

  /** Why there is no HTTP port, '' = it is open, or not wanted. */
  get httpTrouble() {
    return this.#http?.trouble ?? '';
  }

  /** Why users of the OpenID provider cannot sign devices up, '' = they can, or there is no provider. */
  get usersTrouble() {
    return this.#issuer?.trouble ?? '';
  }

  /** What is wrong with other regions, '' = nothing. */
  get regionTrouble() {
    return this.#region?.trouble ?? '';
  }

  /** Devices that have signed up. */
  get devices() {
    return this.#cloud?.deviceCount ?? 0;
  }

  /** Returns what the metrics and the live view show; null while the cloud is not open. */
  figures() {
    const cloud = this.#cloud;
    const store = this.#store;
    if (!cloud || !store) return null;
    return {
      ...cloud.figures(),
      store: store.figures(),
      http: this.#http?.figures() ?? null,
      region: this.#region?.figures() ?? null
    };
  }

  /**
   * Returns a page of the devices or users for the live view; null while the cloud is not open.
   * @param {import('./cloud-lists').ListQuery} query
   */
  async list(query) {
    return this.#cloud && listOf(this.#cloud, query);
  }

  /**
   * Opens the store and starts the cloud. It may be called again after an error, and while it opens: a deploy may shut
   * and start the listener meanwhile.
   * @throws {Error} with a sentence, and with `shown` for the status
   */
  async open() {
    this.#opening = this.#opening
      .catch(() => {})
      .then(() => (this.#cloud || this.#isClosed ? undefined : this.#open()));
    await this.#opening;
    if (this.#isClosed) throw failure('The node of the cloud was closed.');
  }

  async #open() {
    const { file } = this.#parts;
    if (!isPostgresUrl(file)) {
      if (openFiles.has(file)) {
        throw failure(`The store ${file} is in use by another ocf cloud node. Enter another file.`);
      }
      openFiles.add(file);
      this.#hasFile = true;
    }
    try {
      await this.#start();
    } catch (error) {
      await this.#end();
      const { message } = asError(error);
      throw failure(/^[A-Z].*\.$/s.test(message) ? message : `The store cannot be used: ${message}.`);
    }
  }

  async #start() {
    const { file, password, endpoint, options, engine, stage, onBell, readers } = this.#parts;
    const { warn, unrecorded, problem } = this.#parts;
    if (!isPostgresUrl(file)) fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    const store = await openStore(file, { password, report: warn });
    this.#store = store;
    // Gateways that start together with a new store get the same id.
    this.sid =
      this.#parts.sid.toLowerCase() || (await store.write('claim', { sid: randomUUID(), isNew: true }));
    const desk = new CoapDesk(engine, stage, onBell, {
      asked: (request) => cloud.asked(request),
      answered: (connection, token, code) => cloud.answered(connection, token, code),
      gone: (connection, device, reason) => cloud.gone(connection, device, reason),
      posted: (topic, number, payload) => cloud.topics.posted(topic, number, payload),
      fault: problem
    });
    this.#desk = desk;
    /** @type {Cloud} */
    const cloud = new OcfCloud({
      desk,
      store,
      users: this.#users(store),
      options: { ...options, sid: this.sid, endpoint },
      events: {
        presence: ({ di, state }) => {
          this.#on.get(di)?.();
          this.#on.delete(di);
          // Its notifications come as often as the device decides.
          if (state === 'on')
            this.#on.set(
              di,
              readers.offer(di, () => cloud.observedRecords.ask(di))
            );
        },
        tokenReused: ({ di, address }) =>
          warn(
            `A refresh token of the device ${di} was used again from ${address}, so there is a copy of it. Its tokens are revoked, and it needs a new access code.`
          ),
        unrecorded: ({ di, why }) => unrecorded(di, `The device ${di} ${why}.`),
        problem
      }
    });
    this.#cloud = cloud;
    await cloud.start();
    this.#openRegion(cloud);
    this.#openHttp(cloud);
  }

  /** @param {Store} store @returns {import('../cloud/access-codes').Users} */
  #users(store) {
    const { oidc, warn, log } = this.#parts;
    if (!oidc) return accessCodes;
    const issuer = new Issuer(oidc, { warn, log });
    this.#issuer = issuer;
    issuer.start();
    const { provider, asksAgain, clientId, clientSecret } = oidc;
    const sealer = asksAgain ? new TokenSealer(clientSecret, oidc.issuer) : null;
    const accessTokens = new AccessTokens({ issuer, audience: clientId, warn });
    return new OidcUsers({ issuer, provider, sealer, accessTokens, store, warn });
  }

  /** @param {Cloud} cloud */
  #openRegion(cloud) {
    const { region, warn } = this.#parts;
    if (!region) return;
    this.#region = new RunningRegion(region, cloud, warn);
    this.#region.open();
  }

  /** @param {Cloud} cloud */
  #openHttp(cloud) {
    const { http, onBell, problem, report } = this.#parts;
    if (!http) return;
    const proxy = new HttpProxy(cloud, http, problem, report);
    this.#http = proxy;
    this.#endHttpBell = onBell(() => proxy.tick());
    proxy.tick();
  }

  /** Ends the cloud, which does not open again. Its listener must be closed. */
  async close() {
    this.#isClosed = true;
    await this.#opening.catch(() => {});
    await this.#end();
  }

  async #end() {
    const { file, problem } = this.#parts;
    // Requests over HTTP that are open may still be answered.
    this.#endHttpBell();
    for (const withdraw of this.#on.values()) withdraw();
    this.#on.clear();
    await this.#http?.close();
    this.#http = null;
    this.#issuer?.close();
    this.#issuer = null;
    await this.#region?.close();
    this.#region = null;
    guard(() => this.#cloud?.close(), problem);
    guard(() => this.#desk?.end(), problem);
    const store = this.#store;
    this.#cloud = this.#desk = this.#store = null;
    await store?.close();
    if (this.#hasFile) openFiles.delete(file);
    this.#hasFile = false;
  }
}

/** @param {string} sentence */
const failure = (sentence) => Object.assign(new Error(sentence), { shown: 'store not usable' });

exports.RunningCloud = RunningCloud;
