'use strict';

// Node-RED loads the modules of all its core nodes, whether the flow uses them or not: about 15 MB of JavaScript heap.
// Without an editor the flow cannot change while the gateway runs, so the core nodes that it does not use need not be
// loaded.

const fs = require('fs');
const path = require('path');
const { replaceFile } = require('../../nodes/lib/base/replace-file');

/** @param {string} folder @returns {string[]} names in it; empty if there is no such folder */
function namesIn(folder) {
  try {
    return fs.readdirSync(folder);
  } catch {
    return [];
  }
}

/** @param {string} file @returns {string} '' if it cannot be read */
function readText(file) {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

/** @param {string} text @returns {any} null if it is not JSON */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/**
 * True if a package in the folder contains a subflow, whose nodes are not in the flow file.
 * @param {string} folder node_modules
 */
function hasSubflowModule(folder) {
  const packages = namesIn(folder).flatMap((name) =>
    name.startsWith('@') ? namesIn(path.join(folder, name)).map((each) => path.join(name, each)) : [name]
  );
  return packages.some((name) => {
    const text = readText(path.join(folder, name, 'package.json'));
    // Most packages have nothing to do with Node-RED, and need not be parsed.
    const nodes = text.includes('"node-red"') ? parsed(text)?.['node-red']?.nodes : {};
    return Object.values(nodes ?? {}).some((file) => typeof file === 'string' && file.endsWith('.json'));
  });
}

/** @param {string} page the .html of a core node @returns {string[]} the types that it registers */
function typesOf(page) {
  const text = fs.readFileSync(page, 'utf8');
  return [...text.matchAll(/registerType\(\s*['"]([^'"]+)['"]/g)].map(([, type]) => type);
}

/**
 * Returns the core nodes that a flow does not use, for Node-RED's setting `nodesExcludes`.
 * @param {string} flowFile
 * @param {string} userDir
 * @param {string} [nodeRed] a file of the Node-RED that will read the setting
 * @returns {string[]} file names such as 10-mqtt.js; empty if it is uncertain what the flow needs
 */
function unusedCoreNodes(flowFile, userDir, nodeRed) {
  const nodes = parsed(readText(flowFile));
  // The setting would also exclude a node of the user's folder that has the same file name.
  if (!Array.isArray(nodes) || fs.existsSync(path.join(userDir, 'nodes'))) return [];
  try {
    const main = nodeRed ?? require.resolve('node-red');
    const beside = path.dirname(path.dirname(path.dirname(main)));
    if ([path.join(userDir, 'node_modules'), beside].some(hasSubflowModule)) return [];
    const found = require.resolve('@node-red/nodes/package.json', { paths: [path.dirname(main)] });
    const core = path.join(path.dirname(found), 'core');
    const used = new Set(nodes.map((node) => node?.type));
    return namesIn(core).flatMap((group) =>
      namesIn(path.join(core, group)).filter((name) => {
        const page = path.join(core, group, name.replace(/\.js$/, '.html'));
        if (!name.endsWith('.js') || !fs.existsSync(page)) return false;
        const types = typesOf(page);
        return types.length > 0 && !types.some((type) => used.has(type));
      })
    );
  } catch {
    return []; // another layout of Node-RED
  }
}

/**
 * Removes core nodes from the list that Node-RED keeps of its nodes. Otherwise Node-RED would remove them itself and
 * warn that they are missing. Disabled nodes stay in the list, so that they stay disabled.
 * @param {string} userDir
 * @param {string[]} files of unusedCoreNodes()
 */
function forgetNodes(userDir, files) {
  const list = path.join(userDir, '.config.nodes.json');
  const modules = parsed(readText(list));
  const nodes = modules?.['node-red']?.nodes;
  if (typeof nodes !== 'object' || nodes === null) return;
  const names = Object.keys(nodes).filter(
    (name) => nodes[name]?.enabled === true && files.includes(path.basename(String(nodes[name].file)))
  );
  if (names.length === 0) return;
  for (const name of names) delete nodes[name];
  replaceFile(list, `${JSON.stringify(modules, null, 4)}\n`);
}

module.exports = { forgetNodes, unusedCoreNodes };
