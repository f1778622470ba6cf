#!/usr/bin/env node
// Starts the program `codemode` where it is installed: by CODEMODE_BINARY, or from PATH. It downloads nothing.
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
    // The way back to this file, as npm has it on PATH, leads nowhere.
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
  // Other links of npm's to a file like this one are no programs either.
  const programs = folders.map((folder) => join(folder, 'codemode')).filter(isProgram);
  return programs.find((file) => !realpathSync(file).endsWith('.js')) ?? fail('the program codemode is not on PATH.');
}

function fail(why) {
  process.stderr.write(`${why}\n${INSTALL}\n`);
  process.exit(127);
}

const child = spawn(find(), process.argv.slice(2), { stdio: 'inherit' });
child.on('error', (error) => fail(`codemode cannot be started: ${error.message}`));
// Those who end this process mean the program.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => child.kill(signal));
}
child.on('exit', (code, signal) => process.exit(code ?? 128 + signals[signal]));
