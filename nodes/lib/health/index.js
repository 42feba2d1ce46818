'use strict';
// The health of the gateway in two questions: does the process make progress, and can it take records and deliver them.
// The answers need no login, so they contain states, numbers and fixed words only: no names, addresses or topics.

const { liveness } = require('./liveness');
const { readiness } = require('./readiness');
const { LoopDelay } = require('./loop-delay');
const { Heart } = require('./heartbeat');

/**
 * @typedef {object} EngineHealth one engine
 * @property {boolean} isRunning false: it could not start, or it is closing
 * @property {boolean} hasPlan true after the first start of the flows
 * @property {number[]} workers ms since each worker thread made progress
 * @property {number[]} uplinkThreads ms since each uplink thread reported; -1 = none runs
 * @property {number} logThread the same for the log
 * @property {boolean[]} listeners one for each node to which devices connect: true while it accepts them
 * @property {number} stranded uplink nodes without a usable broker
 * @property {{ state: string, trouble: string } | null} log trouble: why records are not written, '' while they are;
 *   null = the engine keeps no log
 * @property {import('../engine/replicas').ReplicaState | null} replicas null = the clouds alone acknowledge nothing
 * @property {'no' | 'yes' | 'unknown'} standby whether another gateway has the log of its pair; unknown: the database
 *   did not answer yet
 * @property {boolean} isDraining its devices are handed over to other gateways
 * @property {Uplink[]} uplinks
 *
 * @typedef {object} Uplink the sessions of one broker
 * @property {string} state
 * @property {string} [code] such as ECONNREFUSED
 * @property {number} [oldestMs]
 * @property {boolean} [isStallRepeating] records stood still twice within ten minutes although the way was free
 * @property {{ state: string, code: string, oldestMs: number }[]} [sessions]
 * @property {number} [url] with several URLs: where the uplink is, from 1
 * @property {object[]} [urls]
 * @property {number} [failovers]
 * @property {{ code: string } | null} [moved]
 *
 * @typedef {{ ok: boolean, reason: string } & Record<string, unknown>} Check reason: a sentence, '' if it is ok
 * @typedef {{ ok: boolean, reason: string, checks: Record<string, Check> }} Verdict reason: that of the first check that
 *   failed
 */

module.exports = { liveness, readiness, LoopDelay, Heart };
