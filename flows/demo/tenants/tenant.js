'use strict';
// A tenant of the demo: a gateway that ends with the demo, although the keeper started it. Arguments: the id of the
// demo's process, and when that started.

const launcher = require('../../launcher/start');
const { stopWith } = require('../../launcher/together');

const [pid, start = ''] = process.argv.splice(2);
stopWith({ pid: Number(pid), start });
launcher.main().catch(launcher.fail);
