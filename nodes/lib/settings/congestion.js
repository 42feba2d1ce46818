'use strict';
// Checks the congestion control of an uplink's sockets.

const { shown } = require('../base/values');

/** As the kernel names them, such as cubic and bbr; 15 bytes (TCP_CA_NAME_MAX). */
const NAME = /^[a-z0-9_-]{1,15}$/;

/**
 * @param {string | undefined} text
 * @returns {string} '' = the system's
 * @throws {TypeError} with a sentence
 */
function parseCongestion(text) {
  const entered = String(text ?? '').trim();
  if (entered === '' || NAME.test(entered)) return entered;
  throw new TypeError(
    `'${shown(entered)}' is not a congestion control algorithm. Enter one that this machine has (sysctl net.ipv4.tcp_available_congestion_control), such as cubic; empty = system default.`
  );
}

module.exports = { parseCongestion };
