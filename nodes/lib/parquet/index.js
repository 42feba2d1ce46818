'use strict';

const path = require('node:path');
const { checkOptions } = require('./uplink/options');
const { checkStage } = require('./uplink/stage');
const { UplinkThread } = require('../uplink/uplink-thread');

/** What differs from the thread of an MQTT broker. */
const PARQUET = {
  file: path.join(__dirname, 'uplink', 'parquet-worker.js'),
  name: 'seganet-parquet',
  checkOptions,
  checkStage
};

/** The thread of one parquet uplink node: see UplinkThread for its methods, events and counters. */
class ParquetThread extends UplinkThread {
  /**
   * Throws TypeError with a sentence for the user.
   * @param {import('./uplink/options').ThreadOptions} options
   */
  constructor(options) {
    super(options, PARQUET);
  }
}

module.exports = { UplinkThread: ParquetThread };
