'use strict';
// The Thing Description of a directory itself, of the type ThingDirectory (WoT Discovery, 7.3.1). Pure.

const { DISCOVERY_CONTEXT, TD_CONTEXT } = require('./terms');

/**
 * @param {{ id: string, name: string, base: string, isSecured: boolean }} directory base: absolute, with a slash at its
 *   end
 */
function descriptionOf({ id, name, base, isSecured }) {
  const td = 'application/td+json';
  const thing = { id: { title: 'Thing identifier', type: 'string', format: 'iri-reference' } };
  const form = (
    /** @type {string} */ href,
    /** @type {string} */ method,
    /** @type {object} */ more = {},
    op = 'invokeaction'
  ) => ({ href, 'htv:methodName': method, op, ...more });
  const search = (/** @type {string} */ kind, /** @type {string} */ title) => ({
    title,
    uriVariables: { query: { title: `A valid ${kind} query`, type: 'string' } },
    safe: true,
    idempotent: true,
    forms: [form(`search/${kind}{?query}`, 'GET', { response: { contentType: 'application/json' } })]
  });
  const events = ['created', 'updated', 'deleted'].map((word) => [
    `thing${word[0].toUpperCase()}${word.slice(1)}`,
    {
      title: `A thing was ${word}`,
      data: { type: 'object', properties: thing },
      forms: [
        form(
          `events/thing_${word}`,
          'GET',
          { subprotocol: 'sse', contentType: 'text/event-stream' },
          'subscribeevent'
        )
      ]
    }
  ]);
  return {
    '@context': [TD_CONTEXT, DISCOVERY_CONTEXT, { htv: 'http://www.w3.org/2011/http#' }],
    '@type': 'ThingDirectory',
    id: `urn:seganet:directory:${encodeURIComponent(id)}`,
    title: name || 'SegaNet directory',
    base,
    securityDefinitions: isSecured ? { login: { scheme: 'bearer' } } : { none: { scheme: 'nosec' } },
    security: isSecured ? 'login' : 'none',
    properties: {
      things: {
        title: 'All things, by id',
        uriVariables: {
          offset: { type: 'integer', minimum: 0 },
          limit: { type: 'integer', minimum: 1, maximum: 1000 },
          format: { type: 'string', enum: ['array', 'collection'] }
        },
        readOnly: true,
        forms: [
          form('things{?offset,limit,format}', 'GET', { contentType: 'application/ld+json' }, 'readproperty')
        ]
      }
    },
    actions: {
      createAnonymousThing: {
        title: 'Stores a thing without an id',
        forms: [form('things', 'POST', { contentType: td })]
      },
      createThing: {
        title: 'Stores a thing with an id',
        uriVariables: thing,
        forms: [form('things/{id}', 'PUT', { contentType: td })]
      },
      retrieveThing: {
        title: 'Returns a thing',
        uriVariables: thing,
        safe: true,
        idempotent: true,
        forms: [form('things/{id}', 'GET', { response: { contentType: td } })]
      },
      updateThing: {
        title: 'Replaces a thing',
        uriVariables: thing,
        forms: [form('things/{id}', 'PUT', { contentType: td })]
      },
      partiallyUpdateThing: {
        title: 'Changes parts of a thing',
        uriVariables: thing,
        forms: [form('things/{id}', 'PATCH', { contentType: 'application/merge-patch+json' })]
      },
      deleteThing: {
        title: 'Deletes a thing',
        uriVariables: thing,
        forms: [form('things/{id}', 'DELETE')]
      },
      searchJSONPath: search('jsonpath', 'Searches with JSONPath (RFC 9535)'),
      searchSPARQL: search('sparql', 'Searches with SPARQL 1.1'),
      ask: {
        title: 'Answers a question, such as the temperature of room 105',
        uriVariables: {
          property: { type: 'string' },
          room: { type: 'string' },
          maxAge: { type: 'string' },
          ask: { type: 'string' }
        },
        safe: true,
        forms: [
          form('q{?property,room,maxAge,ask}', 'GET', { response: { contentType: 'application/json' } })
        ]
      }
    },
    events: Object.fromEntries(events)
  };
}

exports.descriptionOf = descriptionOf;
