'use strict';

const { CliError, EXIT } = require('../base/errors');
const { EngineClient } = require('../drivers/engine-client');
const { socketOf } = require('../drivers/engine-socket');
const { makeImage, standardName } = require('../image/image');
const { containerEngine } = require('./tenant-settings');

const NAME = /^[a-z0-9][a-z0-9._/-]{0,200}:[\w][\w.-]{0,127}$/;

/** @type {import('./index').Command} */
module.exports = {
  name: 'image',
  summary: 'makes an image for tenants: a gateway of this package',
  more: `The image has the files of this package, Node-RED and what both need as they are installed here, on this machine's Node and
its libraries. Nothing is fetched. It runs as user 1000, with a read-only root and the volume /data. add and template add
take the image of this release where no --image is given.`,
  usage: '[options]',
  operands: [0, 0],
  options: {
    engine: { type: 'string', value: 'ENGINE', help: 'docker or podman; default: the one that answers' },
    tag: { type: 'string', value: 'NAME', help: `name and tag; default ${standardName()}` }
  },
  async run({ values, env, isJson, print, note, driver }) {
    const name = values.tag ?? standardName();
    if (!NAME.test(name))
      throw new CliError(
        `--tag takes a name with a tag such as ${standardName()}, not '${name}'.`,
        EXIT.USAGE
      );
    const engine = values.engine ?? (await containerEngine(driver));
    if (engine !== 'docker' && engine !== 'podman')
      throw new CliError('--engine takes docker or podman.', EXIT.USAGE);
    const client = new EngineClient(socketOf(engine, env));
    try {
      const { id, files, problem } = await makeImage(client, { engine, name });
      if (problem) note(`Its tenants start more slowly, because it has no compiled code: ${problem}.`);
      print(isJson ? JSON.stringify({ engine, name, id, files }) : `${name}\n${id}`);
    } finally {
      client.close();
    }
  }
};
