'use strict';

// Node-RED loads the modules of all its core nodes, whether the flow uses them or not: about 15 MB of JavaScript heap.
// It does the same with those of this package. Without an editor the flow cannot change while the gateway runs, so the
// nodes that it does not use need not be loaded.

const fs = require('fs');
const path = require('path');
const { replaceFile } = require('../../nodes/lib/base/replace-file');

const ROOT = path.join(__dirname, '..', '..');

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

/** @typedef {{ name: string, nodes: Record<string, unknown> | null }} Package nodes: null = it has nothing for Node-RED */
/** Results of packagesOf(), by folder. @type {Map<string, Package[]>} */
const knownFolders = new Map();

/** @param {string} folder node_modules @returns {string[]} names of packages, and of other files */
const packagesIn = (folder) =>
  namesIn(folder).flatMap((name) =>
    name.startsWith('@') ? namesIn(path.join(folder, name)).map((each) => path.join(name, each)) : [name]
  );

/**
 * Reads the package.json of each package in a folder, once.
 * @param {string} folder node_modules
 * @returns {Package[]}
 */
function packagesOf(folder) {
  const known = knownFolders.get(folder);
  if (known) return known;
  const packages = packagesIn(folder).map((name) => {
    const text = readText(path.join(folder, name, 'package.json'));
    // Most packages have nothing to do with Node-RED, and need not be parsed.
    const section = text.includes('"node-red"') ? parsed(text)?.['node-red'] : null;
    return { name, nodes: section ? (section.nodes ?? {}) : null };
  });
  knownFolders.set(folder, packages);
  return packages;
}

/**
 * True if a package in the folder contains a subflow, whose nodes are not in the flow file.
 * @param {string} folder node_modules
 */
const mayBringNodes = (folder) =>
  packagesOf(folder).some(({ nodes }) =>
    Object.values(nodes ?? {}).some((file) => typeof file === 'string' && file.endsWith('.json'))
  );

/**
 * Returns the packages that have nothing for Node-RED, for its setting `nodesExcludes`. Otherwise it loads the
 * package.json of each of them at its start.
 * @param {string} userDir
 * @param {string} [main] a file of the Node-RED that will read the setting
 * @returns {string[]} names of folders; Node-RED excludes a folder of such a name wherever it looks for packages
 */
function packagesWithoutNodes(userDir, main = require.resolve('node-red')) {
  const folders = [path.join(userDir, 'node_modules')];
  for (let folder = path.dirname(main); folder !== path.dirname(folder); folder = path.dirname(folder))
    folders.push(path.join(folder, 'node_modules'));
  const packages = folders.flatMap(packagesOf);
  // This package is in a folder of any name.
  const needed = new Set([path.basename(ROOT)]);
  for (const { name, nodes } of packages) if (nodes) needed.add(path.basename(name));
  const names = new Set(packages.map(({ name }) => path.basename(name)));
  // The setting excludes files of such a name, too.
  return [...names].filter((name) => !needed.has(name) && !/\.c?js$/.test(name));
}

/** @param {string} page the .html of a core node @returns {string[]} the types that it registers */
function typesOf(page) {
  const text = fs.readFileSync(page, 'utf8');
  return [...text.matchAll(/registerType\(\s*['"]([^'"]+)['"]/g)].map(([, type]) => type);
}

/**
 * Returns the types of a flow's nodes.
 * @param {string} flowFile
 * @param {string[]} folders node_modules with packages that may contain further nodes
 * @returns {Set<string> | null} null if it is uncertain what the flow needs
 */
function typesIn(flowFile, folders) {
  const nodes = parsed(readText(flowFile));
  if (!Array.isArray(nodes) || folders.some(mayBringNodes)) return null;
  return new Set(nodes.map((node) => node?.type));
}

/** @param {string} userDir @param {string} main a file of Node-RED @returns {string[]} where its packages are */
const packageFolders = (userDir, main) => [
  path.join(userDir, 'node_modules'),
  path.dirname(path.dirname(path.dirname(main)))
];

/** @param {string} page the .html of a node @param {Set<string>} used @returns {boolean} */
function isUnused(page, used) {
  const types = typesOf(page);
  return types.length > 0 && !types.some((type) => used.has(type));
}

/**
 * Returns the core nodes that a flow does not use, for Node-RED's setting `nodesExcludes`.
 * @param {string} flowFile
 * @param {string} userDir
 * @param {string} [nodeRed] a file of the Node-RED that will read the setting
 * @returns {string[]} file names such as 10-mqtt.js; empty if it is uncertain what the flow needs
 */
function unusedCoreNodes(flowFile, userDir, nodeRed) {
  // The setting would also exclude a node of the user's folder that has the same file name.
  if (fs.existsSync(path.join(userDir, 'nodes'))) return [];
  try {
    const main = nodeRed ?? require.resolve('node-red');
    const used = typesIn(flowFile, packageFolders(userDir, main));
    if (!used) return [];
    const found = require.resolve('@node-red/nodes/package.json', { paths: [path.dirname(main)] });
    const core = path.join(path.dirname(found), 'core');
    return namesIn(core).flatMap((group) =>
      namesIn(path.join(core, group)).filter((name) => {
        const page = path.join(core, group, name.replace(/\.js$/, '.html'));
        return name.endsWith('.js') && fs.existsSync(page) && isUnused(page, used);
      })
    );
  } catch {
    return []; // another layout of Node-RED
  }
}

/**
 * Removes the nodes that a flow does not use from the package.json of a package, as require() returns it to this
 * process and thus to Node-RED.
 * @param {string} file package.json
 * @param {string} flowFile
 * @param {string} userDir
 * @returns {string[]} names of the files of the removed nodes; empty if it is uncertain what the flow needs
 */
function removeUnusedNodes(file, flowFile, userDir) {
  try {
    const used = typesIn(flowFile, packageFolders(userDir, require.resolve('node-red')));
    if (!used) return [];
    /** @type {Record<string, string>} */
    const nodes = require(file)['node-red'].nodes;
    const page = (/** @type {string} */ name) =>
      path.join(path.dirname(file), nodes[name].replace(/\.js$/, '.html'));
    const names = Object.keys(nodes).filter((name) => isUnused(page(name), used));
    const files = names.map((name) => path.basename(nodes[name]));
    for (const name of names) delete nodes[name];
    return files;
  } catch {
    return []; // all are loaded
  }
}

/**
 * Removes nodes from the list that Node-RED keeps of its nodes. Otherwise Node-RED would remove them itself and warn
 * that they are missing. Disabled nodes stay in the list, so that they stay disabled.
 * @param {string} userDir
 * @param {string[]} files of unusedCoreNodes() or removeUnusedNodes()
 * @param {string} [module] name of their package
 */
function forgetNodes(userDir, files, module = 'node-red') {
  const list = path.join(userDir, '.config.nodes.json');
  const modules = parsed(readText(list));
  const nodes = modules?.[module]?.nodes;
  if (typeof nodes !== 'object' || nodes === null) return;
  const names = Object.keys(nodes).filter(
    (name) => nodes[name]?.enabled === true && files.includes(path.basename(String(nodes[name].file)))
  );
  if (names.length === 0) return;
  for (const name of names) delete nodes[name];
  try {
    replaceFile(list, `${JSON.stringify(modules, null, 4)}\n`);
  } catch {
    // The disk is full or read-only: Node-RED warns, and the gateway starts.
  }
}

module.exports = { forgetNodes, packagesWithoutNodes, removeUnusedNodes, unusedCoreNodes };
