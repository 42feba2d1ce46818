'use strict';

const { FolderStore } = require('./folder-store');
const { ObjectStore } = require('./object-store');

/** @param {import('../uplink/options').CheckedOptions} options @returns {import('./archive').Store} */
function storeOf({ folder, bucket }) {
  return bucket ? new ObjectStore(bucket) : new FolderStore(folder);
}

exports.storeOf = storeOf;
