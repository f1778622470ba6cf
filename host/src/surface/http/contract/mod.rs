//! What the HTTP contracts ABP and vNext share: the client and the fields of a request, answers and failures, and calls
//! of verbs.

mod client;
mod failure;
mod fields;
mod verbs;

pub(super) use client::{Client, read_request};
pub(super) use failure::{Answered, Failure, Success, failed};
pub(super) use fields::Fields;
pub(super) use verbs::{GRACE_MS, Page, call, call_whole, call_with_files, pages, value_of};
