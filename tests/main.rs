//! Integration tests: scripts run by the executor, the executor's guarantees to providers, a real Chromium, and the
//! program as users run it.
//!
//! Many tests are case files, see `support/case.rs`. `cargo test -- cases::bounds` runs one group of them.

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
mod embedder;
mod hostile_endpoint;
mod keeper_socket;
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
