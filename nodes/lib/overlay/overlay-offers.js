'use strict';
// Listeners of this gateway that the overlay's program offers to peers. An offer ends with the connection that made it,
// so it is made again whenever the program has started again.

/** A program that works answers at once. */
const ANSWER_MS = 2000;

/**
 * @typedef {object} Service
 * @property {string} name which peers see; each is offered once
 * @property {'tcp' | 'udp'} network
 * @property {number} port in the overlay
 * @property {string} target host:port of this machine
 *
 * @typedef {object} Offer
 * @property {Service} service
 * @property {(problem: string) => void} onState '' = it is offered; else why not. Called on change
 * @property {boolean} isOpen
 * @property {string | null} problem null = not asked yet
 * @property {Promise<void>} asked settles when the program has answered
 * @property {boolean} isAsking
 */

class OverlayOffers {
  #request;
  /** @type {Set<Offer>} */
  #offers = new Set();
  /** Settles when the program has freed the ports of offers that ended. @type {Promise<unknown>} */
  #withdrawn = Promise.resolve();

  /** @param {(method: string, params: object, timeoutMs: number) => Promise<any>} request to the program */
  constructor(request) {
    this.#request = request;
  }

  /**
   * Offers a service as soon as the program is there, and until the returned function is called.
   * @param {Service} service
   * @param {(problem: string) => void} onState
   * @returns {() => Promise<void>} withdraws it; resolves when its port is free again
   */
  add(service, onState) {
    /** @type {Offer} */
    const offer = {
      service,
      onState,
      isOpen: false,
      problem: null,
      asked: Promise.resolve(),
      isAsking: false
    };
    this.#offers.add(offer);
    return () => {
      const withdrawn = this.#withdraw(offer);
      this.#withdrawn = Promise.all([this.#withdrawn, withdrawn]).then(() => {});
      return withdrawn;
    };
  }

  /** Call it when the program answers, and from time to time: it may accept later what it refused. */
  check() {
    for (const offer of this.#offers) if (!offer.isOpen && !offer.isAsking) offer.asked = this.#ask(offer);
  }

  /** Call it when the connection to the program is lost. */
  lost() {
    for (const offer of this.#offers) offer.isOpen = false;
  }

  /** @param {Offer} offer */
  async #ask(offer) {
    offer.isAsking = true;
    let problem = '';
    try {
      // A listener that opens again needs the port that it has just given back.
      await this.#withdrawn;
      if (!this.#offers.has(offer)) return;
      await this.#request('offer', offer.service, ANSWER_MS);
      offer.isOpen = true;
    } catch (error) {
      problem = /** @type {Error} */ (error).message;
    } finally {
      offer.isAsking = false;
    }
    if (problem === offer.problem || !this.#offers.has(offer)) return;
    offer.problem = problem;
    offer.onState(problem);
  }

  /** @param {Offer} offer */
  async #withdraw(offer) {
    if (!this.#offers.delete(offer)) return;
    await offer.asked;
    if (!offer.isOpen) return;
    offer.isOpen = false;
    const { network, port } = offer.service;
    // A connection that is lost has withdrawn it.
    await this.#request('withdraw', { network, port }, ANSWER_MS).catch(() => {});
  }
}

exports.OverlayOffers = OverlayOffers;
