'use strict';
// Counts what passes between a gateway and its cloud: bytes, TLS records, TCP segments. See relay/main.cc.

const { Child } = require('./child');
const { build } = require('./build');

/**
 * @typedef {object} Traffic one way, sums of all connections
 * @property {number} bytes of TLS @property {number} records @property {number} data of these, with application data
 * @property {number} segments @property {number} ipBytes IP and TCP headers included @property {boolean} broken
 * @typedef {{us: number, open: number, up: Traffic, down: Traffic}} Reading
 */

class Relay {
  /** @param {Child} child @param {string} host @param {number} port */
  constructor(child, host, port) {
    this.child = child;
    this.url = `mqtts://${host}:${port}`;
    this.port = port;
  }

  /**
   * Listens on the address that the cloud's certificate is for.
   * @param {{host: string, tlsPort: number}} cloud
   * @param {{cpus?: string, progressMs?: number}} [options]
   */
  static async start({ host, tlsPort }, { cpus, progressMs = 100 } = {}) {
    const options = ['--host', host, '--to-host', host, '--to-port', String(tlsPort)];
    options.push('--progress-ms', String(progressMs));
    const child = new Child(build('relay'), options, { name: 'relay', cpus });
    const { port } = await child.until(() => child.jsonLines().find(({ event }) => event === 'listening'));
    return new Relay(child, host, port);
  }

  /** What has passed until now. @returns {Promise<Reading>} */
  read() {
    const us = (Date.now() + 1) * 1000; // the clock here has milliseconds only
    return this.child.until((output) => {
      const end = output.lastIndexOf('\n');
      const line = output.slice(output.lastIndexOf('\n', end - 1) + 1, end);
      if (!line.startsWith('{"event":"progress"')) return undefined;
      const reading = JSON.parse(line);
      return reading.us >= us ? reading : undefined;
    });
  }

  async stop() {
    await this.child.stop();
  }
}

/** What passed between two readings. @param {Reading} from @param {Reading} to */
function between(from, to) {
  /** @param {'up' | 'down'} way */
  const change = (way) => ({
    bytes: to[way].bytes - from[way].bytes,
    records: to[way].data - from[way].data,
    segments: to[way].segments - from[way].segments,
    ipBytes: to[way].ipBytes - from[way].ipBytes
  });
  return { up: change('up'), down: change('down') };
}

module.exports = { Relay, between };
