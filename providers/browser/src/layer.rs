//! The JavaScript layer inside the sandbox, which turns the provider's methods into the pages and locators that scripts
//! see.

/// The layer's source: an expression that evaluates to the function that creates the namespace's object.
pub(crate) const SOURCE: &str = concat!(
    "(() => {\n\"use strict\";\n",
    include_str!("../js/errors.js"),
    include_str!("../js/instead.js"),
    include_str!("../js/guard.js"),
    include_str!("../js/steps.js"),
    include_str!("../js/session.js"),
    include_str!("../js/element.js"),
    include_str!("../js/finder.js"),
    include_str!("../js/locator.js"),
    include_str!("../js/scope.js"),
    include_str!("../js/frame.js"),
    include_str!("../js/events.js"),
    include_str!("../js/receive.js"),
    include_str!("../js/network.js"),
    include_str!("../js/route.js"),
    include_str!("../js/api.js"),
    include_str!("../js/input.js"),
    include_str!("../js/print.js"),
    include_str!("../js/page.js"),
    include_str!("../js/help.js"),
    include_str!("../js/browser.js"),
    "\nreturn layer;\n})()"
);

/// The declaration of the namespace in the tool's description.
pub(crate) const DECLARATION: &str = include_str!("../js/declaration.d.ts.txt");
