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
    this.file_ = file;
    this.warn_ = warn;
    this.withinMs_ = withinMs;
    this.sleep_ = sleep;
    this.attempts_ = new FailedAttempts(now);
    this.now_ = now;
    this.queue_ = new WorkQueue({ atOnce: () => AT_ONCE, maxWaiting: MAX_WAITING, now });
    /** Queues of the addresses with a check in progress. @type {Map<string, WorkQueue>} */
    this.addresses_ = new Map();
    this.asked_ = 0;
    this.files_ = new WatchedFiles(
      { passwords: file },
      { passwords: 'password file' },
      {
        maxBytes: MAX_FILE_BYTES
      }
    );
    this.secret_ = crypto.randomBytes(32);
    /** Keyed hash of the correct password, by user. @type {Map<string, Buffer>} */
    this.known_ = new Map();
    /** Running checks, by user and keyed hash. @type {Map<string, Promise<boolean | undefined>>} */
    this.running_ = new Map();
    this.read();
    this.timer_ = setInterval(() => void this.refresh(), READ_MS).unref();
  }

  /** Reads the file. */
  read() {
    const { passwords = Buffer.alloc(0) } = this.files_.read();
    const { users, problems } = parsePasswords(passwords.toString('utf8'));
    this.users_ = users;
    this.known_.clear();
    const [first] = users.values();
    this.decoy_ = decoyHash(first);
    if (problems.length > 0) {
      const more = problems.length > MAX_REPORTED ? ` And ${problems.length - MAX_REPORTED} more.` : '';
      this.warn_(
        `In ${this.file_}: ${problems.slice(0, MAX_REPORTED).join(' ')}${more} These users cannot log in.`
      );
    }
    this.checkMode_();
  }

  checkMode_() {
    const { mode } = fs.statSync(this.file_);
    if (mode & OTHERS) {
      this.warn_(`Other users can read or write ${this.file_}. Make it private: chmod 600 ${this.file_}`);
    }
  }

  /** Reads the file again if it changed. If it cannot be read, the previous users stay valid. */
  async refresh() {
    try {
      if (await this.files_.haveChanged()) this.read();
    } catch (error) {
      this.warn_(`${/** @type {Error} */ (error).message} The previous users stay valid.`);
    }
  }

  /**
   * @param {string | null} user
   * @param {Buffer | null} password
   * @param {string} address of the peer
   * @returns {Promise<boolean | undefined>} undefined: there was not enough time
   */
  async verify(user, password, address) {
    if (!user || !password || userProblem(user) || passwordProblem(password)) {
      this.attempts_.failed(address);
      return false;
    }
    const tag = crypto.createHmac('sha256', this.secret_).update(`${user}\0`).update(password).digest();
    const known = this.known_.get(user);
    if (known && crypto.timingSafeEqual(known, tag)) return true;
    if (this.asked_ >= MAX_WAITING) return undefined;
    const until = this.now_() + this.withinMs_;
    this.asked_++;
    try {
      return await this.inTurn_(address, () => this.try_(user, password, tag, address, until));
    } finally {
      this.asked_--;
    }
  }

  /**
   * Runs the attempts of an address with many failures one at a time, so that each waits for its delay.
   * @param {string} address
   * @param {() => Promise<boolean | undefined>} work
   */
  async inTurn_(address, work) {
    const network = networkOf(address);
    let turns = this.addresses_.get(network);
    if (!turns) {
      const atOnce = () => (this.attempts_.delay(address) > 0 ? 1 : AT_ONCE);
      turns = new WorkQueue({ atOnce, maxWaiting: MAX_OF_ADDRESS, now: this.now_ });
      this.addresses_.set(network, turns);
    }
    const result = await turns.run(work, this.withinMs_);
    if (turns.isIdle && this.addresses_.get(network) === turns) this.addresses_.delete(network);
    return result;
  }

  /**
   * @param {string} user
   * @param {Buffer} password
   * @param {Buffer} tag
   * @param {string} address
   * @param {number} until
   */
  async try_(user, password, tag, address, until) {
    const delay = this.attempts_.delay(address);
    if (delay > 0) await this.sleep_(delay);
    const key = `${tag.toString('base64')}${user}`;
    let check = this.running_.get(key);
    if (!check) {
      check = this.check_(user, password, tag, until).finally(() => this.running_.delete(key));
      this.running_.set(key, check);
    }
    const isRight = await check;
    if (isRight === false) this.attempts_.failed(address);
    return isRight;
  }

  /** @param {string} user @param {Buffer} password @param {Buffer} tag @param {number} until */
  async check_(user, password, tag, until) {
    const known = this.users_?.get(user);
    const target = known ?? this.decoy_ ?? decoyHash();
    const isRight = await this.queue_.run(() => matches(password, target), until - this.now_());
    if (!isRight || !known) return isRight;
    // The file may have changed in the meantime, and the user may have another hash or none.
    if (this.users_?.get(user) !== known) return undefined;
    this.known_.set(user, tag);
    return true;
  }

  close() {
    clearInterval(this.timer_);
    for (const turns of this.addresses_.values()) turns.close();
    this.queue_.close();
  }
}

/** @param {number} ms @returns {Promise<void>} */
function wait(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}

exports.PasswordVerifier = PasswordVerifier;
