//! `codemode run`.

use super::{
    asked::{Asked, Output},
    render::{Text, print},
};
use crate::{
    service::{self, ExecuteRequest, NetworkLists, NoObserver, Service, SessionMode, SessionRequest, checked_key},
    surface::text,
};
use clap::{Args, Command, error::ErrorKind, value_parser};
use codemode_spec::{
    Envelope, ErrorCode, ErrorReport,
    envelope::ExecutionData,
    limits::{
        LEASE_WAIT_MS_MAX, RESULT_CHARS_MAX, RESULT_CHARS_MIN, SESSION_IDLE_MS_MAX, SESSION_IDLE_MS_MIN,
        SOURCE_BYTES_MAX, WALL_MS_MAX, WALL_MS_MIN,
    },
};
use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

#[derive(Debug, Args)]
pub(super) struct RunArgs {
    /// The script; `-` reads it from standard input
    #[arg(required_unless_present = "code", conflicts_with = "code", value_name = "FILE")]
    file: Option<PathBuf>,

    /// The script itself
    #[arg(short = 'e', long = "eval", value_name = "CODE")]
    code: Option<String>,

    #[command(flatten)]
    session: SessionArgs,

    /// Wall time, as 30s, 500ms or 2m [default: 60s]
    #[arg(long, value_parser = milliseconds, value_name = "TIME")]
    timeout: Option<u64>,

    /// Characters of the result in the answer; what is cut is kept whole in a file [default: 24000]
    #[arg(long, value_parser = value_parser!(u64).range(RESULT_CHARS_MIN as u64..=RESULT_CHARS_MAX as u64), value_name = "NUMBER")]
    result_chars: Option<u64>,

    /// Put the answer's images and files, and a result that was cut, into this folder
    #[arg(long = "output", value_name = "DIR")]
    folder: Option<PathBuf>,

    #[command(flatten)]
    output: Output,
}

/// The browser session to run in.
#[derive(Debug, Args)]
struct SessionArgs {
    /// How the browser lives: one-shot, reuse or dynamic [default: reuse if there is a key, else one-shot]
    #[arg(long, value_name = "MODE", requires_ifs = [("reuse", "session_key"), ("dynamic", "session_key")])]
    session_mode: Option<SessionMode>,

    /// Names the browser that is reused
    #[arg(long, value_parser = checked_key, value_name = "KEY")]
    session_key: Option<String>,

    /// How long it is kept unused, as 10m [default: 10m]
    #[arg(long, value_parser = kept, value_name = "TIME")]
    session_ttl: Option<u64>,

    /// How long to wait for it while another execution uses it [default: 30s]
    #[arg(long, value_parser = milliseconds_or_none, value_name = "TIME")]
    session_wait: Option<u64>,

    /// What pages may reach, and nothing else: a host, *.HOST, an address or a CIDR, each with :PORT; may be repeated
    #[arg(long, value_name = "PATTERN")]
    net_allow: Vec<String>,

    /// What pages may not reach; may be repeated
    #[arg(long, value_name = "PATTERN")]
    net_deny: Vec<String>,
}

impl SessionArgs {
    /// What was asked for; `None` leaves it to the host.
    fn request(self) -> Option<SessionRequest> {
        let Self { session_mode, session_key, session_ttl, session_wait, net_allow: allow, net_deny: deny } = self;
        let network = (!allow.is_empty() || !deny.is_empty()).then_some(NetworkLists { allow, deny });
        if session_mode.is_none()
            && session_key.is_none()
            && session_ttl.is_none()
            && session_wait.is_none()
            && network.is_none()
        {
            return None;
        }
        let implied = if session_key.is_some() { SessionMode::Reuse } else { SessionMode::OneShot };
        let mode = session_mode.unwrap_or(implied);
        if mode == SessionMode::OneShot && session_key.is_some() {
            // The one combination that clap has no attribute for.
            let message = "the argument '--session-mode one-shot' cannot be used with '--session-key <KEY>'";
            let mut command = RunArgs::augment_args(Command::new("codemode run"));
            command.error(ErrorKind::ArgumentConflict, message).exit();
        }
        Some(SessionRequest {
            mode,
            key: session_key,
            ttl_ms: session_ttl,
            wait_ms: session_wait,
            network,
            caller_network: None,
        })
    }
}

pub(super) async fn run(asked: &Asked, args: RunArgs) -> ExitCode {
    let output = args.output;
    let (envelope, saved) = execute(asked, args).await.unwrap_or_else(|error| (service::refused(error), Vec::new()));
    print(&envelope, (!output.json).then(|| words(&envelope, &saved)))
}

