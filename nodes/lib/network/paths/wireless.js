'use strict';
// How strong the signal of a Wi-Fi interface is. Needs no rights.

const fs = require('node:fs');
const path = require('node:path');
const { run } = require('../common/run-command');

/** What radios hear is between these; a level of 0, which stands for none, is -256 there. */
const LEAST_DBM = -120;
const MOST_DBM = -1;
/** `iw` is a process: it is asked this seldom, and given up where it does not answer. */
const IW_EVERY_MS = 2000;
const IW_PATIENCE_MS = 1000;
/** Where it is not installed. */
const IW_AGAIN_MS = 60_000;
const MOST_TEXT = 1 << 16;

/** Name, status, link, level: each of the last two with a dot where it is new [wext-proc.c of the kernel]. */
const LINE = /^ *([^\s:]{1,15}): *[0-9a-f]{4} +(?:-?\d{1,4})(?:\.| ) *(-?\d{1,4})(?:\.| |$)/;

/** @param {number} dbm @returns {number | null} */
const plausible = (dbm) => (dbm >= LEAST_DBM && dbm <= MOST_DBM ? dbm : null);

/**
 * The kernel subtracts 256 where the driver says that its level is dBm. Some say so by the byte alone: 204 is -52. A small positive
 * number is on a scale of the driver's own, or 0: no station.
 * @param {number} level @returns {number | null} dBm
 */
const dbmOf = (level) => plausible(level > 0 ? level - 256 : level);

/** @param {string} text of /proc/net/wireless @returns {Map<string, number | null>} dBm by interface; null: it is Wi-Fi, and that is not told */
function parseWireless(text) {
  const found = /** @type {[string, number | null][]} */ ([]);
  for (const line of text.slice(0, MOST_TEXT).split('\n')) {
    const parts = LINE.exec(line);
    if (parts) found.push([parts[1], dbmOf(Number(parts[2]))]);
  }
  return new Map(found);
}

/** @param {string} text of `iw dev NAME link` @returns {number | null} dBm; null: it is not told, or there is no station */
function parseIw(text) {
  // An SSID cannot pretend to be a line: iw escapes what does not print.
  const found = /^\tsignal: *(-\d{1,3})(?: \[[-\d, ]*\])? dBm/m.exec(text.slice(0, MOST_TEXT));
  return found ? plausible(Number(found[1])) : null;
}

/** @param {string} name @returns {Promise<string | null>} what iw prints; null: it is not there, or does not answer */
const askIw = (name) =>
  run('iw', ['dev', name, 'link'], { timeoutMs: IW_PATIENCE_MS }).then(
    ({ code, stdout }) => (code === 0 ? stdout : ''),
    () => null
  );

/** Reads as often as it is asked, and never waits for `iw`: what that said last counts until it has answered again. */
class Wireless {
  /** @param {{ file?: string, folder?: string, iw?: (name: string) => Promise<string | null> }} [world] */
  constructor({ file = '/proc/net/wireless', folder = '/sys/class/net', iw = askIw } = {}) {
    this.file_ = file;
    this.folder_ = folder;
    this.iw_ = iw;
    /** @type {Map<string, number | null>} */
    this.told_ = new Map();
    /** When it is asked again. @type {Map<string, number>} */
    this.dueAt_ = new Map();
  }

  /** @param {string[]} names of interfaces @param {number} now @returns {Map<string, number | null>} dBm; null: no Wi-Fi, or not told */
  read(names, now) {
    const levels = this.levels_();
    return new Map(names.map((name) => [name, levels.get(name) ?? this.byIw_(name, now)]));
  }

  levels_() {
    try {
      return parseWireless(fs.readFileSync(this.file_, 'utf8'));
    } catch {
      // A kernel without wireless extensions has no such file.
      return new Map();
    }
  }

  /** Drivers of Wi-Fi 7, and kernels without the extensions, are in no such file. @param {string} name @param {number} now */
  byIw_(name, now) {
    const isWireless =
      name !== '' &&
      ['phy80211', 'wireless'].some((entry) => fs.existsSync(path.join(this.folder_, name, entry)));
    if (!isWireless) return null;
    if (now >= (this.dueAt_.get(name) ?? -Infinity)) {
      this.dueAt_.set(name, Infinity);
      void this.iw_(name).then((text) => {
        this.told_.set(name, text === null ? null : parseIw(text));
        this.dueAt_.set(name, now + (text === null ? IW_AGAIN_MS : IW_EVERY_MS));
      });
    }
    return this.told_.get(name) ?? null;
  }
}

module.exports = { Wireless, parseWireless, parseIw };
