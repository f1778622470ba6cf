//! The sandbox image: a snapshot of the guest after initialisation, compiled for this machine and cached on disk.
//!
//! A cached image is named by a hash of its inputs: the guest's bytes, the layers of the namespaces, the compiler's
//! settings and the machine. It is written to a temporary file and renamed, in a folder that only the user can write,
//! because loading it means executing it.
#![expect(unsafe_code, reason = "loading compiled code trusts its bytes; the folder's permissions are checked first")]

use super::{
    config::config,
    sandbox::{self, StoreData},
};
use codemode_chromium::{PrivateDir, Untrusted};
use codemode_guest_wasm::WASM;
use codemode_spec::{
    abi,
    limits::{IMAGES_CACHED_MAX, LAYERS_BYTES_MAX, TURN_BYTES_MAX, TURN_THREAD_STACK_BYTES},
    message::{self, Layer, LayerAdded},
};
use std::{
    cmp::Reverse,
    fs::File,
    hash::{DefaultHasher, Hash, Hasher},
    io,
    path::{Path, PathBuf},
    thread,
    time::{Duration, SystemTime},
};
use thiserror::Error;
use wasmtime::{Instance, Linker, Module, OptLevel, Store, Trap, Val};
use wasmtime_wizer::{InstanceState, SnapshotVal, ValType, Wizer};

/// The beginning and the end of an image's file name.
const PREFIX: &str = "guest-";
const SUFFIX: &str = ".cwasm";
/// The end of the name of a file that [`PrivateDir::replace`] has not renamed yet.
const SUFFIX_UNFINISHED: &str = ".new";
/// The time without a write after which no process is still writing such a file: an image is written within seconds.
const UNFINISHED_KEPT: Duration = Duration::from_secs(3_600);

/// Why the image could not be provided.
#[derive(Debug, Error)]
pub enum ArtifactError {
    /// A file operation on the folder or on a file in it failed.
    #[error("could not {doing} {path}")]
    Io {
        /// The operation that failed.
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// Another user could have written the code.
    #[error("compiled code cannot be trusted: {0}")]
    Untrusted(Untrusted),
    /// A namespace's JavaScript cannot be evaluated.
    #[error("the layer of the namespace {namespace} cannot be used: {why}")]
    Layer {
        /// The namespace.
        namespace: String,
        /// What is wrong with the layer.
        why: String,
    },
    /// The layers together are too large.
    #[error("the layers of the namespaces have {bytes} bytes, at most {LAYERS_BYTES_MAX} are taken")]
    LayersTooLarge {
        /// Their size in bytes.
        bytes: usize,
    },
    /// wasmtime failed.
    #[error("the sandbox could not be prepared: {0:#}")]
    Engine(wasmtime::Error),
}

impl From<wasmtime::Error> for ArtifactError {
    fn from(error: wasmtime::Error) -> Self {
        Self::Engine(error)
    }
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
    /// The image of this build with these layers for this engine, loaded from the folder or built.
    pub(super) fn open(
        engine: &wasmtime::Engine,
        folder: &Path,
        layers: &[Layer],
        progress: &dyn Fn(&str),
    ) -> Result<Self, ArtifactError> {
        let bytes = layers.iter().map(|layer| layer.source.len()).sum();
        if bytes > LAYERS_BYTES_MAX {
            return Err(ArtifactError::LayersTooLarge { bytes });
        }
        let layers = in_order(layers);
        let folder = PrivateDir::make(folder).map_err(ArtifactError::io("use the folder", folder))?;
        let name = Self::file_name(engine, &layers);
        let path = folder.path().join(&name);
        let open = || folder.read(&name).map_err(ArtifactError::io("open", &path));
        if let Some(file) = open()? {
            // The modification time is the time of the last use. It matters only in a folder that can be written.
            let _ = file.set_modified(SystemTime::now());
            match Self::load(engine, file) {
                Ok(image) => return Ok(image),
                // Truncated by a full disk, or written by another build of wasmtime: rebuilding is the remedy.
                Err(error) => progress(&format!("the sandbox image is damaged and is made anew ({error:#})")),
            }
        }
        progress("preparing the sandbox image (once for this version, some seconds)");
        let compiled = make(engine, &layers)?;
        // Two processes that build the same image at the same time both succeed: the later one replaces equal bytes.
        folder.replace(&name, &compiled).map_err(ArtifactError::io("write", &path))?;
        progress("the sandbox image is ready");
        let vanished = || ArtifactError::io("open", &path)(io::ErrorKind::NotFound.into());
        let image = Self::load(engine, open()?.ok_or_else(vanished)?)?;
        if let Err(error) = remove_unused(&folder, SystemTime::now()) {
            tracing::warn!(%error, "old sandbox images could not be removed");
        }
        Ok(image)
    }

