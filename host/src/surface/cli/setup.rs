//! `codemode setup`.

use super::{
    context::{Context, Output},
    render::{Answer, Text, answered, unless_stopped},
};
use crate::{
    service::BrowserReady,
    surface::{terminal::in_one_line, text},
};
use std::{process::ExitCode, time::Duration};

pub(super) async fn run(context: &Context, output: Output) -> ExitCode {
    let work = async { context.config.service()?.setup(&context.progress).await };
    answered("setup", output, unless_stopped(&context.stop, work)).await
}

impl Answer for BrowserReady {
    fn words(&self, words: &mut Text, _: Duration) {
        let how = if self.installed { "installed" } else { "found" };
        let path = self.path.display();
        text::line(&mut words.out, format_args!("{how}: {} at {path}", in_one_line(&self.version)));
    }
}
