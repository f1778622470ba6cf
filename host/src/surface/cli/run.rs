//! `codemode run`.

use super::{
    context::{Context, Output},
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

    /// Most characters of the result in the answer; a longer result is also stored whole in a file [default: 24000]
    #[arg(long, value_parser = value_parser!(u64).range(RESULT_CHARS_MIN as u64..=RESULT_CHARS_MAX as u64), value_name = "NUMBER")]
    result_chars: Option<u64>,

    /// Write the answer's images and files, and a result that was cut, into this folder
    #[arg(long = "output", value_name = "DIR")]
    folder: Option<PathBuf>,

    #[command(flatten)]
    output: Output,
}

/// The browser session to run in.
#[derive(Debug, Args)]
struct SessionArgs {
    /// Lifetime of the browser: one-shot, reuse or dynamic [default: reuse if there is a key, else one-shot]
    #[arg(long, value_name = "MODE", requires_ifs = [("reuse", "session_key"), ("dynamic", "session_key")])]
    session_mode: Option<SessionMode>,

    /// Key of the browser to reuse
    #[arg(long, value_parser = checked_key, value_name = "KEY")]
    session_key: Option<String>,

    /// How long the browser may stay idle before it is closed, as 10m [default: 10m]
    #[arg(long, value_parser = idle_time, value_name = "TIME")]
    session_ttl: Option<u64>,

    /// How long to wait for the browser while another execution uses it [default: 30s]
    #[arg(long, value_parser = lease_wait, value_name = "TIME")]
    session_wait: Option<u64>,

    /// Allow pages to reach only this: a host, *.HOST, an address or a CIDR, each with :PORT; may be repeated
    #[arg(long, value_name = "PATTERN")]
    net_allow: Vec<String>,

    /// Forbid pages to reach this; may be repeated
    #[arg(long, value_name = "PATTERN")]
    net_deny: Vec<String>,
}

impl SessionArgs {
    /// The requested session; `None` leaves the choice to the host's settings.
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
            // Clap has no attribute for this combination.
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

pub(super) async fn run(context: &Context, args: RunArgs) -> ExitCode {
    let output = args.output;
    let (envelope, saved) = execute(context, args).await.unwrap_or_else(|error| (service::refused(error), Vec::new()));
    print(&envelope, (!output.json).then(|| words(&envelope, &saved)))
}

/// Writes the answer's images and files into the folder, and returns their paths. A failure becomes the answer's error,
/// unless the answer has one already.
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

/// The data of the execution, if the script has run.
fn executed(envelope: &Envelope) -> Option<ExecutionData> {
    envelope.data.clone().and_then(|data| serde_json::from_value(data).ok())
}

/// The tool's answer and the paths of its saved files; an error means that the script did not start.
async fn execute(context: &Context, args: RunArgs) -> Result<(Envelope, Vec<PathBuf>), ErrorReport> {
    let session = args.session.request();
    let cancelled = || ErrorReport::new(ErrorCode::Cancelled, "the call was cancelled before the script began");
    let code = match args.code {
        Some(code) => code,
        None => {
            let file = args.file.unwrap_or_default();
            let read = tokio::task::spawn_blocking(move || read(&file));
            tokio::select! {
                source = read => source.unwrap_or_else(|_| Err(cancelled()))?,
                () = context.stop.cancelled() => return Err(cancelled()),
            }
        }
    };
    let service = context.config.service()?;
    service.ready(&*context.progress, &context.stop).await?;
    let request = ExecuteRequest { code, timeout_ms: args.timeout, result_chars: args.result_chars, session };
    let mut envelope = service.execute(request, Arc::new(NoObserver), context.stop.clone()).await;
    let saved = match args.folder {
        Some(folder) => save(&service, &mut envelope, &folder).await,
        None => Vec::new(),
    };
    Ok((envelope, saved))
}

/// The result for standard output; console lines, remarks and errors for standard error.
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

/// Reads a script, up to the size limit of sources.
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

/// Parses a wall time.
fn milliseconds(text: &str) -> Result<u64, String> {
    text::milliseconds(text, WALL_MS_MIN..=WALL_MS_MAX)
}

fn lease_wait(text: &str) -> Result<u64, String> {
    text::milliseconds(text, 0..=LEASE_WAIT_MS_MAX)
}

fn idle_time(text: &str) -> Result<u64, String> {
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
