//! A projective map between planes, which keeps lines straight: from a frame's viewport to the page's, also when the
//! frame is scaled, rotated or transformed in 3D.

use crate::capture::Rectangle;

/// Smaller numbers are rounding errors.
const NOTHING: f64 = 1e-9;

/// A projective map of points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Projection([[f64; 3]; 3]);

impl Projection {
    /// Maps each point to itself.
    pub(crate) const IDENTITY: Self = Self::shift(0.0, 0.0);

    /// Translates points to the right and down.
    pub(crate) const fn shift(x: f64, y: f64) -> Self {
        Self([[1.0, 0.0, x], [0.0, 1.0, y], [0.0, 0.0, 1.0]])
    }

    /// The map of a rectangle of this size onto four corners, clockwise from the upper left. `None` if it has no
    /// inverse, such as for a frame seen edge-on.
    pub(crate) fn onto([width, height]: [f64; 2], corners: [(f64, f64); 4]) -> Option<Self> {
        let [(x0, y0), (x1, y1), (x2, y2), (x3, y3)] = corners;
        let (right, low) = ((x1 - x2, y1 - y2), (x3 - x2, y3 - y2));
        let skewed = (x0 - x1 + x2 - x3, y0 - y1 + y2 - y3);
        let area = right.0 * low.1 - low.0 * right.1;
        if !(area.abs() > NOTHING && width > NOTHING && height > NOTHING) {
            return None;
        }
        let small = |part: f64| if part.abs() > NOTHING { part } else { 0.0 };
        let g = small((skewed.0 * low.1 - low.0 * skewed.1) / area);
        let h = small((right.0 * skewed.1 - skewed.0 * right.1) / area);
        Some(Self([
            [(x1 - x0 + g * x1) / width, (x3 - x0 + h * x3) / height, x0],
            [(y1 - y0 + g * y1) / width, (y3 - y0 + h * y3) / height, y0],
            [g / width, h / height, 1.0],
        ]))
    }

    /// Maps a point.
    pub(crate) fn apply(&self, (x, y): (f64, f64)) -> (f64, f64) {
        let [across, down, depth] = self.0.map(|[a, b, c]| a * x + b * y + c);
        (across / depth, down / depth)
    }

    /// The composition of this map after `first`.
    pub(crate) fn after(&self, first: &Self) -> Self {
        let columns = first.columns();
        Self(self.0.map(|row| columns.map(|column| dot(row, column))))
    }

    /// The preimage of a point; `None` if it is undefined.
    pub(crate) fn back(&self, point: (f64, f64)) -> Option<(f64, f64)> {
        // The rows of the inverse are cross products of the columns, up to a factor that `apply` divides out.
        let [a, b, c] = self.columns();
        let size = dot(a, cross(b, c));
        let back = Self([cross(b, c), cross(c, a), cross(a, b)]).apply(point);
        (size.abs() > NOTHING && back.0.is_finite() && back.1.is_finite()).then_some(back)
    }

    /// The smallest upright rectangle around the image of a rectangle.
    pub(crate) fn bounds(&self, Rectangle { x, y, width, height }: Rectangle) -> Rectangle {
        let corners = [(x, y), (x + width, y), (x + width, y + height), (x, y + height)].map(|at| self.apply(at));
        let least = |of: fn(&(f64, f64)) -> f64| corners.iter().map(of).fold(f64::INFINITY, f64::min);
        let most = |of: fn(&(f64, f64)) -> f64| corners.iter().map(of).fold(f64::NEG_INFINITY, f64::max);
        let (left, top) = (least(|at| at.0), least(|at| at.1));
        Rectangle { x: left, y: top, width: most(|at| at.0) - left, height: most(|at| at.1) - top }
    }

    fn columns(&self) -> [[f64; 3]; 3] {
        [0, 1, 2].map(|column| self.0.map(|row| row[column]))
    }
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_near(a: (f64, f64), b: (f64, f64)) -> bool {
        (a.0 - b.0).abs() < 1e-6 && (a.1 - b.1).abs() < 1e-6
    }

    #[test]
    fn corners_go_to_corners_and_points_find_back() {
        let upright = [(10.0, 20.0), (40.0, 20.0), (40.0, 80.0), (10.0, 80.0)];
        let turned = [(50.0, 0.0), (90.0, 30.0), (60.0, 70.0), (20.0, 40.0)];
        // A frame that is rotated around its upper edge.
        let receding = [(0.0, 0.0), (100.0, 0.0), (80.0, 50.0), (20.0, 50.0)];
        for corners in [upright, turned, receding] {
            let map = Projection::onto([300.0, 150.0], corners).unwrap();
            for (from, to) in [(0.0, 0.0), (300.0, 0.0), (300.0, 150.0), (0.0, 150.0)].into_iter().zip(corners) {
                assert!(is_near(map.apply(from), to), "{:?} is not {to:?}", map.apply(from));
            }
            let both = Projection::shift(7.0, 9.0).after(&map);
            for point in [(1.0, 2.0), (150.0, 75.0), (299.0, 149.0)] {
                let (x, y) = map.apply(point);
                assert!(is_near(both.apply(point), (x + 7.0, y + 9.0)));
                assert!(is_near(both.back((x + 7.0, y + 9.0)).unwrap(), point));
            }
        }
    }

    #[test]
    fn what_is_turned_away_is_nowhere() {
        assert_eq!(Projection::onto([300.0, 150.0], [(0.0, 0.0), (0.0, 0.0), (0.0, 50.0), (0.0, 50.0)]), None);
        assert_eq!(Projection::onto([0.0, 150.0], [(0.0, 0.0), (9.0, 0.0), (9.0, 9.0), (0.0, 9.0)]), None);
    }

    #[test]
    fn what_is_around_a_turned_rectangle_is_upright() {
        let quarter = Projection::onto([100.0, 50.0], [(50.0, 0.0), (50.0, 100.0), (0.0, 100.0), (0.0, 0.0)]).unwrap();
        let Rectangle { x, y, width, height } =
            quarter.bounds(Rectangle { x: 10.0, y: 10.0, width: 20.0, height: 5.0 });
        assert!(is_near((x, y), (35.0, 10.0)) && is_near((width, height), (5.0, 20.0)));
    }
}
