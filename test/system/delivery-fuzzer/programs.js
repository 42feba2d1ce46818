'use strict';
// What a function node does with one record: a list of steps, which the record carries in its payload, and what the
// steps mean for the end of the record.
//
//   s      node.send() of the message           d       node.done()
//   n      node.send() of a new object          e       node.done() with an error
//   u      node.send() without a clone          k       keep it, and send three of them as one message
//   tN     continue in a timer of N ms          i       continue in setImmediate()
//   p      continue in a promise                bN      block the event loop for N ms

/** @typedef {ReturnType<typeof import('../../fixtures/random').draws>} Draws */
/** @typedef {'sends' | 'drops' | 'fails' | 'never' | 'late'} Meaning of a program for its message */

/** The usual ways to write an asynchronous function, each of which must be right. */
const USUAL = [
  ['s', 'd'],
  ['n', 'd'],
  ['u', 'd'],
  ['d'],
  ['e'],
  ['k'],
  ['s', 't20', 'd'],
  ['t20', 's', 'd'],
  ['t20', 'd'],
  ['t10', 's', 't10', 'd'],
  ['s', 's', 'd'],
  ['i', 's', 'i', 'd'],
  ['p', 's', 'p', 'd'],
  ['b15', 's', 't20', 'd'],
  ['s', 't20', 'e']
];
const SENDS = ['s', 's', 's', 'n', 'u'];
const WAITS = ['t5', 't10', 't20', 't50', 'i', 'p', 'b5', 'b15'];

/** @param {Draws} draws @param {boolean} keeps @returns {string[]} */
function makeProgram({ pick, between, chance }, keeps) {
  const usual = keeps ? USUAL : USUAL.filter((each) => each[0] !== 'k');
  if (chance(60)) return pick(usual);
  const steps = Array.from({ length: between(1, 6) }, () => {
    if (chance(40)) return pick(WAITS);
    if (chance(50)) return pick(SENDS);
    return chance(85) ? 'd' : 'e';
  });
  // A program without an end takes the whole timeout.
  return chance(95) ? [...steps, 'd'] : steps;
}

/**
 * Returns what Node-RED's documentation, and docs/understand/guarantees.md, say about the record of a message: a node
 * sends before it calls done(), or in the same turn of the event loop; only the first done() counts.
 * @param {string[]} steps
 * @returns {Meaning} late: it sends after its end; its record may have ended before
 */
function meaningOf(steps) {
  if (steps.includes('k')) return 'sends';
  let turn = 0;
  let [ended, endedAt, sentAt] = ['', Infinity, Infinity];
  for (const step of steps) {
    if (step[0] === 't' || step === 'i') turn++;
    if (SENDS.includes(step)) sentAt = Math.min(sentAt, turn);
    if ((step === 'd' || step === 'e') && ended === '') [ended, endedAt] = [step, turn];
  }
  if (sentAt <= endedAt && sentAt < Infinity) return 'sends';
  if (ended === '') return 'never';
  if (ended === 'e') return 'fails';
  return sentAt < Infinity ? 'late' : 'drops';
}

/** The code of a function node that runs the steps in the field `name` of its payload. @param {string} name */
function codeOf(name) {
  return `
const { setImmediate, block } = global.get('fuzz');
const done = () => node.done();
let value = msg.payload;
if (Buffer.isBuffer(value)) value = JSON.parse(value.toString());
const steps = value.${name} ?? ['s', 'd'];
msg.payload = value;
msg.deviceId ??= 'joined';
msg.topic ??= 't';
const flush = () => {
  const kept = context.get('kept') ?? [];
  context.set('kept', []);
  if (kept.length === 0) return;
  node.send({ ...msg, payload: { rs: kept.map(({ value }) => value) } });
  for (const { done } of kept) done();
};
const run = (at) => {
  for (; at < steps.length; at++) {
    const step = steps[at];
    const next = () => run(at + 1);
    const ms = Number(step.slice(1));
    if (step === 's') node.send(msg);
    else if (step === 'n') node.send({ payload: value, topic: msg.topic, deviceId: msg.deviceId });
    else if (step === 'u') node.send(msg, false);
    else if (step === 'd') done();
    else if (step === 'e') node.done(new Error('refused'));
    else if (step[0] === 'b') block(ms);
    else if (step[0] === 't') return void setTimeout(next, ms);
    else if (step === 'i') return void setImmediate(next);
    else if (step === 'p') return void Promise.resolve().then(next);
    else if (step === 'k') {
      const kept = [...(context.get('kept') ?? []), { value, done }];
      context.set('kept', kept);
      if (kept.length === 3) flush();
      else if (kept.length === 1) setTimeout(flush, 300);
    }
  }
};
run(0);`;
}

module.exports = { codeOf, makeProgram, meaningOf };
