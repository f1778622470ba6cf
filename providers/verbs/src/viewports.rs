//! The positions of frame viewports within the page's viewport.

use crate::{locate::Place, projection::Projection, state::worlds::Frame, tab::Tab};
use codemode_spec::{ErrorCode, ErrorReport};
use serde_json::{Value as Json, json};

/// The viewports on the path to a place: the page's own first, that of the place's frame last.
pub(crate) type Viewports = Vec<Projection>;

impl Tab<'_> {
    /// The projection of a place's frame viewport to the page's.
    pub(crate) async fn viewport(&self, place: &Place) -> Result<Projection, ErrorReport> {
        Ok(self.viewports(place).await?.pop().unwrap_or(Projection::IDENTITY))
    }

    /// The projections of the frame viewports on the path to a place.
    pub(crate) async fn viewports(&self, place: &Place) -> Result<Viewports, ErrorReport> {
        let mut viewports = vec![Projection::IDENTITY];
        let mut around = Projection::IDENTITY;
        // The projection of the process's outermost frame, since the browser reports positions of elements relative to
        // that frame.
        let (mut process, mut of_process) = (&self.id, around);
        for (frame, handle) in &place.owners {
            if frame.target != *process {
                (process, of_process) = (&frame.target, around);
            }
            around = self.viewport_of_owner(frame, handle, &around, &of_process).await?;
            viewports.push(around);
        }
        Ok(viewports)
    }

    async fn viewport_of_owner(
        &self,
        frame: &Frame,
        handle: &Json,
        around: &Projection,
        of_process: &Projection,
    ) -> Result<Projection, ErrorReport> {
        let found = self.run(frame, "content", json!({ "handle": handle }), None, false).await?;
        let side = |name: &str| found[name].as_f64().ok_or_else(gone);
        if found["transformed"] != true {
            return Ok(around.after(&Projection::shift(side("x")?, side("y")?)));
        }
        let size = [side("width")?, side("height")?];
        let object = self.held(frame, handle).await?;
        let answer = self.send_to(&frame.target, "DOM.getBoxModel", json!({ "objectId": object })).await?;
        let quad: Vec<f64> =
            answer["model"]["content"].as_array().into_iter().flatten().filter_map(Json::as_f64).collect();
        let &[x0, y0, x1, y1, x2, y2, x3, y3] = quad.as_slice() else { return Err(gone()) };
        let corners = [(x0, y0), (x1, y1), (x2, y2), (x3, y3)].map(|corner| of_process.apply(corner));
        Projection::onto(size, corners).ok_or_else(|| {
            ErrorReport::new(ErrorCode::NotInteractable, "the frame is transformed so that nothing of it shows")
                .with_hint("Wait until the page shows it.")
        })
    }

    /// The element that covers a point of the page's viewport in one of the frames that contain a place, if any.
    pub(crate) async fn covered_outside(
        &self,
        place: &Place,
        viewports: &Viewports,
        point: (f64, f64),
    ) -> Result<Option<Json>, ErrorReport> {
        for ((frame, handle), viewport) in place.owners.iter().zip(viewports) {
            let Some((x, y)) = viewport.back(point) else { continue };
            let answer = self.run(frame, "hits", json!({"handle": handle, "x": x, "y": y}), None, false).await?;
            if answer["error"].is_string() {
                return Ok(Some(answer));
            }
        }
        Ok(None)
    }
}

fn gone() -> ErrorReport {
    ErrorReport::new(ErrorCode::ElementNotFound, "the frame is not in the page any more")
}
