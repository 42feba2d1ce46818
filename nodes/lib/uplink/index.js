'use strict';

const { UplinkThread } = require('./uplink-thread');
const { validateTopicTemplate } = require('../base/topic-template');

module.exports = { UplinkThread, validateTopicTemplate };
