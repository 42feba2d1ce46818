// Tells whether this Node.js is new enough. Written in ES5, as any Node.js must be able to read it.
'use strict';

/** As "engines" in package.json. */
var MINIMUM = [22, 16];

/** True when a version such as "20.20.2" is the minimum or newer. @param {string} version */
function isNewEnough(version) {
  var parts = version.split('.');
  var major = Number(parts[0]);
  return major > MINIMUM[0] || (major === MINIMUM[0] && Number(parts[1]) >= MINIMUM[1]);
}

/** Returns a sentence that says that this Node.js is too old. @param {string} what needs a newer one */
function tooOld(what) {
  return (
    what +
    ' needs Node ' +
    MINIMUM.join('.') +
    ' or newer, and this is Node ' +
    process.versions.node +
    ': install a newer one (https://nodejs.org).'
  );
}

module.exports = { MINIMUM: MINIMUM, isNewEnough: isNewEnough, tooOld: tooOld };
