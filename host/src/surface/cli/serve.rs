//! `codemode serve`.

use super::{asked::Asked, render::say};
use crate::surface::{
    config::Secret,
    http::{Options, Server},
    text,
};
use clap::Args;
use codemode_spec::{
    ErrorReport,
    limits::{SERVE_GRACE_MS_DEFAULT, SERVE_GRACE_MS_MAX},
};
use std::{io::Write as _, net::SocketAddr, path::PathBuf, time::Duration};

#[derive(Debug, Args)]
pub(super) struct ServeArgs {
    /// Where to listen; port 0 is any free one
    #[arg(long, env = "CODEMODE_LISTEN", value_name = "ADDRESS", default_value = "127.0.0.1:8222")]
    listen: SocketAddr,

    /// The file of named tokens; needed, or CODEMODE_TOKEN, where others than this machine can call
    #[arg(long, env = "CODEMODE_TOKEN_FILE", value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// A name of this host besides localhost and the address; may be repeated
    #[arg(long, env = "CODEMODE_ALLOWED_HOST", value_name = "NAME", value_delimiter = ',')]
    allowed_host: Vec<String>,

    /// An origin whose pages may use this host; may be repeated
    #[arg(long, env = "CODEMODE_ALLOWED_ORIGIN", value_name = "ORIGIN", value_delimiter = ',')]
    allowed_origin: Vec<String>,

    /// Time that running executions are given to end when the host is told to stop, as 30s [default: 10s]
    #[arg(long, env = "CODEMODE_GRACE", value_name = "TIME")]
    #[arg(value_parser = |text: &str| text::milliseconds(text, 0..=SERVE_GRACE_MS_MAX))]
    grace: Option<u64>,

    /// Serve the contract "browser control vNext" too, on this address, as 127.0.0.1:8223
    #[arg(long, env = "CODEMODE_VNEXT", value_name = "ADDRESS")]
    vnext: Option<SocketAddr>,

    /// Its clients may evaluate no functions in pages
    #[arg(long, env = "CODEMODE_NO_EVALUATE")]
    no_evaluate: bool,

    /// The folder whose files its clients may give to pages [default: none]
    #[arg(long, env = "CODEMODE_UPLOADS", value_name = "FOLDER")]
    uploads: Option<PathBuf>,
}

/// The one token of a host that needs no names.
const TOKEN_VARIABLE: &str = "CODEMODE_TOKEN";

pub(super) async fn run(asked: Asked, args: ServeArgs) -> Result<(), ErrorReport> {
    let ServeArgs { listen, token_file, allowed_host, allowed_origin, grace, vnext, no_evaluate, uploads } = args;
    let options = Options {
        listen,
        // No flag: other users of the machine could see it.
        token: std::env::var(TOKEN_VARIABLE).ok().filter(|token| !token.is_empty()).map(Secret),
        token_file,
        allowed_hosts: allowed_host,
        allowed_origins: allowed_origin,
        grace: Duration::from_millis(grace.unwrap_or(SERVE_GRACE_MS_DEFAULT)),
        vnext,
        evaluates: !no_evaluate,
        uploads,
    };
    let server = Server::bind(asked.config.service()?, options).await?;
    // Data: what a program that started this one needs to know. Nobody need read it.
    let _ = writeln!(std::io::stdout().lock(), "http://{}", server.address());
    if let Some(address) = server.vnext_address() {
        let _ = writeln!(std::io::stdout().lock(), "vnext http://{address}");
        say(&format!("serving browser control vNext at http://{address}"));
    }
    say(&format!("serving MCP at http://{}/mcp", server.address()));
    server.run(asked.stop).await;
    Ok(())
}
