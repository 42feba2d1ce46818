'use strict';
// When listeners withdraw their offers: the program ends the connections that came by an offer.

const { Listening } = require('../../../nodes/lib/engine/listening');
const { PortOpener } = require('../../../nodes/lib/sources/http/port-opener');
const { eventually } = require('../../../bench/harness/net');

/** @param {string[]} events */
const offerOf = (events) => () => async () => void events.push('withdrawn');

test('a listener of an engine that ends withdraws after the last acknowledgements', async () => {
  /** @type {string[]} */
  const events = [];
  /** @type {(value?: undefined) => void} */
  let drained = () => {};
  const host = {
    engine: { listen: () => 1883, unlisten: () => events.push('unlistened') },
    logins: { leave: () => {} },
    /** @type {Promise<void> | null} */
    closing: null
  };
  const listening = new Listening(/** @type {any} */ ({ host, stage: 1 }), {
    listener: /** @type {any} */ ({ host: '127.0.0.1', port: 1883, transport: 'tcp' }),
    offer: offerOf(events)
  });
  listening.start();
  host.closing = new Promise((resolve) => (drained = resolve)).then(() => void events.push('drained'));
  const closed = listening.close();
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(events).toEqual([]);
  drained();
  await closed;
  expect(events).toEqual(['drained', 'withdrawn']);
});

test('an HTTP server withdraws after its open requests', async () => {
  /** @type {string[]} */
  const events = [];
  const door = {
    port: 0,
    listen: async () => void (door.port = 8080),
    close: async () => void events.push('closed')
  };
  const place = { host: '127.0.0.1', port: 8080 };
  const opener = new PortOpener(/** @type {any} */ (door), place, () => {}, offerOf(events));
  opener.tick(true);
  await eventually(() => door.port);
  await opener.close();
  expect(events).toEqual(['closed', 'withdrawn']);
});
