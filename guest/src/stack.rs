//! Stack traces as a script's author wants them: without the frames of the guest's own scripts and of layers.

use std::borrow::Cow;

/// Whether a line of a stack trace is a frame of the script or of the language itself.
pub fn is_script_frame(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("at ") && !line.contains("(codemode:")
}

/// The stack trace without the frames of the guest's own scripts and of layers, unless it has no frame of the script.
pub fn without_internal_frames(stack: &str) -> Cow<'_, str> {
    let is_of_source = |line| is_script_frame(line) && !line.ends_with("(native)");
    if !stack.contains("(codemode:") || !stack.lines().any(is_of_source) {
        return Cow::Borrowed(stack);
    }
    let is_ours = |line: &&str| line.trim_start().starts_with("at ") && !is_script_frame(line);
    let kept: Vec<&str> = stack.lines().filter(|line| !is_ours(line)).collect();
    Cow::Owned(kept.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_ours_are_left_out_where_there_are_others() {
        let rows = [
            ("", ""),
            ("Error: x\n    at f (script.js:1:2)", "Error: x\n    at f (script.js:1:2)"),
            ("Error: x\n    at g (codemode:a:9:9)\n    at f (script.js:1:2)\n", "Error: x\n    at f (script.js:1:2)"),
            ("Error: x\n    at g (codemode:a:9:9)", "Error: x\n    at g (codemode:a:9:9)"),
            (
                "Error: x\n    at h (native)\n    at g (codemode:a:9:9)",
                "Error: x\n    at h (native)\n    at g (codemode:a:9:9)",
            ),
            ("Error: at (codemode:\n    at f (script.js:1:2)", "Error: at (codemode:\n    at f (script.js:1:2)"),
        ];
        for (stack, expected) in rows {
            assert_eq!(without_internal_frames(stack), expected, "{stack}");
        }
    }
}
