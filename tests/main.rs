//! The tests of the whole: scripts through the executor, the executor's promises to providers, a real Chromium, and the
//! program as its users have it.
//!
//! Most of it is case files, see `support/case.rs`. `cargo test -- cases::bounds` runs those of a group.

mod abp;
mod admin;
mod admission;
mod attacks;
mod browser;
mod browser_layer;
mod cases;
mod circles;
mod cli;
mod compile_once;
mod config;
mod dashboard;
mod dist;
mod door;
mod embedder;
mod layers;
mod lease_faults;
mod lease_fencing;
mod lease_sim;
mod lease_store;
mod lease_torture;
mod life_cycle;
mod logins;
mod mcp;
mod memory;
mod metrics;
mod network;
mod otlp;
mod randomness;
mod readme;
mod reference;
mod secrets;
mod serve;
mod session_keys;
mod sessions;
mod shared_browser;
mod site;
mod state_dir;
mod support;
mod terminal;
mod tidy;
mod vnext;
