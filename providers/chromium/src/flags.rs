//! What a browser is told at its start.

use crate::{options::LaunchOptions, private::PrivateDir, settings};
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

/// The popups of the address bar: WebUI pages, which Chromium 156 loads at each start, in a renderer of their own.
const OMNIBOX_FEATURES: &[&str] = &["WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "WebUIOmniboxFullPopup"];

/// Requests of the browser itself, which the proxy refuses: each form alone has several of them.
const REQUESTING_FEATURES: &[&str] =
    &["AutofillServerCommunication", "OptimizationHints", "NetworkTimeServiceQuerying"];

/// Without a window.
const FLAGS_HEADLESS: &[&str] = &["--headless", "--disable-gpu", "--hide-scrollbars", "--mute-audio"];

/// WebRTC uses no UDP that does not go through the proxy, which is none.
const WEBRTC_PROXIED: &str = "disable_non_proxied_udp";

/// Writes the profile's first settings and gives the command line.
pub(crate) fn prepare(profile: &Path, has_sandbox: bool, options: &LaunchOptions) -> io::Result<Vec<OsString>> {
    let downloads_dir = options.downloads_dir.as_deref().map(std::path::absolute).transpose()?;
    if let Some(folder) = &downloads_dir {
        let (of_all, own) = (folder.parent().unwrap_or(folder), folder.file_name().unwrap_or_default());
        PrivateDir::make(of_all)?.make_folder_of_any(own)?;
    }
    settings::change(profile, |settings| {
        if let Some(folder) = &downloads_dir {
            settings["download"] =
                json!({ "default_directory": folder, "directory_upgrade": true, "prompt_for_download": false });
            // A PDF is a download as well. The viewer is an extension that may open any URL, a file of this machine too.
            settings["plugins"] = json!({ "always_open_pdf_externally": true });
        }
        if options.proxy.is_some() {
            // Set as the flag below sets it, for whatever reads the one and not the other.
            settings["webrtc"] = json!({ "ip_handling_policy": WEBRTC_PROXIED });
            settings["profile"]["password_manager_leak_detection"] = json!(false);
        }
    })?;
    let mut arguments: Vec<OsString> = FLAGS.iter().map(OsString::from).collect();
    let mut features = OMNIBOX_FEATURES.to_vec();
    if options.listens {
        arguments.push("--remote-debugging-port=0".into());
    }
    if let Some(proxy) = options.proxy {
        arguments.extend([
            format!("--proxy-server=http://{proxy}").into(),
            // What is on this machine goes through it as well.
            "--proxy-bypass-list=<-loopback>".into(),
            // UDP would go around it. With --force-webrtc-ip-handling-policy it does, in Chromium 156.
            format!("--webrtc-ip-handling-policy={WEBRTC_PROXIED}").into(),
        ]);
        features.extend(REQUESTING_FEATURES);
    }
    // Of this flag a browser takes the last one alone.
    arguments.push(format!("--disable-features={}", features.join(",")).into());
    if options.headless {
        arguments.extend(FLAGS_HEADLESS.iter().map(OsString::from));
    }
    if !has_sandbox {
        // Chromium's sandbox gives up privileges by becoming an unprivileged user, and refuses to start as root.
        arguments.push("--no-sandbox".into());
    }
    let mut user_data_dir = OsString::from("--user-data-dir=");
    user_data_dir.push(profile);
    arguments.push(user_data_dir);
    arguments.push("about:blank".into());
    Ok(arguments)
}
