'use strict';
// Gives the gateway a slow link to the cloud: two network namespaces and a shaped link. REQUIRES: isInside() of
// netns.js.

const { LinkedNetworks } = require('./netns');
const { readBands, shape } = require('./qdisc');

const qdisc = 'tbf-pfifo_fast';

class SlowLink {
  /** The column title of felt(). */
  title = 'link used %';

  /** @param {LinkedNetworks} network @param {number} rate bit/s */
  constructor(network, rate) {
    this.network = network;
    this.rate = rate;
    this.told = `a link of ${rate / 1e6} Mbit/s towards the cloud (${qdisc}), the reverse direction not shaped; TCP ${network.congestion}`;
    this.profile = { cloudAt: { host: network.there, within: network.inCloud } };
  }

  /** @param {number} rate bit/s */
  static async open(rate) {
    return new SlowLink(await LinkedNetworks.open('cubic'), rate);
  }

  begin() {
    shape(this.network.interface, qdisc, this.rate);
  }

  lift() {
    shape(this.network.interface, 'none', 0);
  }

  /** REQUIRES: begin() was called, lift() was not. */
  stat() {
    return { linkBytes: readBands(this.network.interface).all.bytes };
  }

  /** @param {Record<string, number>} short increments of stat() in a period @param {number} ms its length */
  felt({ linkBytes }, ms) {
    return ((linkBytes * 8) / ((this.rate * ms) / 1000)) * 100;
  }

  /**
   * Returns a warning if the link was not what limited the capacity.
   * @param {{short: Record<string, number>, ms: number}} found
   */
  doubt({ short, ms }) {
    const used = this.felt(short, ms);
    return used < 90
      ? `Only ${used.toFixed(0)} % of the link was used, so something else is the limit. Try a slower --link.`
      : '';
  }

  remove() {
    return this.network.close();
  }
}

module.exports = { SlowLink };
