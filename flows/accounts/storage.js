'use strict';
// What the provider must remember: keys, sessions, grants and tokens. An SQLite file, or memory only.

const fs = require('node:fs');
const { generateKeyPairSync, randomBytes } = require('node:crypto');
const { DatabaseSync } = require('node:sqlite');

/** Anybody can create sessions and logins that wait for a password, so their number is limited. */
const MOST_ROWS = 10000;
const OPEN_MODELS = new Set(['Session', 'Interaction']);
const CLEAN_MS = 60000;
/** ms that SQLite waits for another process, such as a backup. */
const BUSY_MS = 2000;
const DAY_SECONDS = 86400;
const LONGEST_SECONDS = 400 * DAY_SECONDS;

const TABLES = `
  CREATE TABLE IF NOT EXISTS item (model TEXT NOT NULL, id TEXT NOT NULL, grant_id TEXT, uid TEXT, payload TEXT NOT NULL,
    consumed INTEGER, expires INTEGER NOT NULL, PRIMARY KEY (model, id)) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS item_grant ON item (grant_id) WHERE grant_id IS NOT NULL;
  CREATE INDEX IF NOT EXISTS item_uid ON item (model, uid) WHERE uid IS NOT NULL;
  CREATE INDEX IF NOT EXISTS item_expires ON item (expires);
  CREATE TABLE IF NOT EXISTS secret (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;`;

/** The provider has as many logins as it can hold. */
class Full extends Error {}

const seconds = () => Math.floor(Date.now() / 1000);

class Storage {
  #db;
  #timer;

  /** @param {string} file absolute, '' = memory only */
  constructor(file) {
    // It has keys and refresh tokens.
    if (file && !fs.existsSync(file)) fs.closeSync(fs.openSync(file, 'wx', 0o600));
    this.#db = new DatabaseSync(file || ':memory:', { timeout: BUSY_MS });
    this.#db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA trusted_schema = OFF;');
    this.#db.exec(TABLES);
    this.#timer = setInterval(() => this.#clean(), CLEAN_MS).unref();
  }

  #clean() {
    try {
      this.removeOld();
    } catch {
      // The file is locked, or the disk is full: the next time will do, because reads skip what has expired.
    }
  }

  removeOld() {
    this.#db.prepare('DELETE FROM item WHERE expires <= ?').run(seconds());
  }

  /**
   * Returns a secret that stays the same as long as the file.
   * @param {string} name
   * @param {() => unknown} make
   */
  #secret(name, make) {
    const known = this.#db.prepare('SELECT value FROM secret WHERE name = ?').get(name);
    if (known) return JSON.parse(String(known.value));
    const value = make();
    this.#db.prepare('INSERT INTO secret (name, value) VALUES (?, ?)').run(name, JSON.stringify(value));
    return value;
  }

  /** Returns the key that signs ID tokens, as a JSON Web Key. */
  get signingKey() {
    return this.#secret('signing', () => {
      const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      const kid = randomBytes(8).toString('hex');
      return { ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'ES256', kid };
    });
  }

  /** Returns the key that signs cookies. @returns {string} */
  get cookieKey() {
    return this.#secret('cookies', () => randomBytes(32).toString('base64url'));
  }

  /** Returns the class; oidc-provider makes one object of it for each kind of item. */
  get Adapter() {
    const db = this.#db;
    return class Adapter {
      /** @param {string} model */
      constructor(model) {
        this.model = model;
      }

      /** @param {string} id @param {Record<string, any>} payload @param {number} [expiresIn] s */
      async upsert(id, payload, expiresIn = LONGEST_SECONDS) {
        if (OPEN_MODELS.has(this.model)) this.#checkRoom(id);
        const sql = `INSERT INTO item (model, id, grant_id, uid, payload, expires) VALUES (?, ?, ?, ?, ?, ?)
          ON CONFLICT (model, id) DO UPDATE SET grant_id = excluded.grant_id, uid = excluded.uid,
            payload = excluded.payload, expires = excluded.expires`;
        const { grantId = null, uid = null } = payload;
        const isGrant = this.model === 'Grant' || OPEN_MODELS.has(this.model);
        const expires = seconds() + expiresIn;
        db.prepare(sql).run(this.model, id, isGrant ? null : grantId, uid, JSON.stringify(payload), expires);
      }

      /** A login in progress goes on when there is no room for others. @param {string} id */
      #checkRoom(id) {
        if (db.prepare('SELECT 1 FROM item WHERE model = ? AND id = ?').get(this.model, id)) return;
        const { n } = /** @type {any} */ (
          db.prepare('SELECT count(*) AS n FROM item WHERE model = ?').get(this.model)
        );
        if (n >= MOST_ROWS)
          throw new Full('There are too many logins at present. Try again in some minutes.');
      }

      /** @param {Record<string, any> | undefined} row */
      #read(row) {
        if (!row || row.expires <= seconds()) return undefined;
        const payload = JSON.parse(row.payload);
        return row.consumed === null ? payload : { ...payload, consumed: row.consumed };
      }

      /** @param {string} id */
      async find(id) {
        return this.#read(db.prepare('SELECT * FROM item WHERE model = ? AND id = ?').get(this.model, id));
      }

      /** @param {string} uid */
      async findByUid(uid) {
        return this.#read(db.prepare('SELECT * FROM item WHERE model = ? AND uid = ?').get(this.model, uid));
      }

      async findByUserCode() {
        return undefined;
      }

      /** @param {string} id */
      async consume(id) {
        db.prepare('UPDATE item SET consumed = ? WHERE model = ? AND id = ?').run(seconds(), this.model, id);
      }

      /** @param {string} id */
      async destroy(id) {
        db.prepare('DELETE FROM item WHERE model = ? AND id = ?').run(this.model, id);
      }

      /** @param {string} grantId */
      async revokeByGrantId(grantId) {
        db.prepare('DELETE FROM item WHERE grant_id = ?').run(grantId);
      }
    };
  }

  close() {
    clearInterval(this.#timer);
    this.#db.close();
  }
}

exports.Storage = Storage;
exports.Full = Full;
exports.MOST_ROWS = MOST_ROWS;
