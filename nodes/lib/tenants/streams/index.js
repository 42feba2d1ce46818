'use strict';

const { Endpoint } = require('../common/endpoint');
const { StreamServer } = require('./stream-server');

/**
 * @typedef {Omit<import('./stream-server').StreamServerOptions, 'tls'>} Options
 * @typedef {Options & { tls: import('../../sources/http/http-server').Tls | null, error: (sentence: string) => void }} StreamsOptions
 */

/**
 * The port for the TCP services of tenants.
 * @extends {Endpoint<InstanceType<typeof StreamServer>>}
 */
class Streams extends Endpoint {
  /** @param {StreamsOptions} options @throws {Error} with a sentence */
  constructor({ tls, error, ...options }) {
    if (!tls) {
      throw new Error(
        "The tenants' services need a TLS configuration: the certificate of a client says to which tenant it belongs."
      );
    }
    const { host, port } = options;
    super(new StreamServer({ ...options, tls }), {
      what: "The tenants' services cannot be opened",
      host,
      port,
      error
    });
  }

  get figures() {
    return this.server.figures;
  }
}

exports.Streams = Streams;
