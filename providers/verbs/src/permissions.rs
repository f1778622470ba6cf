//! What pages may do that they would ask a person for, and where they are. The policy judges what may be granted.

use crate::{reports, tab::Tab};
use codemode_spec::ErrorReport;
use serde::Deserialize;
use serde_json::{Value as Json, json};

/// Playwright's names, and the protocol's.
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
    /// Grants pages these permissions and no others: those of an origin, or all.
    ///
    /// # Errors
    /// `POLICY_REFUSED` for what is not a script's to grant; `INVALID_ARGUMENT` for what is no permission.
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
        self.of_context("Browser.grantPermissions", params).await
    }

    /// Takes back all that was granted.
    ///
    /// # Errors
    /// `POLICY_REFUSED` in a browser that is not ours.
    pub async fn clear_permissions(&self) -> Result<(), ErrorReport> {
        self.of_context("Browser.resetPermissions", json!({})).await
    }

    async fn of_context(&self, method: &str, mut params: Json) -> Result<(), ErrorReport> {
        if let Some(context) = self.own_context().await? {
            params["browserContextId"] = context.into();
        }
        self.send_to_browser(method, params).await.map(drop)
    }

    /// Says where the page is; nowhere without a place.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if that is no place on the earth.
    pub async fn locate_at(&self, place: Option<Geolocation>) -> Result<(), ErrorReport> {
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
