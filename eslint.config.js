'use strict';

const js = require('@eslint/js');
const globals = require('globals');
const html = require('eslint-plugin-html');
const { bin } = require('./package.json');

const rules = {
  ...js.configs.recommended.rules,
  eqeqeq: ['error', 'always', { null: 'ignore' }],
  'no-var': 'error',
  'prefer-const': 'error',
  'no-unused-vars': ['error', { argsIgnorePattern: '^_', caughtErrors: 'none' }],
  'no-shadow': 'error',
  'no-throw-literal': 'error',
  strict: ['error', 'global'],
  // prettier lays out code; comments and types wrap here.
  'max-len': [
    'error',
    { code: 400, comments: 120, ignoreUrls: true, ignorePattern: '@typedef|@type|import\\(' }
  ],
  'max-lines': ['error', { max: 400, skipComments: true }]
};

module.exports = [
  {
    ignores: [
      'node_modules/',
      'native/build/',
      'native/out/',
      'native/prebuilds/',
      'coverage/',
      'bench/.build/'
    ]
  },
  {
    files: ['**/*.js'],
    languageOptions: { ecmaVersion: 2024, sourceType: 'commonjs', globals: globals.node },
    rules
  },
  {
    // Must parse on any Node: it is what says that the Node is too old.
    files: ['native/node/*.js', ...Object.values(bin), 'bench/main.js'],
    languageOptions: { ecmaVersion: 5, sourceType: 'script', globals: globals.node },
    rules: {
      ...rules,
      'no-var': 'off',
      'prefer-const': 'off',
      'no-redeclare': ['error', { builtinGlobals: false }]
    }
  },
  {
    files: ['test/**/*.js'],
    languageOptions: { globals: { ...globals.node, ...globals.jest } }
  },
  {
    // Functions in here run inside the page.
    files: ['test/editor/**/*.js'],
    languageOptions: { globals: globals.browser }
  },
  {
    // The status page and the sidebar.
    files: ['nodes/lib/live/page/*.mjs'],
    languageOptions: { ecmaVersion: 2024, sourceType: 'module', globals: globals.browser },
    rules: { ...rules, strict: 'off' }
  },
  {
    files: ['flows/**/*.mjs'],
    languageOptions: { ecmaVersion: 2024, sourceType: 'module', globals: globals.node },
    rules: { ...rules, strict: 'off' }
  },
  {
    files: ['nodes/**/*.html'],
    plugins: { html },
    languageOptions: {
      ecmaVersion: 2022,
      sourceType: 'script',
      globals: { ...globals.browser, RED: 'readonly', $: 'readonly', i18next: 'readonly' }
    },
    rules: { ...rules, strict: 'off' }
  }
];
