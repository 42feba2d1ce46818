'use strict';

const { CliError, EXIT } = require('../base/errors');
const { rangeOf, STANDARD_RANGE } = require('../drivers/networks');
const { removeRecord, saveRecord } = require('../net/record');
const { apply, current, remove, rulesFor } = require('../net/rules');

/** @type {import('./index').Command} */
module.exports = {
  name: 'net',
  summary: 'keeps containers of tenants away from the ports of this machine (nftables)',
  more: `ACTION is apply, remove, status (the rules with their counters), or print (the rules, without changing anything).
Needs root, but for print. The rules end with a restart of the machine: apply them before the
keeper and the gateway start. Without them, a gateway with tenants in containers listens on loopback only.

variables
  SEGANET_TENANTS_SUBNETS   range of the tenants' networks; default ${STANDARD_RANGE}`,
  usage: 'ACTION',
  options: {},
  async run({ operands, env, isJson, print }) {
    const range = env.SEGANET_TENANTS_SUBNETS?.trim() || STANDARD_RANGE;
    if (!rangeOf(range)) {
      throw new CliError(
        `SEGANET_TENANTS_SUBNETS must be a range such as ${STANDARD_RANGE}, not '${range}'.`,
        EXIT.CONFIG
      );
    }
    const [action] = operands;
    if (action === 'print') return print(rulesFor(range).trimEnd());
    if (action === 'status') {
      const rules = await current();
      print(isJson ? JSON.stringify({ applied: rules !== '', rules }) : rules || 'no rules are applied');
      return rules ? EXIT.OK : EXIT.CANNOT;
    }
    if (action === 'apply') {
      await apply(range);
      saveRecord(range);
    } else if (action === 'remove') {
      removeRecord();
      await remove();
    } else throw new CliError('ACTION is apply, remove, status or print.', EXIT.USAGE);
    print(
      isJson
        ? JSON.stringify({ applied: action === 'apply', range })
        : `${action === 'apply' ? 'applied' : 'removed'}: ${range}`
    );
  }
};
