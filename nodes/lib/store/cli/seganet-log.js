#!/usr/bin/env node
// seganet-log: inspects and repairs the log of a gateway. For its commands, see seganet-log --help.
'use strict';

require('../../../../native/node/command-file').start('seganet-log', __filename, function () {
  require('./command').main();
});
