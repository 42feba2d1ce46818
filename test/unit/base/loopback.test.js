'use strict';

const { isLoopback } = require('../../../nodes/lib/base/loopback');

test.each([
  'localhost',
  'LocalHost',
  '127.0.0.1',
  '127.255.255.254',
  '::1',
  '[::1]',
  '0:0:0:0:0:0:0:1',
  '::ffff:127.0.0.1',
  '[::ffff:7f00:1]'
])('%s is loopback', (host) => expect(isLoopback(host)).toBe(true));

test.each([
  '',
  '0.0.0.0',
  '::',
  '10.0.0.1',
  '128.0.0.1',
  '127.1',
  '127.0.0.256',
  '127.0.0.1.example.com',
  '127.example.com',
  'localhost.example.com',
  '::2',
  '::ffff:10.0.0.1',
  '::1.example.com'
])('%j is not loopback', (host) => expect(isLoopback(host)).toBe(false));
