//! The operations of a store, written once for all databases: each loads the rows that a rule needs, asks the rule, writes
//! what it says, and adds to the audit, all within one transaction.

pub(super) mod audit;
pub(super) mod leases;
pub(super) mod sessions;

use super::StoreError;

type Done<T> = Result<T, StoreError>;
