#!/usr/bin/env node
// seganet-tenants: starts, pauses, stops and saves tenants. See seganet-tenants --help.
'use strict';

require('../../native/node/command-file').start('seganet-tenants', __filename, function () {
  require('./lib/main').main(require('./package.json').version);
});
