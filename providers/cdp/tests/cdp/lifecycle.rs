//! Nothing is left, however an execution ends.

use crate::support::{Execution, PATIENCE, Site, browsers, executable, held};
use codemode_cdp::CdpProvider;
use codemode_page::BrowserConfig;
use codemode_provider::testkit::{Subject, lifecycle_suite};
use serde_json::json;
use std::sync::Arc;
use tokio::time::Instant;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_suite_of_all_providers() {
    executable().await;
    let state = tempfile::tempdir().unwrap();
    let path = state.path().to_owned();
    lifecycle_suite(&Subject {
        make: &|| Arc::new(CdpProvider::new()),
        services: &[browsers(BrowserConfig::default())],
        state_dir: state.path().to_owned(),
        options: json!({}),
        opening: ("send", vec!["Browser.getVersion".into()]),
        endless: ("waitForEvent", vec!["Target.targetCrashed".into(), json!({"timeoutMs": 600_000}).into()]),
        held: &move || held(&path),
    })
    .await;
}

#[tokio::test]
async fn ten_executions_leave_no_process_no_profile_and_no_open_file() {
    let site = Site::serve().await;
    let open_files = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let mut before = None;
    for round in 0..11 {
        let execution = Execution::begin().await;
        let session = execution.attach().await;
        execution.visit(&session, &site.url("/")).await;
        execution.end().await;
        // The first one opens what the process keeps.
        if round == 0 {
            before = Some(open_files());
        }
    }
    // Each browser takes a socket and three pipes, so ten leaks are forty. Other tests of this process have some open
    // meanwhile, and let go of them again.
    let allowed = before.unwrap() + 20;
    let deadline = Instant::now() + PATIENCE;
    while open_files() > allowed {
        assert!(Instant::now() < deadline, "{} files are open, {allowed} at most are allowed", open_files());
        tokio::task::yield_now().await;
    }
}
