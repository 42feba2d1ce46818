'use strict';
// Counts bytes, TLS records and TCP segments between a gateway and its cloud. See relay/main.cc.

const { Child } = require('./child');
const { build } = require('./build');

/**
 * @typedef {object} Traffic of one direction, summed over all connections
 * @property {number} bytes of TLS @property {number} records @property {number} data records with application data
 * @property {number} segments @property {number} ipBytes with IP and TCP headers @property {boolean} broken
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
   * Starts a relay on the address in the cloud's certificate.
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

  /** Returns the traffic so far. @returns {Promise<Reading>} */
  read() {
    const us = (Date.now() + 1) * 1000; // this clock has a resolution of 1 ms
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

/** Returns the traffic between two readings. @param {Reading} from @param {Reading} to */
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
