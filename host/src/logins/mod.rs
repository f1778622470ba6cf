//! Login states: cookies and storage of logged-in browsers, which scripts save under a name. Each state belongs to a
//! session key and is stored encrypted in its own file in the state folder. It outlives the browser, until it is
//! removed or has not been used for a long time.
//!
//! This module does not depend on executions, namespaces or browsers.

mod store;

pub use store::{LoginListed, LoginRemoved, LoginStore, LoginsListed};
