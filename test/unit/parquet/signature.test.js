'use strict';
// The examples of "Authenticating Requests (AWS Signature Version 4)" in the Amazon S3 API Reference.

const { escapePart, sign } = require('../../../nodes/lib/parquet/store/signature');

const ACCESS = {
  accessKey: 'AKIAIOSFODNN7EXAMPLE',
  secretKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  region: 'us-east-1'
};
const NOW = new Date('2013-05-24T00:00:00Z');
const host = 'examplebucket.s3.amazonaws.com';
/** @param {Omit<Parameters<typeof sign>[0], 'host'>} request */
const signatureOf = (request) =>
  /Signature=(\w+)$/.exec(sign({ host, ...request }, ACCESS, NOW).headers.authorization)?.[1];

test('signs a GET with a range', () => {
  expect(signatureOf({ method: 'GET', path: '/test.txt', headers: { range: 'bytes=0-9' } })).toBe(
    'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41'
  );
});

test('signs a PUT with its content', () => {
  const headers = { date: 'Fri, 24 May 2013 00:00:00 GMT', 'x-amz-storage-class': 'REDUCED_REDUNDANCY' };
  const path = `/${escapePart('test$file.text')}`;
  expect(signatureOf({ method: 'PUT', path, headers, body: 'Welcome to Amazon S3.' })).toBe(
    '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd'
  );
});

test('signs a list with its query, in the order of its names', () => {
  const query = /** @type {[string, string][]} */ ([
    ['prefix', 'J'],
    ['max-keys', '2']
  ]);
  expect(signatureOf({ method: 'GET', path: '/', query })).toBe(
    '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7'
  );
});
