//! Refs: short names of elements that snapshots assign, stable across snapshots.
//!
//! Invariant: an element has one ref for as long as it is in its document, and a ref never names another element.

use super::worlds::Frame;
use codemode_spec::limits::REFS_MAX;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, VecDeque};

/// The element that a ref names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RefTarget {
    /// The page that contains it.
    pub(crate) page: String,
    /// Its frame.
    pub(crate) frame: Frame,
    /// The document of the frame.
    pub(crate) document: String,
    /// The node's backend id, which is unique in the process of the frame.
    pub(crate) node: i64,
    /// Its role and accessible name, with which it is found again if its node is replaced.
    pub(crate) role: String,
    pub(crate) name: String,
    /// The frame elements that contain it, outermost first.
    pub(crate) owners: Vec<Owner>,
}

/// An element that owns a frame, and the frame that contains the element.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Owner {
    pub(crate) frame: Frame,
    pub(crate) node: i64,
}

/// The refs of a session: plain data, which can be serialised and restored elsewhere.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Refs {
    last: u64,
    /// In the order of assignment.
    named: VecDeque<(u64, RefTarget)>,
    #[serde(skip)]
    by_node: HashMap<(Frame, String, i64), u64>,
}

impl Refs {
    /// The ref of an element: its existing one, which from now on names it as it is described here, or a new one.
    pub(crate) fn assign(&mut self, named: RefTarget) -> String {
        let key = (named.frame.clone(), named.document.clone(), named.node);
        if let Some(number) = self.by_node.get(&key) {
            let reference = format!("e{number}");
            if let Some((_, known)) = self.place(&reference).and_then(|at| self.named.get_mut(at)) {
                *known = named;
            }
            return reference;
        }
        self.last += 1;
        self.by_node.insert(key, self.last);
        self.named.push_back((self.last, named));
        while self.named.len() > REFS_MAX {
            if let Some((_, oldest)) = self.named.pop_front() {
                self.by_node.remove(&(oldest.frame, oldest.document, oldest.node));
            }
        }
        format!("e{}", self.last)
    }

    /// The element that a ref names, if the ref was assigned.
    pub(crate) fn find(&self, reference: &str) -> Option<&RefTarget> {
        let at = self.place(reference)?;
        self.named.get(at).map(|(_, named)| named)
    }

    /// Records the new node of a ref whose element was replaced, unless another ref names that node.
    pub(crate) fn moved(&mut self, reference: &str, document: &str, node: i64) {
        let Some(at) = self.place(reference) else { return };
        let Some((number, named)) = self.named.get_mut(at) else { return };
        let key = (named.frame.clone(), document.to_owned(), node);
        if self.by_node.contains_key(&key) {
            return;
        }
        self.by_node.remove(&(named.frame.clone(), named.document.clone(), named.node));
        document.clone_into(&mut named.document);
        named.node = node;
        self.by_node.insert(key, *number);
    }

    fn place(&self, reference: &str) -> Option<usize> {
        let number: u64 = reference.strip_prefix('e')?.parse().ok()?;
        self.named.binary_search_by_key(&number, |(number, _)| *number).ok()
    }

    /// Removes all refs, because their browser was closed. Their numbers are not assigned again.
    pub(crate) fn clear(&mut self) {
        self.named.clear();
        self.by_node.clear();
    }

    /// Whether no element has a ref.
    pub(crate) fn is_empty(&self) -> bool {
        self.named.is_empty()
    }

    /// Serialises the newest refs that fit into `bytes_max`, for [`Self::decode`].
    pub(crate) fn encode(&self, bytes_max: usize) -> Vec<u8> {
        let mut kept = codemode_spec::message::encode(self);
        let mut fewer = Self::default();
        while kept.len() > bytes_max {
            if fewer.last == 0 {
                fewer = Self { last: self.last, named: self.named.clone(), by_node: HashMap::new() };
            }
            // Removes somewhat more than the excess, since entries vary in size.
            let share = bytes_max as f64 / kept.len() as f64 * 0.9;
            let left_out = fewer.named.len() - (fewer.named.len() as f64 * share) as usize;
            fewer.named.drain(..left_out);
            kept = codemode_spec::message::encode(&fewer);
        }
        kept
    }

