#!/usr/bin/env node
// seganet-bench: runs every chapter of bench/chapters in rounds and writes a report.  seganet-bench --help
'use strict';

require('../native/node/command-file').start('seganet-bench', __filename, function () {
  require('./benchmark').main();
});
