'use strict';
// The files of this package and of what it needs, as they are installed: Node-RED, dependencies, and those optional
// packages that are there. In the image they are below one folder, and find each other as here.

const fs = require('node:fs');
const path = require('node:path');
const { CliError } = require('../base/errors');

/** In the image. */
const FOLDER = '/gateway';
const NEEDED = ['node-red'];
/** Of a checkout, which builds it; it goes before the published one. */
const OWN_BUILD = 'native/build/Release/seganet.node';
/** Addons for other systems. */
const FOREIGN = /[/\\]prebuilds[/\\](?:android|darwin|win32)-/;

/**
 * @typedef {object} Found
 * @property {Map<string, string>} files path of the source, by path in the image
 * @property {Map<string, string>} links target, by path in the image
 * @property {string} root folder of this package in the image
 */

/** @param {string} folder of a package @returns {Record<string, any>} */
const manifestOf = (folder) => JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8'));

/** Finds a package as Node does. @param {string} from @param {string} name @returns {string} folder, '' = not there */
function resolve(from, name) {
  for (let folder = from; ; folder = path.dirname(folder)) {
    const found = path.join(folder, 'node_modules', name);
    if (fs.existsSync(path.join(found, 'package.json'))) return found;
    if (folder === path.dirname(folder)) return '';
  }
}

/**
 * @param {string} folder
 * @param {(name: string) => boolean} isWanted name: below the folder
 * @returns {string[]} its files, and the links to files
 */
function filesBelow(folder, isWanted) {
  /** @type {string[]} */
  const files = [];
  const walk = (/** @type {string} */ below) => {
    for (const entry of fs.readdirSync(path.join(folder, below), { withFileTypes: true })) {
      const name = path.join(below, entry.name);
      if (name === 'node_modules' || FOREIGN.test(path.join(folder, name)) || !isWanted(name)) continue;
      if (entry.isDirectory()) walk(name);
      else if (fs.statSync(path.join(folder, name), { throwIfNoEntry: false })?.isFile())
        files.push(path.join(folder, name));
    }
  };
  walk('');
  return files;
}

/** @param {string} root of this package @returns {(name: string) => boolean} as its list of files says */
function published(root) {
  const { files } = manifestOf(root);
  const [without, listed] = [true, false].map((isLeftOut) =>
    files
      .filter((/** @type {string} */ each) => each.startsWith('!') === isLeftOut)
      .map((/** @type {string} */ each) => each.replace(/^!/, ''))
  );
  /** @type {string[]} */
  const all = [...listed, 'package.json', OWN_BUILD];
  const isIn = (/** @type {string} */ name, /** @type {string} */ folder) =>
    `${name}/`.startsWith(`${folder}/`);
  return (name) =>
    all.some((each) => isIn(name, each) || isIn(each, name)) &&
    !without.some((/** @type {string} */ each) => isIn(name, each));
}

/**
 * @param {string} given folder of this package
 * @returns {Found}
 * @throws {CliError} a package that is needed is not installed
 */
function packagesOf(given) {
  const root = fs.realpathSync(given);
  /** Folders of packages. @type {Set<string>} */
  const folders = new Set([root]);
  /** Where a package is a link. @type {Map<string, string>} */
  const linked = new Map();
  // A set gives what is added meanwhile, too.
  for (const folder of folders) {
    const { dependencies = {}, optionalDependencies = {}, ...others } = manifestOf(folder);
    const { peerDependencies = {}, peerDependenciesMeta = {} } = others;
    const needed = Object.keys(dependencies).filter((name) => !(name in optionalDependencies));
    // Optional packages beside another one, such as TypeScript, are not for running it.
    const peers = Object.keys(peerDependencies).filter(
      (name) => folder === root || !peerDependenciesMeta[name]?.optional
    );
    if (folder === root) needed.push(...NEEDED);
    for (const name of new Set([...needed, ...Object.keys(optionalDependencies), ...peers])) {
      const found = resolve(folder, name);
      if (!found && needed.includes(name))
        throw new CliError(
          `${path.basename(folder)} needs the package ${name}. Install it beside the gateway: npm install ${name}`
        );
      if (!found) continue;
      const real = fs.realpathSync(found);
      if (real !== found) linked.set(found, real);
      folders.add(real);
    }
  }
  const common = commonFolder([...folders, ...linked.keys()]);
  const inImage = (/** @type {string} */ file) => path.join(FOLDER, path.relative(common, file));
  const isOwn = published(root);
  const files = [...folders].flatMap((folder) => filesBelow(folder, folder === root ? isOwn : () => true));
  return {
    files: new Map(files.map((file) => [inImage(file), file])),
    links: new Map(
      [...linked].map(([link, target]) => [inImage(link), path.relative(path.dirname(link), target)])
    ),
    root: inImage(root)
  };
}

/** @param {string[]} folders @returns {string} above all of them, and above their node_modules */
function commonFolder(folders) {
  const [first, ...others] = folders.map((each) => each.split(path.sep));
  let length = first.length;
  for (const parts of others) {
    const differs = parts.findIndex((part, i) => part !== first[i]);
    length = Math.min(length, differs < 0 ? parts.length : differs);
  }
  const modules = first.indexOf('node_modules');
  return first.slice(0, modules < 0 ? length : Math.min(length, modules)).join(path.sep) || path.sep;
}

module.exports = { OWN_BUILD, packagesOf };
