#!/usr/bin/env node
// seganet-accounts manages users and devices of the OCF cloud. See seganet-accounts --help.
'use strict';

require('../../../../native/node/command-file').start('seganet-accounts', __filename, function () {
  require('./command').main();
});
