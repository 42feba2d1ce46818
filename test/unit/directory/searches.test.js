'use strict';
// Searches in their thread, with the packages that users install for them.

const path = require('node:path');
const { FILE, setAside } = require('../../../nodes/lib/directory/directory-database');
const { Reopening } = require('../../../nodes/lib/store/reopening');
const { loadPackage } = require('../../../nodes/lib/directory/packages');
const { Searches } = require('../../../nodes/lib/directory/searches');
const { checkSparql } = require('../../../nodes/lib/directory/sparql-check');
const { StoreRig, thermometer } = require('../../fixtures/directory/things');
const { cpuMs } = require('../../fixtures/cpu-time');

/** @type {StoreRig} */
let rig;
/** @type {Searches} */
let searches;
beforeAll(() => {
  rig = new StoreRig({ maxThings: 1000 });
  const things = Array.from({ length: 300 }, (_, i) => ({
    id: `urn:t:${i}`,
    td: thermometer(`urn:t:${i}`, String(i))
  }));
  rig.store.make({ source: 's', things, seen: [] });
  // More than the usual second, so that a busy machine answers, too.
  searches = new Searches(rig.directory, { searchMs: 3000 });
});
afterAll(async () => {
  await searches.close();
  rig.remove();
});

const PREFIX =
  'PREFIX brick: <https://brickschema.org/schema/Brick#> PREFIX td: <https://www.w3.org/2019/wot/td#>';
const sparql = async (query, format = '') => {
  const { text, form } = checkSparql(query);
  const answer = await searches.run('sparql', { text, form, format });
  return format ? answer : JSON.parse(answer);
};
const jsonpath = async (query) => JSON.parse(await searches.run('jsonpath', { query }));

test('answers SELECT, ASK, CONSTRUCT and DESCRIBE', async () => {
  const where = '{ ?thing brick:hasLocation <urn:room:105> ; td:title ?title }';
  expect(await sparql(`${PREFIX} SELECT ?thing ?title WHERE ${where}`)).toEqual({
    head: { vars: ['thing', 'title'] },
    results: {
      bindings: [
        {
          thing: { type: 'uri', value: 'urn:t:105' },
          title: { type: 'literal', value: 'thermometer of 105' }
        }
      ]
    }
  });
  expect(await sparql(`${PREFIX} ASK ${where}`)).toEqual({ head: {}, boolean: true });
  expect(await sparql('SELECT ?x WHERE { ?x <urn:none> 1 }')).toEqual({
    head: { vars: ['x'] },
    results: { bindings: [] }
  });
  expect(await sparql(`${PREFIX} CONSTRUCT { ?thing <urn:in> "105" } WHERE ${where}`)).toEqual([
    { '@id': 'urn:t:105', 'urn:in': [{ '@value': '105' }] }
  ]);
  expect(await sparql('DESCRIBE <urn:t:1>', 'application/n-triples')).toContain('<urn:t:1>');
});

test('answers JSONPath, and sees changes and deletions', async () => {
  expect(await jsonpath("$[?@.title=='thermometer of 7'].id")).toEqual(['urn:t:7']);
  rig.store.put({ id: 'urn:new', td: thermometer('urn:new', '9000') });
  expect(await jsonpath("$[?@['brick:hasLocation']['rdfs:label']=='9000'].id")).toEqual(['urn:new']);
  const inRoom = `${PREFIX} ASK { <urn:new> brick:hasLocation <urn:room:9001> }`;
  expect((await sparql(inRoom)).boolean).toBe(false);
  rig.store.put({ id: 'urn:new', td: thermometer('urn:new', '9001') });
  expect((await sparql(inRoom)).boolean).toBe(true);
  rig.store.remove({ id: 'urn:new' });
  expect((await sparql(inRoom)).boolean).toBe(false);
  expect(await jsonpath("$[?@.id=='urn:new']")).toEqual([]);
});

test.each([
  ['', /missing/],
  [undefined, /missing/],
  [['a', 'b'], /missing/],
  ['x'.repeat(9000), /at most 8192/],
  ['INSERT DATA { <a:a> <b:b> <c:c> }', /INSERT is refused/],
  ['PREFIX a: <urn:a> DELETE WHERE { ?a ?b ?c }', /DELETE is refused/],
  ['LOAD <http://127.0.0.1/>', /LOAD is refused/],
  ['DROP ALL', /DROP is refused/],
  ['SELECT * { SERVICE <http://127.0.0.1/> { ?a ?b ?c } }', /SERVICE is refused/],
  ['SELECT * { service silent <http://127.0.0.1/> { ?a ?b ?c } }', /SERVICE is refused/],
  ['hello', /only SELECT, ASK/]
])('refuses the SPARQL %p', (query, reason) => expect(() => checkSparql(query)).toThrow(reason));

test('takes keywords in strings, comments, IRIs and names for what they are', () => {
  for (const query of [
    'SELECT ?service WHERE { ?service ?p "SERVICE INSERT" }',
    '# INSERT\nASK { <urn:LOAD> ?p ?o }',
    "PREFIX delete: <urn:d> SELECT * { ?s delete:drop '''SERVICE\n''' }"
  ])
    expect(() => checkSparql(query)).not.toThrow();
});

