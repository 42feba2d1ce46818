#!/usr/bin/env node
// seganet-passwd edits the files of device users and tokens. See seganet-passwd --help.
'use strict';

require('../../../../native/node/command-file').start('seganet-passwd', __filename, function () {
  require('./command').main();
});
