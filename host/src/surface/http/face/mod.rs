//! What the contracts over HTTP have in common: who asks and for which browser, the fields of a request, what is answered.

mod client;
mod failure;
mod fields;
mod verbs;

pub(super) use client::{Client, ask};
pub(super) use failure::{Answered, Failure, Told, failed};
pub(super) use fields::Fields;
pub(super) use verbs::{Page, call, call_whole, give, pages, value_of};
