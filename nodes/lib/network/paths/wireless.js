'use strict';
// Reads the signal strength of a Wi-Fi interface. Needs no privileges.

const fs = require('node:fs');
const path = require('node:path');
const { run } = require('../common/run-command');

/** Range of received signals. A level of 0, which means "none", appears as -256. */
const LEAST_DBM = -120;
const MOST_DBM = -1;
/** `iw` is a process, so it runs at this interval, and is given up if it does not answer. */
const IW_EVERY_MS = 2000;
const IW_PATIENCE_MS = 1000;
/** Interval if it is not installed. */
const IW_AGAIN_MS = 60_000;
const MOST_TEXT = 1 << 16;

/** Name, status, link, level: a dot follows each of the last two if it is new [wext-proc.c of the kernel]. */
const LINE = /^ *([^\s:]{1,15}): *[0-9a-f]{4} +(?:-?\d{1,4})(?:\.| ) *(-?\d{1,4})(?:\.| |$)/;

/** @param {number} dbm @returns {number | null} */
const plausible = (dbm) => (dbm >= LEAST_DBM && dbm <= MOST_DBM ? dbm : null);

/**
 * Converts a level. The kernel subtracts 256 if the driver reports dBm. Some drivers store it in the byte only: 204 is
 * -52. A small positive number is on a scale of the driver's own, or 0: no station.
 * @param {number} level
 * @returns {number | null} dBm
 */
const dbmOf = (level) => plausible(level > 0 ? level - 256 : level);

/**
 * @param {string} text of /proc/net/wireless
 * @returns {Map<string, number | null>} dBm by interface; null: it is Wi-Fi, but the level is unknown
 */
function parseWireless(text) {
  const found = /** @type {[string, number | null][]} */ ([]);
  for (const line of text.slice(0, MOST_TEXT).split('\n')) {
    const parts = LINE.exec(line);
    if (parts) found.push([parts[1], dbmOf(Number(parts[2]))]);
  }
  return new Map(found);
}

/** @param {string} text of `iw dev NAME link` @returns {number | null} dBm; null: unknown, or there is no station */
function parseIw(text) {
  // An SSID cannot fake a line: iw escapes unprintable characters.
  const found = /^\tsignal: *(-\d{1,3})(?: \[[-\d, ]*\])? dBm/m.exec(text.slice(0, MOST_TEXT));
  return found ? plausible(Number(found[1])) : null;
}

/**
 * @param {string} name
 * @returns {Promise<string | null>} the output of iw; null: it is not installed, or does not answer
 */
const askIw = (name) =>
  run('iw', ['dev', name, 'link'], { timeoutMs: IW_PATIENCE_MS }).then(
    ({ code, stdout }) => (code === 0 ? stdout : ''),
    () => null
  );

/** Reads the levels at every call, and never waits for `iw`: its last answer counts until the next one. */
class Wireless {
  #file;
  #folder;
  #iw;
  /** @type {Map<string, number | null>} */
  #answers;
  /** When iw runs again, by interface. @type {Map<string, number>} */
  #dueAt;

  /** @param {{ file?: string, folder?: string, iw?: (name: string) => Promise<string | null> }} [world] */
  constructor({ file = '/proc/net/wireless', folder = '/sys/class/net', iw = askIw } = {}) {
    this.#file = file;
    this.#folder = folder;
    this.#iw = iw;
    this.#answers = new Map();
    this.#dueAt = new Map();
  }

  /**
   * @param {string[]} names of interfaces
   * @param {number} now
   * @returns {Map<string, number | null>} dBm; null: no Wi-Fi, or unknown
   */
  read(names, now) {
    const levels = this.#levels();
    return new Map(names.map((name) => [name, levels.get(name) ?? this.#byIw(name, now)]));
  }

  #levels() {
    try {
      return parseWireless(fs.readFileSync(this.#file, 'utf8'));
    } catch {
      // A kernel without wireless extensions does not have this file.
      return new Map();
    }
  }

  /**
   * Reads the level with iw: the file does not list drivers of Wi-Fi 7, and kernels without the extensions do not have
   * it.
   * @param {string} name
   * @param {number} now
   */
  #byIw(name, now) {
    const isWireless =
      name !== '' &&
      ['phy80211', 'wireless'].some((entry) => fs.existsSync(path.join(this.#folder, name, entry)));
    if (!isWireless) return null;
    if (now >= (this.#dueAt.get(name) ?? -Infinity)) {
      this.#dueAt.set(name, Infinity);
      void this.#iw(name).then((text) => {
        this.#answers.set(name, text === null ? null : parseIw(text));
        this.#dueAt.set(name, now + (text === null ? IW_AGAIN_MS : IW_EVERY_MS));
      });
    }
    return this.#answers.get(name) ?? null;
  }
}

module.exports = { Wireless, parseWireless, parseIw };
