//! What a browser is told at its start.

use crate::{launch::LaunchOptions, private::PrivateDir, settings};
use serde_json::json;
use std::{ffi::OsString, io, path::Path};

/// For every browser.
const FLAGS: &[&str] = &[
    // The protocol, spoken with its owner only; and the browser ends when the owner dies.
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

/// Writes the profile's first settings and gives the command line.
pub(crate) fn prepare(profile: &Path, has_sandbox: bool, options: &LaunchOptions) -> io::Result<Vec<OsString>> {
    if let Some(folder) = &options.downloads_dir {
        let folder = std::path::absolute(folder)?;
        let (of_all, own) = (folder.parent().unwrap_or(&folder), folder.file_name().unwrap_or_default());
        PrivateDir::make(of_all)?.make_folder_of_any(own)?;
        settings::change(profile, |settings| {
            settings["download"] =
                json!({ "default_directory": folder, "directory_upgrade": true, "prompt_for_download": false });
            // A PDF is a download as well. The viewer is an extension that may open any URL, a file of this machine too.
            settings["plugins"] = json!({ "always_open_pdf_externally": true });
        })?;
    }
    let mut arguments: Vec<OsString> = FLAGS.iter().map(OsString::from).collect();
    if options.listens {
        arguments.push("--remote-debugging-port=0".into());
    }
    if options.headless {
        arguments.extend(FLAGS_HEADLESS.iter().map(OsString::from));
    }
    if !has_sandbox {
        // Chromium's sandbox gives up privileges by becoming nobody special, and refuses to start as root.
        arguments.push("--no-sandbox".into());
    }
    let mut user_data_dir = OsString::from("--user-data-dir=");
    user_data_dir.push(profile);
    arguments.push(user_data_dir);
    arguments.push("about:blank".into());
    Ok(arguments)
}
