#!/usr/bin/env -S node --max-semi-space-size=1
// seganet-gateway: sets up, runs, checks and backs up a gateway. See seganet-gateway --help and, for the option
// --max-semi-space-size, docs/use/operations.md.
'use strict';

require('../../native/node/command-file').start('seganet-gateway', __filename, function () {
  require('./command').main();
});
