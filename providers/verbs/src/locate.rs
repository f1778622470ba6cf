//! Resolves a target to the frame and steps with which the in-page engine finds it: through frames and from refs.

use crate::{
    state::{
        refs::{Owner, RefTarget},
        worlds::Frame,
    },
    tab::Tab,
    target::{self, Role, Step, Target, Text},
    world::{NO_FRAME, NodeId},
};
use codemode_spec::{ErrorCode, ErrorReport, limits::SNAPSHOT_FRAMES_MAX};
use serde_json::{Value as Json, json};
use std::time::Duration;

/// How long the engine searches before it is first given the closed shadow roots.
const FIRST_PART: Duration = Duration::from_millis(250);
/// How long each later search takes before the engine is given the shadow roots that were created meanwhile.
const PART: Duration = Duration::from_millis(1_000);
/// The limit of candidates for a replaced element: the replacement is used only if it is the only one.
const REPLACEMENTS_MAX: usize = 100;
/// Message part for an element that cannot be found again.
const GONE: &str = "is not in the page any more";

/// Returns at most this many matching elements.
const COLLECT: &str = "function(args, most, given) { return this.collect(args, given ?? null).slice(0, most); }";

/// A frame, and the steps to take in it.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) frame: Frame,
    steps: Vec<Step>,
    /// The backend id of the node at which the steps start.
    pub(crate) given: Option<i64>,
    /// The frame elements on the path to this frame, outermost first: the frame that contains each, and its handle.
    pub(crate) owners: Vec<(Frame, Json)>,
    /// The target described in words, for messages.
    pub(crate) description: String,
}

impl Place {
    /// Steps in a frame.
    pub(crate) const fn new(frame: Frame, steps: Vec<Step>, description: String) -> Self {
        Self { frame, steps, given: None, owners: Vec::new(), description }
    }

    /// A node of a frame.
    pub(crate) fn of_node(frame: Frame, node: i64, description: &str) -> Self {
        let description = description.to_owned();
        Self { frame, steps: vec![Step::Given], given: Some(node), owners: Vec::new(), description }
    }
}

/// The effect of an operation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    /// Only reads.
    Look,
    /// Changes the page, possibly so that another document is loaded.
    Change,
}

