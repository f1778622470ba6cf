//! `codemode serve`: runs the HTTP host, and reloads its settings on SIGHUP or when their files change.

use super::{context::Context, file_watch::FileWatch, render::say};
use crate::{
    service::{Service, Settings},
    surface::{
        config::{Config, ResolvedConfig, ServeArgs},
        http::{Options, Reload, Server},
    },
};
use codemode_spec::{ErrorReport, limits::CONFIG_LOOK_MS};
use std::{io::Write as _, time::Duration};
use tokio::{
    signal::unix::{SignalKind, signal},
    time::MissedTickBehavior,
};

pub(super) async fn run(context: Context, args: ServeArgs) -> Result<(), ErrorReport> {
    let config = context.config.and(args);
    // Installed first: until then SIGHUP would kill the process.
    let hang_up = signal(SignalKind::hangup());
    // Stamped before the files are read, so that a write in between counts as a change.
    let mut watched = FileWatch::new(config.file());
    let resolved = config.read()?;
    watched.add(resolved.serve().token_file);
    let service = Service::builder(settings(&resolved)?).build()?;
    let server = Server::bind(service.clone(), options(&resolved)).await?;
    // The address is data for the program that started this one. A failed write is ignored: the output need not be
    // read.
    let _ = writeln!(std::io::stdout().lock(), "http://{}", server.address());
    if let Some(address) = server.vnext_address() {
        let _ = writeln!(std::io::stdout().lock(), "vnext http://{address}");
        say(&format!("serving browser control vNext at http://{address}"));
    }
    say(&format!("serving MCP at http://{}/mcp", server.address()));
    let reload = server.reload();
    let reloading = async {
        let Ok(mut hang_up) = hang_up else { return std::future::pending().await };
        let mut poll = tokio::time::interval(Duration::from_millis(CONFIG_LOOK_MS));
        poll.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                Some(()) = hang_up.recv() => watched.mark_read(),
                _ = poll.tick() => {
                    if !watched.poll_changed() {
                        continue;
                    }
                    tracing::info!("a file of settings has changed");
                }
            }
            if let Some(again) = reloaded(&config, &resolved, &service, &reload) {
                watched.replace([config.file(), again.serve().token_file].into_iter().flatten());
            }
        }
    };
    tokio::select! {
        () = server.run(context.stop) => {}
        // Never: only the server's own end, after its grace period, ends the program.
        () = reloading => {}
    }
    Ok(())
}

fn settings(resolved: &ResolvedConfig) -> Result<Settings, ErrorReport> {
    Ok(Settings { insight: !resolved.serve().no_insight, ..resolved.settings()? })
}

fn options(resolved: &ResolvedConfig) -> Options {
    let serve = resolved.serve();
    Options {
        listen: serve.listen.expect("it is declared with a default"),
        token: serve.token,
        token_file: serve.token_file,
        allowed_hosts: serve.allowed_hosts,
        allowed_origins: serve.allowed_origins,
        patience: serve.patience_ms.map_or(Duration::MAX, Duration::from_millis),
        grace: Duration::from_millis(serve.grace_ms.expect("it is declared with a default")),
        vnext: serve.vnext,
        evaluates: !serve.no_evaluate,
        uploads: serve.uploads,
        keeps_history: !serve.no_history,
    }
}

/// Reads the configuration file and the token file again and applies the settings that can change at run time. If
/// either file is invalid, nothing changes. Logs the settings that differ from those at the start and need a restart.
/// Returns the new settings, if they are valid.
fn reloaded(config: &Config, at_start: &ResolvedConfig, service: &Service, reload: &Reload) -> Option<ResolvedConfig> {
    let again = config.read().and_then(|again| {
        let serve = again.serve();
        let callers = reload.tokens(serve.token.as_ref(), serve.token_file.as_deref())?;
        let (session, result_chars) = again.of_calls();
        service.set_defaults_of_calls(session, result_chars)?;
        Ok((again, callers))
    });
    let (again, callers) = match again {
        Ok(again) => again,
        Err(error) => {
            tracing::error!(%error, "nothing was reloaded: the settings are as they were");
            return None;
        }
    };
    let (taken, left) = at_start.changed(&again);
    tracing::info!(callers, since_start = taken.join(", "), "the settings were reloaded");
    if !left.is_empty() {
        tracing::warn!(settings = left.join(", "), "these settings have changed, and need a restart");
    }
    Some(again)
}
