'use strict';
// The three bands, most urgent first, and the criteria for their packets.

/**
 * @typedef {object} Band
 * @property {string} name
 * @property {number} minor of the class in htb, shown by tc in hexadecimal
 * @property {number[]} priorities SO_PRIORITY; the same as in pfifo_fast's bands [sch_generic.c prio2band]
 * @property {{ value: number, name: string }[]} dscp
 * @property {boolean} isDefault receives packets that no other criterion matches
 */

/** @type {Band[]} */
const BANDS = [
  {
    name: 'urgent',
    minor: 0x10,
    priorities: [6, 7],
    dscp: [
      { value: 46, name: 'EF' },
      { value: 48, name: 'CS6' }
    ],
    isDefault: false
  },
  { name: 'normal', minor: 0x20, priorities: [0, 4], dscp: [], isDefault: true },
  {
    name: 'bulk',
    minor: 0x30,
    priorities: [1, 2, 3, 5],
    dscp: [
      { value: 8, name: 'CS1' },
      { value: 1, name: 'LE' }
    ],
    isDefault: false
  }
];

/** Band of each of the 16 priorities, as pfifo_fast defines it and prio receives it. */
const PRIOMAP = Array.from({ length: 16 }, (_, priority) => {
  const found = BANDS.findIndex((band) => band.priorities.includes(priority));
  return found < 0 ? BANDS.findIndex((band) => band.isDefault) : found;
});

/** Major number of the root that apply creates: its handle is 1:. */
const MAJOR = 1;

module.exports = { BANDS, MAJOR, PRIOMAP };
