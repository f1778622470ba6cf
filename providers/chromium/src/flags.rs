//! The command line and the initial settings with which a browser is started.

use crate::{options::LaunchOptions, private::PrivateDir, settings};
use serde_json::json;
use std::{ffi::OsString, io, path::Path};

/// Flags for every browser.
const FLAGS: &[&str] = &[
    // The protocol, available to the pipe's owner only; the browser also exits when the owner dies and the pipe closes.
    "--remote-debugging-pipe",
    // No crash reports. The crash handler runs nevertheless: with --disable-crashpad-for-testing, which would avoid it,
    // Chromium 156 never answers Page.navigate.
    "--disable-breakpad",
    "--disable-crash-reporter",
    // No prompts to the user, and no use of the desktop's keyring.
    "--no-first-run",
    "--no-default-browser-check",
    "--password-store=basic",
    "--use-mock-keychain",
    // No traffic other than that of the pages.
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-sync",
    "--disable-quic",
    "--metrics-recording-only",
    "--no-pings",
    // Pages in the background run at the same speed as in the foreground.
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    // No limit on the message rate of a script.
    "--disable-ipc-flooding-protection",
    // Containers provide only 64 MiB of shared memory, with which pages crash.
    "--disable-dev-shm-usage",
    "--force-color-profile=srgb",
    "--window-size=1280,800",
];

/// The popups of the address bar: WebUI pages that Chromium 156 loads at every start, in a separate renderer.
const OMNIBOX_FEATURES: &[&str] = &["WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "WebUIOmniboxFullPopup"];

/// Features that cause requests of the browser itself, which the proxy refuses; each form alone causes several.
const REQUESTING_FEATURES: &[&str] =
    &["AutofillServerCommunication", "OptimizationHints", "NetworkTimeServiceQuerying"];

/// Flags for a browser without a window.
const FLAGS_HEADLESS: &[&str] = &["--headless", "--disable-gpu", "--hide-scrollbars", "--mute-audio"];

/// The WebRTC policy that allows UDP only through the proxy, and so no UDP at all.
const WEBRTC_PROXIED: &str = "disable_non_proxied_udp";

/// Writes the profile's initial settings and returns the browser's command-line arguments.
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
            // PDFs are downloaded: the viewer is an extension that may open any URL, including files of this machine.
            settings["plugins"] = json!({ "always_open_pdf_externally": true });
        }
        if options.proxy.is_some() {
            // The same policy as the flag below, for code that reads only the setting.
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
            // Requests to this machine go through the proxy as well.
            "--proxy-bypass-list=<-loopback>".into(),
            // UDP would bypass the proxy, as it does in Chromium 156 with --force-webrtc-ip-handling-policy.
            format!("--webrtc-ip-handling-policy={WEBRTC_PROXIED}").into(),
        ]);
        features.extend(REQUESTING_FEATURES);
    }
    // Chromium uses only the last occurrence of this flag.
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
