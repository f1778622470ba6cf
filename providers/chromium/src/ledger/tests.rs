use super::*;
use std::{
    os::unix::{
        fs::{OpenOptionsExt as _, PermissionsExt as _, symlink},
        process::CommandExt as _,
    },
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
};

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn open(profiles_dir: &Path, name: &str, kept: bool) -> Ledger {
    Ledger::try_open(profiles_dir, name, kept).unwrap().expect("no other ledger has the name")
}

/// Retries, because a child that another test forks at the same moment holds a copy of every lock until it calls exec.
fn wait_for_some<T>(mut attempt: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        match attempt() {
            Some(done) => return done,
            None => assert!(Instant::now() < deadline, "the lock is still held"),
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn inherit(path: &Path) -> Option<Ledger> {
    let folder = PrivateDir::find(path.parent().unwrap()).unwrap().unwrap();
    Ledger::inherit(&folder, path.file_name().unwrap()).unwrap()
}

fn inherited(path: &Path) -> Ledger {
    wait_for_some(|| inherit(path))
}

fn reaped(profiles_dir: &Path) -> Reaped {
    wait_for_some(|| Some(reap(profiles_dir).unwrap()).filter(|reaped| *reaped != Reaped::default()))
}

#[test]
fn what_has_a_living_owner_is_left_alone_and_what_has_none_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let profiles_dir = folder.path().join("a/profiles");
    assert_eq!(reap(&profiles_dir).unwrap(), Reaped::default(), "there need be nothing");
    let ledger = open(&profiles_dir, "one", false);
    assert_eq!(names(&profiles_dir), ["one", "one.ledger"]);
    assert_eq!(fs::metadata(ledger.profile()).unwrap().mode() & 0o777, 0o700);
    assert_eq!(fs::metadata(&profiles_dir).unwrap().mode() & 0o777, 0o700);
    assert!(Ledger::try_open(&profiles_dir, "one", false).unwrap().is_none(), "it has an owner");
    assert_eq!(reap(&profiles_dir).unwrap(), Reaped::default());
    assert_eq!(names(&profiles_dir), ["one", "one.ledger"]);

    fs::write(ledger.profile().join("file"), "x").unwrap();
    let temporary = ledger.temporary().unwrap().to_owned();
    assert!(temporary.is_dir());
    // As if its process had died: the lock is released, but the files remain.
    drop(ledger);
    fs::create_dir(profiles_dir.join("not-ours")).unwrap();
    assert_eq!(reaped(&profiles_dir), Reaped { processes: 0, profiles: 1 });
    assert_eq!(names(&profiles_dir), ["not-ours"]);
    assert!(!temporary.exists());
}

#[test]
fn a_kept_profile_stays_and_can_be_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(folder.path(), "key-1", true);
    for name in ["cookies", SINGLETONS[0]] {
        fs::write(ledger.profile().join(name), "x").unwrap();
    }
    assert!(Ledger::try_open(folder.path(), "key-1", true).unwrap().is_none(), "one browser at a time");
    ledger.close(REAP_PATIENCE).unwrap();
    drop(ledger);
    assert_eq!(names(folder.path()), ["key-1"]);
    assert_eq!(names(&folder.path().join("key-1")), ["cookies"]);
    // Its owner dies.
    drop(open(folder.path(), "key-1", true));
    wait_for_some(|| {
        reap(folder.path()).unwrap();
        (names(folder.path()) == ["key-1"]).then_some(())
    });
    assert_eq!(names(&folder.path().join("key-1")), ["cookies"]);
}

#[test]
fn a_name_whose_owner_has_died_is_free_and_one_whose_owner_lives_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let dead = open(folder.path(), "key-1", true);
    fs::write(dead.profile().join("cookies"), "x").unwrap();
    let temporary = dead.temporary().unwrap().to_owned();
    drop(dead);
    let living = wait_for_some(|| Ledger::try_open(folder.path(), "key-1", true).unwrap());
    assert_eq!((names(living.profile()), temporary.exists()), (vec!["cookies".to_owned()], false));

    thread::scope(|scope| {
        let waiting = scope.spawn(|| remove_kept_profile(folder.path(), "key-1"));
        living.close(REAP_PATIENCE).unwrap();
        waiting.join().unwrap().unwrap();
    });
    assert_eq!(names(folder.path()), Vec::<String>::new());
}

