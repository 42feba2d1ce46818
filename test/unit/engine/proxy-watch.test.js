'use strict';

const { ProxyWatch } = require('../../../nodes/lib/engine/proxy-watch');

test('warns of connections without a PROXY header, from the engine and from TLS, and not of the same ones again', () => {
  /** @type {string[]} */
  const said = [];
  const watch = new ProxyWatch((sentence) => said.push(sentence));
  const tls = (/** @type {number} */ count) => ({
    tlsState: /** @type {any} */ ({ refused: count > 0 ? { 'no PROXY header': count, full: 9 } : {} })
  });
  watch.tick({ protocolErrors: {} }, [{ tlsState: null }, tls(0)]);
  expect(said).toEqual([]);
  watch.tick({ protocolErrors: { noProxyHeader: 3 } }, [{ tlsState: null }, tls(2)]);
  watch.tick({ protocolErrors: { noProxyHeader: 3 } }, [{ tlsState: null }, tls(2)]);
  expect(said).toEqual([
    expect.stringMatching(/^Connections from an address in Proxies begin .* \(5 times\.\)$/)
  ]);
  // Within a minute, the same is not said again.
  watch.tick({ protocolErrors: { noProxyHeader: 4 } }, [tls(0)]);
  watch.tick({ protocolErrors: { noProxyHeader: 9 } }, [tls(0)]);
  expect(said).toHaveLength(1);
});