test('finds keywords behind numbers, dots and escaped characters', () => {
  for (const query of [
    'SELECT * { <urn:a> <urn:b> 5.SERVICE <urn:c> { ?d ?e ?f } }',
    "PREFIX e: <urn:e> SELECT * { e:a\\' ?b ?c . SERVICE <urn:c> { ?d ?e ?f } . ?g ?h 'i' }"
  ])
    expect(() => checkSparql(query)).toThrow(/SERVICE is refused/);
});

test.each(['1', 'a', '.', '"\\', "'''\\", ':', '\\', '<', '1.'])(
  'checks a query that is a long run of %s in linear time',
  (unit) => {
    const query = `ASK {} ${unit.repeat(8000 / unit.length)}`;
    const begin = cpuMs();
    for (let i = 0; i < 50; i++) checkSparql(query);
    expect(cpuMs() - begin).toBeLessThan(2000);
  }
);

test.each([
  ['SELECT * { SERV\\u0049CE <http://127.0.0.1:1/> { ?a ?b ?c } }', /cannot be answered/],
  ['SELECT ?x WHERE {', /cannot be answered/],
  ['SELECT * { ?a ?b ?c } ; DROP ALL', /cannot be answered|DROP/],
  ['SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }', /longer than 3000 ms|memory/],
  ['SELECT * { ?a ?b ?c . ?d ?e ?f } LIMIT 20000', /10000 rows|longer|MiB/],
  [`SELECT * { ${'{'.repeat(2000)} ?a ?b ?c ${'}'.repeat(2000)} }`, /64 levels/],
  [`ASK { FILTER(${'!'.repeat(4000)}true) }`, /cannot be answered/],
  [
    `SELECT * { BIND(REPLACE(REPLACE("${'a'.repeat(3000)}", "a", "${'b'.repeat(500)}"), "b", "${'c'.repeat(500)}") AS ?x) }`,
    /MiB|longer|cannot be answered/
  ]
])('ends hostile SPARQL, case %#, and answers the next one', async (query, reason) => {
  await expect(sparql(query)).rejects.toMatchObject({ message: expect.stringMatching(reason) });
  expect((await sparql('ASK { ?a ?b ?c }')).boolean).toBe(true);
});

test.each([
  ['$[', /is not a JSONPath/],
  ['', /is not a JSONPath/],
  ['$'.repeat(5000), /is not a JSONPath/],
  [`$${'[?@'.repeat(1000)}`, /./],
  ['$..*..*..*..*', /10000 values|longer|MiB|failed/],
  [`$[?search(@.title, '(((t|h|e|r|m)*)*)*x')]`, /longer|./]
])('ends hostile JSONPath, case %#, and answers the next one', async (query, reason) => {
  await jsonpath(query).catch(({ message }) => expect(message).toMatch(reason));
  expect(await jsonpath("$[?@.title=='thermometer of 8'].id")).toEqual(['urn:t:8']);
});

test('refuses SPARQL over more triples than the limit, and answers JSONPath', async () => {
  const small = new Searches(rig.directory, { tripleBytes: 20000 });
  const ask = { text: 'ASK { ?a ?b ?c }', form: 'ASK', format: '' };
  for (let i = 0; i < 2; i++)
    await expect(small.run('sparql', ask)).rejects.toMatchObject({
      status: 507,
      message: expect.stringMatching(/more than 20000 bytes of triples/)
    });
  expect(JSON.parse(await small.run('jsonpath', { query: '$[*].id' }))).toHaveLength(300);
  await small.close();
});

test('reads the file again after it was replaced', async () => {
  const other = new StoreRig();
  const own = new Searches(other.directory);
  const all = async () => JSON.parse(await own.run('jsonpath', { query: '$[*].id' }));
  try {
    other.store.put({ id: 'urn:old', td: thermometer('urn:old', '1') });
    expect(await all()).toEqual(['urn:old']);
    other.store.close();
    setAside(other.directory, new Reopening(path.join(other.directory, FILE)));
    other.open().put({ id: 'urn:new', td: thermometer('urn:new', '1') });
    expect(await all()).toEqual(['urn:old']);
    const running = all();
    own.reopen();
    await expect(running).rejects.toMatchObject({ status: 503, message: expect.stringMatching(/replaced/) });
    expect(await all()).toEqual(['urn:new']);
  } finally {
    await own.close();
    other.remove();
  }
});

test('refuses searches while too many wait, and after the end', async () => {
  const many = new Searches(rig.directory, { waiting: 2, searchMs: 3000 });
  const answers = Array.from({ length: 4 }, () =>
    many.run('jsonpath', { query: '$[0].id' }).catch(({ status }) => status)
  );
  expect((await Promise.all(answers)).slice(3)).toEqual([503]);
  await many.close();
  await expect(many.run('jsonpath', { query: '$' })).rejects.toMatchObject({ status: 503 });
});

test('names the package to install', () => {
  const missing = (name) => {
    throw Object.assign(new Error(`Cannot find module '${name}'`), { code: 'MODULE_NOT_FOUND' });
  };
  expect(() => loadPackage('sparql', missing)).toThrow(/npm install oxigraph@/);
  expect(() => loadPackage('jsonpath', missing)).toThrow(expect.objectContaining({ status: 501 }));
  const broken = () => {
    throw new Error('bad file');
  };
  expect(() => loadPackage('sparql', broken)).toThrow(/does not load \(bad file\)/);
});