/// A profile whose owner ended while it could not be moved to `key-1`, because of a link in that place.
fn not_moved(folder: &Path) -> PathBuf {
    let link = folder.join("key-1");
    symlink(folder, &link).unwrap();
    let mut promoted = open(folder, "s-1", false);
    fs::write(promoted.profile().join("promoted"), "x").unwrap();
    promoted.keep_as("key-1");
    let report = promoted.close(REAP_PATIENCE).unwrap_err();
    assert!(report.message.contains("is a link"), "{report}");
    link
}

#[test]
fn a_profile_that_could_not_be_moved_to_its_new_name_stays_until_it_is_moved() {
    let folder = tempfile::tempdir().unwrap();
    let link = not_moved(folder.path());
    wait_for_some(|| reap(folder.path()).err());
    assert_eq!(names(folder.path()), ["key-1", "s-1", "s-1.ledger"]);
    fs::remove_file(link).unwrap();
    wait_for_some(|| {
        assert_eq!(reap(folder.path()).unwrap(), Reaped::default(), "nothing was removed");
        (names(folder.path()) == ["key-1"]).then_some(())
    });
    assert_eq!(names(&folder.path().join("key-1")), ["promoted"]);
}

#[test]
fn a_profile_that_could_not_be_moved_does_not_replace_a_newer_one() {
    let folder = tempfile::tempdir().unwrap();
    fs::remove_file(not_moved(folder.path())).unwrap();
    let newer = open(folder.path(), "key-1", true);
    fs::write(newer.profile().join("newer"), "x").unwrap();
    newer.close(REAP_PATIENCE).unwrap();
    drop(newer);
    wait_for_some(|| {
        reap(folder.path()).unwrap();
        (names(folder.path()) == ["key-1"]).then_some(())
    });
    assert_eq!(names(&folder.path().join("key-1")), ["newer"]);
}

/// Its owner died after the move, before it removed the ledger.
#[test]
fn a_profile_that_was_moved_is_not_moved_again() {
    let folder = tempfile::tempdir().unwrap();
    let moved = open(folder.path(), "key-1", true);
    fs::write(moved.profile().join("promoted"), "x").unwrap();
    moved.close(REAP_PATIENCE).unwrap();
    drop(moved);
    let lines = [opened(PathBuf::new()), Line::Successor { name: "key-1".to_owned() }];
    write(&folder.path().join("s-1").with_extension(SUFFIX), &lines);
    assert_eq!(reap(folder.path()).unwrap(), Reaped::default());
    assert_eq!(names(folder.path()), ["key-1"]);
    assert_eq!(names(&folder.path().join("key-1")), ["promoted"]);
}

#[test]
fn a_profile_that_is_moved_replaces_the_one_of_its_new_name() {
    let folder = tempfile::tempdir().unwrap();
    let older = open(folder.path(), "key-1", true);
    fs::write(older.profile().join("older"), "x").unwrap();
    older.close(REAP_PATIENCE).unwrap();
    drop(older);
    let mut promoted = open(folder.path(), "s-1", false);
    fs::write(promoted.profile().join("promoted"), "x").unwrap();
    promoted.keep_as("key-1");
    promoted.close(REAP_PATIENCE).unwrap();
    assert_eq!(names(folder.path()), ["key-1"]);
    assert_eq!(names(&folder.path().join("key-1")), ["promoted"]);
}

#[test]
fn a_name_has_one_owner_at_a_time_while_a_reaper_runs() {
    let (folder, owners, is_over) = (tempfile::tempdir().unwrap(), AtomicUsize::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        let reaper = scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                reap(folder.path()).unwrap();
            }
        });
        let one = || {
            for _ in 0..5 {
                let ledger = Ledger::open_kept(folder.path(), "key-1").unwrap();
                assert_eq!(owners.fetch_add(1, Ordering::SeqCst), 0);
                thread::yield_now();
                assert_eq!(owners.fetch_sub(1, Ordering::SeqCst), 1);
                ledger.close(REAP_PATIENCE).unwrap();
            }
        };
        let ones = [(); 4].map(|()| scope.spawn(one)).map(thread::ScopedJoinHandle::join);
        is_over.store(true, Ordering::Relaxed);
        assert!(ones.iter().chain([&reaper.join()]).all(Result::is_ok));
    });
    assert_eq!(names(folder.path()), ["key-1"]);
}

