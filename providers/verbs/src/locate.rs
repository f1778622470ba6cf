//! From a target to the place where the page's engine finds it: through frames, from refs.

use crate::{
    state::{
        refs::{Named, Owner},
        worlds::Frame,
    },
    tab::Tab,
    target::{self, Role, Step, Target, Text},
    world::{NO_FRAME, NodeId},
};
use codemode_spec::{ErrorCode, ErrorReport, limits::SNAPSHOT_FRAMES_MAX};
use serde_json::{Value as Json, json};
use std::time::Duration;

/// For how long the engine looks for an element before it is given the closed shadow roots.
const FIRST_PART: Duration = Duration::from_millis(250);
/// For how long it looks before it is given those that have come meanwhile.
const PART: Duration = Duration::from_millis(1_000);
/// Elements that may stand for one that was replaced: with more than one it is not known which.
const REPLACEMENTS_MAX: usize = 100;
/// What became of an element that cannot be found again.
const GONE: &str = "is not in the page any more";

/// The elements that match, at most so many.
const COLLECT: &str = "function(args, most, given) { return this.collect(args, given ?? null).slice(0, most); }";

/// A frame, and the steps that are taken in it.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) frame: Frame,
    steps: Vec<Step>,
    /// The node with which the steps begin, by its backend id.
    pub(crate) given: Option<i64>,
    /// The frame elements on the way there, outermost first: the frame that each is in, and its handle.
    pub(crate) owners: Vec<(Frame, Json)>,
    /// The target in words, for messages.
    pub(crate) words: String,
}

impl Place {
    /// Steps in a frame.
    pub(crate) const fn new(frame: Frame, steps: Vec<Step>, words: String) -> Self {
        Self { frame, steps, given: None, owners: Vec::new(), words }
    }

    /// A node of a frame.
    pub(crate) fn of_node(frame: Frame, node: i64, words: &str) -> Self {
        let words = words.to_owned();
        Self { frame, steps: vec![Step::Given], given: Some(node), owners: Vec::new(), words }
    }
}

/// What an operation may do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    /// Looks only.
    Look,
    /// Changes the page, maybe so that another document is loaded.
    Change,
}

