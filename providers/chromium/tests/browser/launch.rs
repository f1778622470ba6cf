//! Tests that a browser starts, and that it ends whatever happens to its owner.

use crate::support::{PATIENCE, Profiles, command, connect, evaluate, executable, page, processes_naming, until};
use codemode_chromium::{Browser, LaunchOptions, Reaped, reap};
use codemode_spec::ErrorCode;
use serde_json::{Value as Json, json};
use std::{
    env, fs,
    io::{BufRead as _, BufReader},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

#[tokio::test]
async fn a_closed_browser_leaves_nothing() {
    let profiles = Profiles::new();
    let browser = profiles.launch().await;
    let profile = browser.profile().to_owned();
    assert_eq!(fs::metadata(&profile).unwrap().permissions().mode() & 0o777, 0o700);
    assert!(processes_naming(&profile).len() > 2, "the children name their profile");
    let temporary = temporary_of(browser.pid().cast_signed());
    assert!(temporary.read_dir().unwrap().next().is_some(), "the browser puts something there");
    let connection = connect(&browser).await;
    let (_, session) = page(&connection, "data:text/html,<title>own</title>").await;
    assert_eq!(evaluate(&connection, &session, "1 + 1").await, 2);
    assert_eq!(reap(&profiles.path()).unwrap(), Reaped::default(), "its owner lives");

    let begun = Instant::now();
    browser.close().await.unwrap();
    println!("closed within {:?}", begun.elapsed());
    profiles.assert_nothing_left();
    assert!(!profile.exists() && !temporary.exists());
    connection.closed().await;
}

#[tokio::test]
async fn a_browser_is_closed_without_delay() {
    let profiles = Profiles::new();
    for _ in 0..5 {
        let begun = Instant::now();
        let browser = profiles.launch().await;
        let launched = begun.elapsed();
        let begun = Instant::now();
        browser.close().await.unwrap();
        println!("launched within {launched:?}, closed within {:?}", begun.elapsed());
    }
    profiles.assert_nothing_left();
}

#[tokio::test]
async fn a_dropped_browser_leaves_nothing() {
    let profiles = Profiles::new();
    let browser = profiles.launch().await;
    let begun = Instant::now();
    drop(browser);
    println!("dropped within {:?}", begun.elapsed());
    profiles.assert_nothing_left();
}

#[tokio::test]
async fn a_start_that_is_cancelled_at_any_moment_leaves_nothing() {
    let profiles = Profiles::new();
    for after_ms in [0, 3, 20, 80, 200, 350] {
        let launch = Browser::launch(profiles.options().await);
        let launched = tokio::time::timeout(Duration::from_millis(after_ms), launch).await;
        drop(launched);
        profiles.assert_nothing_left();
    }
}

#[tokio::test]
async fn a_close_that_is_cancelled_goes_on() {
    let profiles = Profiles::new();
    let browser = profiles.launch().await;
    let close = browser.close();
    // On a busy machine it may already be finished; either way the browser ends.
    let _ = tokio::time::timeout(Duration::ZERO, close).await;
    until("the end of the browser", || processes_naming(&profiles.path()).is_empty()).await;
    until("the removal of the profile", || fs::read_dir(profiles.path()).unwrap().next().is_none()).await;
}

#[tokio::test]
async fn a_browser_that_was_killed_from_outside_is_noticed_and_closes_cleanly() {
    let profiles = Profiles::new();
    let browser = profiles.launch().await;
    let connection = connect(&browser).await;
    let (_, session) = page(&connection, "about:blank").await;
    let forever = json!({ "expression": "new Promise(() => {})", "awaitPromise": true });
    let call = connection.call(command("Runtime.evaluate", forever, Some(&session)));
    let kill = async {
        let pid = rustix::process::Pid::from_raw(browser.pid().cast_signed()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        connection.closed().await;
    };
    let (answer, ()) = tokio::time::timeout(PATIENCE, async { tokio::join!(call, kill) }).await.unwrap();
    assert!(matches!(answer, Err(codemode_chromium::CdpError::Closed { .. })), "{answer:?}");
    assert!(connection.events().wait(0, &|_| false).await.is_none());
    browser.close().await.unwrap();
    profiles.assert_nothing_left();
}

#[tokio::test]
async fn a_program_that_is_no_browser_fails_with_its_last_words() {
    let profiles = Profiles::new();
    let with = async |executable: &str| LaunchOptions { executable: executable.into(), ..profiles.options().await };
    let report = Browser::launch(with("/bin/false").await).await.unwrap_err();
    assert_eq!(report.code, ErrorCode::BrowserLaunchFailed);
    assert!(report.message.contains("/bin/false ended before"), "{report}");
    profiles.assert_nothing_left();

    // The shell rejects the unknown arguments, each shell with its own message.
    let report = Browser::launch(with("/bin/sh").await).await.unwrap_err();
    assert!(report.details["stderr"].as_str().unwrap().contains("sh: "), "{}", report.details);
    profiles.assert_nothing_left();

    let report = Browser::launch(with("/nowhere/chromium").await).await.unwrap_err();
    assert!(report.details["stderr"].as_str().unwrap().contains("/nowhere/chromium"), "{}", report.details);
    profiles.assert_nothing_left();
}

#[tokio::test]
async fn a_start_that_takes_too_long_is_given_up() {
    let profiles = Profiles::new();
    let options = LaunchOptions { start_timeout: Duration::from_millis(10), ..profiles.options().await };
    let report = Browser::launch(options).await.unwrap_err();
    assert_eq!(report.code, ErrorCode::BrowserLaunchFailed);
    assert!(report.message.contains("within 10 ms"), "{report}");
    profiles.assert_nothing_left();
}

#[tokio::test]
async fn a_profile_has_one_browser() {
    let profiles = Profiles::new();
    let options = profiles.options().await;
    let first = Browser::launch(options.clone()).await.unwrap();
    let report = Browser::launch(options).await.unwrap_err();
    assert!(report.message.contains("in use"), "{report}");
    let connection = connect(&first).await;
    assert!(!connection.is_closed(), "the first is not affected");
    first.close().await.unwrap();
    profiles.assert_nothing_left();
}

#[tokio::test]
async fn browsers_in_parallel_do_not_know_each_other() {
    let profiles = Profiles::new();
    let (one, two) = tokio::join!(profiles.launch(), profiles.launch());
    let (to_one, to_two) = tokio::join!(connect(&one), connect(&two));
    one.close().await.unwrap();
    to_one.closed().await;
    let version = to_two.call(command("Browser.getVersion", Json::Null, None)).await.unwrap();
    assert!(version["product"].as_str().unwrap().contains("Chrom"), "{version}");
    two.close().await.unwrap();
    profiles.assert_nothing_left();
}

#[tokio::test]
async fn downloads_go_to_their_folder() {
    let profiles = Profiles::new();
    let downloads = tempfile::tempdir().unwrap();
    let folder = downloads.path().join("made/by launch");
    let options = LaunchOptions { downloads_dir: Some(folder.clone()), ..profiles.options().await };
    let browser = Browser::launch(options).await.unwrap();
    let connection = connect(&browser).await;
    let (_, session) = page(&connection, "about:blank").await;
    let click =
        "Object.assign(document.createElement('a'), {download: 'file.txt', href: 'data:text/plain,hello'}).click()";
    evaluate(&connection, &session, click).await;
    let file = folder.join("file.txt");
    until("the download", || fs::read_to_string(&file).is_ok_and(|text| text == "hello")).await;
    browser.close().await.unwrap();
    profiles.assert_nothing_left();
}

#[tokio::test]
async fn nothing_is_written_to_the_home_folder() {
    let profiles = Profiles::new();
    let home = tempfile::tempdir().unwrap();
    let (mut owner, _) = owner(&profiles.path(), Some(home.path())).await;
    owner.kill().unwrap();
    owner.wait().unwrap();
    until("the end of the browser", || processes_naming(&profiles.path()).is_empty()).await;
    until("the reaping", || reap(&profiles.path()).is_ok_and(|reaped| reaped.profiles == 1)).await;
    let written: Vec<_> = fs::read_dir(home.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    println!("in the home folder: {written:?}");
    assert!(!written.iter().any(|name| name == ".config"), "{written:?}");
    profiles.assert_nothing_left();
}

#[tokio::test]
async fn a_browser_dies_with_its_owner_and_its_profile_is_reaped() {
    let profiles = Profiles::new();
    let (mut owner, profile) = owner(&profiles.path(), None).await;
    let temporary = temporary_of(main_process_of(&profile));
    // The owner is killed and cannot clean up.
    owner.kill().unwrap();
    owner.wait().unwrap();
    let begun = Instant::now();
    until("the end of the browser", || processes_naming(&profile).is_empty()).await;
    println!("ended {:?} after its owner", begun.elapsed());
    assert!(profile.exists());
    until("the reaping", || reap(&profiles.path()).is_ok_and(|reaped| reaped.profiles == 1)).await;
    assert!(!temporary.exists());
    profiles.assert_nothing_left();
}

#[tokio::test]
async fn a_browser_that_survived_its_owner_is_reaped() {
    let profiles = Profiles::new();
    let (mut owner, profile) = owner(&profiles.path(), None).await;
    // A stopped browser cannot notice that its pipe is closed.
    let main = main_process_of(&profile);
    let temporary = temporary_of(main);
    let main = rustix::process::Pid::from_raw(main).unwrap();
    rustix::process::kill_process(main, rustix::process::Signal::STOP).unwrap();
    assert_eq!(reap(&profiles.path()).unwrap(), Reaped::default(), "its owner lives");
    owner.kill().unwrap();
    owner.wait().unwrap();
    let mut reaped = Reaped::default();
    // A child that another test forks at the same moment may hold a copy of the lock until it calls exec.
    until("the reaping", || {
        reap(&profiles.path()).is_ok_and(|now| {
            reaped = now;
            reaped.profiles == 1
        })
    })
    .await;
    println!("{reaped:?}");
    assert!(reaped.processes >= 1);
    assert!(!temporary.exists());
    profiles.assert_nothing_left();
}

#[tokio::test]
async fn a_process_that_only_names_the_profile_is_left_alone() {
    let profiles = Profiles::new();
    let (mut owner, profile) = owner(&profiles.path(), None).await;
    let main = main_process_of(&profile);
    let executable = fs::read_link(format!("/proc/{main}/exe")).unwrap();
    let ledger = fs::read_to_string(profile.with_extension("ledger")).unwrap();
    assert!(ledger.contains(&format!("{{\"what\":\"runs\",\"executable\":{}}}", json!(executable))), "{ledger}");
    let user_data_dir = format!("--user-data-dir={}", profile.display());
    let mut note = Command::new("/bin/sh");
    let mut note = note.args(["-c", "read line; :", "mynote", &user_data_dir]).stdin(Stdio::piped()).spawn().unwrap();
    owner.kill().unwrap();
    owner.wait().unwrap();
    until("the reaping", || reap(&profiles.path()).is_ok_and(|reaped| reaped.profiles == 1)).await;
    assert!(note.try_wait().unwrap().is_none(), "it was killed");
    note.kill().unwrap();
    note.wait().unwrap();
    profiles.assert_nothing_left();
}

#[tokio::test]
async fn many_in_a_row_leave_no_open_file() {
    let profiles = Profiles::new();
    profiles.launch().await.close().await.unwrap();
    let open = || fs::read_dir("/proc/self/fd").unwrap().count();
    // Other tests run in this process, so only the files of these browsers are counted.
    let of_ours = || {
        let links = fs::read_dir("/proc/self/fd").unwrap().flatten();
        links
            .filter_map(|entry| fs::read_link(entry.path()).ok())
            .filter(|link| link.starts_with(profiles.path()))
            .count()
    };
    let before = open();
    for _ in 0..5 {
        let browser = profiles.launch().await;
        let connection = connect(&browser).await;
        browser.close().await.unwrap();
        connection.closed().await;
    }
    println!("open files: {before} before, {} after", open());
    assert_eq!(of_ours(), 0);
    profiles.assert_nothing_left();
}

/// Starts another process of this test binary, which launches a browser and waits to be killed. Returns the process and
/// the browser's profile.
async fn owner(profiles_dir: &Path, home: Option<&Path>) -> (std::process::Child, PathBuf) {
    // Finds or installs a browser here, so that the other process need not.
    executable().await;
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "launch::owner_process", "--nocapture"]);
    command.env("CODEMODE_TEST_PROFILES", profiles_dir).stdin(Stdio::piped()).stdout(Stdio::piped());
    if let Some(home) = home {
        command.env("HOME", home);
        for variable in ["XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"] {
            command.env_remove(variable);
        }
    }
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let profile = lines.find_map(|line| line.unwrap().split_once("profile=").map(|(_, path)| PathBuf::from(path)));
    (child, profile.expect("the owner launches a browser"))
}

/// The owner process of the tests above; by itself it tests nothing.
#[tokio::test]
async fn owner_process() {
    let Some(profiles_dir) = env::var_os("CODEMODE_TEST_PROFILES") else { return };
    let options = Profiles::at(profiles_dir.into()).options().await;
    let browser = Browser::launch(options).await.unwrap();
    println!("profile={}", browser.profile().display());
    // Waits until this process is killed, or the test that started it has exited.
    let mut line = String::new();
    tokio::task::spawn_blocking(move || std::io::stdin().read_line(&mut line)).await.unwrap().unwrap();
    browser.close().await.unwrap();
}

/// The main process of a browser, which started all others.
fn main_process_of(profile: &Path) -> i32 {
    let argument = format!("--user-data-dir={}", profile.display());
    let is_main = |pid: &i32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let arguments = String::from_utf8_lossy(&line);
        let mut arguments = arguments.split('\0');
        arguments.clone().any(|given| given == argument) && !arguments.any(|given| given.starts_with("--type="))
    };
    let pids = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    pids.into_iter().find(is_main).unwrap()
}

/// A browser's folder for temporary files, from the environment of its main process.
fn temporary_of(pid: i32) -> PathBuf {
    let environment = String::from_utf8(fs::read(format!("/proc/{pid}/environ")).unwrap()).unwrap();
    let folder = environment.split('\0').find_map(|line| line.strip_prefix("TMPDIR=")).unwrap();
    assert!(Path::new(folder).file_name().unwrap().to_str().unwrap().starts_with("codemode-"), "{folder}");
    folder.into()
}