/// Puts the answer's images and files into the folder, and says where they are. That this fails is the answer's error, if it
/// has none.
async fn save(service: &Service, envelope: &mut Envelope, folder: &Path) -> Vec<PathBuf> {
    let (Some(execution), Some(data)) = (&envelope.context.execution_id, executed(envelope)) else {
        return Vec::new();
    };
    service.save_files(execution, &data, folder).await.unwrap_or_else(|error| {
        envelope.ok = false;
        envelope.error.get_or_insert(error);
        Vec::new()
    })
}

/// What the script has left, if it has run.
fn executed(envelope: &Envelope) -> Option<ExecutionData> {
    envelope.data.clone().and_then(|data| serde_json::from_value(data).ok())
}

/// The answer of the tool, and what of it was put into a folder; an error means that the script has not begun.
async fn execute(asked: &Asked, args: RunArgs) -> Result<(Envelope, Vec<PathBuf>), ErrorReport> {
    let session = args.session.request();
    let cancelled = || ErrorReport::new(ErrorCode::Cancelled, "the call was cancelled before the script began");
    let code = match args.code {
        Some(code) => code,
        None => {
            let file = args.file.unwrap_or_default();
            let read = tokio::task::spawn_blocking(move || read(&file));
            tokio::select! {
                source = read => source.unwrap_or_else(|_| Err(cancelled()))?,
                () = asked.stop.cancelled() => return Err(cancelled()),
            }
        }
    };
    let service = asked.config.service()?;
    service.ready(&*asked.progress, &asked.stop).await?;
    let request = ExecuteRequest { code, timeout_ms: args.timeout, result_chars: args.result_chars, session };
    let mut envelope = service.execute(request, Arc::new(NoObserver), asked.stop.clone()).await;
    let saved = match args.folder {
        Some(folder) => save(&service, &mut envelope, &folder).await,
        None => Vec::new(),
    };
    Ok((envelope, saved))
}

/// The result on standard output; what was written to the console, remarks and errors on standard error.
fn words(envelope: &Envelope, saved: &[PathBuf]) -> Text {
    let data = executed(envelope).unwrap_or_default();
    let mut words = Text::default();
    data.logs.iter().for_each(|logged| text::line(&mut words.err, text::console(logged)));
    let remarks = text::remarks(&envelope.meta, &data);
    remarks.iter().for_each(|remark| text::line(&mut words.err, remark));
    saved.iter().for_each(|path| text::line(&mut words.err, format_args!("saved: {}", path.display())));
    if !data.images.is_empty() && saved.is_empty() {
        let images = data.images.len();
        let how = "which --output DIR puts into a folder and --json prints in data.images";
        text::line(&mut words.err, format_args!("images: {images}, {how}"));
    }
    match &envelope.error {
        Some(error) => words.err.push_str(&text::error(error)),
        None => words.out = text::result(&data.result.unwrap_or_default(), true),
    }
    words
}

/// Reads a script, and no more of it than can be accepted.
fn read(file: &Path) -> Result<String, ErrorReport> {
    let failed = |error: io::Error| {
        let code =
            if error.kind() == io::ErrorKind::InvalidData { ErrorCode::InvalidArgument } else { ErrorCode::IoError };
        ErrorReport::new(code, format!("the script {} cannot be read: {error}", file.display()))
    };
    let open = || -> io::Result<Box<dyn Read>> {
        Ok(if file == Path::new("-") { Box::new(io::stdin()) } else { Box::new(File::open(file)?) })
    };
    let mut source = Vec::new();
    open().and_then(|script| script.take(SOURCE_BYTES_MAX as u64 + 1).read_to_end(&mut source)).map_err(failed)?;
    if source.len() > SOURCE_BYTES_MAX {
        let message = format!("the script {} is longer than {SOURCE_BYTES_MAX} bytes", file.display());
        return Err(ErrorReport::new(ErrorCode::SourceTooLarge, message));
    }
    String::from_utf8(source).map_err(|_| failed(io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8")))
}

/// A wall time.
fn milliseconds(text: &str) -> Result<u64, String> {
    text::milliseconds(text, WALL_MS_MIN..=WALL_MS_MAX)
}

fn milliseconds_or_none(text: &str) -> Result<u64, String> {
    text::milliseconds(text, 0..=LEASE_WAIT_MS_MAX)
}

fn kept(text: &str) -> Result<u64, String> {
    text::milliseconds(text, SESSION_IDLE_MS_MIN..=SESSION_IDLE_MS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units_and_bounds() {
        let good = [("1ms", 1), ("30s", 30_000), ("2m", 120_000), ("600s", 600_000), ("10min", 600_000)];
        good.into_iter().for_each(|(text, ms)| assert_eq!(milliseconds(text), Ok(ms), "{text}"));
        for text in ["", "5", "s", "-1s", "1.5s", "0ms", "601s", "99999999999999999999s", "5h", "5y", "5 s"] {
            assert!(milliseconds(text).is_err(), "{text}");
        }
    }
}
