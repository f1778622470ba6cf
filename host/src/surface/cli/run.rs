//! `codemode run`.

use super::{Output, Text};
use crate::{
    config::Config,
    service::{self, ExecuteRequest, Progress, SessionMode, SessionRequest, TOOL, Unobserved, Warming},
    surface::text,
};
use clap::Args;
use codemode_spec::{
    Envelope, ErrorCode, ErrorReport,
    envelope::ExecutionData,
    limits::{SOURCE_BYTES_MAX, WALL_MS_DEFAULT, WALL_MS_MAX, WALL_MS_MIN},
};
use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio_util::sync::CancellationToken;

#[derive(Debug, Args)]
pub(super) struct RunArgs {
    /// The script; `-` reads it from standard input
    #[arg(required_unless_present = "code", conflicts_with = "code", value_name = "FILE")]
    file: Option<PathBuf>,

    /// The script itself
    #[arg(short = 'e', long = "eval", value_name = "CODE")]
    code: Option<String>,

    /// How the browser session lives
    #[arg(long, value_enum, default_value_t)]
    session_mode: SessionMode,

    /// Wall time, as 30s, 500ms or 2m [default: 60s]
    #[arg(long, value_parser = milliseconds, value_name = "TIME")]
    timeout: Option<u64>,

    #[command(flatten)]
    pub(super) output: Output,
}

pub(super) async fn run(config: &Config, args: RunArgs, progress: &Progress, stop: CancellationToken) -> Envelope {
    let failed = |error| service::answer(TOOL, Err(error), Duration::ZERO);
    let cancelled = || ErrorReport::new(ErrorCode::Cancelled, "the call was cancelled before the script began");
    let source = match args.code {
        Some(code) => Ok(code),
        None => {
            let file = args.file.unwrap_or_default();
            let read = tokio::task::spawn_blocking(move || read(&file));
            tokio::select! {
                source = read => source.unwrap_or_else(|_| Err(cancelled())),
                () = stop.cancelled() => Err(cancelled()),
            }
        }
    };
    let code = match source {
        Ok(code) => code,
        Err(error) => return failed(error),
    };
    let warming = Warming::new(config.clone());
    let service = tokio::select! {
        service = warming.service(|line| progress(line)) => service,
        () = stop.cancelled() => Err(cancelled()),
    };
    match service {
        Ok(service) => {
            let session = SessionRequest { mode: args.session_mode };
            let request = ExecuteRequest { code, timeout_ms: args.timeout, session };
            service.execute(request, Arc::new(Unobserved), stop).await
        }
        Err(error) => failed(error),
    }
}

/// The result on standard output; what was written to the console, remarks and errors on standard error.
pub(super) fn words(envelope: &Envelope) -> Text {
    let data = envelope.data.clone().and_then(|data| serde_json::from_value::<ExecutionData>(data).ok());
    let data = data.unwrap_or_default();
    let mut words = Text::default();
    data.logs.iter().for_each(|logged| text::line(&mut words.err, text::console(logged)));
    let remarks = text::remarks(&envelope.meta, data.artifact.as_deref());
    remarks.iter().for_each(|remark| text::line(&mut words.err, remark));
    if !data.images.is_empty() {
        let images = data.images.len();
        text::line(&mut words.err, format_args!("images: {images}, which --json prints in data.images"));
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

/// A time with its unit, in milliseconds.
fn milliseconds(text: &str) -> Result<u64, String> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let factor = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" | "min" => 60_000,
        _ => return Err(format!("write a number and a unit, as {}s, 500ms or 2m", WALL_MS_DEFAULT / 1_000)),
    };
    let ms = number.parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
    ms.filter(|ms| (WALL_MS_MIN..=WALL_MS_MAX).contains(ms))
        .ok_or_else(|| format!("it must be between {WALL_MS_MIN}ms and {}s", WALL_MS_MAX / 1_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units_and_bounds() {
        let good = [("1ms", 1), ("30s", 30_000), ("2m", 120_000), ("600s", 600_000), ("10min", 600_000)];
        good.into_iter().for_each(|(text, ms)| assert_eq!(milliseconds(text), Ok(ms), "{text}"));
        for text in ["", "5", "s", "-1s", "1.5s", "0ms", "601s", "99999999999999999999s", "5h", "5 s"] {
            assert!(milliseconds(text).is_err(), "{text}");
        }
    }
}
