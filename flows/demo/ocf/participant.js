'use strict';
// A device or controller that stays signed in: it signs up once, and signs in again on each new connection.

const RETRY_MS = 1000;
/** Part of a token's life after which it is replaced. */
const RENEW_AT = 0.8;

/** @typedef {import('./client').Client} Client */
/** @typedef {{ di: string, uid: string, access: string, refreshToken: string }} Identity */

class Participant {
  /** @type {Client | null} */
  #client = null;
  /** @type {Identity | null} */
  #identity = null;
  #isStopped = false;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  #parts;

  /**
   * @param {object} parts
   * @param {() => Promise<Client>} parts.open
   * @param {string} parts.code
   * @param {string} parts.provider name of the users' provider
   * @param {(client: Client) => Promise<void>} parts.onReady runs after each sign-in on a new connection
   * @param {(sentence: string) => void} parts.report
   */
  constructor(parts) {
    this.#parts = parts;
  }

  /**
   * Signs up, signs in, and stays signed in.
   * @throws {Error} if the first sign-in fails
   */
  async start() {
    await this.#connect();
    this.#stay();
  }

  stop() {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    this.#client?.destroy();
  }

  async #stay() {
    let isReported = false;
    for (;;) {
      await this.#client?.closed;
      clearTimeout(this.#timer);
      if (this.#isStopped) return;
      try {
        await this.#connect();
        isReported = false;
      } catch (error) {
        if (!isReported && !this.#isStopped) this.#parts.report(/** @type {Error} */ (error).message);
        isReported = true;
        this.#client?.destroy();
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }

  async #connect() {
    const client = await this.#parts.open();
    this.#client = client;
    if (this.#isStopped) return client.destroy();
    if (this.#identity) client.as(this.#identity);
    else done(await client.signUp(this.#parts.code, { authprovider: this.#parts.provider }), 'sign-up');
    this.#identity = client;
    await this.#signIn(client);
    await this.#parts.onReady(client);
  }

  /** @param {Client} client */
  async #signIn(client) {
    let answer = await client.signIn();
    if (answer.code === '4.01') {
      done(await client.refresh(), 'refresh');
      answer = await client.signIn();
    }
    done(answer, 'sign-in');
    const seconds = Number(answer.value.expiresin);
    if (seconds > 0) {
      this.#timer = setTimeout(
        () => {
          const renewed = client.refresh().then(() => this.#signIn(client));
          renewed.catch(() => client.destroy());
        },
        seconds * 1000 * RENEW_AT
      );
      this.#timer.unref();
    }
  }
}

/** @param {import('./client').Answer} answer @param {string} what @throws {Error} */
function done({ code, value }, what) {
  if (code !== '2.04') throw new Error(`The cloud answered the ${what} with ${code} ${value}`);
}

exports.Participant = Participant;
