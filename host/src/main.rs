//! The program `codemode`. What it does is in the library: here is what only a program decides.

mod allocator;

use std::process::ExitCode;

fn main() -> ExitCode {
    allocator::give_pages_back_soon();
    codemode_host::surface::cli::main()
}
