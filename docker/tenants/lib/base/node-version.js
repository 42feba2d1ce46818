// Starts the rest of the command with a sufficiently new Node.js. Written in ES5, as any Node.js must be able to read
// it. The keeper may be without the gateway's package, so it has this of its own.
'use strict';

var fs = require('fs');
var path = require('path');

/** As "engines" in the package.json of the gateway. */
var MINIMUM = [22, 16];
/** Exit code, as after any other wrong use of the command. */
var USAGE = 2;
/** In a checkout: it can run a script with the Node.js that it has fetched. */
var LAUNCHER = path.join(__dirname, '..', '..', '..', '..', 'native', 'node', 'run.js');

/**
 * Runs a command. If this Node.js is too old, the one that a checkout's launcher has fetched runs it; without one, the
 * command ends with a sentence.
 * @param {string} name
 * @param {string} file of the command
 * @param {() => void} load loads and runs the rest of the command, which needs a new Node.js
 */
function start(name, file, load) {
  var parts = process.versions.node.split('.').map(Number);
  if (parts[0] > MINIMUM[0] || (parts[0] === MINIMUM[0] && parts[1] >= MINIMUM[1])) {
    load();
  } else if (!fs.existsSync(LAUNCHER) || !require(LAUNCHER).runWithFetched(file, process.argv.slice(2))) {
    console.error(
      name +
        ' needs Node ' +
        MINIMUM.join('.') +
        ' or newer, and this is Node ' +
        process.versions.node +
        ': install a newer one (https://nodejs.org).'
    );
    process.exitCode = USAGE;
  }
}

module.exports = { start: start };