impl Tab<'_> {
    /// Finds the frame of a target. Waits for each frame element on the path.
    ///
    /// # Errors
    /// `INVALID_SELECTOR`, `ELEMENT_NOT_FOUND`, `MULTIPLE_MATCHES`.
    pub(crate) async fn locate(&self, target: &Target) -> Result<Place, ErrorReport> {
        self.follow(target, Json::Null).await
    }

    /// The same without waiting: `None` if a frame on the path does not exist.
    pub(crate) async fn locate_now(&self, target: &Target) -> Result<Option<Place>, ErrorReport> {
        match self.follow(target, json!(0)).await {
            Err(error) if error.details["reason"] == "none" || self.has_lost_frame(&error) => Ok(None),
            place => place.map(Some),
        }
    }

    /// Executes an operation of the engine on a target. If a frame on the path is replaced, retries in the new frame.
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
        let words = crate::describe::locator(&target.steps);
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
                    let owner = crate::describe::frame_owner(&target.steps, entered);
                    self.enter(&mut place, &owner, &timeout).await?;
                    entered += 1;
                }
                Step::Frame { frame: Some(id) } => self.start_in_frame(&mut place, &id).await?,
                Step::Ref { value } => self.start_at_ref(&mut place, &value).await?,
                step => place.steps.push(step),
            }
        }
        if place.steps.is_empty() {
            return Err(ErrorReport::new(
                ErrorCode::InvalidSelector,
                format!("{} names no element", place.description),
            )
            .with_hint("Name an element inside of the frame."));
        }
        Ok(place)
    }

    /// Executes an operation of the engine at a place. A refusal by the engine becomes an error.
    pub(crate) async fn run_at(&self, place: &Place, op: &str, mut args: Json, does: Op) -> Result<Json, ErrorReport> {
        args["steps"] = target::json(&place.steps);
        if !args.get("timeout").is_some_and(Json::is_null) {
            return self.run_once_at(place, op, args, does).await;
        }
        // The element may be in a closed shadow root, which the engine cannot see into by itself. So the wait is split
        // into parts, between which the engine gets the shadow roots that were created.
        let mut part = FIRST_PART;
        loop {
            args["timeout"] = json!(part.min(self.left()).as_millis() as u64);
            match self.run_once_at(place, op, args.clone(), does).await {
                Err(report) if report.details["reason"] == "none" && !self.left().is_zero() => {
                    let roots = self.closed_roots(&place.frame.target).await?;
                    self.adopt_closed_roots(&place.frame, &roots).await?;
                    part = PART;
                }
                Err(report) if is_transient(&report) && !self.left().is_zero() => part = self.left(),
                answer => return answer,
            }
        }
    }

    async fn run_once_at(&self, place: &Place, op: &str, args: Json, does: Op) -> Result<Json, ErrorReport> {
        let answer = self.run(&place.frame, op, args, place.given, does == Op::Change).await?;
        match self.refusal(&answer, &place.description) {
            Some(report) => Err(report),
            None => Ok(answer),
        }
    }

    /// The currently matching elements, at most this many.
    pub(crate) async fn collect(&self, place: &Place, elements_max: usize) -> Result<Vec<NodeId>, ErrorReport> {
        // Run an operation first: it reports errors in the target, and waits for a pending document.
        self.run_at(place, "all", json!({"what": "count"}), Op::Look).await?;
        let values = json!([{"steps": target::json(&place.steps)}, elements_max]);
        let arguments = self.arguments(&place.frame, values, place.given).await?;
        self.nodes(&place.frame, COLLECT, arguments).await
    }

    /// Enters the document of the frame element at `place`, which `owner` describes in messages.
    async fn enter(&self, place: &mut Place, owner: &str, timeout: &Json) -> Result<(), ErrorReport> {
        let found = self.run_at(place, "frame", json!({"strict": true, "timeout": timeout}), Op::Look).await;
        let found = found.map_err(|mut error| {
            if error.code == ErrorCode::MultipleMatches {
                error.message = error.message.replacen(&place.description, owner, 1);
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

    /// Starts in the frame with this id.
    async fn start_in_frame(&self, place: &mut Place, id: &str) -> Result<(), ErrorReport> {
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

    /// A frame by its id: addressed through its own target if it is out-of-process, else through the target of
    /// `around`.
    pub(crate) fn frame_of(&self, around: &Frame, id: &str) -> Frame {
        self.browser.catch_up();
        let has_own = self.browser.targets.target(id).is_some_and(|target| target.kind == "iframe");
        let target = if has_own { id.to_owned() } else { around.target.clone() };
        Frame { target, id: id.to_owned() }
    }

    /// Rewrites an error for the caller of a verb: the error that an out-of-process frame's target is closed must not
    /// be read as the page being closed.
    #[must_use]
    pub fn report_lost_frame(&self, error: ErrorReport) -> ErrorReport {
        let is_of_page = error.message == codemode_page::closed(&self.id).message;
        let is_of_frame = error.code == ErrorCode::CdpTargetClosed && !is_of_page && !self.is_closed();
        if is_of_frame { detached_frame() } else { error }
    }

    /// Starts at the element of a ref.
    async fn start_at_ref(&self, place: &mut Place, reference: &str) -> Result<(), ErrorReport> {
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

    /// Whether the element of a ref still exists in its document.
    async fn is_there(&self, named: &RefTarget) -> Result<bool, ErrorReport> {
        if self.document_of(&named.frame).await?.as_ref() != Some(&named.document) {
            return Ok(false);
        }
        match self.run(&named.frame, "keep", given_only(), Some(named.node), false).await {
            Ok(answer) => Ok(answer["error"].is_null()),
            // The node does not exist any more.
            Err(error) if error.code == ErrorCode::CdpProtocolError => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The document of a frame, identified by its loader id; `None` if the frame is detached.
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

    /// Finds the only element of the frame with the role and name of a ref whose node is gone.
    async fn find_again(&self, named: &RefTarget, reference: &str) -> Result<(String, i64), ErrorReport> {
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

/// The error for a frame addressed by id: no other frame takes its place.
fn detached_frame() -> ErrorReport {
    ErrorReport::new(ErrorCode::ElementNotFound, "Frame was detached: it is not in the page any more")
        .with_hint("page.frames() lists the frames that are there now.")
}

/// Whether a refusal may be resolved by waiting.
pub(crate) fn is_transient(report: &ErrorReport) -> bool {
    const PERMANENT: [&str; 6] = ["many", "kind", "selector", "force", "origin", "halted"];
    report.details["reason"].as_str().is_some_and(|reason| !PERMANENT.contains(&reason))
}

fn given_only() -> Json {
    json!({"steps": target::json(&[Step::Given]), "strict": true, "timeout": 0})
}

/// The loader id of a frame in a frame tree.
pub(crate) fn loader_in(tree: &Json, id: &str) -> Option<String> {
    if tree["frame"]["id"] == id {
        return tree["frame"]["loaderId"].as_str().map(str::to_owned);
    }
    tree["childFrames"].as_array()?.iter().find_map(|child| loader_in(child, id))
}
