//! The configuration of the browser that executions use.

use crate::policy::DevicePermission;
use codemode_chromium::Confinement;
use codemode_spec::{ErrorCode, ErrorReport};
use serde::Deserialize;
use serde_json::Value as Json;
use std::{collections::BTreeMap, fmt, path::PathBuf};

/// The key of the shared browser's options among an execution's options: `{page: {cdpUrl?, headers?, browser?}}`.
pub const OPTIONS: &str = "page";

/// The browser that executions use, unless their own options override it.
#[derive(Clone)]
pub struct BrowserConfig {
    /// The executable to launch; `None` searches for one.
    pub browser: Option<PathBuf>,
    /// The endpoint of a browser to attach to instead of launching one: `ws:`, `wss:`, `http:` or `https:`.
    pub cdp_url: Option<String>,
    /// HTTP headers sent with every request to the endpoint.
    pub headers: Vec<(String, String)>,
    /// Launch without a window.
    pub headless: bool,
    /// The device permissions that scripts may grant to pages; none, unless the operator allows some.
    pub device_permissions: Vec<DevicePermission>,
    /// The sandbox of a browser that an execution launches itself. A leased browser is confined by its keeper.
    pub confinement: Confinement,
    /// The folder that caches descriptions of protocols; `None` is a folder in the state folder.
    pub protocols_dir: Option<PathBuf>,
}

impl Default for BrowserConfig {
    fn default() -> Self {
        Self {
            browser: None,
            cdp_url: None,
            headers: Vec::new(),
            headless: true,
            device_permissions: Vec::new(),
            confinement: Confinement::default(),
            protocols_dir: None,
        }
    }
}

/// Omits possible secrets: header values, and the URL, which may contain a token.
impl fmt::Debug for BrowserConfig {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("BrowserConfig")
            .field("browser", &self.browser)
            .field("external", &self.cdp_url.is_some())
            .field("headers", &self.headers.iter().map(|(name, _)| name).collect::<Vec<_>>())
            .field("headless", &self.headless)
            .field("device_permissions", &self.device_permissions)
            .field("confinement", &self.confinement)
            .finish()
    }
}

/// Where the browser of an execution comes from.
pub(crate) enum Source {
    /// The host launches a browser.
    Launch { executable: Option<PathBuf>, headless: bool, confinement: Confinement },
    /// An external browser, which codemode never closes.
    Endpoint { url: String, headers: Vec<(String, String)> },
}

/// The options of one execution.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct BrowserOptions {
    browser: Option<PathBuf>,
    cdp_url: Option<String>,
    headers: BTreeMap<String, String>,
}

impl BrowserConfig {
    /// The browser of an execution with these options.
    pub(crate) fn source(&self, options: Option<&Json>) -> Result<Source, ErrorReport> {
        let options = match options {
            None => BrowserOptions::default(),
            Some(options) => serde_json::from_value(options.clone()).map_err(|error| wrong_options(&error))?,
        };
        let BrowserOptions { browser, cdp_url, headers } = options;
        if browser.is_some() && cdp_url.is_some() {
            return Err(wrong_options(&"browser and cdpUrl exclude each other"));
        }
        let launch =
            |executable| Source::Launch { executable, headless: self.headless, confinement: self.confinement.clone() };
        Ok(match (cdp_url, browser) {
            // Configured headers are meant for the configured endpoint, not for one that a caller specifies.
            (Some(url), _) => Source::Endpoint { url, headers: headers.into_iter().collect() },
            (None, Some(executable)) => launch(Some(executable)),
            (None, None) => match &self.cdp_url {
                Some(url) => {
                    let own = self.headers.iter().cloned();
                    Source::Endpoint { url: url.clone(), headers: own.chain(headers).collect() }
                }
                None => launch(self.browser.clone()),
            },
        })
    }
}

fn wrong_options(fault: &dyn fmt::Display) -> ErrorReport {
    ErrorReport::new(ErrorCode::InvalidArgument, format!("the options of the browser are wrong: {fault}"))
        .with_hint("Give {cdpUrl?: string, headers?: {[name]: string}, browser?: string}.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn options_of_an_execution_come_before_the_configuration() {
        let external = BrowserConfig {
            cdp_url: Some("ws://a.test/".into()),
            headers: vec![("X-Key".into(), "hush".into())],
            ..BrowserConfig::default()
        };
        let source = |options: Json| external.source(Some(&options));
        let Ok(Source::Endpoint { url, headers }) = source(json!({"cdpUrl": "ws://b.test/"})) else {
            panic!("an endpoint was asked for")
        };
        assert_eq!((url.as_str(), headers), ("ws://b.test/", vec![]), "headers do not leak to another endpoint");
        let Ok(Source::Endpoint { url, headers }) = source(json!({"headers": {"B": "2"}})) else {
            panic!("an endpoint is configured")
        };
        assert_eq!((url.as_str(), headers.len()), ("ws://a.test/", 2));
        assert!(matches!(source(json!({"browser": "/x"})), Ok(Source::Launch { .. })));
        let both = json!({"browser": "/x", "cdpUrl": "ws://b.test/"});
        for wrong in [both, json!({"cdpURL": "ws://b.test/"}), json!({"headers": {"a": 1}}), json!(7)] {
            let error = BrowserConfig::default().source(Some(&wrong)).err().expect("it is refused");
            assert_eq!(error.code, ErrorCode::InvalidArgument);
        }
    }

    #[test]
    fn secrets_are_not_printed() {
        let config = BrowserConfig {
            cdp_url: Some("ws://a.test/?token=hush".into()),
            headers: vec![("X-Key".into(), "hush".into())],
            ..BrowserConfig::default()
        };
        let shown = format!("{config:?}");
        assert!(!shown.contains("hush") && shown.contains("X-Key"), "{shown}");
    }
}
