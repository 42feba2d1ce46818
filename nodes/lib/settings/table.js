'use strict';
// The settings of the nodes that the environment can set, by node type.

/** @type {Record<string, import('./rows').Rows>} */
const TABLE = {
  'seganet-mqtt-devices': require('./mqtt-devices').rows,
  'seganet-priority': require('./priority').rows,
  'seganet-batch': require('./batch').rows,
  'seganet-uplink-broker': require('./broker').rows,
  'seganet-uplink': require('./uplink').rows,
  'seganet-engine': {
    ...require('./engine').rows,
    ...require('./notifications').rows,
    ...require('./notifications').secretRows
  }
};

module.exports = { TABLE };
