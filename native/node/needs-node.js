// Each node of the palette loads this file first: in a Node-RED on an old Node.js, it fails with a sentence instead of
// the stack of a missing module. Written in ES5, as any Node.js must be able to read it.
'use strict';

var nodeVersion = require('./node-version');

if (!nodeVersion.isNewEnough(process.versions.node)) {
  throw new Error(nodeVersion.tooOld('SegaNet Gateway'));
}
