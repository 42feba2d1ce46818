#!/usr/bin/env node
// seganet-net: configures a network interface to send urgent packets first. For its commands, see seganet-net --help.
'use strict';

require('../../../../../native/node/command-file').start('seganet-net', __filename, function () {
  require('./command').main();
});