#[test]
fn a_profile_whose_removal_was_broken_off_is_gone_and_is_removed_by_the_next_reap() {
    let folder = tempfile::tempdir().unwrap();
    // The state after the atomic rename.
    let (kept, gone) = (open(folder.path(), "key-1", true), open(folder.path(), "gone-1", false));
    fs::write(kept.profile().join("cookies"), "x").unwrap();
    fs::rename(kept.profile(), gone.profile()).unwrap();
    drop((kept, gone));
    remove_kept_profile(folder.path(), "key-1").unwrap();
    wait_for_some(|| reap(folder.path()).ok().filter(|_| names(folder.path()).is_empty()));
}

#[test]
fn a_ledger_of_which_only_a_part_was_written_is_reaped_too() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("empty", ""), ("torn", "{\"what\":\"opened\",\"owner_p"), ("foreign", "hello\n")] {
        fs::write(folder.path().join(name).with_extension(SUFFIX), text).unwrap();
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    assert_eq!(reap(folder.path()).unwrap().profiles, 3);
    assert_eq!(names(folder.path()), Vec::<String>::new());
}

/// A process in a group of its own, for a ledger to name.
fn bystander(program: &Path, arguments: &[&str]) -> Child {
    let mut command = Command::new(program);
    command.args(["-c", "echo; read line; :", "bystander"]).args(arguments).process_group(0);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    // Once it has written something, its command line is that of the shell.
    child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    child
}

/// Writes a ledger as an owner does.
fn write(path: &Path, lines: &[Line]) {
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path).unwrap();
    for line in lines {
        writeln!(file, "{}", serde_json::to_string(line).unwrap()).unwrap();
    }
}

fn opened(temporary: PathBuf) -> Line {
    Line::Opened { owner_pid: 1, boot_id: boot_id(), temporary }
}

fn started(child: &Child) -> Line {
    let Group { leader, start_ticks } = Group::led_by(child.id().cast_signed()).unwrap();
    Line::Started { pid: leader, start_ticks }
}

#[test]
fn a_noted_group_is_believed_only_since_the_same_boot() {
    let folder = tempfile::tempdir().unwrap();
    let browser = folder.path().join("chromium");
    // Copied by another process: a file that this one has open for writing cannot be executed.
    assert!(Command::new("cp").arg("/bin/sh").arg(&browser).status().unwrap().success());
    let user_data_dir = format!("--user-data-dir={}", folder.path().join("x").display());
    let mut child = bystander(&browser, &[&user_data_dir]);
    let mut ledger = open(folder.path(), "x", false);
    ledger.started(child.id().cast_signed()).unwrap();
    let (path, group) = (folder.path().join(&ledger.name), ledger.group);
    assert!(group.is_some() && inherit(&path).is_none());
    drop(ledger);
    assert_eq!(inherited(&path).group, group);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace(&boot_id(), "another")).unwrap();
    assert_eq!(inherited(&path).group, None);
    fs::write(&path, text).unwrap();
    inherited(&path).close(REAP_PATIENCE).unwrap();
    assert!(child.wait().unwrap().code().is_none(), "the browser was killed");
}

