'use strict';

const { Child } = require('../harness/child');
const { freePort } = require('../harness/net');
const { assemble } = require('../harness/assemble');
const { build } = require('../harness/build');
const { needsCompiler } = require('../harness/lacking');

/** @type {import('./index').Adapter} */
module.exports = {
  name: 'bare',
  title: 'bare',
  what: "Reads and acknowledges, forwards nothing: the cost of the devices' sockets alone.",
  lacking: needsCompiler,
  start: async (context) => {
    const port = await freePort();
    return assemble({
      port,
      parts: ['bare'],
      forwards: false,
      launch: (started) =>
        started(new Child(build('bare'), ['--port', String(port)], { ...context, name: 'bare' }))
    });
  }
};
