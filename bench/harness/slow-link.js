'use strict';
// The gateway with a slow link to the cloud: two network namespaces and a shaped cable. REQUIRES: isInside() of netns.js.

const { LinkedNetworks } = require('./netns');
const { readBands, shape } = require('./qdisc');

const qdisc = 'tbf-pfifo_fast';

class SlowLink {
  /** What a percentage of felt() means. */
  title = 'link used %';

  /** @param {LinkedNetworks} network @param {number} rate bit/s */
  constructor(network, rate) {
    this.network = network;
    this.rate = rate;
    this.told = `a link of ${rate / 1e6} Mbit/s towards the cloud (${qdisc}), the way back free; TCP ${network.congestion}`;
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

  /** REQUIRES: begun and not lifted. */
  stat() {
    return { linkBytes: readBands(this.network.interface).all.bytes };
  }

  /** @param {Record<string, number>} short what stat() has counted in a time @param {number} ms its length */
  felt({ linkBytes }, ms) {
    return ((linkBytes * 8) / ((this.rate * ms) / 1000)) * 100;
  }

  /** A capacity that is not the link's would show nothing. @param {{short: Record<string, number>, ms: number}} found */
  doubt({ short, ms }) {
    const used = this.felt(short, ms);
    return used < 90
      ? `Of the link only ${used.toFixed(0)} % was used: something else is the limit. Try a slower --link.`
      : '';
  }

  remove() {
    return this.network.close();
  }
}

module.exports = { SlowLink };
