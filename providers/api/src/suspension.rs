//! How a host suspends and restores runtimes. The bound on a suspended state is enforced here, in one place.

use crate::{
    context::ExecutionContext,
    provider::{Provider, ProviderRuntime, cannot_be_suspended, not_a_state},
};
use codemode_spec::{ErrorReport, limits::SUSPENDED_BYTES_MAX};
use std::sync::Arc;

/// Suspends a runtime and returns its state, for [`restore`].
///
/// # Errors
/// As [`ProviderRuntime::suspend`], with the detail `namespace`, and when the state is larger than
/// [`SUSPENDED_BYTES_MAX`].
///
/// # Cancellation
/// May be dropped at any time, with the effect of a failure.
pub async fn suspend(namespace: &str, runtime: &dyn ProviderRuntime) -> Result<Vec<u8>, ErrorReport> {
    let state = runtime.suspend().await.and_then(|state| {
        let bytes = state.len();
        let too_much =
            || cannot_be_suspended(&format!("it keeps {bytes} bytes, at most {SUSPENDED_BYTES_MAX} are taken"));
        if bytes > SUSPENDED_BYTES_MAX { Err(too_much()) } else { Ok(state) }
    });
    state.map_err(|error| error.with_detail("namespace", namespace))
}

/// Restores a runtime from the state of a suspended one.
///
/// # Errors
/// As [`Provider::restore`]. A state larger than the bound is refused before the provider sees it.
///
/// # Cancellation
/// May be dropped at any time.
pub async fn restore(
    provider: &dyn Provider,
    context: ExecutionContext,
    state: &[u8],
) -> Result<Arc<dyn ProviderRuntime>, ErrorReport> {
    if state.len() > SUSPENDED_BYTES_MAX {
        return Err(not_a_state(&provider.manifest().namespace));
    }
    provider.restore(context, state).await
}
