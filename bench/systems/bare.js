'use strict';

const { Child } = require('../../test/fixtures/child');
const { freePort } = require('../../test/fixtures/net');
const { assemble } = require('../lib/assemble');
const { build } = require('../lib/build');
const { needsCompiler } = require('../lib/lacking');

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
