'use strict';

/**
 * @typedef {object} Commands of an engine
 * @property {(device: string, fn: (command: { rest: string, payload: Buffer }) => Promise<any>) => () => void} carry
 */

/**
 * Delivers commands to connected devices: cmd/{device}/{characteristic}, or cmd/{device}/{service}/{characteristic}.
 * @param {object} host
 * @param {import('./ble-process').BleProcess} radio
 */
function carryCommands(host, radio) {
  const { commands } = /** @type {{ commands?: Commands }} */ (host);
  if (!commands) return;
  /** @type {Map<string, () => void>} */
  const carried = new Map();
  radio.on('linked', (device, on) => {
    carried.get(device)?.();
    carried.delete(device);
    if (on) {
      carried.set(
        device,
        commands.carry(device, ({ rest, payload }) => radio.write(device, rest, payload))
      );
    }
  });
}

module.exports = { carryCommands };