    /// Deserialises refs; `None` if the bytes are invalid.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut refs: Self = codemode_spec::message::decode(bytes).ok()?;
        let is_in_order = refs.named.iter().zip(refs.named.iter().skip(1)).all(|((a, _), (b, _))| a < b);
        let is_whole = refs.named.back().is_none_or(|(number, _)| *number <= refs.last) && refs.named.len() <= REFS_MAX;
        if !is_in_order || !is_whole {
            return None;
        }
        let keys = refs
            .named
            .iter()
            .map(|(number, named)| ((named.frame.clone(), named.document.clone(), named.node), *number));
        refs.by_node = keys.collect();
        Some(refs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(document: &str, node: i64) -> RefTarget {
        RefTarget {
            page: "P".into(),
            frame: Frame { target: "P".into(), id: "P".into() },
            document: document.into(),
            node,
            role: "button".into(),
            name: "OK".into(),
            owners: Vec::new(),
        }
    }

    #[test]
    fn an_element_keeps_its_ref_and_another_document_gets_others() {
        let mut refs = Refs::default();
        assert_eq!(
            [refs.assign(named("D1", 7)), refs.assign(named("D1", 8)), refs.assign(named("D1", 7))],
            ["e1", "e2", "e1"]
        );
        assert_eq!(refs.assign(named("D2", 7)), "e3");
        let mut again = Refs::decode(&refs.encode(usize::MAX)).unwrap();
        assert_eq!([again.assign(named("D1", 8)), again.assign(named("D2", 9))], ["e2", "e4"]);
        assert_eq!(again.find("e3").unwrap().document, "D2");
        for unknown in ["e0", "e5", "x1", "e", "e-1"] {
            assert!(again.find(unknown).is_none(), "{unknown}");
        }
        again.moved("e1", "D2", 30);
        assert_eq!((again.assign(named("D2", 30)), again.find("e1").unwrap().node), ("e1".to_owned(), 30));
        assert!(Refs::decode(&refs.encode(usize::MAX)[1..]).is_none_or(|refs| refs.named.len() <= REFS_MAX));
    }

    #[test]
    fn an_element_is_known_by_its_present_name() {
        let mut refs = Refs::default();
        refs.assign(named("D1", 7));
        let renamed = RefTarget { name: "Cancel".into(), ..named("D1", 7) };
        assert_eq!((refs.assign(renamed.clone()), refs.find("e1")), ("e1".to_owned(), Some(&renamed)));
    }

    #[test]
    fn a_ref_does_not_take_over_an_element_that_has_one() {
        let mut refs = Refs::default();
        assert_eq!([refs.assign(named("D1", 7)), refs.assign(named("D1", 8))], ["e1", "e2"]);
        refs.moved("e1", "D1", 8);
        assert_eq!((refs.assign(named("D1", 8)), refs.find("e1").unwrap().node), ("e2".to_owned(), 7));
        let mut again = Refs::decode(&refs.encode(usize::MAX)).unwrap();
        assert_eq!(again.assign(named("D1", 8)), "e2");
    }

    #[test]
    fn refs_of_a_closed_browser_are_gone_and_their_numbers_are_not_given_again() {
        let mut refs = Refs::default();
        refs.assign(named("D1", 7));
        refs.clear();
        assert!(refs.is_empty() && refs.find("e1").is_none());
        assert_eq!((refs.assign(named("D1", 7)), refs.is_empty()), ("e2".to_owned(), false));
    }

    #[test]
    fn the_newest_refs_are_kept_and_no_number_is_given_again() {
        let mut refs = Refs::default();
        for node in 0..1_000 {
            refs.assign(named("D", node));
        }
        let whole = refs.encode(usize::MAX).len();
        for bytes_max in [whole, whole / 2, whole / 50, 100] {
            let kept = refs.encode(bytes_max);
            assert!(kept.len() <= bytes_max, "{} of {bytes_max}", kept.len());
            let mut again = Refs::decode(&kept).unwrap();
            assert!(again.named.back().is_none_or(|(number, _)| *number == 1_000));
            assert_eq!(again.assign(named("other", 1)), "e1001");
        }
        let half = Refs::decode(&refs.encode(whole / 2)).unwrap();
        assert!((400..500).contains(&half.named.len()) && half.find("e1000").is_some() && half.find("e1").is_none());
    }

    #[test]
    fn the_oldest_refs_go_first() {
        let mut refs = Refs::default();
        for node in 0..=REFS_MAX as i64 {
            refs.assign(named("D", node));
        }
        assert!(refs.find("e1").is_none() && refs.find("e2").is_some());
        assert_eq!(refs.assign(named("D", 0)), format!("e{}", REFS_MAX + 2));
    }
}
