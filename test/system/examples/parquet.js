'use strict';
// The example of Parquet files: a record is in a file that its manifest names.

const fs = require('node:fs');
const path = require('node:path');
const { eventually } = require('../../../bench/harness/net');
const { listedFiles } = require('../../../nodes/lib/parquet/store/listed-files');

/** @param {any} context of the driver @param {string} userDir of Node-RED */
async function runParquet({ nodeRed, idOf }, userDir) {
  await nodeRed.inject(idOf('inject', 'temperature'));
  const place = path.join(userDir, 'seganet-parquet', idOf('seganet-parquet-uplink'));
  const hasFile = () => fs.existsSync(place) && listedFiles(place).length > 0;
  await eventually(hasFile, { timeoutMs: 60000, what: 'the first file' });
}

exports.runParquet = runParquet;
