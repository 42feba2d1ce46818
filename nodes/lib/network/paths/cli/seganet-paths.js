#!/usr/bin/env node
// seganet-paths: keeps several paths to the broker healthy for Multipath TCP. See seganet-paths --help.
'use strict';

require('../../../../../native/node/command-file').start('seganet-paths', __filename, function () {
  require('./command').main();
});
