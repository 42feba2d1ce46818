'use strict';

const { UplinkThread } = require('./thread');
const { validateTopicTemplate } = require('./topics');

module.exports = { UplinkThread, validateTopicTemplate };
