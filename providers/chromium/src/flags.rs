//! What a browser is told at its start.

use crate::{launch::LaunchOptions, ports};
use serde_json::{Value as Json, json};
use std::{
    ffi::OsString,
    fs::{self, DirBuilder},
    io,
    os::unix::fs::DirBuilderExt as _,
    path::Path,
};

/// For every browser.
const FLAGS: &[&str] = &[
    // The pipe that ends the browser when its owner dies.
    "--remote-debugging-pipe",
    // Nothing is reported. The crash handler runs all the same: with --disable-crashpad-for-testing, which would spare
    // it, Chromium 156 never answers Page.navigate.
    "--disable-breakpad",
    "--disable-crash-reporter",
    // Nothing is asked of a person, and nothing is kept in the desktop's keyring.
    "--no-first-run",
    "--no-default-browser-check",
    "--password-store=basic",
    "--use-mock-keychain",
    // No traffic but that of the pages.
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-sync",
    "--disable-quic",
    "--metrics-recording-only",
    "--no-pings",
    // A page that is not in front works on as if it were.
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    // As many messages as a script sends.
    "--disable-ipc-flooding-protection",
    // Containers give shared memory of 64 MiB, of which pages die.
    "--disable-dev-shm-usage",
    "--force-color-profile=srgb",
    "--window-size=1280,800",
];

/// Without a window.
const FLAGS_HEADLESS: &[&str] = &["--headless", "--disable-gpu", "--hide-scrollbars", "--mute-audio"];

/// WebRTC uses no UDP that does not go through the proxy, which is none.
const WEBRTC_PROXIED: &str = "disable_non_proxied_udp";

/// Writes the profile's first settings and gives the command line.
pub(crate) fn prepare(profile: &Path, port: u16, options: &LaunchOptions) -> io::Result<Vec<OsString>> {
    let downloads_dir = options.downloads_dir.as_deref().map(std::path::absolute).transpose()?;
    if let Some(folder) = &downloads_dir {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    if downloads_dir.is_some() || options.proxy.is_some() {
        let default = profile.join("Default");
        let file = default.join("Preferences");
        fs::create_dir_all(&default)?;
        // A profile that was kept has settings already.
        let kept = fs::read(&file).ok().and_then(|text| serde_json::from_slice(&text).ok());
        let mut settings: Json = kept.filter(Json::is_object).unwrap_or_else(|| json!({}));
        if let Some(folder) = downloads_dir {
            settings["download"] =
                json!({ "default_directory": folder, "directory_upgrade": true, "prompt_for_download": false });
        }
        if options.proxy.is_some() {
            // Set as the flag below sets it, for whatever reads the one and not the other.
            settings["webrtc"] = json!({ "ip_handling_policy": WEBRTC_PROXIED });
            settings["profile"]["password_manager_leak_detection"] = json!(false);
        }
        fs::write(file, settings.to_string())?;
    }
    let mut arguments: Vec<OsString> = FLAGS.iter().map(OsString::from).collect();
    // The protocol, out of reach of the pages.
    arguments.extend([format!("--remote-debugging-port={port}").into(), ports::rules().into()]);
    if let Some(proxy) = options.proxy {
        arguments.extend([
            format!("--proxy-server=http://{proxy}").into(),
            // What is on this machine goes through it as well.
            "--proxy-bypass-list=<-loopback>".into(),
            // UDP would go around it. With --force-webrtc-ip-handling-policy it does, in Chromium 156.
            format!("--webrtc-ip-handling-policy={WEBRTC_PROXIED}").into(),
            // What the browser asks by itself is refused there, again and again: each form alone has it ask several times.
            "--disable-features=AutofillServerCommunication,OptimizationHints,NetworkTimeServiceQuerying".into(),
        ]);
    }
    if options.headless {
        arguments.extend(FLAGS_HEADLESS.iter().map(OsString::from));
    }
    if rustix::process::geteuid().is_root() {
        // Chromium's sandbox gives up privileges by becoming nobody special, and refuses to start as root.
        arguments.push("--no-sandbox".into());
    }
    let mut user_data_dir = OsString::from("--user-data-dir=");
    user_data_dir.push(profile);
    arguments.push(user_data_dir);
    arguments.push("about:blank".into());
    Ok(arguments)
}
