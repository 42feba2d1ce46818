'use strict';

const { UplinkThread } = require('./uplink-thread');
const { readFilters } = require('./sending/uplink-stage');
const { validateTopicTemplate } = require('../base/topic-template');

module.exports = { UplinkThread, readFilters, validateTopicTemplate };
