'use strict';
// What the live view shows of tenants.

const { sum } = require('../live/history');
const { spareView } = require('./operator');

/** The tenants of one engine, or of a gateway without a tenants node. */
class TenantsLive {
  #host;
  /** Records that were refused because they had no tenant, at the previous reading. */
  #strangers = 0;

  /** @param {import('../engine/host').EngineHost} host */
  constructor(host) {
    this.#host = host;
  }

  get #view() {
    return this.#host.members.find(({ operator }) => operator)?.operator ?? spareView();
  }

  /** @param {{ drops: Record<string, number[]> }} stats */
  read({ drops }) {
    this.#strangers = sum(drops.noPart ?? []);
    return { tenants: this.#view?.id ?? null };
  }

  /**
   * @param {{ tenants: import('../live/live-query').TenantQuery | null }} query
   * @returns {{ tenantPage: object | null }} null = there are no tenants
   */
  pages({ tenants: query }) {
    return { tenantPage: (query && this.#view?.page(query, this.#strangers)) ?? null };
  }
}

exports.TenantsLive = TenantsLive;
