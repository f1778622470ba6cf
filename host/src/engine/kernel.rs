//! The properties of the running Linux kernel that matter to the engine.

use std::fs;

/// The first kernel with PAGEMAP_SCAN, which makes resetting a sandbox faster.
const WITH_PAGEMAP_SCAN: (u32, u32) = (6, 7);

/// The running kernel's version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// The release, such as `6.12.0-generic`.
    pub release: String,
    /// Whether it has PAGEMAP_SCAN; `None` if the release names no version.
    pub resets_fast: Option<bool>,
}

impl Kernel {
    /// The kernel of this machine.
    #[must_use]
    pub fn running() -> Self {
        Self::of(fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim())
    }

    fn of(release: &str) -> Self {
        let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map_while(|part| part.parse::<u32>().ok());
        let version = numbers.next().zip(numbers.next());
        Self { release: release.to_owned(), resets_fast: version.map(|version| version >= WITH_PAGEMAP_SCAN) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        let rows =
            [("6.7.0", Some(true)), ("6.12.3-generic", Some(true)), ("6.6.87", Some(false)), ("5.15", Some(false))];
        for (release, resets_fast) in rows.into_iter().chain([("", None), ("six", None)]) {
            assert_eq!(Kernel::of(release), Kernel { release: release.to_owned(), resets_fast });
        }
    }
}
