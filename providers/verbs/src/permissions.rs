//! Permissions for which pages would prompt the user, and geolocation. The policy decides what may be granted.

use crate::{reports, tab::Tab};
use codemode_spec::ErrorReport;
use serde::Deserialize;
use serde_json::{Value as Json, json};

/// Playwright's permission names, and the protocol's.
const NAMES: &[(&str, &[&str])] = &[
    ("accelerometer", &["sensors"]),
    ("ambient-light-sensor", &["sensors"]),
    ("background-sync", &["backgroundSync"]),
    ("camera", &["videoCapture"]),
    ("clipboard-read", &["clipboardReadWrite"]),
    ("clipboard-write", &["clipboardSanitizedWrite"]),
    ("geolocation", &["geolocation"]),
    ("gyroscope", &["sensors"]),
    ("local-fonts", &["localFonts"]),
    ("local-network-access", &["localNetworkAccess"]),
    ("magnetometer", &["sensors"]),
    ("microphone", &["audioCapture"]),
    ("midi", &["midi"]),
    ("midi-sysex", &["midiSysex"]),
    ("notifications", &["notifications"]),
    ("payment-handler", &["paymentHandler"]),
    ("screen-wake-lock", &["wakeLockScreen"]),
    ("storage-access", &["storageAccess"]),
];

/// A place on the earth.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Geolocation {
    /// In degrees to the north.
    latitude: f64,
    /// In degrees to the east.
    longitude: f64,
    /// In metres.
    #[serde(default)]
    accuracy: f64,
}

impl Tab<'_> {
    /// Grants exactly these permissions, to one origin or to all.
    ///
    /// # Errors
    /// `POLICY_REFUSED` for permissions that scripts may not grant; `INVALID_ARGUMENT` for unknown ones.
    pub async fn grant(&self, permissions: &[String], origin: Option<&str>) -> Result<(), ErrorReport> {
        let mut granted: Vec<&str> = Vec::new();
        for permission in permissions {
            let Some((_, names)) = NAMES.iter().find(|(name, _)| name == permission) else {
                let known: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
                return Err(reports::invalid(format!("Unknown permission: {}", codemode_page::short(permission)))
                    .with_hint(format!("There are: {}.", known.join(", "))));
            };
            granted.extend(names.iter().filter(|name| !granted.contains(name)).copied().collect::<Vec<_>>());
        }
        let mut params = json!({ "permissions": granted });
        if let Some(origin) = origin {
            params["origin"] = origin.into();
        }
        self.send_to_context("Browser.grantPermissions", params).await
    }

    /// Revokes all granted permissions.
    ///
    /// # Errors
    /// `POLICY_REFUSED` in an external browser.
    pub async fn clear_permissions(&self) -> Result<(), ErrorReport> {
        self.send_to_context("Browser.resetPermissions", json!({})).await
    }

    async fn send_to_context(&self, method: &str, mut params: Json) -> Result<(), ErrorReport> {
        if let Some(context) = self.own_context().await? {
            params["browserContextId"] = context.into();
        }
        self.send_to_browser(method, params).await.map(drop)
    }

    /// Sets the geolocation that the page sees; `None` clears it.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if the coordinates are out of range.
    pub async fn set_geolocation(&self, place: Option<Geolocation>) -> Result<(), ErrorReport> {
        let Some(Geolocation { latitude, longitude, accuracy }) = place else {
            return self.send("Emulation.clearGeolocationOverride", json!({})).await.map(drop);
        };
        if !(-90.0..=90.0).contains(&latitude) || !(-180.0..=180.0).contains(&longitude) || accuracy < 0.0 {
            return Err(reports::invalid("latitude is −90 to 90, longitude −180 to 180, accuracy not negative"));
        }
        let params = json!({"latitude": latitude, "longitude": longitude, "accuracy": accuracy});
        self.send("Emulation.setGeolocationOverride", params).await.map(drop)
    }
}
