//! `codemode warm`.

use super::{
    context::{Context, Output},
    render::{Answer, Text, answered, unless_stopped},
};
use crate::{service::ImageReady, surface::text};
use std::{process::ExitCode, time::Duration};

pub(super) async fn run(context: &Context, output: Output) -> ExitCode {
    let work = async { context.config.service()?.warm_up(&context.progress).await };
    answered("warm", output, unless_stopped(&context.stop, work)).await
}

impl Answer for ImageReady {
    fn words(&self, words: &mut Text, took: Duration) {
        let how = if self.made { "made" } else { "there already" };
        let (folder, took) = (self.folder.display(), took.as_millis());
        text::line(&mut words.out, format_args!("the sandbox image: {how}, in {folder} ({took} ms)"));
    }
}
