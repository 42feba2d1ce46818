'use strict';
// The process of the radio. It is separate because the radio's library throws on malformed packets of unknown devices,
// handles SIGINT itself, and needs a serial port driver that works on main threads only. If it ends, BleProcess starts
// another one.
//
// parent → child: { start: BleSettings, patienceMs }, { credit: n }, { write: { id, device, path, value } },
//   { stop: true }
// child → parent: { state, reason }, { records }, { view }, { linked: [device, on] }, { trouble: [device, reason] },
//   { answer: [id, result] }

const { Central } = require('./central');
const { Outbox } = require('./ble-outbox');
const { watchPort } = require('./serial-port');

const VIEW_MS = 1000;
/** Adapters that are serial ports. */
const SERIAL_PORT = /^(\/|COM)/;

/** @typedef {import('./ble-settings').BleSettings} BleSettings */

/** @param {object} message */
function tell(message) {
  if (process.connected) process.send?.(message);
}

/** @param {BleSettings} settings @returns {any} noble, not started */
function loadNoble({ adapter, baudRate }) {
  const { withBindings } = require('@stoprocent/noble');
  if (SERIAL_PORT.test(adapter)) {
    return withBindings('hci', { hciDriver: 'uart', bindParams: { uart: { port: adapter, baudRate } } });
  }
  return adapter ? withBindings('hci', { deviceId: Number(adapter.slice(3)) }) : withBindings();
}

/**
 * @param {BleSettings} settings
 * @param {number} patienceMs an adapter that is not on after this time is started again, in another process
 */
function run(settings, patienceMs) {
  let noble;
  try {
    noble = loadNoble(settings);
  } catch (error) {
    const { code = '', message } = /** @type {NodeJS.ErrnoException} */ (error);
    const missing = code === 'MODULE_NOT_FOUND' && message.includes('@stoprocent/noble');
    tell({ state: missing ? 'missing' : 'broken', reason: message.split('\n')[0] });
    return end();
  }
  const outbox = new Outbox((records) => tell({ records }));
  const central = new Central(noble, settings, {
    record: (record) => outbox.add(record),
    linked: (device, on) => tell({ linked: [device, on] }),
    trouble: (device, reason) => tell({ trouble: [device, reason] })
  });
  let patience = setTimeout(end, patienceMs);
  let known = '';
  noble.on('stateChange', (/** @type {string} */ state) => {
    // A missing or forbidden adapter is also reported as off shortly afterwards.
    if (state !== 'poweredOff' || !['unsupported', 'unauthorized'].includes(known)) {
      known = state;
      tell({ state, reason: '' });
    }
    clearTimeout(patience);
    if (state === 'poweredOn') central.start();
    else patience = setTimeout(end, patienceMs);
  });
  if (SERIAL_PORT.test(settings.adapter) && process.platform !== 'win32') {
    watchPort(settings.adapter, () => {
      tell({ state: 'poweredOff', reason: '' });
      end();
    });
  }
  let sent = '';
  setInterval(() => {
    const { advertisementsDropped, valuesDropped, size } = outbox;
    const view = { ...central.view(), advertisementsDropped, valuesDropped, waiting: size };
    if (JSON.stringify(view) !== sent) tell({ view });
    sent = JSON.stringify(view);
  }, VIEW_MS);

  process.on('message', (/** @type {any} */ message) => {
    if (message.credit) outbox.give(message.credit);
    if (message.write) {
      const { id, device, path, value } = message.write;
      void central.write(device, path, Buffer.from(value)).then((result) => tell({ answer: [id, result] }));
    }
    if (message.stop) void leave(noble, central);
  });
}

/** @param {any} noble @param {import("./central").Central} central */
async function leave(noble, central) {
  await central.stop();
  try {
    noble.stop();
  } catch {
    // Without an adapter, there is nothing to stop.
  }
  end();
}

/** Ends the process after pending messages were sent. */
function end() {
  setTimeout(() => process.exit(0), 100);
}

process.on('disconnect', () => process.exit(0));
// Ctrl-C in a terminal reaches the whole process group, but only the gateway stops this process.
process.on('SIGINT', () => {});
process.once('message', (/** @type {any} */ { start, patienceMs }) => run(start, patienceMs));
