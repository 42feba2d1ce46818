'use strict';

const { checkOptions, fileOptions } = require('../../../nodes/lib/parquet/uplink/options');
const { checkStage } = require('../../../nodes/lib/parquet/uplink/stage');
const { rows, schema } = require('../../../nodes/lib/parquet/settings/parquet-uplink');
const { parseOptions } = require('../../../nodes/lib/base/options');
const { loadLibrary } = require('../../../nodes/lib/parquet/files/writer-package');

/** @param {object} config */
const read = (config) => fileOptions(parseOptions(config, schema).values, '/home/user/seganet-parquet/id');
const S3 = {
  place: 's3',
  endpoint: 'https://s3.example.com',
  bucket: 'plant',
  accessKey: 'a',
  secretKey: 's'
};

test('uses the folder of the user without a folder', () => {
  expect(read({}).options).toMatchObject({
    folder: '/home/user/seganet-parquet/id',
    bucket: null,
    maxRows: rows.maxRows.default,
    maxBytes: 16 * 1024 * 1024,
    maxWaitMs: 60000
  });
});

test.each([
  [{ folder: 'data' }, /"data" is relative. Enter the whole path/],
  [{ folder: '/a\0b' }, /must not contain NUL/],
  [{ ...S3, endpoint: 'ftp://x' }, /"ftp:\/\/x" is not the address of a store/],
  [{ ...S3, endpoint: 'https://user:pw@x' }, /is not the address of a store/],
  [{ ...S3, bucket: 'A' }, /"A" is not the name of a bucket/],
  [{ ...S3, prefix: 'a b' }, /The prefix "a b" is wrong/],
  [{ ...S3, prefix: 'a/../b' }, /The prefix "a\/..\/b" is wrong/],
  [{ ...S3, secretKey: '' }, /no access key or no secret key/]
])('refuses %j', (config, sentence) => {
  expect(() => read(config)).toThrow(sentence);
});

test('warns of a store that is reached without encryption, except on this machine', () => {
  expect(read({ ...S3, endpoint: 'http://10.0.0.7:9000' }).warning).toMatch(/not encrypted/);
  expect(read({ ...S3, endpoint: 'http://127.0.0.1:9000' }).warning).toBe('');
  expect(read({ ...S3, prefix: '/a/b/' }).options).toMatchObject({ url: 's3://plant/a/b/', folder: '' });
});

test('refuses to acknowledge as replicated what only this machine has', () => {
  const options = { ...read({}).options, gateway: 'gw', replicated: true };
  expect(() => checkOptions(options, 'native')).toThrow(/no second copy/);
  expect(checkOptions({ ...options, ...read(S3).options }, 'native')).toMatchObject({ clientId: 'gw' });
});

test('refuses a path that is none', () => {
  expect(() => checkStage({ valuePath: '$.a b', unitPath: '' })).toThrow(/\$\.sensors\.temp/);
});

test('says how to install the library that is missing', () => {
  const missing = Object.assign(new Error("Cannot find module 'hyparquet-writer'"), {
    code: 'MODULE_NOT_FOUND'
  });
  const load = () => {
    throw missing;
  };
  expect(() => loadLibrary(load)).toThrow(
    /need the package hyparquet-writer: run "npm install .*hyparquet-writer@0.17.0"/
  );
  const broken = () => {
    throw new Error('bad bytes');
  };
  expect(() => loadLibrary(broken)).toThrow(/does not load \(bad bytes\). Install it again/);
});
