'use strict';
// SUBSCRIBE and UNSUBSCRIBE of a source.

const { refusalName } = require('../../uplink/session/reason-codes');

/** [MQTT 3.8.3.1] Send retained messages if the subscription is new, or never. */
const WHEN_NEW = 1;
const NEVER = 2;

/**
 * @param {import('mqtt').MqttClient} client
 * @param {string[]} filters may be empty
 * @param {{ qos: 0 | 1 | 2, takeRetained: boolean }} options
 * @param {(refusals: Map<string, string>) => void} done gets reasons by filter; not called if the connection ends
 *   before
 */
function subscribe(client, filters, { qos, takeRetained }, done) {
  if (filters.length === 0) return;
  const isV5 = client.options.protocolVersion === 5;
  const rh = takeRetained ? WHEN_NEW : NEVER;
  const each = isV5 ? { qos, nl: false, rap: false, rh } : { qos };
  const wanted = Object.fromEntries(filters.map((filter) => [filter, { ...each }]));
  client.subscribe(wanted, (_error, _granted, packet) => {
    const codes = /** @type {number[] | undefined} */ (/** @type {any} */ (packet)?.granted);
    if (!codes) return;
    const refused = filters.flatMap((filter, index) =>
      codes[index] >= 0x80 ? [/** @type {[string, string]} */ ([filter, refusalName(codes[index])])] : []
    );
    done(new Map(refused));
  });
}

/**
 * @param {import('mqtt').MqttClient} client
 * @param {string[]} filters
 * @param {number} timeoutMs
 */
async function unsubscribe(client, filters, timeoutMs) {
  if (filters.length === 0) return;
  await new Promise((resolve) => {
    const timer = setTimeout(resolve, timeoutMs);
    client.unsubscribe(filters, () => {
      clearTimeout(timer);
      resolve(undefined);
    });
  });
}

module.exports = { subscribe, unsubscribe };
