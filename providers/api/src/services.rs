//! The services that a host offers to namespaces, looked up by type.
//!
//! A namespace declares the services that it requires (`Provider::needs`); a host that lacks one refuses before
//! anything runs. A new service is therefore a new type, and neither the context nor other namespaces change with it.

use codemode_spec::{ErrorCode, ErrorReport};
use std::{
    any::{Any, TypeId, type_name},
    collections::HashMap,
    fmt,
    io::Read,
    path::PathBuf,
    sync::Arc,
};
use tokio::sync::Semaphore;

/// A map of services by type, with one service per type. Cheap to clone.
#[derive(Clone, Default)]
pub struct Services {
    /// Each value is an `Arc<T>` under the `TypeId` of `T`; `T` may be a trait object.
    by_type: HashMap<TypeId, Arc<dyn Any + Send + Sync>>,
}

impl Services {
    /// Adds a service, replacing an earlier one of the same type.
    pub fn insert<T: ?Sized + Send + Sync + 'static>(&mut self, service: Arc<T>) {
        self.by_type.insert(TypeId::of::<T>(), Arc::new(service));
    }

    /// The service of a type, if the host offers one.
    #[must_use]
    pub fn get<T: ?Sized + Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.by_type.get(&TypeId::of::<T>())?.downcast_ref::<Arc<T>>().cloned()
    }

    /// The service of a type.
    ///
    /// # Errors
    /// `NOT_READY` when the host offers none.
    pub fn require<T: ?Sized + Send + Sync + 'static>(&self) -> Result<Arc<T>, ErrorReport> {
        self.get().ok_or_else(|| Need::of::<T>().missing())
    }

    /// Checks that all required services exist.
    ///
    /// # Errors
    /// `NOT_READY` with the first service that is missing.
    pub fn check(&self, needs: &[Need]) -> Result<(), ErrorReport> {
        let missing = needs.iter().find(|need| !self.by_type.contains_key(&need.id));
        missing.map_or(Ok(()), |need| Err(need.missing()))
    }
}

/// A service that a namespace requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    id: TypeId,
    name: &'static str,
}

impl Need {
    /// The service of this type.
    #[must_use]
    pub fn of<T: ?Sized + 'static>() -> Self {
        Self { id: TypeId::of::<T>(), name: type_name::<T>() }
    }

    fn missing(self) -> ErrorReport {
        ErrorReport::new(ErrorCode::NotReady, format!("this host has no {self}"))
            .with_hint("An embedder adds the service to the settings of its executor.")
    }
}

impl fmt::Display for Need {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name.trim_start_matches("dyn "))
    }
}

/// The folders of an execution. Only the user of the host can read them.
#[derive(Clone, Debug)]
pub struct Folders {
    /// The host's state folder.
    pub state: PathBuf,
    /// The folder of the browsers' profiles and of the ledgers that record their owners.
    pub profiles: PathBuf,
    /// The download folder of this execution, unless its session specifies another one.
    pub downloads: PathBuf,
}

/// The host's memory budget, over all executions, for replies that no turn has taken yet: one permit per byte.
#[derive(Clone, Debug)]
pub struct ReplyRoom(pub Arc<Semaphore>);

/// Accepts files for an execution's answer, besides those of the script's result. A host may offer no such service.
pub trait AnswerFiles: Send + Sync {
    /// Copies the content into a file of the answer and returns the file's name there. `name` is the name that a page
    /// or a script gives the file; characters that file names of codemode do not allow are removed from it. Blocks.
    ///
    /// # Errors
    /// `RESULT_TOO_LARGE` when there are too many files or the file is too large, `IO_ERROR`.
    fn keep(&self, name: &str, content: &mut dyn Read) -> Result<KeptFile, ErrorReport>;
}

/// A file of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptFile {
    /// The last component of its path.
    pub name: String,
    /// Its media type, detected from its first bytes.
    pub mime_type: String,
    /// Its size in bytes.
    pub bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    trait Named: Send + Sync {
        fn name(&self) -> &str;
    }

    struct One;

    impl Named for One {
        fn name(&self) -> &str {
            "one"
        }
    }

    #[test]
    fn a_service_is_found_by_its_type_and_only_by_that() {
        let mut services = Services::default();
        services.insert::<dyn Named>(Arc::new(One));
        services.insert(Arc::new(7_u32));
        services.insert(Arc::new(8_u32));
        assert_eq!(services.get::<dyn Named>().map(|named| named.name().to_owned()).as_deref(), Some("one"));
        assert_eq!(services.get::<u32>().as_deref(), Some(&8), "the last of a type is the one");
        assert!(services.get::<u64>().is_none() && services.get::<One>().is_none());
        assert_eq!(services.check(&[Need::of::<u32>(), Need::of::<dyn Named>()]), Ok(()));
        let missing = services.check(&[Need::of::<u32>(), Need::of::<u64>()]).unwrap_err();
        assert_eq!((missing.code, missing.message.as_str()), (ErrorCode::NotReady, "this host has no u64"));
        assert_eq!(services.require::<u64>().unwrap_err(), missing);
    }
}
