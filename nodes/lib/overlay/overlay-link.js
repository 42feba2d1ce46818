'use strict';
// What an overlay network node has: the program, if the node starts it, the connection to it, the nodes that follow it,
// and the listeners that it offers.

const { OfferConnection } = require('./offer-connection');
const { OverlayOffers } = require('./overlay-offers');
const { OverlayPorts } = require('./overlay-ports');
const { OverlayProgram } = require('./overlay-program');
const { OverlayWatch } = require('./overlay-watch');
const { controlSocket } = require('./locations');
const { misuseOf } = require('./peers');

/** A program that this node starts joins the network first. */
const START_MS = 10000;

/**
 * @typedef {object} User
 * @property {(status: import('./peers').OverlayStatus) => void} onStatus
 * @property {(event: import('./peers').OverlayEvent) => void} onEvent
 * @property {(problem: string) => void} onState see OverlayWatch
 */

class OverlayLink {
  #program;
  #watch;
  #offering;
  #offers = new OverlayOffers((method, params, timeoutMs) =>
    this.#offering.request(method, params, timeoutMs)
  );
  #ports;
  /** @type {Set<User>} */
  #users = new Set();
  /** Why the services refuse this node, '' = they do not. */
  #refusal = '';
  /** Changes of the paths to peers. */
  pathChanges = 0;
  /**
   * What the latest status says of the identity, also while there is no connection.
   * @type {{ misuse: ReturnType<typeof misuseOf>, fqdn: string }}
   */
  identity = { misuse: '', fqdn: '' };
  /** @type {import('./peers').OverlayStatus | null} the latest one; null = not connected */
  status = null;

  /**
   * @param {string} folder state of the program
   * @param {Omit<import('./overlay-program').ProgramOptions, 'folder'> | null} start null: the program runs already
   * @param {(sentence: string) => void} onProblem
   */
  constructor(folder, start, onProblem) {
    this.socket = controlSocket(folder);
    this.#ports = new OverlayPorts(this.socket);
    /** For the threads of uplinks. @type {import('../settings/uplink-options').Dialer} */
    this.dialer = { module: require.resolve('./overlay-ports'), address: this.socket };
    this.#offering = new OfferConnection(this.socket, () => this.#offers.lost());
    this.#program = start && new OverlayProgram({ ...start, folder }, { onProblem });
    this.#watch = new OverlayWatch(
      { socket: this.socket, graceMs: start ? START_MS : 0 },
      {
        onStatus: (status) => {
          this.status = status;
          this.identity = { misuse: misuseOf(status, Date.now()), fqdn: status.fqdn };
          const { isRefused, problem } = status.services;
          if (isRefused && problem !== this.#refusal)
            onProblem(`The services of the overlay refuse this node: ${problem}.`);
          this.#refusal = isRefused ? problem : '';
          this.#offers.check();
          for (const user of this.#users) user.onStatus(status);
        },
        onEvent: (event) => {
          if (event.event === 'path') this.pathChanges++;
          for (const user of this.#users) user.onEvent(event);
        },
        onState: (problem) => {
          if (problem) this.status = null;
          for (const user of this.#users) user.onState(problem);
        }
      }
    );
  }

  /** @returns {string | null} see OverlayWatch */
  get problem() {
    return this.#watch.problem;
  }

  open() {
    this.#program?.open();
    this.#watch.open();
  }

  /** @param {User} user @returns {() => void} ends it */
  follow(user) {
    this.#users.add(user);
    const { problem } = this.#watch;
    if (problem !== null) user.onState(problem);
    if (this.status) user.onStatus(this.status);
    return () => void this.#users.delete(user);
  }

  /**
   * Offers a listener of this gateway to peers while the program is there.
   * @param {import('./overlay-offers').Service} service
   * @param {(problem: string) => void} onState see OverlayOffers
   * @returns {() => Promise<void>} withdraws it
   */
  offer(service, onState) {
    const withdraw = this.#offers.add(service, onState);
    if (this.status) this.#offers.check();
    return withdraw;
  }

  /**
   * Returns the place of this machine that leads to a name of the overlay.
   * @param {string} host
   * @param {number} port
   */
  place(host, port) {
    return this.#ports.place(host, port);
  }

  async close() {
    this.#users.clear();
    this.#ports.close();
    this.#offering.close();
    this.#watch.close();
    await this.#program?.close();
  }
}

exports.OverlayLink = OverlayLink;
