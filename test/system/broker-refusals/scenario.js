'use strict';
// One random broker that refuses and closes, and the real engine and uplink thread that it cannot stop.

const { ExpressBench, stage } = require('../../fixtures/uplink/express-bench');
const { ScriptedBroker } = require('../../fixtures/uplink/scripted-broker');
const { until } = require('../../../bench/harness/broker');
const { closeKind } = require('../../../nodes/lib/uplink/session/reason-codes');

/** Reason codes of MQTT 5 [2.4], and codes that it does not have. */
const CONNACKS = [
  0x80, 0x81, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8a, 0x8c, 0x90, 0x95, 0x97, 0x99, 0x9a, 0x9b,
  0x9c, 0x9d, 0x9f, 0xe0
];
const CLOSES = [
  0x00, 0x80, 0x81, 0x82, 0x83, 0x87, 0x89, 0x8b, 0x8d, 0x8e, 0x8f, 0x90, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98,
  0x99, 0x9a, 0x9b, 0x9c, 0x9d, 0x9e, 0x9f, 0xa0, 0xa1, 0xa2, 0xe0
];
const FINAL_PUBACKS = [0x87, 0x90, 0x95, 0x99];
const PASSING_PUBACKS = [0x80, 0x83, 0x91, 0xe0];
/** Return codes of a CONNACK of MQTT 3.1.1. */
const RETURN_CODES = [1, 2, 3, 4, 5];
const QUOTA_EXCEEDED = 0x97;

const LARGE_BYTES = 3000;
const NOISE_MS = 2000;
/** A record of 0x97 or its like needs ten trials, and the machine may be busy. */
const DEAD_MS = 90000;
const DRAIN_MS = 60000;

/** Numbers of the bad records, for the engine; the others count from 1. */
const BAD_NUMBERS = 1000000;

/** @typedef {ReturnType<typeof import('../../fixtures/random').seeded>} Random */

/** Chooses the broker, and the record that it never takes. @param {any} random */
function plan(random) {
  const isV5 = random.integer(4) > 0;
  const pick = (/** @type {number[]} */ codes) => codes[random.integer(codes.length)];
  const how = isV5 ? ['close', 'close', 'large', 'final', 'kept'][random.integer(5)] : ['close', 'large'][random.integer(2)]; // prettier-ignore
  const code = { close: isV5 ? pick(CLOSES) : 0, large: isV5 ? pick(CLOSES) : 0, final: pick(FINAL_PUBACKS), kept: pick(PASSING_PUBACKS) }[how]; // prettier-ignore
  return {
    how,
    code: Number(code),
    protocolVersion: isV5 ? 5 : 4,
    inflight: [1, 2, 8, 32][random.integer(4)],
    // Each takes ten trials if the reason is a state.
    bad:
      (how === 'close' || how === 'large') && closeKind(Number(code)) === 'state' ? 1 : 1 + random.integer(3),
    to: random.integer(2) === 0 ? stage.uplink : stage.singles,
    /** CONNACKs before the first that accepts. */
    refusals: Array.from({ length: random.integer(4) }, () => pick(isV5 ? CONNACKS : RETURN_CODES)),
    noise: {
      closeCodes: isV5 ? CLOSES : [0],
      closeOne: [0, 20, 100][random.integer(3)],
      closeAfter: [0, 1, 30][random.integer(3)],
      refuseOne: isV5 ? [0, 20, 100][random.integer(3)] : 0,
      refuseCodes: [...PASSING_PUBACKS, QUOTA_EXCEEDED, ...FINAL_PUBACKS]
    }
  };
}

/**
 * @param {Random} random
 * @returns {Promise<{ findings: string[], what: string }>} what: for display
 */
