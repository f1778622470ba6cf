//! The namespace `secret`: handles for values that an operator has stored and that scripts never see.
//!
//! `secret("NAME")` returns a handle that a script passes where a person would type the value; the verb engine inserts
//! the value into pages of its origin. This crate holds no values: it lists names and origins, and its layer
//! (`js/secret.js`) defines the handle.
//!
//! This crate knows neither the sandbox nor the host, and no other namespace.
#![forbid(unsafe_code)]

use async_trait::async_trait;
use codemode_provider::{CallContext, Ending, ExecutionContext, Need, Provider, ProviderRuntime, Secrets};
use codemode_spec::{Effect, ErrorCode, ErrorReport, Manifest, Method, Signature, Value, message::Encoded};
use serde_json::json;
use std::sync::Arc;

/// The name of the global object in scripts.
const NAMESPACE: &str = "secret";
/// The JavaScript layer, which creates a handle from a name.
const LAYER: &str = include_str!("../js/secret.js");
/// The declaration of the namespace in the tool's description.
const DECLARATION: &str = include_str!("../js/declaration.d.ts.txt");

/// Offers the namespace `secret`.
pub struct SecretProvider {
    manifest: Manifest,
}

impl SecretProvider {
    /// Creates the provider. The host must offer [`Secrets`] as a service.
    #[must_use]
    pub fn new() -> Self {
        let list = Method {
            name: "list".into(),
            doc: "The names that there are, and the origin of each.".into(),
            signatures: vec![Signature::default()],
            returns: json!({"type": "array"}),
            effect: Effect::Read,
            background: false,
        };
        let manifest = Manifest {
            namespace: NAMESPACE.into(),
            doc: "Values of the operator's that scripts never see.".into(),
            methods: vec![list],
            layer: Some(LAYER.into()),
            declaration: Some(DECLARATION.into()),
        };
        Self { manifest }
    }
}

impl Default for SecretProvider {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Provider for SecretProvider {
    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn needs(&self) -> Vec<Need> {
        vec![Need::of::<dyn Secrets>()]
    }

    async fn create(&self, context: ExecutionContext) -> Result<Arc<dyn ProviderRuntime>, ErrorReport> {
        Ok(Arc::new(Names { secrets: context.services.require()? }))
    }
}

/// The runtime of one execution.
struct Names {
    secrets: Arc<dyn Secrets>,
}

#[async_trait]
impl ProviderRuntime for Names {
    async fn call(&self, method: &str, _: Vec<Value>, _: CallContext) -> Result<Encoded, ErrorReport> {
        if method != "list" {
            return Err(ErrorReport::new(ErrorCode::UnknownMethod, format!("{NAMESPACE}.{method} does not exist")));
        }
        let listed = self.secrets.all().iter().map(|secret| json!({"name": secret.name, "origin": secret.origin}));
        Ok(listed.collect::<serde_json::Value>().into())
    }

    /// Keeps no state: the secrets are queried again where the execution resumes.
    async fn suspend(&self) -> Result<Vec<u8>, ErrorReport> {
        Ok(Vec::new())
    }

    async fn dispose(&self, _: Ending) -> Result<(), ErrorReport> {
        Ok(())
    }
}
