//! The image: the guest, run up to where scripts begin, compiled for this machine, and cached.
//!
//! A cached image is named by what it depends on: the guest's bytes, the compiler's settings and the machine. It is
//! written to a temporary file and renamed, into a folder that only the user can write: loading it means trusting it.
#![expect(unsafe_code, reason = "loading compiled code trusts its bytes; the folder's permissions are checked first")]

use super::{
    config::config,
    sandbox::{self, StoreData},
};
use codemode_chromium::{PrivateDir, Untrusted};
use codemode_spec::limits::TURN_THREAD_STACK_BYTES;
use std::{
    fs::File,
    hash::{DefaultHasher, Hash, Hasher},
    io,
    path::{Path, PathBuf},
    thread,
};
use thiserror::Error;
use wasmtime::{Instance, Linker, Module, OptLevel, Store, Val};
use wasmtime_wizer::{InstanceState, SnapshotVal, ValType, Wizer};

const GUEST: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/guest.wasm"));

/// Why there is no image.
#[derive(Debug, Error)]
pub enum ArtifactError {
    /// The folder or a file in it.
    #[error("could not {doing} {path}")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// Others could have written the code.
    #[error("compiled code cannot be trusted: {0}")]
    Untrusted(Untrusted),
    /// The sandbox's own runtime.
    #[error("the sandbox could not be prepared: {0:#}")]
    Engine(wasmtime::Error),
}

impl ArtifactError {
    pub(super) fn engine(error: wasmtime::Error) -> Self {
        Self::Engine(error)
    }

    fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| match Untrusted::of(&source) {
            Some(why) => Self::Untrusted(why.clone()),
            None => Self::Io { doing, path: path.to_owned(), source },
        }
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
        let folder = PrivateDir::make(folder).map_err(ArtifactError::io("use the folder", folder))?;
        let name = Self::file_name(engine);
        let path = folder.path().join(&name);
        let open = || folder.read(&name).map_err(ArtifactError::io("open", &path));
        if let Some(file) = open()? {
            match Self::load(engine, file) {
                Ok(image) => return Ok(image),
                // Cut short by a full disk, or of another build of the runtime: making it anew is the remedy.
                Err(error) => progress(&format!("the sandbox image is damaged and is made anew ({error:#})")),
            }
        }
        progress("preparing the sandbox image (once for this version, some seconds)");
        let compiled = make(engine).map_err(ArtifactError::Engine)?;
        // Two processes that make the same image at the same time both succeed: the later one replaces equal bytes.
        folder.replace(&name, &compiled).map_err(ArtifactError::io("write", &path))?;
        progress("the sandbox image is ready");
        let gone = || ArtifactError::io("open", &path)(io::ErrorKind::NotFound.into());
        Self::load(engine, open()?.ok_or_else(gone)?).map_err(ArtifactError::Engine)
    }

    /// Whether the folder has the image of this build for this machine.
    #[must_use]
    pub fn is_cached(folder: &Path) -> bool {
        wasmtime::Engine::new(&config(true)).is_ok_and(|engine| folder.join(Self::file_name(&engine)).exists())
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

    fn load(engine: &wasmtime::Engine, file: File) -> wasmtime::Result<Self> {
        // SAFETY: the file was written by this program: it is this user's, no other user can write it, it has no second
        // name, and it was opened in a folder of which the same holds, through no link.
        let module = unsafe { Module::deserialize_open_file(engine, file)? };
        Ok(Self { module })
    }
}

/// Runs the guest up to where scripts begin, freezes it, and compiles what it has become. On a thread of its own, whose
/// stack is as large as wasm may want it.
fn make(engine: &wasmtime::Engine) -> wasmtime::Result<Vec<u8>> {
    thread::scope(|scope| {
        let maker =
            thread::Builder::new().stack_size(TURN_THREAD_STACK_BYTES).spawn_scoped(scope, || freeze(engine))?;
        maker.join().unwrap_or_else(|_| Err(wasmtime::Error::msg("the making of the image panicked")))
    })
}

fn freeze(engine: &wasmtime::Engine) -> wasmtime::Result<Vec<u8>> {
    let mut config = config(false);
    // What runs once is not worth optimising.
    config.cranelift_opt_level(OptLevel::None).epoch_interruption(false);
    let initialising = wasmtime::Engine::new(&config)?;
    let mut linker = Linker::new(&initialising);
    sandbox::link(&mut linker)?;
    let mut store: Store<StoreData> = Store::new(&initialising, StoreData::new());
    let mut wizer = Wizer::new();
    wizer.init_func(codemode_spec::abi::INITIALIZE);
    let (module, instrumented) = wizer.instrument(GUEST)?;
    let instance = linker.instantiate(&mut store, &Module::new(&initialising, &instrumented)?)?;
    instance.get_typed_func::<(), ()>(&mut store, codemode_spec::abi::INITIALIZE)?.call(&mut store, ())?;
    let mut initialised = Initialised { store: &mut store, instance };
    let frozen = futures::executor::block_on(wizer.snapshot(&module, &mut initialised))?;
    engine.precompile_module(&frozen)
}

/// An instance that has run up to where scripts begin, as [`Wizer`] reads it.
struct Initialised<'s> {
    store: &'s mut Store<StoreData>,
    instance: Instance,
}

impl InstanceState for Initialised<'_> {
    async fn global_get(&mut self, name: &str, _: ValType) -> SnapshotVal {
        let global = self.instance.get_global(&mut *self.store, name).expect("instrumented: every global is exported");
        match global.get(&mut *self.store) {
            Val::I32(value) => SnapshotVal::I32(value),
            Val::I64(value) => SnapshotVal::I64(value),
            Val::F32(bits) => SnapshotVal::F32(bits),
            Val::F64(bits) => SnapshotVal::F64(bits),
            Val::V128(value) => SnapshotVal::V128(value.as_u128()),
            other => unreachable!("the guest has no globals of this type: {other:?}"),
        }
    }

    async fn memory_contents(&mut self, name: &str, contents: impl FnOnce(&[u8]) + Send) {
        let memory = self.instance.get_memory(&mut *self.store, name).expect("instrumented: the memory is exported");
        contents(memory.data(&self.store));
    }
}
