'use strict';
// The flow of the gateway that npm run cloud starts.

const path = require('node:path');

/** Node-RED's names for the nodes. */
const ENGINE = 'engine';
const TAB = 'tab';

/**
 * @param {object} parts
 * @param {string} parts.home
 * @param {number} parts.port of the cloud
 * @param {string} parts.sid the cloud's id
 * @param {string} parts.storeFile
 * @param {string} parts.kafka brokers, '' = none
 * @param {object} parts.users properties of the cloud node for its OpenID provider
 * @returns {Record<string, any>[]}
 */
function cloudFlow({ home, port, sid, storeFile, kafka, users }) {
  const place = { z: TAB, engine: ENGINE };
  const shared = [
    { id: TAB, type: 'tab', label: 'OCF cloud' },
    { id: ENGINE, type: 'seganet-engine', version: 1, workers: '1', logDir: path.join(home, 'log') },
    {
      ...place,
      id: 'cloud',
      type: 'seganet-ocf-cloud',
      version: 1,
      port: String(port),
      sid,
      storeFile,
      ...users,
      x: 130,
      y: 100,
      wires: [kafka ? ['records', 'batch'] : ['records']]
    },
    {
      z: TAB,
      id: 'records',
      type: 'debug',
      name: 'records',
      active: true,
      tosidebar: true,
      complete: 'true',
      targetType: 'full',
      x: 330,
      y: 100,
      wires: []
    }
  ];
  return kafka ? [...shared, ...kafkaNodes(place, kafka)] : shared;
}

/** @param {object} place @param {string} brokers @returns {Record<string, any>[]} */
function kafkaNodes(place, brokers) {
  return [
    {
      ...place,
      id: 'batch',
      type: 'seganet-batch',
      version: 2,
      mode: 'records',
      x: 330,
      y: 160,
      wires: [['kafka']]
    },
    {
      id: 'cluster',
      type: 'seganet-kafka',
      version: 1,
      brokers,
      security: 'plaintext',
      clientId: 'seganet-cloud'
    },
    {
      ...place,
      id: 'kafka',
      type: 'seganet-kafka-uplink',
      version: 1,
      cluster: 'cluster',
      topic: 'seganet.{class}',
      createTopics: 'on',
      x: 510,
      y: 160,
      wires: []
    }
  ];
}

exports.cloudFlow = cloudFlow;
