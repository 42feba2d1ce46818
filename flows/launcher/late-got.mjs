// Stands for got, which the node http request of Node-RED imports, and loads it with the first request. late-modules.js
// adds the address of got as the parameter `of`.

const file = new URL(import.meta.url).searchParams.get('of');

/** @param {any[]} args @returns {Promise<any>} the response */
export const got = async (...args) => (await import(file)).got(...args);
