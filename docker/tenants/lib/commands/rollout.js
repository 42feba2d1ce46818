'use strict';

const { request } = require('../api/client');
const { CliError, EXIT } = require('../base/errors');
const { WATCH_S } = require('../templates/rollout');
const { numberIn } = require('./common');

const LOOK_MS = 500;

/** @type {import('./index').Command} */
module.exports = {
  name: 'rollout',
  summary: 'copies the flow of a template again into its tenants',
  more: `One tenant after the other is stopped, gets the flow, and must start and run with it. At the first that does not, the
rollout stops, and that tenant gets its old flow back. Records of its devices wait meanwhile. Needs a running keeper, which
goes on when this command ends.`,
  usage: 'TEMPLATE [options]',
  options: {
    watch: { type: 'string', value: 'S', help: `seconds that each must run; default ${WATCH_S.standard}` }
  },
  async run({ home, operands, values, isJson, print }) {
    const [template] = operands;
    const watchS = numberIn(values.watch ?? String(WATCH_S.standard), '--watch', WATCH_S.min, WATCH_S.max);
    const address = `/v1/templates/${encodeURIComponent(template)}/rollout`;
    let progress = await request(home.socket, 'POST', address, { watchS });
    const { at, total } = progress;
    let shown = '';
    while (progress.state === 'running') {
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      const { templates } = await request(home.socket, 'GET', '/v1/templates');
      progress = templates.find((/** @type {any} */ each) => each.name === template)?.rollout;
      // Another keeper does not know of it.
      if (progress?.at !== at) throw new CliError('The keeper was restarted, which ended the rollout.');
      const { tenant, done } = progress;
      if (tenant !== shown && tenant !== '' && !isJson) print(`${done + 1} of ${total}: ${tenant}`);
      shown = tenant;
    }
    if (isJson) print(JSON.stringify(progress));
    const { state, tenant, reason, done } = progress;
    if (state === 'failed' && !isJson)
      throw new CliError(`The rollout stopped after ${done} of ${total} tenants. ${tenant}: ${reason}`);
    if (state === 'failed') return EXIT.CANNOT;
    if (!isJson) print(`${done} of ${total} tenants have the flow of ${template}`);
  }
};
