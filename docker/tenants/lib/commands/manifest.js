'use strict';

const { CliError } = require('../base/errors');
const { manifestOf } = require('../drivers/kubernetes-manifest');
const { readTenants } = require('../file/tenants-file');

/** @type {import('./index').Command} */
module.exports = {
  name: 'manifest',
  summary: 'prints the objects of a tenant of the driver kubernetes, for kubectl apply -f -',
  usage: 'NAME',
  options: {},
  async run({ operands, home, print }) {
    const [name] = operands;
    const spec = readTenants(home.file).find((each) => each.name === name);
    if (!spec) throw new CliError(`There is no tenant '${name}' in ${home.file}.`);
    if (spec.driver !== 'kubernetes')
      throw new CliError(`${name} has the driver ${spec.driver}, not kubernetes.`);
    if (!spec.image) throw new CliError(`${name} has no image. Remove it and add it with --image.`);
    print(JSON.stringify(manifestOf(spec), null, 2));
  }
};
