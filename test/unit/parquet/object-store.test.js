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
