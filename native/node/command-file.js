// Starts a command of the package, whose file is in "bin" of package.json, with a sufficiently new Node.js. Written in
// ES5, as any Node.js must be able to read it; so are the files of the commands.
'use strict';

var launcher = require('./run');
var nodeVersion = require('./node-version');

/** Exit code, as after any other wrong use of a command. */
var USAGE = 2;

/**
 * Runs a command. If this Node.js is too old, the one that the launcher has fetched for a checkout runs it; without
 * one, the command ends with a sentence.
 * @param {string} name
 * @param {string} file of the command
 * @param {() => void} load loads and runs the rest of the command, which needs a new Node.js
 */
function start(name, file, load) {
  if (nodeVersion.isNewEnough(process.versions.node)) {
    load();
  } else if (!launcher.runWithFetched(file, process.argv.slice(2))) {
    console.error(nodeVersion.tooOld(name));
    process.exitCode = USAGE;
  }
}

module.exports = { start: start };
