#!/usr/bin/env node
// seganet-bench: runs every chapter of bench/chapters in rounds and writes a report.  seganet-bench --help
'use strict';

require('../flows/launcher/command-file').start('seganet-bench', __filename, function () {
  require('./benchmark').main();
});
