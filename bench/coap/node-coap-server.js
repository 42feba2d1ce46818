'use strict';
// A node-coap server (UDP; it has no TCP): answers every request with 2.04 at once.   node-coap-server.js PORT

const coap = require('coap');

const server = coap.createServer(
  { type: 'udp4' },
  (/** @type {any} */ request, /** @type {any} */ response) => {
    response.code = '2.04';
    response.end();
  }
);
server.listen(Number(process.argv[2]), '127.0.0.1', () => console.log('ready'));
