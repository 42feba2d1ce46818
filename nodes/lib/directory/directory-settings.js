'use strict';
// Settings of a find node.

const { integer, text } = require('../base/options');

const schema = {
  engine: text(''),
  cloud: text(''),
  folder: text(''),
  rules: text(''),
  maxAgeS: integer(0, 31536000, 60),
  askMs: integer(0, 60000, 5000),
  maxThings: integer(1, 100000, 10000),
  keepDays: integer(1, 3650, 30)
};

exports.schema = schema;
