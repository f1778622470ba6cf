//! Attacks on the state folder by other local users: planted files and links, wrong owners and modes, and unsafe
//! locations.

use crate::support::program::{Place, Running};
use serde_json::{Value as Json, json};
use std::{
    fs,
    io::Write as _,
    os::unix::{
        fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, chown, symlink},
        process::CommandExt as _,
    },
    path::{Path, PathBuf},
    process::{Child, Command, Output},
};

/// A user id that is neither this user nor root.
const ANOTHER: u32 = 65_533;

fn envelope(output: &Output) -> Json {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error} in {output:?}"))
}

fn permit(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// A state folder after its first use.
fn used(place: &Place) -> PathBuf {
    assert_eq!(envelope(&place.run(&["run", "--json", "-e", "1"]))["ok"], true);
    place.folder().join("state")
}

/// Asserts that every command refuses the folder, with this fault and this remedy.
fn refused(place: &Place, what: &str, remedy: &str) {
    let large = "'x'.repeat(30000)";
    for arguments in
        [&["sessions", "sweep", "--json"][..], &["run", "--json", "-e", large], &["audit", "show", "--json"]]
    {
        let answer = envelope(&place.run(arguments));
        let error = &answer["error"];
        assert_eq!((&answer["ok"], &error["code"]), (&json!(false), &json!("NOT_READY")), "{answer}");
        assert!(error["message"].as_str().unwrap().contains(what), "{what} is missing in {answer}");
        assert!(error["hint"].as_str().unwrap().contains(remedy), "{remedy} is missing in {answer}");
    }
}

/// A process in its own group that a planted ledger can name by pid and start time.
struct Bystander(Child);

impl Bystander {
    fn start() -> Self {
        Self(Command::new("sleep").arg("600").process_group(0).spawn().unwrap())
    }

    /// A ledger that claims the process is a dead host's browser.
    fn ledger(&self) -> String {
        let pid = self.0.id();
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let start_ticks: u64 = stat.rsplit_once(") ").unwrap().1.split(' ').nth(19).unwrap().parse().unwrap();
        let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
        let opened =
            json!({"what": "opened", "owner_pid": 1, "boot_id": boot_id.trim(), "temporary": "/nowhere/codemode-x"});
        let started = json!({"what": "started", "pid": pid, "start_ticks": start_ticks});
        format!("{opened}\n{started}\n")
    }

    fn lives(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn plant(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

#[test]
fn a_planted_ledger_has_no_process_killed() {
    let place = Place::new();
    let state = used(&place);
    let mut bystander = Bystander::start();
    // A ledger that could be codemode's: it is removed, and the named process survives.
    let ledger = state.join("profiles/planted.ledger");
    plant(&ledger, &bystander.ledger());
    let swept = envelope(&place.run(&["sessions", "sweep", "--json"]));
    assert!(bystander.lives(), "the process that a ledger named was killed: {swept}");
    assert_eq!((&swept["ok"], &swept["data"]["reaped"]["processes"]), (&json!(true), &json!(0)), "{swept}");
    assert!(!ledger.exists());
    // A link to a ledger, or one that others can write, is not even read.
    let elsewhere = place.folder().join("elsewhere");
    plant(&elsewhere, &bystander.ledger());
    symlink(&elsewhere, &ledger).unwrap();
    for why in ["is a link", "written by other users"] {
        let swept = envelope(&place.run(&["sessions", "sweep", "--json"]));
        assert!(swept["error"]["message"].as_str().is_some_and(|message| message.contains(why)), "{why}: {swept}");
        assert!(bystander.lives() && fs::symlink_metadata(&ledger).is_ok());
        assert_eq!(fs::read_to_string(&elsewhere).unwrap(), bystander.ledger());
        fs::remove_file(&ledger).unwrap();
        plant(&ledger, &bystander.ledger());
        permit(&ledger, 0o666);
    }
}

#[test]
fn a_folder_of_another_user_or_that_others_can_write_is_refused_with_the_remedy() {
    let place = Place::new();
    let state = used(&place);
    let mut bystander = Bystander::start();
    plant(&state.join("profiles/planted.ledger"), &bystander.ledger());
    for mode in [0o777, 0o1777, 0o770, 0o702] {
        permit(&state, mode);
        refused(&place, "can be written by other users", &format!("chmod 700 {}", state.display()));
        assert!(bystander.lives() && fs::metadata(&state).unwrap().mode() & 0o7777 == mode, "nothing was done");
    }
    permit(&state, 0o700);
    permit(&state.join("profiles"), 0o777);
    refused(&place, "profiles can be written by other users", "remove it");
    permit(&state.join("profiles"), 0o700);
    // Only root can change the owner of a folder, and only root can be tricked by that.
    if rustix::process::geteuid().is_root() {
        chown(&state, Some(ANOTHER), None).unwrap();
        refused(&place, "belongs to another user", "--state-dir");
    }
    assert!(bystander.lives());
}

#[test]
fn a_folder_that_others_can_only_read_is_closed_to_them() {
    let place = Place::new();
    let state = used(&place);
    permit(&state, 0o755);
    used(&place);
    assert_eq!(fs::metadata(&state).unwrap().mode() & 0o7777, 0o700);
}

#[test]
fn a_folder_below_one_that_others_can_write_is_refused_unless_they_cannot_move_it() {
    let place = Place::new();
    let state = used(&place);
    permit(place.folder(), 0o777);
    refused(&place, "because of a folder above it", &format!("chmod go-w {}", place.folder().display()));
    permit(place.folder(), 0o1777);
    used(&place);
    permit(place.folder(), 0o700);
    if rustix::process::geteuid().is_root() {
        chown(place.folder(), Some(ANOTHER), None).unwrap();
        refused(&place, "belongs to another user", "--state-dir");
        chown(place.folder(), Some(0), None).unwrap();
    }
    assert!(state.exists());
}

#[test]
fn nothing_is_read_written_or_removed_through_a_planted_link() {
    let folders = ["hosts", "profiles", "downloads", "cookies", "artifacts", "run", "protocols", "logins"];
    let files = ["sessions.db", "sessions.db-wal", "sessions.db-shm", "sessions.lock"];
    let place = Place::new();
    let state = used(&place);
    let outside = place.folder().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("file"), "as it was").unwrap();
    // Files that the sweep of old files would remove.
    fs::create_dir(outside.join("old")).unwrap();
    let long_ago = std::time::SystemTime::UNIX_EPOCH;
    fs::File::open(outside.join("old")).unwrap().set_modified(long_ago).unwrap();
    for name in folders.iter().chain(&files) {
        let planted = state.join(name);
        let _ = fs::remove_dir_all(&planted);
        let _ = fs::remove_file(&planted);
        // An existing file, and one that would be created.
        let targets = match folders.contains(name) {
            true => vec![outside.clone()],
            false => vec![outside.join("file"), outside.join("new")],
        };
        for target in targets {
            symlink(&target, &planted).unwrap();
            refused(&place, &format!("{name} is a link"), "remove it");
            assert_eq!(fs::read_to_string(outside.join("file")).unwrap(), "as it was", "{name}");
            assert!(outside.join("old").exists() && fs::read_dir(&outside).unwrap().count() == 2, "{name}");
            assert!(planted.is_symlink(), "{name} was left to be looked at");
            fs::remove_file(&planted).unwrap();
        }
    }
    used(&place);
}

#[test]
fn code_is_not_loaded_from_where_others_could_have_put_it() {
    let place = Place::new();
    let images = place.folder().join("images");
    let warm = || {
        let mut command = place.command(&["warm", "--json"]);
        command.env("CODEMODE_IMAGE_DIR", &images);
        envelope(&command.output().unwrap())
    };
    fs::create_dir(&images).unwrap();
    // The folder also contains protocol descriptions, and images of other versions.
    let is_image = |entry: &fs::DirEntry| {
        entry.path().extension().is_none_or(|suffix| suffix != "json" && suffix != "new") && entry.path().is_file()
    };
    // Hosts with other namespaces have other images; the one of this host is among them.
    let made = fs::read_dir(crate::support::image_dir()).unwrap().flatten().filter(is_image);
    let copies: Vec<_> = made.map(|image| (image.path(), images.join(image.file_name()))).collect();
    for (from, to) in &copies {
        fs::copy(from, to).unwrap();
    }
    let each = |change: &dyn Fn(&Path)| copies.iter().for_each(|(_, image)| change(image));
    assert_eq!(warm()["data"]["made"], false, "a copy is an image");
    each(&|image| permit(image, 0o666));
    let refused = |what: &str| {
        let answer = warm();
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains("cannot be trusted") && message.contains(what), "{answer}");
    };
    refused("can be written by other users");
    each(&|image| permit(image, 0o600));
    let elsewhere = |image: &Path| place.folder().join(image.file_name().unwrap());
    each(&|image| {
        fs::rename(image, elsewhere(image)).unwrap();
        symlink(elsewhere(image), image).unwrap();
    });
    refused("is a link");
    each(&|image| {
        fs::remove_file(image).unwrap();
        fs::hard_link(elsewhere(image), image).unwrap();
    });
    refused("hard link");
    each(&|image| fs::remove_file(image).unwrap());
    fs::rename(&images, place.folder().join("others")).unwrap();
    symlink(place.folder().join("others"), &images).unwrap();
    refused("is a link");
}

#[test]
fn without_a_home_nothing_is_kept_in_a_shared_folder() {
    let place = Place::new();
    let mut command = place.command(&["run", "--json", "-e", "1"]);
    for name in ["CODEMODE_STATE_DIR", "XDG_STATE_HOME", "HOME"] {
        command.env_remove(name);
    }
    let answer = envelope(&command.env("TMPDIR", place.folder()).output().unwrap());
    assert_eq!((&answer["ok"], &answer["error"]["code"]), (&json!(false), &json!("NOT_READY")), "{answer}");
    for word in ["--state-dir", "CODEMODE_STATE_DIR", "HOME"] {
        assert!(answer["error"]["hint"].as_str().unwrap().contains(word), "{answer}");
    }
    assert!(!place.folder().join("codemode").exists());
    let mut command = place.command(&["run", "--json", "-e", "1"]);
    command.env_remove("CODEMODE_STATE_DIR").env_remove("XDG_STATE_HOME").env("HOME", place.folder());
    assert_eq!(envelope(&command.output().unwrap())["ok"], true);
    assert!(place.folder().join(".local/state/codemode/sessions.db").exists());
}

#[test]
fn the_doctor_and_mcp_say_what_is_wrong_with_the_folder() {
    let place = Place::new();
    let state = used(&place);
    permit(&state, 0o777);
    let ill = envelope(&place.run(&["doctor", "--json"]));
    let check = &ill["data"]["checks"][0];
    assert_eq!((&check["name"], &check["status"]), (&json!("state folder"), &json!("failed")), "{ill}");
    assert!(check["remedy"].as_str().unwrap().contains("chmod 700"), "{ill}");
    let mut program = Running::start(place.command(&["mcp"]));
    program.send(&crate::support::leases::call(1, "1", &json!({"mode": "one-shot"})));
    let answer = program.receive();
    assert_eq!(answer["result"]["structuredContent"]["error"]["code"], "NOT_READY", "{answer}");
    assert!(answer.to_string().contains("chmod 700"), "{answer}");
}