    /// Whether the folder holds the image of this build with these layers for this machine.
    #[must_use]
    pub fn is_cached(folder: &Path, layers: &[Layer]) -> bool {
        let name = |engine: &_| Self::file_name(engine, &in_order(layers));
        wasmtime::Engine::new(&config(true)).is_ok_and(|engine| folder.join(name(&engine)).exists())
    }

    pub(super) fn module(&self) -> &Module {
        &self.module
    }

    fn file_name(engine: &wasmtime::Engine, layers: &[&Layer]) -> String {
        let mut hasher = DefaultHasher::new();
        WASM.hash(&mut hasher);
        layers.hash(&mut hasher);
        engine.precompile_compatibility_hash().hash(&mut hasher);
        format!("{PREFIX}{:016x}{SUFFIX}", hasher.finish())
    }

    fn load(engine: &wasmtime::Engine, file: File) -> wasmtime::Result<Self> {
        // SAFETY: the file was written by this program: it belongs to this user, no other user can write it, it has no
        // other hard link, and it was opened without following links in a folder for which the same holds.
        let module = unsafe { Module::deserialize_open_file(engine, file)? };
        Ok(Self { module })
    }
}

/// Removes the images used longest ago, beyond the limit: each version of this program and of its namespaces' layers
/// has an image of its own. Processes that have mapped a removed image keep it. Also removes what processes left that
/// were killed while they wrote an image.
fn remove_unused(folder: &PrivateDir, now: SystemTime) -> io::Result<()> {
    let mut images = Vec::new();
    for name in folder.names()? {
        let is_named = |suffix| name.to_str().is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(suffix));
        // Another process may have removed the file meanwhile.
        let Some(used) = folder.metadata(&name).ok().and_then(|metadata| metadata.modified().ok()) else { continue };
        if is_named(SUFFIX) {
            images.push((Reverse(used), name));
        } else if is_named(SUFFIX_UNFINISHED) && now.duration_since(used).is_ok_and(|age| age > UNFINISHED_KEPT) {
            folder.remove_file(name)?;
        }
    }
    images.sort_unstable();
    images.into_iter().skip(IMAGES_CACHED_MAX).try_for_each(|(_, name)| folder.remove_file(name))
}

/// The order in which layers are evaluated, independent of the order in which a host registers its namespaces.
fn in_order(layers: &[Layer]) -> Vec<&Layer> {
    let mut layers: Vec<_> = layers.iter().collect();
    layers.sort_unstable();
    layers
}

/// Runs the guest's initialisation, takes a snapshot and compiles it. Runs on a dedicated thread whose stack is as
/// large as wasm may need.
fn make(engine: &wasmtime::Engine, layers: &[&Layer]) -> Result<Vec<u8>, ArtifactError> {
    thread::scope(|scope| {
        let maker = thread::Builder::new()
            .stack_size(TURN_THREAD_STACK_BYTES)
            .spawn_scoped(scope, || freeze(engine, layers))
            .map_err(wasmtime::Error::from)?;
        maker.join().unwrap_or_else(|_| Err(wasmtime::Error::msg("the making of the image panicked").into()))
    })
}

