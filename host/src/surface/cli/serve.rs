//! `codemode serve`.

use super::{asked::Asked, render::say, watched::Watched};
use crate::{
    service::{Service, Settings},
    surface::{
        config::{Config, Said, ServeArgs},
        http::{Options, Reload, Server},
    },
};
use codemode_spec::{ErrorReport, limits::CONFIG_LOOK_MS};
use std::{io::Write as _, time::Duration};
use tokio::{
    signal::unix::{SignalKind, signal},
    time::MissedTickBehavior,
};

pub(super) async fn run(asked: Asked, args: ServeArgs) -> Result<(), ErrorReport> {
    let config = asked.config.and(args);
    // Before anything else: until then the signal would end the process.
    let hang_up = signal(SignalKind::hangup());
    // As they are before they are read: what is written meanwhile is a change.
    let mut watched = Watched::of(config.file());
    let said = config.read()?;
    watched.also(said.serve().token_file);
    let service = Service::builder(settings(&said)?).build()?;
    let server = Server::bind(service.clone(), options(&said)).await?;
    // Data: what a program that started this one needs to know. Nobody need read it.
    let _ = writeln!(std::io::stdout().lock(), "http://{}", server.address());
    if let Some(address) = server.vnext_address() {
        let _ = writeln!(std::io::stdout().lock(), "vnext http://{address}");
        say(&format!("serving browser control vNext at http://{address}"));
    }
    say(&format!("serving MCP at http://{}/mcp", server.address()));
    let reload = server.reload();
    let reloading = async {
        let Ok(mut hang_up) = hang_up else { return std::future::pending().await };
        let mut look = tokio::time::interval(Duration::from_millis(CONFIG_LOOK_MS));
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                told = hang_up.recv() => {
                    if told.is_none() {
                        return;
                    }
                    watched.look();
                }
                _ = look.tick() => {
                    if !watched.have_changed() {
                        continue;
                    }
                    tracing::info!("a file of settings has changed");
                }
            }
            if let Some(again) = reloaded(&config, &said, &service, &reload) {
                watched.only([config.file(), again.serve().token_file].into_iter().flatten());
            }
        }
    };
    tokio::select! {
        () = server.run(asked.stop) => {}
        () = reloading => {}
    }
    Ok(())
}

fn settings(said: &Said) -> Result<Settings, ErrorReport> {
    Ok(Settings { insight: !said.serve().no_insight, ..said.settings()? })
}

fn options(said: &Said) -> Options {
    let serve = said.serve();
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

/// Reads the file of defaults and the file of tokens again, and takes over what a host that runs can. All stays as it was if
/// either is wrong. What is told to need a restart is what is other than at the start. What was read, if all
/// of it is right.
fn reloaded(config: &Config, at_start: &Said, service: &Service, reload: &Reload) -> Option<Said> {
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
