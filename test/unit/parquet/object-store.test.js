'use strict';

const http = require('node:http');
const { ObjectStore } = require('../../../nodes/lib/parquet/store/object-store');

/** @type {http.Server} */
let server;
/** @type {http.RequestListener} */
let answer;
/** @type {import('../../../nodes/lib/parquet/store/object-store').Bucket} */
let place;

beforeEach(async () => {
  server = http.createServer((request, response) => answer(request, response));
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  const endpoint = `http://127.0.0.1:${port}`;
  place = { endpoint, bucket: 'plant', prefix: '', region: 'r', accessKey: 'a', secretKey: 's' };
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

test('takes the page of a proxy for no empty bucket', async () => {
  answer = (_request, response) => response.end('<html>Log in to this network</html>');
  await expect(new ObjectStore(place).list()).rejects.toMatchObject({
    code: 'NotS3',
    message: expect.stringMatching(/answers with no list of objects\. Correct the endpoint in the node\.$/)
  });
});

const object = (/** @type {string} */ key) =>
  `<Contents><Key>${key}</Key><Size>7</Size><ETag>&quot;1&quot;</ETag></Contents>`;
const listOf = (/** @type {string} */ inner) =>
  `<?xml version="1.0"?>\n<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${inner}</ListBucketResult>\n`;
const KEY = 'date=2026-11-30/_manifest.json';

test.each([
  ['has a namespace prefix', listOf(object(`p/${KEY}`)).replace(/<(\/?)(?=[A-Z])/g, '<$1s3:')],
  ['has attributes', listOf(object(`p/${KEY}`)).replace(/<(Contents|Key)>/g, '<$1 a="1">')],
  ['has escaped keys', listOf(`<EncodingType>url</EncodingType>${object(`p/${encodeURIComponent(KEY)}`)}`)]
])('reads a list that %s', async (_what, text) => {
  answer = (_request, response) => response.end(text);
  await expect(new ObjectStore({ ...place, prefix: 'p/' }).list()).resolves.toEqual([
    { key: KEY, bytes: 7, etag: '"1"' }
  ]);
});

test.each([
  ['is cut', listOf(object(`p/${KEY}`)).slice(0, -9)],
  ['says that more follows, and not where', listOf(`<IsTruncated>true</IsTruncated>${object(`p/${KEY}`)}`)],
  ['always goes on at the same place', listOf('<NextContinuationToken>x</NextContinuationToken>')],
  ['has keys of another form', listOf(object('p%2Fdate%3D2026-11-30%2F_manifest.json'))],
  ['has keys that cannot be read', listOf(`<EncodingType>url</EncodingType>${object('%')}`)],
  ['is too long', listOf('x'.repeat(4 * 1024 * 1024))]
])('refuses a list that %s, because the files of what it lacks would be removed', async (_what, text) => {
  answer = (_request, response) => response.end(text);
  await expect(new ObjectStore({ ...place, prefix: 'p/' }).list()).rejects.toMatchObject({ code: 'NotS3' });
});

test('reads hostile lists in a time that grows with their length', async () => {
  const all = ['<Contents>', '<Contents ', '<ListBucketResult>', '<a:', '&#9999999;', '</'];
  const start = process.cpuUsage();
  for (const text of all) {
    answer = (_request, response) => response.end(listOf(text.repeat(3e6 / text.length)));
    await new ObjectStore(place).list().catch(() => {});
  }
  expect(process.cpuUsage(start).user / 1e6).toBeLessThan(5);
});

test('stores a file only if the answer has an ETag, unlike the login page of a network', async () => {
  answer = (_request, response) => response.end('<html>Log in to this network</html>');
  await expect(new ObjectStore(place).put(KEY, 'x')).rejects.toMatchObject({ code: 'NotS3' });
  answer = (_request, response) => response.setHeader('etag', '"1"').end();
  await new ObjectStore(place).put(KEY, 'x');
});

test('reads no more of an answer than was asked for', async () => {
  let sent = 0;
  answer = ({ method }, response) => {
    if (method === 'HEAD') return void response.setHeader('content-length', 100).end();
    const more = () => {
      for (let isRoom = true; isRoom && !response.destroyed;) {
        isRoom = response.write(Buffer.alloc(65536));
        sent += 65536;
      }
    };
    response.on('drain', more);
    more();
  };
  const { slice } = await new ObjectStore(place).read('date=2026-11-30/x');
  await expect(slice(0, 10)).rejects.toMatchObject({ code: 'NotS3' });
  expect(sent).toBeLessThan(64 * 2 ** 20);
});

test.each([
  ['stops', 'ETIMEDOUT', false],
  ['is cut', expect.stringMatching(/^(UND_ERR|UNREACHABLE|ECONNRESET)/), true]
])('reports a download that %s', async (how, code, mayPass) => {
  answer = (_request, response) => {
    response.writeHead(200, { 'content-length': 10, etag: '"1"' });
    response.write('12345', () => how === 'is cut' && response.destroy());
  };
  const { etag, chunks } = await new ObjectStore(place, { idleMs: 500 }).download('date=2026-11-30/x');
  expect(etag).toBe('"1"');
  const read = async () => {
    let count = 0;
    for await (const chunk of chunks) count += chunk.length;
    return count;
  };
  await expect(read()).rejects.toMatchObject({ code, mayPass });
});

test.each([
  [503, 'SlowDown', true],
  [429, 'SlowDown', true],
  [403, 'AccessDenied', false],
  [404, 'NoSuchKey', false]
])('knows of the answer %d whether a later try may succeed', async (status, code, mayPass) => {
  answer = (_request, response) => response.writeHead(status).end(`<Error><Code>${code}</Code></Error>`);
  await expect(new ObjectStore(place).get('date=2026-11-30/x')).rejects.toMatchObject({ code, mayPass });
});

test('signs the token of keys that expire', async () => {
  /** @type {http.IncomingHttpHeaders} */
  let headers = {};
  answer = (request, response) => {
    headers = request.headers;
    response.end('x');
  };
  await new ObjectStore({ ...place, sessionToken: 'token' }).get('date=2026-11-30/x');
  expect(headers).toMatchObject({
    'x-amz-security-token': 'token',
    authorization: expect.stringContaining(
      'SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token,'
    )
  });
});
