'use strict';
// Which errors end a connection to PostgreSQL, with a client in place of pg.

const { EventEmitter } = require('node:events');
const { PostgresConnection, isLoss } = require('../../../nodes/lib/postgres/connection');

/** @type {PostgresConnection | undefined} */
let connection;
afterEach(() => connection?.close());

/** @param {object} properties of the error of each statement after the start */
async function failing(properties) {
  let hasStarted = false;
  const client = Object.assign(new EventEmitter(), {
    connection: { stream: { destroy: () => {} } },
    connect: async () => {},
    end: async () => {},
    query: async () => {
      if (hasStarted) throw Object.assign(new Error('It failed.'), properties);
      return { rows: [], command: 'SELECT' };
    }
  });
  connection = new PostgresConnection({
    newClient: () => client,
    session: 'SELECT 1',
    onUp: () => {},
    onDown: () => {}
  });
  await connection.start();
  hasStarted = true;
  const error = await connection.get('SELECT 1').catch((caught) => caught);
  return { isLost: isLoss(error), isUp: connection.isUp };
}

test.each([
  [{ severity: 'ERROR', code: '23505' }, false],
  [{ severity: 'FEHLER', code: '23505' }, false],
  [{ severity: 'ERREUR', code: '57014' }, false],
  [{ severity: 'FEHLER', code: '25006' }, true],
  [{ severity: 'FATAL', code: '57P01' }, true],
  [{ severity: 'FATAL', code: '25P03' }, true],
  [{ severity: 'PANIK', code: 'XX000' }, true],
  [{ severity: 'FATAL', code: '08006' }, true],
  [{ code: 'ECONNRESET' }, true],
  [{}, true]
])('an error with %j ends the connection: %s', async (properties, isLost) => {
  expect(await failing(properties)).toEqual({ isLost, isUp: !isLost });
});
