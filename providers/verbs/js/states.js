// States of an element that actions and reads need: visible, enabled, editable, checked; and which control is meant
// when a label or a part of a button is named.
//
// Knows the tree and computed styles; nothing of locators, waiting or points.

/**
 * Whether an element is rendered with a non-empty box and not `visibility: hidden`. Transparent elements are
 * visible.
 */
function isVisible(element) {
  if (!isConnected(element)) return false;
  const style = styleOf(element);
  if (style.display === "contents") {
    for (const child of flatChildrenOf(element)) {
      const type = nodeTypeOf(child);
      if (type === ELEMENT && isVisible(child)) return true;
      if (type === TEXT && isTextVisible(child)) return true;
    }
    return false;
  }
  // Covers `display: none` on ancestors, closed `<details>` and `content-visibility: hidden`.
  if (!checkVisibility(element) || style.visibility !== "visible") return false;
  const box = boxOf(element);
  return box.width > 0 && box.height > 0;
}

function isTextVisible(node) {
  const range = new Range();
  range.selectNode(node);
  const box = range.getBoundingClientRect();
  return box.width > 0 && box.height > 0;
}

/** Roles that support `aria-disabled`. */
const DISABLEABLE = new Set(("application button composite gridcell group input link menuitem scrollbar separator tab checkbox columnheader combobox grid " +
  "listbox menu menubar menuitemcheckbox menuitemradio option radio radiogroup row rowheader searchbox select slider spinbutton switch tablist textbox " +
  "toolbar tree treegrid treeitem").split(" "));

/** Disabled natively (including by a `<fieldset>`), or by `aria-disabled` on it or an ancestor. */
function isDisabled(element) {
  return elementMatches(element, ":disabled") || isAriaDisabled(element);
}

function isAriaDisabled(element) {
  // Elements that are not widgets do not inherit it: a heading in a disabled group can still be hovered.
  if (!DISABLEABLE.has(roleOf(element) || "")) return false;
  for (let at = element; at; at = flatParentOf(at)) {
    const value = attributeOf(at, "aria-disabled")?.toLowerCase();
    if (value === "true") return true;
    if (value === "false") return false;
  }
  return false;
}

const READABLE_ROLES = new Set(("checkbox combobox grid gridcell listbox radiogroup slider spinbutton textbox columnheader rowheader searchbox switch treegrid").split(" "));
const NOT_EDITABLE = "Element is not an <input>, <textarea>, <select> or [contenteditable] and does not have a role allowing [aria-readonly]";

/** true, false, or null if the element cannot be edited. */
function isReadonly(element) {
  const tag = tagOf(element);
  if (tag === "input" || tag === "textarea" || tag === "select") return tag !== "select" && hasAttribute(element, "readonly");
  if (READABLE_ROLES.has(roleOf(element) || "")) return attributeOf(element, "aria-readonly") === "true";
  return isHtml(element) && isContentEditable(element) ? false : null;
}

const CHECKABLE_ROLES = new Set(["checkbox", "radio", "switch", "menuitemcheckbox", "menuitemradio", "option", "treeitem"]);
const inputCheckedOf = getter(HTMLInputElement, "checked");
const inputIndeterminateOf = getter(HTMLInputElement, "indeterminate");
const NOT_CHECKABLE = "Not a checkbox or radio button";

/** true, false, "mixed", or null if the element cannot be checked. */
function checkedOf(element) {
  const type = typeOf(element);
  if (type === "checkbox" || type === "radio") {
    if (type === "checkbox" && inputIndeterminateOf(element)) return "mixed";
    return inputCheckedOf(element);
  }
  if (!CHECKABLE_ROLES.has(roleOf(element) || "")) return null;
  const value = attributeOf(element, "aria-checked");
  return value === "mixed" && !["radio", "menuitemradio", "switch"].includes(roleOf(element)) ? "mixed" : value === "true";
}

/** Whether a click would uncheck: an indeterminate box is nevertheless checked or not. null as for `checkedOf`. */
function isChecked(element) {
  const type = typeOf(element);
  if (type === "checkbox" || type === "radio") return inputCheckedOf(element);
  const value = checkedOf(element);
  return value === null ? null : value === true;
}

/** `closest`, across shadow roots. */
function closestAcross(element, selector) {
  for (let at = element; at; at = hostAbove(at)) {
    const found = closestOf(at, selector);
    if (found) return found;
  }
  return null;
}

function hostAbove(element) {
  const root = rootOf(element);
  return root instanceof ShadowRoot ? hostOf(root) : null;
}

const isEditing = (element) => elementMatches(element, "input, textarea, select") || (isHtml(element) && isContentEditable(element));

/** The button or link that contains an element, else the element. */
function buttonOf(element) {
  if (isEditing(element)) return element;
  return closestAcross(element, "button, [role=button], a, [role=link]") || element;
}

/** The control that an element stands for: itself, the button that contains it, or the control of its label. */
function controlOf(element) {
  if (isEditing(element)) return element;
  const near = closestAcross(element, "button, [role=button], [role=checkbox], [role=radio]") || element;
  if (elementMatches(near, "a, button, [role=link], [role=button], [role=checkbox], [role=radio]") || isEditing(near)) return near;
  const label = closestAcross(near, "label");
  return (label && tagOf(label) === "label" && labelControlOf(label)) || near;
}

const STATES = {
  visible: (element) => isVisible(element),
  hidden: (element) => !isVisible(element),
  enabled: (element) => !isDisabled(controlOf(element)),
  disabled: (element) => isDisabled(controlOf(element)),
};

/** The failure if an element lacks the state that an action needs, else null. */
function missingState(element, state) {
  if (state === "visible") return isVisible(element) ? null : { error: "hidden", preview: preview(element) };
  const control = controlOf(element);
  if (isDisabled(control)) return { error: "disabled", preview: preview(control) };
  if (state === "enabled") return null;
  const readonly = isReadonly(control);
  if (readonly === null) return { error: "kind", message: NOT_EDITABLE, preview: preview(control) };
  return readonly ? { error: "readonly", preview: preview(control) } : null;
}