impl Tab<'_> {
    /// Finds the frame of a target: waits for each frame element on the way.
    ///
    /// # Errors
    /// `INVALID_SELECTOR`, `ELEMENT_NOT_FOUND`, `MULTIPLE_MATCHES`.
    pub(crate) async fn locate(&self, target: &Target) -> Result<Place, ErrorReport> {
        self.follow(target, Json::Null).await
    }

    /// The same without waiting: `None` if a frame on the way is not there.
    pub(crate) async fn locate_now(&self, target: &Target) -> Result<Option<Place>, ErrorReport> {
        match self.follow(target, json!(0)).await {
            Err(error) if error.details["reason"] == "none" || self.has_lost_frame(&error) => Ok(None),
            place => place.map(Some),
        }
    }

    /// Carries out an operation of the engine on a target: in the frame that takes a frame's place, if one goes away.
    pub(crate) async fn run_on(
        &self,
        target: &Target,
        op: &str,
        args: Json,
        does: Op,
    ) -> Result<(Place, Json), ErrorReport> {
        loop {
            let done = async {
                let place = self.locate(target).await?;
                let answer = self.run_at(&place, op, args.clone(), does).await?;
                Ok((place, answer))
            };
            match done.await {
                Err(error) if self.has_lost_frame(&error) && !self.left().is_zero() => self.next_document().await,
                done => return done,
            }
        }
    }

    async fn follow(&self, target: &Target, timeout: Json) -> Result<Place, ErrorReport> {
        let words = crate::words::of(&target.steps);
        let steps = target.expanded()?;
        if steps.iter().any(Step::combines_frames) {
            let message =
                format!("Frame locators are not allowed inside composite locators, while querying \"{words}\"");
            return Err(ErrorReport::new(ErrorCode::InvalidSelector, message)
                .with_hint("Both parts must be in one frame: frame.locator(a).or(frame.locator(b))."));
        }
        let mut place = Place::new(self.main_frame(), Vec::new(), words);
        let mut entered = 0;
        for step in steps {
            match step {
                Step::Frame { frame: None } => {
                    let owner = crate::words::of_owner(&target.steps, entered);
                    self.enter(&mut place, &owner, &timeout).await?;
                    entered += 1;
                }
                Step::Frame { frame: Some(id) } => self.begin_in(&mut place, &id).await?,
                Step::Ref { value } => self.begin_at(&mut place, &value).await?,
                step => place.steps.push(step),
            }
        }
        if place.steps.is_empty() {
            return Err(ErrorReport::new(ErrorCode::InvalidSelector, format!("{} names no element", place.words))
                .with_hint("Name an element inside of the frame."));
        }
        Ok(place)
    }

    /// Carries out an operation of the engine on a place; what it refuses becomes an error.
    pub(crate) async fn run_at(&self, place: &Place, op: &str, mut args: Json, does: Op) -> Result<Json, ErrorReport> {
        args["steps"] = target::json(&place.steps);
        if !args.get("timeout").is_some_and(Json::is_null) {
            return self.run_once_at(place, op, args, does).await;
        }
        // A closed shadow root may hold what is looked for, and the engine does not see into one by itself: it waits in
        // parts, and gets what has come between them.
        let mut part = FIRST_PART;
        loop {
            args["timeout"] = json!(part.min(self.left()).as_millis() as u64);
            match self.run_once_at(place, op, args.clone(), does).await {
                Err(report) if report.details["reason"] == "none" && !self.left().is_zero() => {
                    let roots = self.closed_roots(&place.frame.target).await?;
                    self.adopt_closed_roots(&place.frame, &roots).await?;
                    part = PART;
                }
                Err(report) if is_passing(&report) && !self.left().is_zero() => part = self.left(),
                answer => return answer,
            }
        }
    }

    async fn run_once_at(&self, place: &Place, op: &str, args: Json, does: Op) -> Result<Json, ErrorReport> {
        let answer = self.run(&place.frame, op, args, place.given, does == Op::Change).await?;
        match self.refusal(&answer, &place.words) {
            Some(report) => Err(report),
            None => Ok(answer),
        }
    }

    /// The elements that match now, at most so many.
    pub(crate) async fn collect(&self, place: &Place, elements_max: usize) -> Result<Vec<NodeId>, ErrorReport> {
        // An operation first: it says what is wrong with the target, and waits for a document that is on its way.
        self.run_at(place, "all", json!({"what": "count"}), Op::Look).await?;
        let values = json!([{"steps": target::json(&place.steps)}, elements_max]);
        let arguments = self.arguments(&place.frame, values, place.given).await?;
        self.nodes(&place.frame, COLLECT, arguments).await
    }

    /// Into the document of the one frame element so far, which `owner` describes.
    async fn enter(&self, place: &mut Place, owner: &str, timeout: &Json) -> Result<(), ErrorReport> {
        let found = self.run_at(place, "frame", json!({"strict": true, "timeout": timeout}), Op::Look).await;
        let found = found.map_err(|mut error| {
            if error.code == ErrorCode::MultipleMatches {
                error.message = error.message.replacen(&place.words, owner, 1);
            }
            error
        })?;
        let node = match self.node_of(&place.frame, &found["handle"]).await {
            Err(error) if error.code == ErrorCode::ElementNotFound => Json::Null,
            node => node?,
        };
        // An element that has just left the page has no frame any more.
        let Some(id) = node["frameId"].as_str() else {
            return Err(ErrorReport::new(ErrorCode::NotInteractable, format!("{owner} is not a frame"))
                .with_detail("reason", NO_FRAME));
        };
        let entered = self.frame_of(&place.frame, id);
        place.owners.push((std::mem::replace(&mut place.frame, entered), found["handle"].clone()));
        place.steps.clear();
        place.given = None;
        Ok(())
    }

    /// Begins in the frame with an id.
    async fn begin_in(&self, place: &mut Place, id: &str) -> Result<(), ErrorReport> {
        let frames = self.frames().await?;
        let find = |id: &str| frames.as_array().into_iter().flatten().find(|frame| frame["frame"] == id);
        let mut chain = Vec::new();
        let mut next = Some(id.to_owned());
        while let Some(id) = next.take().filter(|id| *id != self.id && chain.len() < SNAPSHOT_FRAMES_MAX) {
            let Some(frame) = find(&id) else {
                return Err(detached_frame());
            };
            next = frame["parent"].as_str().map(str::to_owned);
            chain.push(id);
        }
        (place.frame, place.given) = (self.main_frame(), None);
        place.owners.clear();
        place.steps.clear();
        for id in chain.iter().rev() {
            let owner = self.send_to(&place.frame.target, "DOM.getFrameOwner", json!({ "frameId": id })).await;
            let owner = owner.map_err(|error| if self.has_lost_frame(&error) { detached_frame() } else { error })?;
            let kept = self.run(&place.frame, "keep", given_only(), owner["backendNodeId"].as_i64(), false).await?;
            let inner = self.frame_of(&place.frame, id);
            place.owners.push((std::mem::replace(&mut place.frame, inner), kept["handle"].clone()));
        }
        Ok(())
    }

    /// A frame by its id: reached through its own target if it has a process of its own, else through that of `around`.
    pub(crate) fn frame_of(&self, around: &Frame, id: &str) -> Frame {
        self.browser.catch_up();
        let has_own = self.browser.targets.target(id).is_some_and(|target| target.kind == "iframe");
        let target = if has_own { id.to_owned() } else { around.target.clone() };
        Frame { target, id: id.to_owned() }
    }

    /// An error of the verb as its caller is to have it: that a frame with a process of its own is gone does not say that the
    /// page is.
    #[must_use]
    pub fn of_page(&self, error: ErrorReport) -> ErrorReport {
        let is_of_page = error.message == codemode_page::closed(&self.id).message;
        let is_of_frame = error.code == ErrorCode::CdpTargetClosed && !is_of_page && !self.is_closed();
        if is_of_frame { detached_frame() } else { error }
    }

    /// Begins at the element of a ref.
    async fn begin_at(&self, place: &mut Place, reference: &str) -> Result<(), ErrorReport> {
        let named = self.verbs.refs().find(reference).filter(|named| named.page == self.id).cloned();
        let Some(named) = named else {
            return Err(ErrorReport::new(ErrorCode::ElementNotFound, format!("snapshot ref '@{reference}' not found"))
                .with_hint("Take a snapshot of this page first: page.snapshot() gives its elements refs.")
                .with_detail("reason", "REF_NOT_FOUND"));
        };
        let node = if self.is_there(&named).await? {
            named.node
        } else {
            let (document, node) = self.find_again(&named, reference).await?;
            self.verbs.refs().moved(reference, &document, node);
            self.warn(format!(
                "@{reference} had been replaced; the one {} {:?} of the page was used in its place",
                named.role, named.name
            ));
            node
        };
        place.owners.clear();
        for Owner { frame, node } in &named.owners {
            let kept = self.run(frame, "keep", given_only(), Some(*node), false).await?;
            place.owners.push((frame.clone(), kept["handle"].clone()));
        }
        (place.frame, place.given, place.steps) = (named.frame, Some(node), vec![Step::Given]);
        Ok(())
    }

    /// Whether the element of a ref is where it was.
    async fn is_there(&self, named: &Named) -> Result<bool, ErrorReport> {
        if self.document_of(&named.frame).await?.as_ref() != Some(&named.document) {
            return Ok(false);
        }
        match self.run(&named.frame, "keep", given_only(), Some(named.node), false).await {
            Ok(answer) => Ok(answer["error"].is_null()),
            // The node is not there any more.
            Err(error) if error.code == ErrorCode::CdpProtocolError => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The document of a frame, by the id of its loader; `None` if the frame is gone.
    pub(crate) async fn document_of(&self, frame: &Frame) -> Result<Option<String>, ErrorReport> {
        let tree = match self.send_to(&frame.target, "Page.getFrameTree", json!({})).await {
            Ok(tree) => tree,
            Err(error) if matches!(error.code, ErrorCode::CdpTargetClosed | ErrorCode::InvalidArgument) => {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        Ok(loader_in(&tree["frameTree"], &frame.id))
    }

    /// The one element of the frame that has the role and the name of a ref whose node is gone.
    async fn find_again(&self, named: &Named, reference: &str) -> Result<(String, i64), ErrorReport> {
        let stale = |now: &str| {
            ErrorReport::new(
                ErrorCode::ElementNotFound,
                format!("snapshot ref '@{reference}' is stale: its {} {:?} {now}", named.role, named.name),
            )
            .with_hint("Take a new snapshot: page.snapshot() gives the elements that are there now.")
            .with_detail("reason", "REF_STALE")
        };
        if named.name.is_empty() || self.document_of(&named.frame).await?.is_none() {
            return Err(stale(GONE));
        }
        let role = Role { role: named.role.clone(), name: Some(Text::whole(&named.name)), ..Role::default() };
        let words = format!("@{reference}");
        let place = Place::new(named.frame.clone(), vec![Step::Role(role)], words);
        match self.collect(&place, REPLACEMENTS_MAX).await?.as_slice() {
            [node] => Ok((node.document.clone(), node.backend)),
            [] => Err(stale(GONE)),
            several => Err(stale(&format!("was replaced, and {} elements look like it now", several.len()))),
        }
    }
}

/// The report of a frame with an id: no other one takes its place.
fn detached_frame() -> ErrorReport {
    ErrorReport::new(ErrorCode::ElementNotFound, "Frame was detached: it is not in the page any more")
        .with_hint("page.frames() lists the frames that are there now.")
}

/// Whether a refusal may pass with time.
pub(crate) fn is_passing(report: &ErrorReport) -> bool {
    const LASTING: [&str; 6] = ["many", "kind", "selector", "force", "origin", "halted"];
    report.details["reason"].as_str().is_some_and(|reason| !LASTING.contains(&reason))
}

fn given_only() -> Json {
    json!({"steps": target::json(&[Step::Given]), "strict": true, "timeout": 0})
}

/// The loader of a frame in a tree of frames.
pub(crate) fn loader_in(tree: &Json, id: &str) -> Option<String> {
    if tree["frame"]["id"] == id {
        return tree["frame"]["loaderId"].as_str().map(str::to_owned);
    }
    tree["childFrames"].as_array()?.iter().find_map(|child| loader_in(child, id))
}
