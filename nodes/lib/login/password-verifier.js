'use strict';

const crypto = require('node:crypto');
const fs = require('node:fs');
const { WatchedFiles } = require('../base/watched-files');
const { FailedAttempts, networkOf } = require('./failed-attempts');
const { MAX_FILE_BYTES, parsePasswords, passwordProblem, userProblem } = require('./password-file');
const { matches, decoyHash } = require('./password-hash');
const { WorkQueue } = require('./work-queue');

/** Of libuv's four threads, so that file and DNS operations can still run. */
const AT_ONCE = 2;
/** Most waiting checks of one address, and in total. */
const MAX_OF_ADDRESS = 1000;
const MAX_WAITING = 10000;
const READ_MS = 2000;
const MAX_REPORTED = 3;
/** Permissions of other users, who could attack the hashes offline. */
const OTHERS = 0o077;

/**
 * Verifies users and passwords against a file, which is read again when it changes.
 *
 * A correct pair is remembered as a keyed hash until the file changes, so that a reconnecting fleet costs no scrypt. An
 * unknown user costs as much as a known one. Addresses take turns: each has at most AT_ONCE checks in progress, so an
 * attacker with one address delays the others by no more than these checks.
 */
class PasswordVerifier {
  #file;
  #warn;
  #withinMs;
  #sleep;
  #attempts;
  #now;
  #asked;
  #files;
  #secret;
  /** Keyed hash of the correct password, by user. @type {Map<string, Buffer>} */
  #known;
  /** Running checks, by user and keyed hash. @type {Map<string, Promise<boolean | undefined>>} */
  #running;
  #timer;
  /** Password hashes by user. @type {Map<string, import('./password-hash').PasswordHash> | undefined} */
  #users;

  /**
   * @throws {Error} with a sentence if the file cannot be read
   * @param {string} file
   * @param {object} options
   * @param {(sentence: string) => void} options.warn
   * @param {number} [options.withinMs] a later result is useless, because the client has given up
   * @param {(ms: number) => Promise<void>} [options.sleep]
   * @param {() => number} [options.now]
   */
  constructor(file, { warn, withinMs = 8000, sleep = wait, now = () => performance.now() }) {
    this.#file = file;
    this.#warn = warn;
    this.#withinMs = withinMs;
    this.#sleep = sleep;
    this.#attempts = new FailedAttempts(now);
    this.#now = now;
    this.queue = new WorkQueue({ atOnce: () => AT_ONCE, maxWaiting: MAX_WAITING, now });
    /** Queues of the addresses with a check in progress. @type {Map<string, WorkQueue>} */
    this.addresses = new Map();
    this.#asked = 0;
    this.#files = new WatchedFiles(
      { passwords: file },
      { passwords: 'password file' },
      {
        maxBytes: MAX_FILE_BYTES
      }
    );
    this.#secret = crypto.randomBytes(32);
    this.#known = new Map();
    this.#running = new Map();
    this.read();
    this.#timer = setInterval(() => void this.refresh(), READ_MS).unref();
  }

  /** Reads the file. */
  read() {
    const { passwords = Buffer.alloc(0) } = this.#files.read();
    const { users, problems } = parsePasswords(passwords.toString('utf8'));
    this.#users = users;
    this.#known.clear();
    const [first] = users.values();
    this.decoy = decoyHash(first);
    if (problems.length > 0) {
      const more = problems.length > MAX_REPORTED ? ` And ${problems.length - MAX_REPORTED} more.` : '';
      this.#warn(
        `In ${this.#file}: ${problems.slice(0, MAX_REPORTED).join(' ')}${more} These users cannot log in.`
      );
    }
    this.#checkMode();
  }

  #checkMode() {
    const { mode } = fs.statSync(this.#file);
    if (mode & OTHERS) {
      this.#warn(`Other users can read or write ${this.#file}. Make it private: chmod 600 ${this.#file}`);
    }
  }

  /** Reads the file again if it changed. If it cannot be read, the previous users stay valid. */
  async refresh() {
    try {
      if (await this.#files.haveChanged()) this.read();
    } catch (error) {
      this.#warn(`${/** @type {Error} */ (error).message} The previous users stay valid.`);
    }
  }

  /** True if the file has the user. @param {string} user */
  isKnown(user) {
    return this.#users?.has(user) ?? false;
  }

  /**
   * @param {string | null} user
   * @param {Buffer | null} password
   * @param {string} address of the peer
   * @returns {Promise<boolean | undefined>} undefined: there was not enough time
   */
  async verify(user, password, address) {
    if (!user || !password || userProblem(user) || passwordProblem(password)) {
      this.#attempts.failed(address);
      return false;
    }
    const tag = crypto.createHmac('sha256', this.#secret).update(`${user}\0`).update(password).digest();
    const known = this.#known.get(user);
    if (known && crypto.timingSafeEqual(known, tag)) return true;
    if (this.#asked >= MAX_WAITING) return undefined;
    const until = this.#now() + this.#withinMs;
    this.#asked++;
    try {
      return await this.#inTurn(address, () => this.#try(user, password, tag, address, until));
    } finally {
      this.#asked--;
    }
  }

  /**
   * Runs the attempts of an address with many failures one at a time, so that each waits for its delay.
   * @param {string} address
   * @param {() => Promise<boolean | undefined>} work
   */
  async #inTurn(address, work) {
    const network = networkOf(address);
    let turns = this.addresses.get(network);
    if (!turns) {
      const atOnce = () => (this.#attempts.delay(address) > 0 ? 1 : AT_ONCE);
      turns = new WorkQueue({ atOnce, maxWaiting: MAX_OF_ADDRESS, now: this.#now });
      this.addresses.set(network, turns);
    }
    const result = await turns.run(work, this.#withinMs);
    if (turns.isIdle && this.addresses.get(network) === turns) this.addresses.delete(network);
    return result;
  }

  /**
   * @param {string} user
   * @param {Buffer} password
   * @param {Buffer} tag
   * @param {string} address
   * @param {number} until
   */
  async #try(user, password, tag, address, until) {
    const delay = this.#attempts.delay(address);
    if (delay > 0) await this.#sleep(delay);
    const key = `${tag.toString('base64')}${user}`;
    let check = this.#running.get(key);
    if (!check) {
      check = this.#check(user, password, tag, until).finally(() => this.#running.delete(key));
      this.#running.set(key, check);
    }
    const isRight = await check;
    if (isRight === false) this.#attempts.failed(address);
    return isRight;
  }

  /** @param {string} user @param {Buffer} password @param {Buffer} tag @param {number} until */
  async #check(user, password, tag, until) {
    const known = this.#users?.get(user);
    const target = known ?? this.decoy ?? decoyHash();
    const isRight = await this.queue.run(() => matches(password, target), until - this.#now());
    if (!isRight || !known) return isRight;
    // The file may have changed in the meantime, and the user may have another hash or none.
    if (this.#users?.get(user) !== known) return undefined;
    this.#known.set(user, tag);
    return true;
  }

  close() {
    clearInterval(this.#timer);
    for (const turns of this.addresses.values()) turns.close();
    this.queue.close();
  }
}

/** @param {number} ms @returns {Promise<void>} */
function wait(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}

exports.PasswordVerifier = PasswordVerifier;
