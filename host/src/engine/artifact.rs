//! The image: the guest, run up to where scripts begin, compiled for this machine, and cached.
//!
//! A cached image is named by what it depends on: the guest's bytes, the compiler's settings and the machine. It is
//! written to a temporary file and renamed, into a folder that only the user can write: loading it means trusting it.
#![expect(unsafe_code, reason = "loading compiled code trusts its bytes; the folder's permissions are checked first")]

use super::sandbox::{self, StoreData};
use std::{
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _},
    path::{Path, PathBuf},
};
use thiserror::Error;
use wasmtime::{Linker, Module, OptLevel, Store};
use wasmtime_wizer::Wizer;

const GUEST: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/guest.wasm"));

/// Why there is no image.
#[derive(Debug, Error)]
pub enum ArtifactError {
    /// The folder or a file in it.
    #[error("could not {doing} {path}")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// To what.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// Others could have written the code.
    #[error("{path} can be written by other users, or belongs to one: compiled code in it cannot be trusted")]
    Untrusted {
        /// The folder.
        path: PathBuf,
    },
    /// The sandbox's own runtime.
    #[error("the sandbox could not be prepared: {0:#}")]
    Engine(wasmtime::Error),
}

impl ArtifactError {
    pub(super) fn engine(error: wasmtime::Error) -> Self {
        Self::Engine(error)
    }

    fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { doing, path: path.to_owned(), source }
    }
}

/// A compiled image.
pub struct Image {
    module: Module,
}

impl Image {
    /// The image of this build for this engine, from the folder or made anew.
    pub(super) fn open(
        engine: &wasmtime::Engine,
        folder: &Path,
        progress: &dyn Fn(&str),
    ) -> Result<Self, ArtifactError> {
        private_folder(folder)?;
        let path = folder.join(Self::file_name(engine));
        if path.exists() {
            match Self::load(engine, &path) {
                Ok(image) => return Ok(image),
                // Cut short by a full disk, or of another build of the runtime: making it anew is the remedy.
                Err(error) => progress(&format!("the sandbox image is damaged and is made anew ({error:#})")),
            }
        }
        progress("preparing the sandbox image (once for this version, some seconds)");
        let compiled = make(engine).map_err(ArtifactError::Engine)?;
        write_atomically(folder, &path, &compiled)?;
        progress("the sandbox image is ready");
        Self::load(engine, &path).map_err(ArtifactError::Engine)
    }

    /// Whether the folder has the image of this build for this machine.
    #[must_use]
    pub fn is_cached(folder: &Path) -> bool {
        wasmtime::Engine::new(&super::config(true)).is_ok_and(|engine| folder.join(Self::file_name(&engine)).exists())
    }

    pub(super) fn module(&self) -> &Module {
        &self.module
    }

    fn file_name(engine: &wasmtime::Engine) -> String {
        let mut hasher = DefaultHasher::new();
        GUEST.hash(&mut hasher);
        engine.precompile_compatibility_hash().hash(&mut hasher);
        format!("guest-{:016x}.cwasm", hasher.finish())
    }

    fn load(engine: &wasmtime::Engine, path: &Path) -> wasmtime::Result<Self> {
        // SAFETY: the file was written by this program, in a folder that no other user can write.
        let module = unsafe { Module::deserialize_file(engine, path)? };
        Ok(Self { module })
    }
}

/// Runs the guest up to where scripts begin, freezes it, and compiles what it has become.
fn make(engine: &wasmtime::Engine) -> wasmtime::Result<Vec<u8>> {
    let mut config = super::config(false);
    // What runs once is not worth optimising.
    config.cranelift_opt_level(OptLevel::None).epoch_interruption(false);
    let initialising = wasmtime::Engine::new(&config)?;
    let mut linker = Linker::new(&initialising);
    sandbox::link(&mut linker)?;
    let mut store: Store<StoreData> = Store::new(&initialising, StoreData::new());
    let mut wizer = Wizer::new();
    wizer.init_func(codemode_spec::abi::INITIALIZE);
    let frozen = wizer.run(&mut store, GUEST, async |store, module| linker.instantiate_async(store, module).await);
    let frozen = futures::executor::block_on(frozen)?;
    engine.precompile_module(&frozen)
}

fn private_folder(folder: &Path) -> Result<(), ArtifactError> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(ArtifactError::io("make the folder", folder))?;
    let metadata = fs::metadata(folder).map_err(ArtifactError::io("look at", folder))?;
    let ours = metadata.uid() == rustix::process::geteuid().as_raw();
    if !ours || metadata.mode() & 0o022 != 0 {
        return Err(ArtifactError::Untrusted { path: folder.to_owned() });
    }
    Ok(())
}

/// Two processes that make the same image at the same time both succeed: the later rename replaces equal bytes.
fn write_atomically(folder: &Path, path: &Path, bytes: &[u8]) -> Result<(), ArtifactError> {
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(ArtifactError::io("write a file in", folder))?;
    file.write_all(bytes).and_then(|()| file.as_file().sync_all()).map_err(ArtifactError::io("write", path))?;
    file.persist(path).map_err(|error| ArtifactError::io("write", path)(error.error))?;
    Ok(())
}
