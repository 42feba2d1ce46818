'use strict';
// The header by which a front proves itself to the web server of a tenant that listens beyond loopback.

/** Its value is the password of the user `front` of this tenant, as in the lease. */
exports.HEADER = 'x-seganet-front';
