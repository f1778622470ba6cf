//! The permissions that a script may grant to pages, by the protocol's names.

use super::{device::DevicePermission, request::Request};
use serde_json::Value as Json;

/// The protocol's names of device permissions, in both of its spellings: `Browser.grantPermissions` writes
/// `audioCapture`, `Browser.setPermission` writes `microphone` or `local-network-access`. Compared without hyphens and
/// case.
const OF_DEVICES: &[(&str, DevicePermission)] = &[
    ("ar", DevicePermission::Xr),
    ("audiocapture", DevicePermission::Microphone),
    ("camera", DevicePermission::Camera),
    ("camerapantiltzoom", DevicePermission::Camera),
    ("capturedsurfacecontrol", DevicePermission::ScreenCapture),
    ("displaycapture", DevicePermission::ScreenCapture),
    ("handtracking", DevicePermission::Xr),
    ("localnetwork", DevicePermission::LocalNetwork),
    ("localnetworkaccess", DevicePermission::LocalNetwork),
    ("loopbacknetwork", DevicePermission::LocalNetwork),
    ("microphone", DevicePermission::Microphone),
    ("midi", DevicePermission::Midi),
    ("midisysex", DevicePermission::Midi),
    ("nfc", DevicePermission::Nfc),
    ("smartcard", DevicePermission::SmartCard),
    ("speakerselection", DevicePermission::Speakers),
    ("videocapture", DevicePermission::Camera),
    ("vr", DevicePermission::Xr),
    ("webprinting", DevicePermission::Printing),
];
/// Permissions that affect only a page and the data that the browser stores for it.
const OF_PAGES: &[&str] = &[
    "accelerometer",
    "ambientlightsensor",
    "automaticfullscreen",
    "backgroundfetch",
    "backgroundsync",
    "clipboardread",
    "clipboardreadwrite",
    "clipboardsanitizedwrite",
    "clipboardwrite",
    "durablestorage",
    "fullscreen",
    "geolocation",
    "gyroscope",
    "idledetection",
    "keyboardlock",
    "localfonts",
    "magnetometer",
    "notifications",
    "paymenthandler",
    "periodicbackgroundsync",
    "persistentstorage",
    "pointerlock",
    "protectedmediaidentifier",
    "push",
    "screenwakelock",
    "sensors",
    "storageaccess",
    "systemwakelock",
    "toplevelstorageaccess",
    "wakelockscreen",
    "wakelocksystem",
    "windowmanagement",
];

/// Whether a command grants a permission that scripts may not grant. Unknown permissions are refused.
pub(super) fn is_refused(request: Request<'_>, allowed: &[DevicePermission]) -> bool {
    let params = request.params;
    let denies = params.get("setting").and_then(Json::as_str).is_some_and(|setting| setting != "granted");
    let listed = params.get("permissions").and_then(Json::as_array).into_iter().flatten();
    let named = params.pointer("/permission/name");
    !denies && listed.chain(named).any(|name| !name.as_str().is_some_and(|name| may_be_granted(name, allowed)))
}

fn may_be_granted(name: &str, allowed: &[DevicePermission]) -> bool {
    let name = name.replace('-', "").to_ascii_lowercase();
    match OF_DEVICES.iter().find(|(known, _)| *known == name) {
        Some((_, device)) => allowed.contains(device),
        None => OF_PAGES.contains(&name.as_str()),
    }
}

/// Whether the lists above cover a permission; they must cover the protocol's own list.
#[cfg(test)]
pub(super) fn is_known(name: &str) -> bool {
    let name = name.replace('-', "").to_ascii_lowercase();
    // Operators cannot allow it either: nothing may be installed into the browser.
    OF_DEVICES.iter().any(|(known, _)| *known == name)
        || OF_PAGES.contains(&name.as_str())
        || name == "webappinstallation"
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn refused(method: &str, params: Json, allowed: &[DevicePermission]) -> bool {
        is_refused(Request { method, params: &params, target: None, has_session: false }, allowed)
    }

    #[test]
    fn devices_are_the_operators_to_allow() {
        let set = |name: &str, setting: &str| json!({"permission": {"name": name}, "setting": setting});
        let cases: &[(&str, Option<DevicePermission>)] = &[
            ("camera", Some(DevicePermission::Camera)),
            ("microphone", Some(DevicePermission::Microphone)),
            ("midi", Some(DevicePermission::Midi)),
            ("local-network-access", Some(DevicePermission::LocalNetwork)),
            ("loopback-network", Some(DevicePermission::LocalNetwork)),
            ("display-capture", Some(DevicePermission::ScreenCapture)),
            ("usb", None),
            ("serial", None),
            ("hid", None),
            ("something-new", None),
        ];
        for (name, device) in cases {
            assert!(refused("Browser.setPermission", set(name, "granted"), &[]), "{name}");
            assert!(!refused("Browser.setPermission", set(name, "denied"), &[]), "{name}");
            if let Some(device) = device {
                assert!(!refused("Browser.setPermission", set(name, "granted"), &[*device]), "{name}");
            }
        }
        for name in ["geolocation", "notifications", "clipboard-read", "persistent-storage"] {
            assert!(!refused("Browser.setPermission", set(name, "granted"), &[]), "{name}");
        }
        let grant = |names: &[&str]| refused("Browser.grantPermissions", json!({ "permissions": names }), &[]);
        assert!(!grant(&["geolocation", "clipboardReadWrite"]));
        for name in ["audioCapture", "videoCapture", "midiSysex", "localNetworkAccess", "webAppInstallation", "new"] {
            assert!(grant(&["geolocation", name]), "{name}");
        }
        assert!(refused("Browser.grantPermissions", json!({"permissions": [7]}), &[]), "no name");
    }
}
