'use strict';

const { mayChangeNetwork } = require('../probe');
const { EXIT, Trouble } = require('../trouble');

/** @param {string} command */
function needRights(command) {
  if (mayChangeNetwork()) return;
  throw new Trouble(
    `${command} changes a network interface, which needs root or CAP_NET_ADMIN. Run it with sudo, or from a systemd unit with AmbientCapabilities=CAP_NET_ADMIN.`,
    EXIT.CANNOT
  );
}

module.exports = { needRights };
