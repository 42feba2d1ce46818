'use strict';
// The HTTP port of an OCF cloud.

const { HttpServer } = require('../../sources/http/http-server');
const { PortOpener } = require('../../sources/http/port-opener');
const { ProxyHandler } = require('./proxy-handler');

/** Seconds for a request's header, for its body, and between requests of a connection. */
const TIMES = { headerTimeoutS: 10, bodyTimeoutS: 30, keepAliveS: 15 };
const MOST_CONNECTIONS = 1024;

/** @typedef {import('../../sources/http/http-server').Tls} Tls */
/** @typedef {Partial<import('../../sources/http/http-server').Settings> & { host: string, port: number, tls: Tls | null }} Settings */

class HttpProxy {
  #cloud;
  #handler;
  #server;
  #opener;

  /**
   * @param {import('../cloud/cloud').OcfCloud} cloud
   * @param {Settings} settings
   * @param {(error: Error) => void} onError gets errors that a client did not cause
   * @param {(sentence: string) => void} report gets why the port is not open
   * @param {Partial<typeof import('./proxy-handler').LIMITS>} [limits]
   */
  constructor(cloud, settings, onError, report, limits) {
    const { tls, ...place } = settings;
    this.#cloud = cloud;
    this.#handler = new ProxyHandler(cloud, limits);
    const all = { ...TIMES, maxConnections: MOST_CONNECTIONS, ...place };
    this.#server = new HttpServer(all, this.#handler, tls, onError);
    this.#opener = new PortOpener(this.#server, place, report);
    cloud.hasHttp = true;
  }

  /** Opens the port, tries again while it is not free, and uses renewed certificates. Call it at each doorbell. */
  tick() {
    this.#opener.tick(true);
  }

  /** @returns {number} 0 = not open */
  get port() {
    return this.#server.port;
  }

  /** Why the port is not open, '' = it is, or was not tried. */
  get trouble() {
    return this.#opener.trouble;
  }

  get streams() {
    return this.#handler.streams;
  }

  get connections() {
    return this.#server.connections.size;
  }

  /** Returns what the metrics and the live view show. */
  figures() {
    const { port, trouble, connections } = this;
    return { port, trouble, connections, ...this.#handler.figures() };
  }

  /** Ends all streams. Open requests are answered while there is time. */
  async close() {
    this.#cloud.hasHttp = false;
    this.#handler.close();
    await this.#opener.close();
  }
}

exports.HttpProxy = HttpProxy;
exports.TIMES = TIMES;
exports.MOST_CONNECTIONS = MOST_CONNECTIONS;
