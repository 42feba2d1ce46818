'use strict';
// Nodes that write the records of a flow to Kafka.

const PLACE = { z: 'seganet-tab', carryAsMessages: false, name: '', x: 140, y: 400 };

/**
 * @param {string} brokers @param {string} id of the uplink node; that of another node replaces it
 * @returns {object[]}
 */
const kafkaUplink = (brokers, id) => [
  { id: 'bench-kafka', type: 'seganet-kafka', name: '', version: 1, brokers, security: 'plaintext' },
  {
    ...PLACE,
    id,
    type: 'seganet-kafka-uplink',
    version: 1,
    engine: 'seganet-engine-1',
    cluster: 'bench-kafka',
    topic: 'seganet.{class}',
    wires: []
  }
];

module.exports = { PLACE, kafkaUplink };
