'use strict';
// Applies a trace to the two links of a lab: rates, silence where no signal is, and a new address after each hand-over.

const fs = require('node:fs');
const path = require('node:path');
const os = require('node:os');
const { retune } = require('../harness/qdisc');
const { sleep } = require('../runs/stage');
const { rateOf } = require('./signal');

/** @typedef {import('../paths/lab').PathsLab} PathsLab @typedef {import('../paths/lab').Cable} Cable */
/** @typedef {import('./walk').Step} Step @typedef {import('./walk').Link} Link */

/** A level that means "no station": the kernel prints it for a radio without one. */
const NO_STATION = -256;
/** Of a radio beside its access point. */
const BEST_DBM = -40;
/** Below this signal a radio reports none. */
const LEAST_DBM = -95;

/** @param {Cable} cable @param {number} point @returns {string} the address that an access point gives */
const addressOf = (cable, point) => `198.18.${cable}.${11 + point}`;

/** @param {[Link, Link]} links @returns {string} as in /proc/net/wireless */
function wirelessOf(links) {
  const lines = links.flatMap(({ dbm, isRoaming }, i) => {
    if (Number.isNaN(dbm)) return [];
    const level = isRoaming || dbm < LEAST_DBM ? NO_STATION : Math.round(dbm);
    return [`    p${i + 1}: 0000   70.  ${level}.  -256        0      0      0      0      0        0`];
  });
  return [
    'Inter-| sta-|   Quality        |   Discarded packets               | Missed | WE',
    ' face | tus | link level noise |  nwid  crypt   frag  retry   misc | beacon | 22',
    ...lines,
    ''
  ].join('\n');
}

class Drive {
  /** @param {PathsLab} lab @param {Step[]} steps */
  constructor(lab, steps) {
    this.lab = lab;
    this.steps = steps;
    this.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-walk-'));
    /** The signals of both radios, as the kernel would print them. */
    this.file = path.join(this.folder, 'wireless');
    /** @type {[Link | null, Link | null]} */
    this.links = [null, null];
    this.isSilent = [false, false];
    /** The largest delay of a step, ms. */
    this.late = 0;
  }

  /** Applies the first step, before a gateway starts. */
  begin() {
    this.#apply(this.steps[0]);
  }

  /**
   * Goes the whole way. At its end both links are good, so that records that wait in the log can arrive: what is
   * missing then is lost.
   * @param {() => boolean} [isOver]
   */
  async go(isOver = () => false) {
    const since = Date.now();
    for (const step of this.steps) {
      await sleep(since + step.ms - Date.now());
      if (isOver()) return;
      this.late = Math.max(this.late, Date.now() - since - step.ms);
      this.#apply(step);
    }
    const good = { dbm: BEST_DBM, mbit: rateOf(BEST_DBM), isRoaming: false };
    const { links } = this.steps[this.steps.length - 1];
    this.#apply({
      links: [
        { ...links[0], ...good },
        { ...links[1], ...good }
      ]
    });
  }

  /** @param {Pick<Step, 'links'>} step */
  #apply({ links }) {
    for (const i of /** @type {const} */ ([0, 1])) this.#set(/** @type {Cable} */ (i + 1), links[i]);
    // Replaced as a whole, so that no reader sees a half.
    fs.writeFileSync(`${this.file}.new`, wirelessOf(links));
    fs.renameSync(`${this.file}.new`, this.file);
  }

  /** @param {Cable} cable @param {Link} link */
  #set(cable, link) {
    const i = cable - 1;
    const before = this.links[i];
    this.links[i] = link;
    const isSilent = link.mbit === 0;
    if (isSilent && !this.isSilent[i]) this.lab.cut('silent', cable);
    this.isSilent[i] = isSilent || this.isSilent[i];
    // The access point gives the address when it lets packets pass again.
    const isNew = !isSilent && link.point >= 0 && this.lab.addresses[cable] !== addressOf(cable, link.point);
    if (isNew) this.lab.readdress(cable, addressOf(cable, link.point));
    if (!isSilent && link.mbit !== before?.mbit) retune(`p${cable}`, link.mbit * 1e6, this.lab.inCloud);
    if (!isSilent && this.isSilent[i]) {
      this.lab.heal('silent', cable);
      this.isSilent[i] = false;
    }
  }

  /** Restores both links. */
  end() {
    for (const cable of /** @type {Cable[]} */ ([1, 2])) {
      if (this.isSilent[cable - 1]) this.lab.heal('silent', cable);
    }
    fs.rmSync(this.folder, { recursive: true, force: true });
  }
}

module.exports = { Drive, addressOf, wirelessOf };
