'use strict';

const { FrontThread } = require('./tls-thread');

module.exports = { FrontThread };