fn freeze(engine: &wasmtime::Engine, layers: &[&Layer]) -> Result<Vec<u8>, ArtifactError> {
    let mut config = config(false);
    // Code that runs once is not worth optimising.
    config.cranelift_opt_level(OptLevel::None).epoch_interruption(false);
    let initialising = wasmtime::Engine::new(&config)?;
    let mut linker = Linker::new(&initialising);
    sandbox::link(&mut linker)?;
    let mut store: Store<StoreData> = Store::new(&initialising, StoreData::new());
    store.limiter(|data| data);
    let mut wizer = Wizer::new();
    wizer.init_func(abi::INITIALIZE);
    let (module, instrumented) = wizer.instrument(WASM)?;
    let instance = linker.instantiate(&mut store, &Module::new(&initialising, &instrumented)?)?;
    instance.get_typed_func::<(), ()>(&mut store, abi::INITIALIZE)?.call(&mut store, ())?;
    for layer in layers {
        let added = add_layer(&mut store, &instance, layer);
        let added = added.unwrap_or_else(|error| Err(why_broken(&error, store.data())));
        added.map_err(|why| ArtifactError::Layer { namespace: layer.namespace.clone(), why })?;
    }
    let mut initialised = Initialised { store: &mut store, instance };
    let frozen = futures::executor::block_on(wizer.snapshot(&module, &mut initialised))?;
    Ok(engine.precompile_module(&frozen)?)
}

/// Evaluates a layer in the guest.
///
/// # Errors
/// When the layer breaks the guest: it nests too deeply, or needs more memory than a sandbox has.
fn add_layer(store: &mut Store<StoreData>, instance: &Instance, layer: &Layer) -> wasmtime::Result<LayerAdded> {
    let message = message::encode(layer);
    let buffer = instance.get_typed_func::<u32, u32>(&mut *store, abi::BUFFER)?;
    let add = instance.get_typed_func::<u32, u64>(&mut *store, abi::LAYER)?;
    let length = u32::try_from(message.len())?;
    let pointer = buffer.call(&mut *store, length)?;
    let memory = instance.get_memory(&mut *store, abi::MEMORY).ok_or_else(|| wasmtime::Error::msg("no memory"))?;
    memory.write(&mut *store, pointer as usize, &message)?;
    let (pointer, length) = abi::unpack(add.call(&mut *store, length)?);
    let mut answer = vec![0; (length as usize).min(TURN_BYTES_MAX)];
    memory.read(&*store, pointer as usize, &mut answer)?;
    message::decode(&answer).map_err(|error| wasmtime::format_err!("the answer says no layer: {error}"))
}

/// The reason why a layer broke the guest, worded for its author.
fn why_broken(error: &wasmtime::Error, data: &StoreData) -> String {
    match error.downcast_ref::<Trap>() {
        Some(Trap::StackOverflow | Trap::MemoryOutOfBounds) => "it nests calls or data too deeply".to_owned(),
        Some(Trap::UnreachableCodeReached) => data.panic_message(),
        _ => error.root_cause().to_string(),
    }
}

/// An initialised instance, as [`Wizer`] reads it.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_writer_left_goes_and_what_is_being_written_stays() {
        let temp = tempfile::tempdir().unwrap();
        let folder = PrivateDir::make(temp.path()).unwrap();
        let now = SystemTime::now();
        for (name, age) in [
            ("guest-0a.cwasm", 2 * UNFINISHED_KEPT),
            ("guest-0b.00ff.new", 2 * UNFINISHED_KEPT),
            ("guest-0b.01ff.new", UNFINISHED_KEPT / 2),
            ("protocol.00ff.new", 2 * UNFINISHED_KEPT),
        ] {
            folder.create(name).unwrap().set_modified(now - age).unwrap();
        }
        remove_unused(&folder, now).unwrap();
        let mut names = folder.names().unwrap();
        names.sort_unstable();
        assert_eq!(names, ["guest-0a.cwasm", "guest-0b.01ff.new", "protocol.00ff.new"]);
    }
}
