//! The sandbox engine: everything that uses wasmtime. It knows the messages of the contract, but not what the calls in
//! them mean.
//!
//! Invariant: a sandbox can reach nothing. Its WASI has no files, arguments, environment or sockets, a clock that
//! stands still and a random source that is always zero; everything else arrives in messages.

mod artifact;
mod config;
mod kernel;
mod sandbox;
mod threads;
mod ticker;

pub use artifact::{ArtifactError, Image};
pub use kernel::Kernel;
pub use sandbox::{Allowance, Sandbox, Stop};
pub use threads::Threads;

use codemode_spec::message::Layer;
use config::config;
use sandbox::StoreData;
use std::{path::Path, sync::Arc};
use ticker::Ticker;
use wasmtime::{InstancePre, Linker};

/// Creates sandboxes. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

struct Inner {
    instance_pre: InstancePre<StoreData>,
    ticker: Ticker,
    threads: Threads,
}

impl Engine {
    /// An engine for the image with these layers, loaded from a folder. A missing image is built first, which takes
    /// some seconds and is reported to `progress`.
    ///
    /// # Errors
    /// When the image can be neither loaded nor built.
    pub fn open(images: &Path, layers: &[Layer], progress: &dyn Fn(&str)) -> Result<Self, ArtifactError> {
        let wasmtime = wasmtime::Engine::new(&config(true)).map_err(ArtifactError::engine)?;
        let image = Image::open(&wasmtime, images, layers, progress)?;
        let mut linker = Linker::new(&wasmtime);
        sandbox::link(&mut linker).map_err(ArtifactError::engine)?;
        let instance_pre = linker.instantiate_pre(image.module()).map_err(ArtifactError::engine)?;
        let ticker = Ticker::new(wasmtime);
        Ok(Self { inner: Arc::new(Inner { instance_pre, ticker, threads: Threads::new() }) })
    }

    /// A fresh sandbox, in the state of the image's snapshot.
    ///
    /// # Errors
    /// When the pool is exhausted, or the image does not have this ABI.
    pub fn sandbox(&self) -> Result<Sandbox, Stop> {
        Sandbox::new(&self.inner.instance_pre, &self.inner.ticker)
    }

    /// The threads on which turns run.
    #[must_use]
    pub fn threads(&self) -> &Threads {
        &self.inner.threads
    }
}
