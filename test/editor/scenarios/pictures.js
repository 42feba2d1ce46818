'use strict';

// A picture of each scenario as it runs after the import, without the rest of the editor.

const fs = require('node:fs');
const path = require('node:path');
const { root } = require('../../fixtures/gateway/packed');
const { picture } = require('../pictures/picture');
const { World } = require('./world');

/** Time in which the nodes get their statuses. */
const STATUS_MS = 4000;
const MARGIN = 12;

/** Returns the name of a scenario's picture. @param {string} scenario */
const pictureName = (scenario) => `scenarios/${scenario.toLowerCase().replaceAll(' ', '-')}`;

async function scenarioPictures() {
  const world = await World.open({});
  try {
    await world.page.evaluate(() => {
      const { RED } = /** @type {any} */ (window);
      for (const action of ['core:toggle-sidebar', 'core:toggle-palette']) RED.actions.invoke(action);
    });
    for (const file of fs.readdirSync(path.join(root, 'examples', 'scenarios')).sort()) {
      const name = path.basename(file, '.json');
      await world.import(name);
      const { id } = world.flow.find(({ type }) => type === 'tab');
      await world.page.evaluate((tab) => /** @type {any} */ (window).RED.workspaces.show(tab), id);
      await world.page.waitForSelector('.red-ui-notification', { state: 'detached', timeout: 60000 });
      await new Promise((resolve) => setTimeout(resolve, STATUS_MS));
      const clip = await world.page.evaluate((margin) => {
        const drawn = [...document.querySelectorAll('.red-ui-flow-group-body, .red-ui-flow-node-group')];
        const boxes = drawn.map((each) => each.getBoundingClientRect()).filter(({ width }) => width > 0);
        const x = Math.min(...boxes.map(({ left }) => left)) - margin;
        const y = Math.min(...boxes.map(({ top }) => top)) - margin;
        const right = Math.max(...boxes.map((box) => box.right)) + margin;
        const bottom = Math.max(...boxes.map((box) => box.bottom)) + margin;
        return { x, y, width: right - x, height: bottom - y };
      }, MARGIN);
      await picture(world.page, pictureName(name), clip);
      await world.reset();
    }
  } finally {
    await world.close();
  }
}

module.exports = { scenarioPictures };
