'use strict';
// Configurations of the gateway's uplink, from no priority mechanism to all of them.

/** @type {Record<string, {what: string, env: Record<string, string>, urgentAlone?: boolean}>} */
const variants = {
  idle: { what: 'idle link: class 1 alone, settings as in default', env: {}, urgentAlone: true },
  one: {
    what: 'one session for all classes',
    env: { SEGANET_SESSIONS: 'all', 'seganet-uplink-broker.notSentLowat': '0' }
  },
  two: {
    what: 'two sessions (1,2 / the others) with equal sockets',
    env: {
      SEGANET_SESSIONS: '1,2/3,4',
      'seganet-uplink-broker.priority': '0,0',
      'seganet-uplink-broker.dscp': '0,0',
      'seganet-uplink-broker.notSentLowat': '0,0'
    }
  },
  priority: {
    what: 'two sessions, SO_PRIORITY 6 and 0, DSCP EF and 0',
    env: {
      SEGANET_SESSIONS: '1,2/3,4',
      'seganet-uplink-broker.priority': '6,0',
      'seganet-uplink-broker.dscp': '46,0',
      'seganet-uplink-broker.notSentLowat': '0,0'
    }
  },
  default: { what: 'the same and TCP_NOTSENT_LOWAT 16 KiB on the second: the default', env: {} }
};

module.exports = { variants };
