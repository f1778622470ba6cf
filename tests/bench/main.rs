//! `cargo bench -p codemode-host`: each figure is a median, shown next to a lower bound that was measured in the same
//! run where there is one. The figures are printed, not asserted.
//!
//! `cargo bench -p codemode-host -- NAME…` runs the benchmarks whose name contains one of the words.

#[path = "../../host/src/allocator.rs"]
mod allocator;
mod browser;
mod measure;
mod pipe;
mod provider;
mod sandbox;
mod session;
mod verbs;

use measure::Table;

fn main() {
    // As the program does.
    allocator::purge_freed_memory_at_once();
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let wanted = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word.as_str()));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let bench = measure::Bench::open();
    let mut table = Table::default();
    let benches =
        [sandbox::BENCHES, provider::BENCHES, browser::BENCHES, verbs::BENCHES, pipe::BENCHES, session::BENCHES];
    for (name, run) in benches.into_iter().flatten() {
        if wanted(name) {
            run(&bench, &runtime, &mut table);
        }
    }
    table.print();
}
