'use strict';

/** The address that a listener opens: an IP address, or a name of this host. */
const LOCAL_HOST = {
  // 255: the longest name of a host (RFC 1035 2.3.4).
  pattern: /^[0-9a-zA-Z.:-]{1,255}$/,
  shape: 'a local address such as 127.0.0.1 or 0.0.0.0'
};

module.exports = { LOCAL_HOST };
