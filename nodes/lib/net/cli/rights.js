'use strict';

const { mayChangeNetwork } = require('../probe');
const { EXIT, Trouble } = require('../trouble');

/** @param {string} command @param {string} [what] it changes */
function needRights(command, what = 'a network interface') {
  if (mayChangeNetwork()) return;
  throw new Trouble(
    `${command} changes ${what}, which needs root or CAP_NET_ADMIN. Run it with sudo, or from a systemd unit with AmbientCapabilities=CAP_NET_ADMIN.`,
    EXIT.CANNOT
  );
}

module.exports = { needRights };
