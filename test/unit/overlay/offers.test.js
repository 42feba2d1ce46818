'use strict';
// Listeners that are offered to the overlay, with the control socket of a program.

const { eventually } = require('../../../bench/harness/net');
const { OverlayLink } = require('../../../nodes/lib/overlay/overlay-link');
const { OverlayOffers } = require('../../../nodes/lib/overlay/overlay-offers');
const { targetOf, reachOf } = require('../../../nodes/lib/settings/overlay-offer');
const { TestProgram } = require('../../fixtures/overlay/program');

/** @type {TestProgram} */
let program;
/** @type {OverlayLink} */
let link;
beforeEach(async () => {
  program = await new TestProgram().open();
  link = new OverlayLink(program.folder, null, () => {});
});
afterEach(async () => {
  await link.close();
  await program.remove();
});

const service = (/** @type {object} */ more) => ({
  name: 'mqtt-1883',
  network: /** @type {const} */ ('tcp'),
  port: 1883,
  target: '127.0.0.1:1883',
  ...more
});
const names = () => program.services.map(({ name }) => name);

test('offers a service before and after the program answers, and withdraws each', async () => {
  const first = link.offer(service({}), () => {});
  expect(program.requests).toEqual([]);
  link.open();
  await eventually(() => names().includes('mqtt-1883'));
  await eventually(() => link.status);
  const second = link.offer(service({ name: 'coap', network: 'udp', port: 5683 }), () => {});
  await eventually(() => names().length === 2);
  expect(program.services[1]).toEqual({ name: 'coap', proto: 'udp', port: 5683, target: '127.0.0.1:1883' });
  await first();
  expect(names()).toEqual(['coap']);
  await Promise.all([second(), second()]);
  expect(names()).toEqual([]);
});

test('offers a service again after the program was restarted', async () => {
  /** @type {string[]} */
  const states = [];
  link.offer(service({}), (problem) => states.push(problem));
  link.open();
  await eventually(() => states.length === 1);
  await program.close();
  await eventually(() => names().length === 0 && !link.status);
  await program.open();
  await eventually(() => names().length === 1);
  expect(states).toEqual(['']);
});

test('keeps an offer while the status cannot be read', async () => {
  let isBroken = false;
  program.answer = ({ method }) => (isBroken && method === 'status' ? 'x'.repeat(2 << 20) : null);
  link.offer(service({}), () => {});
  link.open();
  await eventually(() => names().length === 1 && link.status);
  const asked = program.requests.length;
  isBroken = true;
  // Two losses, and two connections after them.
  await eventually(
    () => program.requests.slice(asked).filter(({ method }) => method === 'events').length > 1
  );
  expect(link.problem).toMatch(/it sent a line that is/);
  expect(names()).toEqual(['mqtt-1883']);
  isBroken = false;
  await eventually(() => link.status);
  expect(program.requests.filter(({ method }) => method === 'offer')).toHaveLength(1);
});

test('reports a refusal once, and offers the service when the program takes it', async () => {
  let isRefused = true;
  program.answer = ({ id, method }) =>
    isRefused && method === 'offer' ? { id, error: { text: 'The port is taken.' } } : null;
  /** @type {string[]} */
  const states = [];
  const offers = new OverlayOffers((method, params, timeoutMs) => request(method, params, timeoutMs));
  const { ControlConnection } = require('../../../nodes/lib/overlay/control-connection');
  const connection = new ControlConnection(program.socket);
  const request = connection.request.bind(connection);
  const withdraw = offers.add(service({}), (problem) => states.push(problem));
  for (let round = 1; round <= 3; round++) {
    offers.check();
    await eventually(() => program.requests.filter(({ method }) => method === 'offer').length === round);
    await eventually(() => states.length === 1);
    await new Promise((resolve) => setImmediate(resolve));
  }
  isRefused = false;
  await eventually(() => (offers.check(), states.length === 2));
  expect(states).toEqual(['The port is taken.', '']);
  await withdraw();
  expect(names()).toEqual([]);
  connection.close();
});

test('offers a port again only when the program has freed it', async () => {
  link.open();
  /** @type {string[]} */
  const states = [];
  const first = link.offer(service({}), () => {});
  await eventually(() => names().length === 1 && link.status);
  const withdrawn = first();
  link.offer(service({}), (problem) => states.push(problem));
  await withdrawn;
  await eventually(() => states.length === 1);
  expect(states).toEqual(['']);
  expect(names()).toEqual(['mqtt-1883']);
});

test('ends an offer that the program took without an answer, and offers it again', async () => {
  let isSilent = true;
  program.answer = ({ method, params }) => {
    if (method !== 'offer' || !isSilent) return null;
    isSilent = false;
    const connection = [...program.connections][1];
    program.offers.set(connection, [{ ...params, proto: params.network }]);
    return '';
  };
  /** @type {string[]} */
  const states = [];
  const withdraw = link.offer(service({}), (problem) => states.push(problem));
  link.open();
  await eventually(() => states.length === 2);
  expect(states).toEqual([expect.stringContaining('did not answer "offer" in time'), '']);
  expect(names()).toEqual(['mqtt-1883']);
  await withdraw();
  expect(names()).toEqual([]);
});

test('withdraws a service whose offer has no answer yet', async () => {
  /** @type {(value?: unknown) => void} */
  let answer = () => {};
  /** @type {string[]} */
  const asked = [];
  const offers = new OverlayOffers((method) => {
    asked.push(method);
    return method === 'offer' ? new Promise((resolve) => (answer = resolve)) : Promise.resolve();
  });
  const withdraw = offers.add(service({}), () => asked.push('told'));
  offers.check();
  offers.check();
  await Promise.resolve();
  const withdrawn = withdraw();
  answer();
  await withdrawn;
  expect(asked).toEqual(['offer', 'withdraw']);
  offers.check();
  expect(asked).toHaveLength(2);
});

test.each([
  ['0.0.0.0', '127.0.0.1:1883'],
  ['::', '[::1]:1883'],
  ['', '127.0.0.1:1883'],
  ['192.0.2.1', '192.0.2.1:1883'],
  ['fd00::1', '[fd00::1]:1883'],
  ['localhost', 'localhost:1883']
])('a listener at %j is reached at %s', (host, target) => {
  expect(targetOf(host, 1883)).toBe(target);
});

test('a listener on loopback is reached beyond this machine if it is offered', () => {
  expect(reachOf({ host: '127.0.0.1' })).toBe('');
  expect(reachOf({ host: '127.0.0.1', overlay: 'net' })).toBe('By the overlay');
  expect(reachOf({ host: '0.0.0.0', overlay: 'net' })).toBe('On 0.0.0.0');
});
