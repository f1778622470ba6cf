#!/usr/bin/env node
// Starts the installed program `codemode`, found through CODEMODE_BINARY or PATH. Downloads nothing.
'use strict';

const { spawn } = require('node:child_process');
const { accessSync, constants, realpathSync, statSync } = require('node:fs');
const { constants: { signals } } = require('node:os');
const { delimiter, join } = require('node:path');

const INSTALL = `Install it: in a clone of its repository run \`cargo install --locked --path host\`, or build it by
\`cargo build --release --bin codemode\` and name target/release/codemode in the variable CODEMODE_BINARY.`;

function isProgram(file) {
  try {
    accessSync(file, constants.X_OK);
    // npm puts a link to this file on PATH; starting that would recurse.
    return statSync(file).isFile() && realpathSync(file) !== realpathSync(__filename);
  } catch {
    return false;
  }
}

function find() {
  const named = process.env.CODEMODE_BINARY;
  if (named) {
    return isProgram(named) ? named : fail(`CODEMODE_BINARY names no program: ${named}`);
  }
  const folders = (process.env.PATH ?? '').split(delimiter).filter(Boolean);
  // Skip npm's links to other copies of this script.
  const programs = folders.map((folder) => join(folder, 'codemode')).filter(isProgram);
  return programs.find((file) => !realpathSync(file).endsWith('.js')) ?? fail('the program codemode is not on PATH.');
}

function fail(why) {
  process.stderr.write(`${why}\n${INSTALL}\n`);
  process.exit(127);
}

const child = spawn(find(), process.argv.slice(2), { stdio: 'inherit' });
child.on('error', (error) => fail(`codemode cannot be started: ${error.message}`));
// Forward signals to the program.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => child.kill(signal));
}
child.on('exit', (code, signal) => process.exit(code ?? 128 + signals[signal]));
