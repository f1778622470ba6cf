//! The `codemode` program. Everything but the choice of allocator is in the library.

mod allocator;

use std::process::ExitCode;

fn main() -> ExitCode {
    allocator::purge_freed_memory_at_once();
    codemode_host::surface::cli::main()
}
