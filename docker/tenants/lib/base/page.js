'use strict';

/**
 * Returns the address of a page of the documentation, which is in the repository and not in the package.
 * @param {string} name such as use/tenants.md
 */
const page = (name) => `https://github.com/seganet/node-red-gateway/blob/main/docs/${name}`;

module.exports = { page };