#[test]
fn a_ledger_cannot_have_a_process_killed_that_is_no_browser_with_its_profile() {
    let folder = tempfile::tempdir().unwrap();
    let profile = folder.path().join("x");
    let mut child = bystander(Path::new("/bin/sh"), &[&format!("--user-data-dir={}", profile.display())]);
    let path = profile.with_extension(SUFFIX);
    let executable = PathBuf::from("/nowhere/chromium");
    for lines in [
        vec![opened(PathBuf::new()), started(&child)],
        vec![opened(PathBuf::new()), started(&child), Line::Runs { executable }],
    ] {
        write(&path, &lines);
        assert_eq!(reap(folder.path()).unwrap(), Reaped { processes: 0, profiles: 1 });
        assert!(child.try_wait().unwrap().is_none() && !path.exists());
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_ledger_that_is_not_ours_is_neither_believed_nor_removed() {
    let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = folder.path().join("x").with_extension(SUFFIX);
    let elsewhere = outside.path().join("file");
    fs::create_dir(folder.path().join("x")).unwrap();
    let refused = |what: &str| {
        for report in [reap(folder.path()).unwrap_err(), Ledger::try_open(folder.path(), "x", false).unwrap_err()] {
            assert!(report.code == ErrorCode::IoError && report.message.contains(what), "{report}");
        }
        assert_eq!(names(folder.path()), ["x", "x.ledger"]);
    };
    write(&elsewhere, &[opened(PathBuf::new())]);
    symlink(&elsewhere, &path).unwrap();
    refused("is a link");
    fs::remove_file(&path).unwrap();
    fs::hard_link(&elsewhere, &path).unwrap();
    refused("hard link");
    fs::remove_file(&path).unwrap();
    write(&path, &[opened(PathBuf::new())]);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o602)).unwrap();
    refused("written by other users");
    // Only root can change a file's owner.
    if rustix::process::geteuid().is_root() {
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        std::os::unix::fs::chown(&path, Some(65_534), None).unwrap();
        refused("another user (uid 65534)");
    }
    assert_eq!(fs::read_to_string(&elsewhere).unwrap().lines().count(), 1, "nothing was written through the link");
}

#[test]
fn a_link_in_the_place_of_a_profile_is_neither_used_nor_followed() {
    let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for name in ["file", SINGLETONS[0]] {
        fs::write(outside.path().join(name), "").unwrap();
    }
    symlink(outside.path(), folder.path().join("key-1")).unwrap();
    let report = Ledger::try_open(folder.path(), "key-1", true).unwrap_err();
    assert!(report.message.contains("is a link"), "{report}");
    for suffix in [SUFFIX_KEPT, SUFFIX] {
        write(&folder.path().join("key-1").with_extension(suffix), &[opened(PathBuf::new())]);
        reap(folder.path()).unwrap();
    }
    assert_eq!((names(folder.path()), names(outside.path())), (vec![], vec![SINGLETONS[0].into(), "file".into()]));
    let link = outside.path().join("profiles");
    symlink(folder.path(), &link).unwrap();
    assert!(reap(&link).is_err() && Ledger::try_open(&link, "x", false).is_err());
}

#[test]
fn a_ledger_names_as_temporary_only_what_its_owner_can_have_made() {
    let folder = tempfile::tempdir().unwrap();
    let name = format!("{TEMPORARY_PREFIX}0123456789abcdef");
    let (foreign, linked, own) =
        (folder.path().join("foreign"), folder.path().join("linked"), folder.path().join(name));
    fs::create_dir(&foreign).unwrap();
    fs::create_dir(&own).unwrap();
    symlink(&foreign, &linked).unwrap();
    // For example a project checkout with such a name.
    let project = tempfile::Builder::new().prefix(TEMPORARY_PREFIX).tempdir_in("/tmp").unwrap();
    for temporary in [&*foreign, &linked, &own, project.path()] {
        let path = folder.path().join("x").with_extension(SUFFIX);
        write(&path, &[opened(temporary.to_owned())]);
        inherited(&path).close(REAP_PATIENCE).unwrap();
        assert!(temporary.is_dir() && !path.exists(), "{temporary:?}");
    }
}

#[test]
fn a_name_cannot_lead_out_of_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["", ".", "..", "a/b", "a.b", "ä", &"x".repeat(NAME_CHARS_MAX + 1)] {
        assert_eq!(
            Ledger::try_open(folder.path(), name, false).unwrap_err().code,
            ErrorCode::InvalidArgument,
            "{name}"
        );
    }
    assert_eq!(names(folder.path()), Vec::<String>::new());
}
