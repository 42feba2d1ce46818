'use strict';
// Why the radio does not work: a few words for the status, and a sentence with a remedy.

/** @type {Record<string, { shown: string, sentence: string }>} */
const STATES = {
  missing: {
    shown: 'noble is not installed',
    sentence:
      'Bluetooth needs the package @stoprocent/noble, which could not be installed with the gateway. ' +
      'Install it in the same folder: npm install @stoprocent/noble@2.8.0 (with npm 10 or older it needs g++, make and python3).'
  },
  broken: {
    shown: 'noble does not load',
    sentence:
      'The package @stoprocent/noble does not load on this machine. Rebuild it: npm rebuild @stoprocent/noble.'
  },
  unauthorized: {
    shown: 'no permission for Bluetooth',
    sentence:
      'This user may not use the Bluetooth adapter. Allow it with: sudo setcap cap_net_raw+eip "$(readlink -f "$(which node)")", ' +
      'or start the gateway as a service with AmbientCapabilities=CAP_NET_RAW.'
  },
  unsupported: {
    shown: 'no Bluetooth adapter',
    sentence:
      'There is no usable Bluetooth Low Energy adapter. Plug one in, check the adapter in the node (hci0, or a serial ' +
      'port), and check that rfkill does not block it.'
  },
  poweredOff: {
    shown: 'Bluetooth is off',
    sentence:
      'The Bluetooth adapter is off or gone. Turn it on with bluetoothctl power on, or rfkill unblock bluetooth; or plug in the serial dongle.'
  },
  resetting: { shown: 'Bluetooth restarts', sentence: '' },
  died: {
    shown: 'Bluetooth process ended',
    sentence: 'The process of the Bluetooth adapter ended and restarts.'
  }
};

/**
 * @param {string} state of BleProcess
 * @param {string} [reason] of the system
 * @returns {{ shown: string, sentence: string }} sentence '' if no action is necessary
 */
function reasonFor(state, reason = '') {
  const known = STATES[state];
  if (!known) return { shown: 'waiting for Bluetooth', sentence: '' };
  return reason && known.sentence ? { ...known, sentence: `${known.sentence} (${reason})` } : known;
}

module.exports = { reasonFor };
