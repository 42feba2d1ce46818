'use strict';

const { haveTool, needs } = require('../tools');

describe('needs', () => {
  const required = process.env.SEGANET_REQUIRE_TOOLS;
  afterEach(() => {
    jest.restoreAllMocks();
    if (required === undefined) delete process.env.SEGANET_REQUIRE_TOOLS;
    else process.env.SEGANET_REQUIRE_TOOLS = required;
  });

  test('a tool that is there changes nothing', () => {
    expect(haveTool('sh')).toBe(true);
    expect(needs('sh').describe).toBe(global.describe);
    expect(needs('sh').test).toBe(global.test);
  });

  const { test: withPython } = needs('python3');
  withPython('a module of python is a tool', () => {
    expect(haveTool('python:json')).toBe(true);
    expect(haveTool('python:no_such_module')).toBe(false);
  });

  test('a python that is not there has no module', () => {
    const before = process.env.SEGANET_PYTHON;
    process.env.SEGANET_PYTHON = '/no/such/python';
    try {
      expect(haveTool('python:json')).toBe(false);
    } finally {
      if (before === undefined) delete process.env.SEGANET_PYTHON;
      else process.env.SEGANET_PYTHON = before;
    }
  });

  test('without a tool tests are skipped, and their name says why', () => {
    delete process.env.SEGANET_REQUIRE_TOOLS;
    const skip = jest.spyOn(global.test, 'skip').mockImplementation(() => undefined);
    const body = () => {};
    needs('sh', 'no-such-tool').test('does a thing', body);
    expect(skip).toHaveBeenCalledWith('does a thing [skipped: needs no-such-tool, not installed]', body);
  });

  test('where CI promises the tools, a missing one fails', () => {
    process.env.SEGANET_REQUIRE_TOOLS = '1';
    const { describe: group, missing } = needs('no-such-tool');
    const register = jest.spyOn(global, 'test').mockImplementation(() => undefined);
    group('things', () => {});
    expect(missing).toEqual(['no-such-tool']);
    const [name, body] = /** @type {[string, () => void]} */ (register.mock.calls[0]);
    expect(name).toBe('things [needs no-such-tool, not installed]');
    expect(body).toThrow(/SEGANET_REQUIRE_TOOLS=1/);
  });
});
