'use strict';

const { CliError, EXIT } = require('../base/errors');
const { manifestOf } = require('../drivers/kubernetes-manifest');
const { rightsOf } = require('../drivers/kubernetes-rights');
const { tenantOf } = require('./common');

/** @type {import('./index').Command} */
module.exports = {
  name: 'manifest',
  summary: 'prints the objects of a tenant of the driver kubernetes, for kubectl apply -f -',
  more: `The network policy lets only pods with the label seganet.access=tenants reach the tenant: give it to those of the keeper and
of the front. With --keeper, prints the service account seganet-tenants with the rights of the keeper instead. Its namespace
is SEGANET_TENANTS_NAMESPACE, else default.`,
  usage: '[NAME] [options]',
  options: {
    keeper: { type: 'boolean', help: "the keeper's service account and rights, instead of a tenant" }
  },
  async run({ values, operands, env, home, print }) {
    const [name] = operands;
    if (values.keeper && name === undefined) {
      const namespace = env.SEGANET_TENANTS_NAMESPACE?.trim() || 'default';
      return print(JSON.stringify(rightsOf(namespace), null, 2));
    }
    if (values.keeper || name === undefined)
      throw new CliError('Name a tenant, or use --keeper.', EXIT.USAGE);
    const spec = tenantOf(home, name);
    if (spec.driver !== 'kubernetes')
      throw new CliError(`${name} has the driver ${spec.driver}, not kubernetes.`);
    if (!spec.image) throw new CliError(`${name} has no image. Remove it and add it with --image.`);
    print(JSON.stringify(manifestOf(spec), null, 2));
  }
};
