'use strict';
// Asks the provider again about the user of a device, each time the device refreshes its tokens.

const { Refusal } = require('../cloud/refusal');

/** Time since the last confirmation in which a provider that cannot be asked changes nothing. */
const STALENESS_MS = 86400000;
/** Time since the last confirmation after which a device whose token cannot be opened is refused. */
const UNREADABLE_MS = 30 * 86400000;
const MOST_OPEN = 32;
const RETRY_SECONDS = 60;

/** @typedef {import('../store/operations').Store} Store */

class Confirmations {
  #parts;
  #now;
  /** Questions without an answer, by device. @type {Map<string, Promise<boolean>>} */
  #open = new Map();

  /**
   * @param {object} parts
   * @param {Pick<import('./issuer').Issuer, 'renew'>} parts.issuer
   * @param {import('./token-sealer').TokenSealer} parts.sealer
   * @param {Pick<Store, 'read' | 'write'>} parts.store
   * @param {(sentence: string) => void} parts.warn
   * @param {() => number} [parts.now] ms
   */
  constructor({ now = Date.now, ...parts }) {
    this.#parts = parts;
    this.#now = now;
  }

  /**
   * @param {string} di
   * @returns {Promise<boolean>} false: the provider refuses the user, or could not be asked for 30 days because the
   *   client secret was changed. True if the device's user is not one of the provider, or signed up while the provider
   *   was not asked again
   * @throws {Refusal} 5.03 if the provider could not be asked for a day
   */
  confirm(di) {
    let open = this.#open.get(di);
    if (!open) {
      // A provider that replaces tokens takes each once, so a device has one question at a time.
      open = this.#confirm(di).finally(() => this.#open.delete(di));
      this.#open.set(di, open);
    }
    return open;
  }

  /** @param {string} di @returns {Promise<boolean>} */
  async #confirm(di) {
    const { store, sealer, issuer } = this.#parts;
    const kept = await store.read('providerToken', { di });
    if (!kept) return true;
    const token = sealer.open(kept.sealed, di);
    if (token === null) return this.#unreadable(di, kept.asked);
    if (this.#open.size > MOST_OPEN) return this.#unanswered(kept.asked);
    // If the answer is lost, the provider may have replaced the token. A refusal then proves nothing about the user.
    await store.write('markProviderToken', { di, isUncertain: true });
    /** @type {{ refreshToken: string } | null} */
    let answer;
    try {
      answer = await issuer.renew(token);
    } catch (error) {
      const { wasSent = true } = /** @type {{ wasSent?: boolean }} */ (error);
      if (!wasSent) await store.write('markProviderToken', { di, isUncertain: kept.isUncertain });
      return this.#unanswered(kept.asked);
    }
    if (answer) {
      const sealed = sealer.seal(answer.refreshToken || token, di);
      await store.write('confirmProviderToken', { di, sealed, now: this.#now() });
      return true;
    }
    if (kept.isUncertain) return this.#unanswered(kept.asked);
    await store.write('markProviderToken', { di, isUncertain: false });
    return false;
  }

  /** @param {string} di @param {number} asked @returns {boolean} */
  #unreadable(di, asked) {
    const end = asked + UNREADABLE_MS;
    const isOver = this.#now() > end;
    const day = new Date(end).toISOString().slice(0, 10);
    this.#parts.warn(
      `The provider of users cannot be asked about the device ${di}, because the client secret was changed since it signed up. ${isOver ? 'It is refused since' : 'It must sign up again; it will be refused after'} ${day}.`
    );
    return !isOver;
  }

  /** @param {number} asked @returns {true} @throws {Refusal} */
  #unanswered(asked) {
    if (this.#now() - asked <= STALENESS_MS) return true;
    throw new Refusal('5.03', 'The provider of users could not be asked for a day.', RETRY_SECONDS);
  }
}

exports.Confirmations = Confirmations;
