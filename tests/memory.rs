//! Whatever a script does, the host's memory outside the script's sandbox grows by at most a bound, and is released
//! again.
//!
//! Each case is a script of an attacker, run in a separate host whose memory limit is not much above the bound. The
//! output shows the peak of each case: `cargo test -- memory:: --nocapture`.

use crate::support::{
    program::{Place, need_browser, wait_until},
    resident::{Watch, beside_sandboxes_kib},
    server::Server,
};
use codemode_spec::limits::{EXECUTION_BYTES_MAX, SOURCE_TOKENS_MAX};
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use std::{fs, path::Path, time::Duration};

/// The growth that a running execution may cause, in KiB.
const GROWTH_KIB_MAX: usize = EXECUTION_BYTES_MAX / 1024;
/// The growth that may remain after the execution: caches, and memory retained by the allocator.
const KEPT_KIB_MAX: usize = 32 * 1024;
/// The resource limit on writable memory of the whole process, including sandboxes.
const DATA_BYTES_MAX: u64 = 2 << 30;

/// The cases: files with a description, `//! code:` with the answer's code (or `ok`) and the script, and generated
/// sources.
fn cases() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/memory");
    let mut cases: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(path).unwrap()))
        .collect();
    // The largest syntax trees that a source can produce.
    let arrows = "x=>x;".repeat(SOURCE_TOKENS_MAX / 4 - 10);
    cases.push(("source_of_functions".to_owned(), format!("//! code: ok\n{arrows}1")));
    cases.push(("source_of_typed_functions".to_owned(), format!("//! code: ok\nlet a: number = 1;{arrows}a")));
    cases.push(("source_of_more".to_owned(), format!("//! code: SOURCE_TOO_LARGE\n{}", "x=>x;".repeat(200_000))));
    cases.sort();
    cases
}

#[test]
fn no_script_makes_the_host_grow_beyond_its_bound() {
    need_browser();
    let place = Place::new();
    let mut failures = Vec::new();
    for (name, script) in cases() {
        let mut server = Server::start(&place);
        let limit = Rlimit { current: Some(DATA_BYTES_MAX), maximum: Some(DATA_BYTES_MAX) };
        prlimit(Pid::from_raw(server.pid()), Resource::Data, limit).unwrap();
        // Load what every execution needs: the image, the browser's protocol, the ledger.
        assert_eq!(server.execute("await cdp.spec(); await cdp.attachToTarget(); 1")["data"]["result"], 1);
        let before = settled_kib(&mut server);
        let watch = Watch::start(server.pid());
        let answer = server.execute(&script);
        let grown = watch.peak_kib().saturating_sub(before);
        let expected = script.lines().find_map(|line| line.strip_prefix("//! code: ")).unwrap();
        let code = answer["error"]["code"].as_str().unwrap_or("ok");
        let ms = &answer["meta"]["duration_ms"];
        println!("{name}: {} MiB before, grown by {} MiB, {code} in {ms} ms", before / 1024, grown / 1024);
        if grown > GROWTH_KIB_MAX {
            failures.push(format!("{name}: grown by {grown} KiB"));
        }
        if code != expected {
            failures.push(format!("{name}: {answer}"));
        }
        let bound = before + KEPT_KIB_MAX;
        wait_until(&name, Duration::from_secs(20), || {
            assert_eq!(server.execute("1 + 1")["data"]["result"], 2, "{name}: the host goes on");
            beside_sandboxes_kib(server.pid()) <= bound
        });
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The memory of a host after it has released what it can.
fn settled_kib(server: &mut Server) -> usize {
    let (mut least, mut same) = (usize::MAX, 0);
    wait_until("the host at rest", Duration::from_secs(60), || {
        // Freed memory is returned to the system only while the host is active.
        assert_eq!(server.execute("1")["data"]["result"], 1);
        let now = beside_sandboxes_kib(server.pid());
        same = if now < least { 0 } else { same + 1 };
        least = least.min(now);
        same >= 4
    });
    least
}
