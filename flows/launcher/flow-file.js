'use strict';

const { readRegular } = require('../../nodes/lib/base/files/regular-file');

/**
 * Reads the nodes of a flow. As for Node-RED, a byte order mark may come first.
 * @param {string} file
 * @returns {any[]}
 * @throws {Error} whose message completes "The flow FILE …"
 */
function readFlow(file) {
  let nodes;
  try {
    nodes = JSON.parse(readRegular(file).replace(/^\uFEFF/, ''));
  } catch (error) {
    throw new Error(`cannot be read (${/** @type {Error} */ (error).message})`, { cause: error });
  }
  if (!Array.isArray(nodes) || nodes.some((node) => typeof node?.type !== 'string'))
    throw new Error('is not a list of nodes');
  return nodes;
}

exports.readFlow = readFlow;
