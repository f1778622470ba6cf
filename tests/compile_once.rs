//! The build's compiler wrapper: a published crate is compiled for one profile and copied for the other, if its
//! compilation does not differ between them.

use crate::support::root;
use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output},
};
use toml::{Table, Value};

const OUTSIDE: [(&str, &str); 2] = [
    ("leaf", "pub fn leaf() -> u32 { 40 }"),
    ("branch", "extern crate leaf; pub fn branch() -> u32 { leaf::leaf() + 2 }"),
];

/// A target folder, the sources of two published crates, and a replaceable `rustc`.
struct Build {
    folder: tempfile::TempDir,
}

impl Build {
    fn new() -> Self {
        let build = Self { folder: tempfile::tempdir().unwrap() };
        for (name, text) in OUTSIDE {
            build.write(&Self::published(name), text);
        }
        for profile in ["debug", "release"] {
            fs::create_dir_all(build.path(&format!("target/{profile}/deps"))).unwrap();
        }
        build.rustc("exec rustc \"$@\"");
        build
    }

    fn published(name: &str) -> String {
        format!("registry/src/index/{name}-1.0.0/src/lib.rs")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Replaces `rustc` by a shell script.
    fn rustc(&self, does: &str) {
        self.write("rustc", &format!("#!/bin/sh\n{does}\n"));
        fs::set_permissions(self.path("rustc"), PermissionsExt::from_mode(0o755)).unwrap();
    }

    /// Compiles a source with the arguments that cargo passes.
    fn compile(&self, profile: &str, name: &str, source: &str, more: &[&str]) -> Output {
        let deps = self.path(&format!("target/{profile}/deps"));
        let dependencies = format!("dependency={}", deps.display());
        let mut command = Command::new(root().join(".cargo/compile-once"));
        command.current_dir(root()).arg(self.path("rustc")).args(["--crate-name", name, "--edition=2024"]);
        command.arg(self.path(source)).args(["--crate-type", "lib", "--emit=dep-info,metadata,link"]);
        command
            .args(["-C", "metadata=1", "-C", "extra-filename=-1", "--out-dir"])
            .arg(&deps)
            .args(["-L", &dependencies]);
        if name != "leaf" {
            command.arg("--extern").arg(format!("leaf={}", deps.join("libleaf-1.rmeta").display()));
        }
        command.args(more).output().unwrap()
    }

    fn both(&self, profile: &str) -> bool {
        OUTSIDE.iter().all(|(name, _)| self.compile(profile, name, &Self::published(name), &[]).status.success())
    }

    fn made(&self, profile: &str, file: &str) -> Vec<u8> {
        fs::read(self.path(&format!("target/{profile}/deps/{file}"))).unwrap_or_default()
    }
}

#[test]
fn what_one_profile_has_compiled_the_other_one_takes_over() {
    for (first, second) in [("release", "debug"), ("debug", "release")] {
        let build = Build::new();
        assert!(build.both(first), "{first}");
        build.rustc("exit 7");
        assert!(build.both(second), "{second} asked the compiler");
        for file in ["libleaf-1.rlib", "libbranch-1.rlib", "libbranch-1.rmeta"] {
            assert!(!build.made(second, file).is_empty(), "{file}");
            assert_eq!(build.made(first, file), build.made(second, file), "{file}");
        }
        let sources = String::from_utf8(build.made(second, "branch-1.d")).unwrap();
        assert!(sources.contains(&format!("/{second}/")) && !sources.contains(&format!("/{first}/")), "{sources}");

        // A program that is linked against the copies runs.
        build.rustc("exec rustc \"$@\"");
        build.write("own/main.rs", "fn main() { assert_eq!(branch::branch(), 42) }");
        let (deps, program) = (build.path(&format!("target/{second}/deps")), build.path("program"));
        let branch = format!("branch={}", deps.join("libbranch-1.rlib").display());
        let mut command = Command::new("rustc");
        command.current_dir(root()).args(["--edition=2024", "--extern", &branch, "-L"]).arg(deps);
        let output = command.arg(build.path("own/main.rs")).arg("-o").arg(&program).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert!(Command::new(program).status().unwrap().success());
    }
}

/// A change after a release build, the crate that is then compiled, and additional arguments.
type Difference<'a> = (&'a str, fn(&Build), &'a str, &'a [&'a str]);

const DIFFERENCES: &[Difference<'_>] = &[
    ("another argument", |_| (), "leaf", &["--cfg", "other"]),
    ("a library of C", |_| (), "leaf", &["-l", "c"]),
    ("a crate of this project", |build| build.write("spec/lib.rs", OUTSIDE[0].1), "spec/lib.rs", &[]),
    ("a crate that it stands on", |build| build.write("target/debug/deps/libleaf-1.rmeta", "other"), "branch", &[]),
    ("a compiler that is at work there", |build| remove(build, "leaf-1.command"), "leaf", &[]),
    ("a file that is gone there", |build| remove(build, "libleaf-1.rlib"), "leaf", &[]),
];

fn remove(build: &Build, file: &str) {
    fs::remove_file(build.path("target/release/deps").join(file)).unwrap();
}

#[test]
fn what_differs_in_anything_is_compiled() {
    for (what, change, name, more) in DIFFERENCES {
        let build = Build::new();
        let source = if name.contains('/') { (*name).to_owned() } else { Build::published(name) };
        let name = if name.contains('/') { "leaf" } else { name };
        if source.starts_with("spec") {
            change(&build);
            assert!(build.compile("release", name, &source, &[]).status.success(), "{what}");
        } else {
            assert!(build.both("release") && build.both("debug"), "{what}");
            change(&build);
        }
        build.rustc("echo compiled >&2; exit 7");
        let output = build.compile("debug", name, &source, more);
        assert_eq!(output.status.code(), Some(7), "{what}: {output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).ends_with("compiled\n"), "{what}: {output:?}");
    }
}

#[test]
fn what_could_not_be_compiled_is_not_taken_over() {
    let build = Build::new();
    build.write(&Build::published("leaf"), "no Rust");
    let output = build.compile("release", "leaf", &Build::published("leaf"), &[]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("error"), "{output:?}");
    build.rustc("exit 7");
    assert_eq!(build.compile("debug", "leaf", &Build::published("leaf"), &[]).status.code(), Some(7));
}

/// The profiles must agree; cargo cannot express that in one place.
#[test]
fn the_profiles_compile_published_crates_alike() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap().parse::<Table>().unwrap();
    let profile = |name: &str| manifest["profile"][name].as_table().unwrap().clone();
    let (release, dev) = (profile("release"), profile("dev"));
    for (name, ours) in [("opt-level", None), ("lto", None), ("debug", Some(false)), ("debug-assertions", Some(false))]
    {
        let expected = ours.map_or_else(|| release[name].clone(), Value::Boolean);
        assert_eq!(dev.get(name), Some(&expected), "{name}");
    }
    let published = |profile: &Table| -> Table {
        let packages = profile["package"].as_table().unwrap().iter();
        let outside = packages.filter(|(name, _)| !name.starts_with("codemode-") && !name.starts_with("boa_"));
        outside.map(|(name, settings)| (name.clone(), settings.clone())).collect()
    };
    assert_eq!(published(&release), published(&dev));

    // In tests, the project's own crates keep cargo's default checks.
    let members = manifest["workspace"]["members"].as_array().unwrap().iter();
    let members: BTreeSet<_> = members.map(|member| package(&root().join(member.as_str().unwrap()))).collect();
    let packages = dev["package"].as_table().unwrap();
    let checked = |name: &String| {
        let settings = &packages[name];
        ["debug-assertions", "overflow-checks"].iter().all(|check| settings[check] == Value::Boolean(true))
    };
    let ours = packages.keys().filter(|name| name.starts_with("codemode-"));
    assert_eq!(ours.filter(|name| checked(name)).cloned().collect::<BTreeSet<_>>(), members);
}

/// The package name of the crate in a folder.
fn package(folder: &Path) -> String {
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap().parse::<Table>().unwrap();
    manifest["package"]["name"].as_str().unwrap().to_owned()
}
