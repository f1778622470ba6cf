//! `codemode config`.

use super::{
    context::{Context, Output},
    render::{Answer, Text, answered},
};
use crate::surface::{
    config::{ConfigShown, Origin, ServeArgs, SettingShown},
    text,
};
use clap::{Args, Subcommand};
use std::{process::ExitCode, time::Duration};

#[derive(Debug, Subcommand)]
pub(super) enum ConfigCommand {
    /// Show the effective value of each setting, from flags, variables, the configuration file, or its default
    Show(ShowArgs),
}

#[derive(Debug, Args)]
pub(super) struct ShowArgs {
    /// Show where each value comes from
    #[arg(long)]
    origin: bool,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    serve: ServeArgs,
}

pub(super) async fn run(context: Context, command: ConfigCommand) -> ExitCode {
    let ConfigCommand::Show(ShowArgs { origin, output, serve }) = command;
    let shown = context.config.and(serve).read().map(|resolved| resolved.shown());
    if origin {
        answered("config show", output, async { shown.map(WithOrigins) }).await
    } else {
        answered("config show", output, async { shown }).await
    }
}

/// The settings, rendered with the origin of each value.
#[derive(serde::Serialize)]
#[serde(transparent)]
struct WithOrigins(ConfigShown);

impl Answer for ConfigShown {
    /// A table with one row per setting, named as in the file.
    fn words(&self, words: &mut Text, _: Duration) {
        let rows: Vec<_> = self.settings.iter().map(|setting| vec![setting.name.to_owned(), value(setting)]).collect();
        words.out = text::table(&rows);
    }
}

impl Answer for WithOrigins {
    /// The same table with a column for the origin.
    fn words(&self, words: &mut Text, _: Duration) {
        let mut rows = vec![["SETTING", "VALUE", "ORIGIN"].map(str::to_owned).to_vec()];
        rows.extend(self.0.settings.iter().map(|setting| {
            let origin = match setting.origin {
                Origin::Default => "default",
                Origin::File => "file",
                Origin::Variable => "variable",
                Origin::Flag => "flag",
            };
            let origin =
                setting.source.as_ref().map_or_else(|| origin.to_owned(), |source| format!("{origin} {source}"));
            vec![setting.name.to_owned(), value(setting), origin]
        }));
        words.out = text::table(&rows);
    }
}

fn value(setting: &SettingShown) -> String {
    match (&setting.value, &setting.default) {
        (serde_json::Value::Null, Some(default)) => format!("- ({default})"),
        (serde_json::Value::Null, None) => "-".to_owned(),
        (value, _) => value.to_string(),
    }
}