async function runScenario(random) {
  const planned = plan(random);
  const { how, code, noise, to, bad, ...rest } = planned;
  const what = JSON.stringify({ how, code: `0x${code.toString(16)}`, bad, to, ...rest, noise: { ...noise, closeCodes: undefined, refuseCodes: undefined } }); // prettier-ignore
  /** @type {string[]} */
  const findings = [];
  const isBad = ({ topic, payload }) => (how === 'large' ? payload.length >= LARGE_BYTES : topic === 'bad');
  let isNoisy = true;
  let takesAll = false;
  let acked = 0;
  /** Topics whose last PUBLISH was refused on this connection. */
  const refused = new Set();
  const broker = await ScriptedBroker.start({
    connack() {
      acked = 0;
      refused.clear();
      return planned.refusals.shift() ?? 0;
    },
    close(packet) {
      if (packet.dup && refused.has(packet.topic)) findings.push(`${packet.topic} has DUP after a refusal`);
      if ((how === 'close' || how === 'large') && isBad(packet)) return code;
      if (!isNoisy) return -1;
      const isOver = noise.closeAfter > 0 && acked >= noise.closeAfter;
      const isHit = noise.closeOne > 0 && random.integer(noise.closeOne) === 0;
      return isOver || isHit ? noise.closeCodes[random.integer(noise.closeCodes.length)] : -1;
    },
    puback(packet) {
      const answer = () => {
        if ((how === 'final' || how === 'kept') && isBad(packet) && !takesAll) return code;
        const isHit = isNoisy && noise.refuseOne > 0 && random.integer(noise.refuseOne) === 0;
        return isHit ? noise.refuseCodes[random.integer(noise.refuseCodes.length)] : 0;
      };
      const reasonCode = answer();
      if (reasonCode >= 0x80) refused.add(packet.topic);
      else {
        refused.delete(packet.topic);
        acked++;
      }
      return reasonCode;
    }
  });
  const { protocolVersion, inflight } = planned;
  const times = { reconnectMinMs: 10, reconnectMaxMs: 50, refusedMinMs: 20, refusedMaxMs: 50, retryMs: 5 };
  const bench = new ExpressBench({ url: broker.url, protocolVersion, inflight, ...times });
  const load = setInterval(() => bench.push(3), 10);
  /** @param {number} number */
  const pushBad = (number) =>
    bench.engine.push(to, 'd', how === 'large' ? 'large' : 'bad', Buffer.from(`"${'x'.repeat(how === 'large' ? LARGE_BYTES : 5)}"`), 3, 0, 0, -1, number); // prettier-ignore
  /** Counts the records that the engine has ended. */
  const ended = () => {
    void bench.held;
    const all = [...bench.delivered, ...bench.failed];
    return { good: all.filter((number) => number < BAD_NUMBERS).length, all: all.length };
  };
  const given = () => bench.last?.deadLetters ?? 0;
  try {
    const noisyUntil = Date.now() + NOISE_MS;
    await until(() => Date.now() > noisyUntil, NOISE_MS + 5000, 'the noise');
    isNoisy = false;
    for (let i = 0; i < bad; i++) pushBad(BAD_NUMBERS + i);
    if (how === 'kept') {
      const before = bench.sent + 50;
      await until(
        () => broker.received.some(({ topic }) => topic === `c/3/${before}`),
        DRAIN_MS,
        'others pass'
      );
    } else await until(() => given() >= bad, DEAD_MS, `${bad} dead letters`);
    // Silence: no new record, and no deploy.
    clearInterval(load);
    takesAll = true;
    await until(() => ended().good === bench.sent, DRAIN_MS, 'all others arrive');
    await until(() => ended().all === bench.sent + bad, DRAIN_MS, 'all end');
    const lost = bench.failed.filter((number) => number < BAD_NUMBERS);
    if (lost.length > 0) findings.push(`${lost.length} records that the broker takes were given up`);
    const expected = how === 'kept' ? 0 : bad;
    if (given() !== expected) findings.push(`${given()} dead letters instead of ${expected}`);
    const topics = new Set(broker.topics);
    for (let i = 1; i <= bench.sent; i++) if (!topics.has(`c/3/${i}`)) findings.push(`c/3/${i} is missing`);
  } catch (error) {
    findings.push(`${/** @type {Error} */ (error).message}: ${bench.sent} sent, ${JSON.stringify(ended())} ended, ${given()} dead letters, ${broker.connections} connections`); // prettier-ignore
  } finally {
    clearInterval(load);
    await bench.stop(0);
    await broker.close();
  }
  return { findings, what };
}

module.exports = { runScenario };
