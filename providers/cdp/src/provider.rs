//! The provider: what is the same for all executions.

use crate::{
    browser::{BrowserSlot, Source},
    made::Registry,
    manifest::manifest,
    policy::DevicePermission,
    runtime::CdpRuntime,
};
use async_trait::async_trait;
use codemode_chromium::Confinement;
use codemode_provider::{ExecutionContext, Provider, ProviderRuntime};
use codemode_spec::{ErrorCode, ErrorReport, Manifest};
use serde::Deserialize;
use serde_json::Value as Json;
use std::{collections::BTreeMap, fmt, path::PathBuf, sync::Arc};

/// The folder of protocol descriptions in the state folder.
const PROTOCOLS: &str = "protocols";

/// Which browser executions get, unless their own options say otherwise.
#[derive(Clone)]
pub struct CdpConfig {
    /// The executable to launch; `None` finds one.
    pub browser: Option<PathBuf>,
    /// The endpoint of a browser to attach to instead of launching one: `ws:`, `wss:`, `http:` or `https:`.
    pub cdp_url: Option<String>,
    /// Sent with every request to the endpoint.
    pub headers: Vec<(String, String)>,
    /// Launch without a window.
    pub headless: bool,
    /// What scripts may let pages have of this machine's devices; nothing, unless an operator says so.
    pub device_permissions: Vec<DevicePermission>,
    /// What a browser that an execution launches itself may reach of the machine. A leased one is confined by whoever keeps
    /// it.
    pub confinement: Confinement,
    /// Where descriptions of the browsers' protocols are kept; `None` keeps them in the state folder.
    pub protocols_dir: Option<PathBuf>,
}

impl Default for CdpConfig {
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

/// Without what may be secret: header values, and the URL, which may hold a token.
impl fmt::Debug for CdpConfig {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("CdpConfig")
            .field("browser", &self.browser)
            .field("external", &self.cdp_url.is_some())
            .field("headers", &self.headers.iter().map(|(name, _)| name).collect::<Vec<_>>())
            .field("headless", &self.headless)
            .field("device_permissions", &self.device_permissions)
            .field("confinement", &self.confinement)
            .finish()
    }
}

/// Options of one execution.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct CdpOptions {
    browser: Option<PathBuf>,
    cdp_url: Option<String>,
    headers: BTreeMap<String, String>,
}

/// Offers the namespace `cdp`.
pub struct CdpProvider {
    manifest: Manifest,
    config: CdpConfig,
    /// Who made which target of an external browser.
    registry: Arc<Registry>,
}

impl CdpProvider {
    /// A provider whose executions get the browser that `config` names.
    #[must_use]
    pub fn new(config: CdpConfig) -> Self {
        Self { manifest: manifest(), config, registry: Arc::default() }
    }

    /// Which browser an execution gets.
    fn source(&self, options: Option<&Json>) -> Result<Source, ErrorReport> {
        let options = match options {
            None => CdpOptions::default(),
            Some(options) => serde_json::from_value(options.clone()).map_err(|error| wrong_options(&error))?,
        };
        let CdpOptions { browser, cdp_url, headers } = options;
        if browser.is_some() && cdp_url.is_some() {
            return Err(wrong_options(&"browser and cdpUrl exclude each other"));
        }
        let launch = |executable| Source::Launch {
            executable,
            headless: self.config.headless,
            confinement: self.config.confinement.clone(),
        };
        Ok(match (cdp_url, browser) {
            // Headers of the configuration are meant for its own endpoint, not for whatever a caller names.
            (Some(url), _) => Source::Endpoint { url, headers: headers.into_iter().collect() },
            (None, Some(executable)) => launch(Some(executable)),
            (None, None) => match &self.config.cdp_url {
                Some(url) => {
                    let own = self.config.headers.iter().cloned();
                    Source::Endpoint { url: url.clone(), headers: own.chain(headers).collect() }
                }
                None => launch(self.config.browser.clone()),
            },
        })
    }
}

fn wrong_options(fault: &dyn fmt::Display) -> ErrorReport {
    ErrorReport::new(ErrorCode::InvalidArgument, format!("the options of cdp are wrong: {fault}"))
        .with_hint("Give {cdpUrl?: string, headers?: {[name]: string}, browser?: string}.")
}

#[async_trait]
impl Provider for CdpProvider {
    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    async fn create(&self, context: ExecutionContext) -> Result<Arc<dyn ProviderRuntime>, ErrorReport> {
        let source = self.source(context.options.get("cdp"))?;
        let protocols_dir = self.config.protocols_dir.clone().unwrap_or_else(|| context.state_dir.join(PROTOCOLS));
        let device_permissions = self.config.device_permissions.clone();
        let slot = BrowserSlot::new(source, context, Arc::clone(&self.registry), device_permissions, protocols_dir);
        Ok(Arc::new(CdpRuntime::new(slot)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn source(config: CdpConfig, options: Json) -> Result<Source, ErrorReport> {
        CdpProvider::new(config).source(Some(&options))
    }

    #[test]
    fn options_of_an_execution_come_before_the_configuration() {
        let external = || CdpConfig {
            cdp_url: Some("ws://a.test/".into()),
            headers: vec![("X-Key".into(), "hush".into())],
            ..CdpConfig::default()
        };
        let Ok(Source::Endpoint { url, headers }) = source(external(), json!({"cdpUrl": "ws://b.test/"})) else {
            panic!("an endpoint was asked for")
        };
        assert_eq!((url.as_str(), headers), ("ws://b.test/", vec![]), "headers do not leak to another endpoint");
        let Ok(Source::Endpoint { url, headers }) = source(external(), json!({"headers": {"B": "2"}})) else {
            panic!("an endpoint is configured")
        };
        assert_eq!((url.as_str(), headers.len()), ("ws://a.test/", 2));
        assert!(matches!(source(external(), json!({"browser": "/x"})), Ok(Source::Launch { .. })));
        let both = json!({"browser": "/x", "cdpUrl": "ws://b.test/"});
        for wrong in [both, json!({"cdpURL": "ws://b.test/"}), json!({"headers": {"a": 1}}), json!(7)] {
            let error = source(CdpConfig::default(), wrong).err().expect("it is refused");
            assert_eq!(error.code, ErrorCode::InvalidArgument);
        }
    }

    #[test]
    fn secrets_are_not_printed() {
        let config = CdpConfig {
            cdp_url: Some("ws://a.test/?token=hush".into()),
            headers: vec![("X-Key".into(), "hush".into())],
            ..CdpConfig::default()
        };
        let shown = format!("{config:?}");
        assert!(!shown.contains("hush") && shown.contains("X-Key"), "{shown}");
    }
}
