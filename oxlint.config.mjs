// The rules of the house and the walls between the rooms, as oxlint reads them. It is JavaScript
// because an override replaces a rule's options and never adds to them: each folder's walls are
// composed here from the same bricks. `scripts/check-walls.mjs` proves that every wall holds.

/** Imports run from right to left. Packages of one row do not know each other. */
const ROWS = [
  ['contract'],
  ['signing', 'policy', 'vault'],
  ['settings'],
  ['db'],
  ['queue'],
  ['operations'],
];
const APPS = ['api', 'cli', 'delivery', 'playground', 'web'];

const NETWORK = [
  'undici',
  'nodemailer',
  'node:net',
  'node:tls',
  'node:http',
  'node:http2',
  'node:https',
  'node:dns',
  'node:dns/*',
  'node:dgram',
];

const nestInApiAlone = {
  group: ['@nestjs/*', 'reflect-metadata', 'rxjs', 'rxjs/*'],
  message: 'NestJS lives in apps/api alone.',
};
const noPathAcrossBorders = {
  regex: '^\\.\\.?/(.*/)?(src|dist|packages|apps)(/|$)',
  message: 'Import another package by its name, never by a path across its border.',
};
const indexAlone = {
  regex: '^@ghost/[^/]+/',
  message: 'A package is entered by its index alone.',
};
const noOtherApp = {
  group: APPS.map((app) => `@ghost/${app}`),
  message: 'An app never imports another app.',
};
const pure = {
  group: ['pg', 'drizzle-orm', 'drizzle-orm/*', ...NETWORK.filter((name) => name !== 'node:net')],
  message: 'This package is pure: no network, no database.',
};
const clientsInMainAlone = [
  {
    group: ['pg', 'nodemailer'],
    allowTypeImports: true,
    message: 'Only main.ts makes pools, connections and clients: take them as arguments.',
  },
  {
    group: ['@ghost/db'],
    importNames: ['createPool', 'createDatabase'],
    message: 'Only main.ts makes pools, connections and clients: take them as arguments.',
  },
];
const pureRules = {
  group: [
    '**/net/**',
    '**/send/**',
    '**/lanes/**',
    '**/status/**',
    '@ghost/db',
    '@ghost/queue',
    '@ghost/operations',
    'pg',
    'node:fs',
    'node:fs/*',
    'node:timers',
    'node:timers/*',
    ...NETWORK,
  ],
  message: 'Rules are pure: clock, randomness and answers come as arguments.',
};
const lanesKnowNoWire = {
  group: ['**/net/**', '**/send/**', '**/status/**', 'pg', ...NETWORK],
  message: 'Lanes know no HTTP and no SMTP.',
};

const tablesInDbAlone = [
  {
    name: 'drizzle-orm/pg-core',
    importNames: [
      'pgTable',
      'pgTableCreator',
      'pgSchema',
      'pgEnum',
      'pgView',
      'pgMaterializedView',
      'pgSequence',
      'pgRole',
      'pgPolicy',
      'index',
      'uniqueIndex',
      'unique',
      'check',
      'primaryKey',
      'foreignKey',
    ],
    message: 'Tables are declared in packages/db alone.',
  },
  { name: 'drizzle-kit', message: 'Migrations are made in packages/db alone.' },
];

/** Savepoints inside of a transaction would need an exception: there are none yet. */
const transactionsByOurs = {
  property: 'transaction',
  message:
    "Use `inTransaction(pool, work)` of @ghost/db: Drizzle's own loses a slot of the pool for good when BEGIN fails.",
};

const urlsByOurs = {
  object: 'URL',
  property: 'canParse',
  message:
    'Use `parseUrl` of @ghost/policy: on Node 20 and 22 `canParse` refuses Latin-1 letters once it is optimized.',
};

/** Of our packages only these. */
function onlyPackages(names) {
  return {
    group: ['@ghost/*', ...names.map((name) => `!@ghost/${name}`)],
    message: `Imports run one way: ${ROWS.map((row) => row.join(', ')).join(' ← ')} ← apps.`,
  };
}

function wall(files, patterns, paths = tablesInDbAlone) {
  return { files, rules: { 'no-restricted-imports': ['error', { paths, patterns }] } };
}

const everywhere = [nestInApiAlone, noPathAcrossBorders];

/** Each package may import what stands in the rows before its own. */
const packageWalls = ROWS.flatMap((row, place) => {
  const before = ROWS.slice(0, place).flat();
  return row.map((name) => {
    const patterns = [...everywhere, indexAlone, onlyPackages(before)];
    if (place <= 1) patterns.push(pure);
    return wall([`packages/${name}/**`], patterns, name === 'db' ? [] : tablesInDbAlone);
  });
});

const inApps = [...everywhere, indexAlone, noOtherApp];

