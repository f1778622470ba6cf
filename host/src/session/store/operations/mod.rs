//! The operations of a store, written once for all databases: each loads the rows that a rule needs, applies the rule,
//! writes its result, and appends to the audit, all within one transaction.

pub(super) mod audit;
pub(super) mod leases;
pub(super) mod sessions;

use super::StoreError;

type Done<T> = Result<T, StoreError>;
