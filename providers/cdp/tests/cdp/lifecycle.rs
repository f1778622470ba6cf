//! No process or folder remains, however an execution ends.

use crate::support::{Execution, PATIENCE, Site, browsers, executable, held};
use codemode_cdp::CdpProvider;
use codemode_page::BrowserConfig;
use codemode_provider::{
    ExecutionContext, restore, suspend,
    testkit::{Subject, lifecycle_suite},
};
use codemode_spec::{ErrorCode, ErrorReport};
use serde_json::{Value as Json, json};
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
        recalling: ("getDebugLog", vec![]),
        held: &move || held(&path),
    })
    .await;
}

/// What a script holds, such as handles of pages, is valid only on its own browser.
#[tokio::test]
async fn what_was_kept_goes_on_only_in_its_execution_and_with_its_browser() {
    let mut execution = Execution::begin().await;
    let life = &execution.life;
    let kept_before = suspend("cdp", &*life.runtime).await.unwrap();
    execution.attach().await;
    let log = execution.call("getDebugLog", json!([])).await.unwrap();
    assert!(!log.as_array().unwrap().is_empty());
    let kept = suspend("cdp", &*life.runtime).await.unwrap();

    // Another execution, with the id of this one and without.
    let elsewhere = Execution::begin().await;
    let (provider, other) = (&*elsewhere.life.provider, elsewhere.life.context.clone());
    let same = ExecutionContext { execution: life.context.execution.clone(), ..other.clone() };
    let code = |made: Result<_, ErrorReport>| made.map(drop).map_err(|error| error.code);
    assert_eq!(code(restore(provider, other.clone(), &kept).await), Err(ErrorCode::InvalidArgument));
    assert_eq!(code(restore(provider, same.clone(), &kept).await), Err(ErrorCode::BrowserGone));
    assert_eq!(code(restore(provider, same, &kept_before).await), Ok(()), "it had no browser");
    elsewhere.end().await;

    execution.life.suspend().await.unwrap();
    execution.life.resume().await.unwrap();
    assert_eq!(execution.call("getDebugLog", json!([])).await.unwrap(), log);
    execution.attach().await;
    let longer = execution.call("getDebugLog", json!([])).await.unwrap();
    let (before, after) = (log.as_array().unwrap(), longer.as_array().unwrap());
    assert!(after.starts_with(before) && after.len() > before.len(), "it goes on: {longer}");
    let times = |entries: &[Json]| entries.iter().map(|entry| entry["atMs"].as_u64().unwrap()).collect::<Vec<_>>();
    assert!(times(after).is_sorted(), "times go on as well: {longer}");
    execution.end().await;
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
        // The first round opens files that the process keeps open.
        if round == 0 {
            before = Some(open_files());
        }
    }
    // Each browser takes a socket and three pipes, so ten leaks are forty. Other tests of this process have some open
    // meanwhile, and close them again.
    let allowed = before.unwrap() + 20;
    let deadline = Instant::now() + PATIENCE;
    while open_files() > allowed {
        assert!(Instant::now() < deadline, "{} files are open, {allowed} at most are allowed", open_files());
        tokio::task::yield_now().await;
    }
}
