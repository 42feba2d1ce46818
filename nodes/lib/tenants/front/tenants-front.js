'use strict';

const { TenantsLink } = require('./tenants-link');

/**
 * Returns what a tenants node knows of its tenants, for the operator's page.
 * @param {import('../../engine/host').EngineHost} host
 * @param {TenantsLink} link
 * @param {Pick<import('../file/tenants-file').TenantsFile, 'names' | 'problem'>} file
 * @returns {import('../operator/view').Front}
 */
function tenantsFront(host, link, file) {
  return {
    problem: () => file.problem,
    known: () => ({
      front: link.rows,
      parts: new Map(host.engine.parts().map(({ name, ...part }) => [name, part])),
      // A tenant's batch stage gets the records that its limits admit.
      perS: (name) =>
        host.upkeep.rates.stages.get(host.stageOf(`${TenantsLink.logName(name)} batch`))?.recordsIn ?? null,
      names: file.names
    }),
    stored: async () => {
      const holdings = (await host.log?.holdings()) ?? [];
      return holdings.flatMap(({ node, classes }) => {
        const name = TenantsLink.tenantOf(node);
        return name ? [{ name, classes }] : [];
      });
    }
  };
}

exports.tenantsFront = tenantsFront;
