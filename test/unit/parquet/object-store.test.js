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
