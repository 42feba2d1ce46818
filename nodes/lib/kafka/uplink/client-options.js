'use strict';
// Options of the Kafka client for a cluster, shared by the uplink and the source.

const net = require('node:net');
const { watchTlsFiles } = require('../../base/tls-files');
const { BrokerWatch } = require('./broker-watch');
const { secureContext } = require('../../uplink/session/connection-options');

/** @typedef {import('../settings/kafka-options').ClusterOptions} ClusterOptions */

/** Makes the options of each new client, with the present certificates, and watches its brokers. */
class ClientOptions {
  #brokers = new BrokerWatch();

  /** @param {ClusterOptions} cluster @param {string} clientId */
  constructor(cluster, clientId) {
    this.cluster = cluster;
    this.clientId = clientId;
    this.files = watchTlsFiles(cluster.tlsFiles);
  }

  /** Ends connections to lost brokers until the client closes. @param {any} client @param {any} module the client's */
  watch(client, module) {
    this.#brokers.attach(client, module);
  }

  /**
   * @returns {Record<string, any>}
   * @throws {Error} with a sentence, if a certificate cannot be read
   */
  read() {
    const { cluster } = this;
    return {
      clientId: this.clientId,
      bootstrapBrokers: cluster.brokers,
      connectTimeout: cluster.connectTimeoutMs,
      timeout: cluster.ackTimeoutMs,
      requestTimeout: cluster.ackTimeoutMs + cluster.connectTimeoutMs,
      retries: 0,
      ...(cluster.secure && this.#tls()),
      ...(cluster.sasl && { sasl: { ...cluster.sasl } })
    };
  }

  #tls() {
    const { brokers, tls: own, minTls } = this.cluster;
    const context = secureContext(/** @type {any} */ ({ tls: own, minTls }), this.files.read(), '');
    const hasName = brokers.some(({ host }) => net.isIP(host) === 0);
    return {
      tls: { secureContext: context, rejectUnauthorized: true, ALPNProtocols: own.ALPNProtocols },
      tlsServerName: own.servername || hasName
    };
  }
}

exports.ClientOptions = ClientOptions;