export default {
  plugins: ['typescript', 'unicorn', 'oxc', 'import', 'node', 'vitest'],
  categories: { correctness: 'error', suspicious: 'error' },
  options: { typeAware: true, denyWarnings: true, reportUnusedDisableDirectives: 'error' },
  ignorePatterns: ['**/dist', '**/node_modules', '**/.ghost'],
  rules: {
    'import/no-cycle': ['error', { ignoreTypes: false }],
    'import/no-default-export': 'error',
    'no-restricted-imports': ['error', { paths: tablesInDbAlone, patterns: everywhere }],
    'no-restricted-properties': ['error', transactionsByOurs, urlsByOurs],

    'typescript/no-explicit-any': 'error',
    'typescript/no-floating-promises': 'error',
    'typescript/no-misused-promises': 'error',
    // A `default` with assertNever does not count: a new member must fail the check.
    'typescript/switch-exhaustiveness-check': [
      'error',
      { considerDefaultExhaustiveForUnions: false },
    ],
    'typescript/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
    'typescript/no-non-null-assertion': 'error',
    'typescript/only-throw-error': 'error',
    'typescript/prefer-promise-reject-errors': 'error',
    'typescript/return-await': ['error', 'error-handling-correctness-only'],
    'typescript/use-unknown-in-catch-callback-variable': 'error',
    eqeqeq: ['error', 'always', { null: 'ignore' }],
    'no-var': 'error',
    'prefer-const': 'error',
    'unicorn/prefer-node-protocol': 'error',
    'max-lines': ['error', { max: 320, skipBlankLines: true, skipComments: true }],
    'max-lines-per-function': ['error', { max: 60, skipBlankLines: true, skipComments: true }],
    'vitest/no-focused-tests': 'error',
    'vitest/no-disabled-tests': 'error',

    // What follows says nothing here, or says it of code that is right.
    'import/no-unassigned-import': 'off', // reflect-metadata
    'import/no-named-as-default': 'off', // `import pg from 'pg'`
    'import/no-named-as-default-member': 'off',
    'no-new': 'off', // a gauge registers itself
    'no-shadow': 'off',
    'no-underscore-dangle': 'off',
    'no-unmodified-loop-condition': 'off', // does not see a change by a callback
    'typescript/consistent-return': 'off', // tsc's noImplicitReturns knows `never`
    'typescript/no-misused-spread': 'off', // counting code points is often meant
    'typescript/no-unnecessary-type-parameters': 'off', // `query<Row>()`
    'typescript/no-unsafe-type-assertion': 'off', // of parsed JSON and of rows
    'typescript/require-array-sort-compare': ['error', { ignoreStringArrays: true }],
    'unicorn/consistent-function-scoping': 'off',
    'unicorn/no-array-reverse': 'off',
    'unicorn/no-array-sort': 'off',
    'unicorn/no-thenable': 'off', // a table's column may be called `then`
    'unicorn/no-useless-spread': 'off', // takes a copy that guards against changes for none
    'unicorn/require-module-specifiers': 'off', // `export {}` makes a file a module
    'vitest/expect-expect': 'off',
    'vitest/no-conditional-expect': 'off',
    'vitest/no-standalone-expect': 'off',
    'vitest/require-to-throw-message': 'off',
    'vitest/valid-expect': ['error', { maxArgs: 2 }],
  },
  overrides: [
    ...packageWalls,
    // A conformance suite stands outside of `src` and tests its package as others see it.
    wall(
      ['packages/queue/conformance/**'],
      [...everywhere, indexAlone, onlyPackages([...ROWS.slice(0, 4).flat(), 'queue'])],
    ),
    wall(['apps/**'], inApps),
    wall(['apps/api/**'], [noPathAcrossBorders, indexAlone, noOtherApp]),
    wall(['apps/web/**'], [...everywhere, indexAlone, onlyPackages(['contract'])]),
    wall(['apps/delivery/**'], [...inApps, ...clientsInMainAlone]),
    wall(['apps/delivery/src/main.ts', 'apps/delivery/**/*.test.ts'], inApps),
    wall(['apps/delivery/src/rules/**'], [...inApps, pureRules]),
    wall(['apps/delivery/src/lanes/**'], [...inApps, clientsInMainAlone[1], lanesKnowNoWire]),
    // Tests of the whole may enter any room, and so may the bench, which sends with delivery's client.
    wall(['test/**', 'bench/**'], [nestInApiAlone]),
    {
      files: ['apps/api/**'],
      rules: {
        // An `import type` of an injected class breaks injection.
        'typescript/consistent-type-imports': 'off',
        // A NestJS module is an empty class.
        'typescript/no-extraneous-class': 'off',
      },
    },
    { files: ['**/*.config.{ts,mjs}'], rules: { 'import/no-default-export': 'off' } },
    {
      files: ['**/*.test.ts', 'packages/*/conformance/**', 'test/**'],
      rules: {
        'max-lines': 'off',
        'max-lines-per-function': 'off',
        'no-restricted-properties': ['error', urlsByOurs],
      },
    },
  ],
};
