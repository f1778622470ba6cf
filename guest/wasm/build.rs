//! Compiles the guest to wasm, so that a plain `cargo run` or `cargo test` needs no separate step.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

const TARGET: &str = "wasm32-wasip1";
/// `simd128` makes regular expressions four times faster. The stack size is for deeply nested sources, see
/// `codemode_spec::limits`. The stack pointer is exported because the host asserts its value between turns.
const RUSTFLAGS: &[&str] =
    &["-Ctarget-feature=+simd128", "-Clink-arg=-zstack-size=16777216", "-Clink-arg=--export=__stack_pointer"];

fn main() {
    let own = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let workspace = own.ancestors().nth(2).expect("it is guest/wasm of the workspace");
    for watched in
        ["guest/src", "guest/js", "guest/Cargo.toml", "spec/src", "spec/Cargo.toml", "Cargo.toml", "Cargo.lock"]
    {
        println!("cargo::rerun-if-changed={}", workspace.join(watched).display());
    }
    ensure_target(workspace);

    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let target_dir = shared_target_dir(&out);
    build_guest(workspace, &target_dir);
    let wasm = target_dir.join(TARGET).join("guest").join("codemode_guest.wasm");
    std::fs::copy(&wasm, out.join("guest.wasm")).expect("the guest was built there");
}

/// `target/guest`, shared by all profiles: the guest is always built the same way.
fn shared_target_dir(out: &Path) -> PathBuf {
    let build = out.ancestors().find(|folder| folder.ends_with("build"));
    let target = build.and_then(Path::parent).and_then(Path::parent);
    target.unwrap_or(out).join("guest")
}

fn ensure_target(workspace: &Path) {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let sysroot = Command::new(&rustc).args(["--print", "sysroot"]).current_dir(workspace).output();
    let sysroot = sysroot.ok().and_then(|output| String::from_utf8(output.stdout).ok()).unwrap_or_default();
    if Path::new(sysroot.trim()).join("lib/rustlib").join(TARGET).is_dir() {
        return;
    }
    println!("cargo::warning=adding the Rust target {TARGET}, which the sandbox is built for");
    let added = Command::new("rustup").args(["target", "add", TARGET]).current_dir(workspace).status();
    assert!(
        added.is_ok_and(|status| status.success()),
        "the Rust target {TARGET} is missing and could not be added; run: rustup target add {TARGET}"
    );
}

fn build_guest(workspace: &Path, target_dir: &Path) {
    let cargo = env::var_os("CARGO").expect("cargo sets it");
    // The guest must not contain paths of this machine, or the same source would give a different image elsewhere.
    let remapped = [(workspace.to_path_buf(), "codemode"), (cargo_home(), "cargo")]
        .map(|(from, to)| format!("--remap-path-prefix={}={to}", from.display()));
    let flags: Vec<&str> = RUSTFLAGS.iter().copied().chain(remapped.iter().map(String::as_str)).collect();
    // Only as a `cdylib`: with further crate types, cargo would silently omit link-time optimisation.
    let status = Command::new(cargo)
        .args(["rustc", "--package=codemode-guest", "--crate-type=cdylib", "--profile=guest"])
        .args(["--target", TARGET, "--target-dir"])
        .arg(target_dir)
        .current_dir(workspace)
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"))
        // Settings for the host's own build would rebuild the guest, or break its build.
        .env_remove("RUSTFLAGS")
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .env_remove("RUSTC_WRAPPER")
        .env_remove("CARGO_TARGET_DIR")
        .env_remove("CARGO_BUILD_TARGET")
        .status();
    assert!(status.is_ok_and(|status| status.success()), "the guest could not be built; its errors stand above");
}

fn cargo_home() -> PathBuf {
    let home = || env::var_os("HOME").map(|home| PathBuf::from(home).join(".cargo"));
    env::var_os("CARGO_HOME").map(PathBuf::from).or_else(home).unwrap_or_else(|| PathBuf::from("/nonexistent"))
}
